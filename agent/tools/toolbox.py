"""The toolbox of a question: tool schemas for the model, and checked calls within a time limit."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.redact import without_paths
from datasphinx.agent.errors import (
    DatasphinxError,
    FileNotLoaded,
    FileUnreadable,
    NotFound,
    Retryable,
    SpecProblem,
    StatementCancelled,
    TooLarge,
    ToolCallInvalid,
    ToolTimeout,
)
from datasphinx.agent.llm.formats import function_schema
from datasphinx.agent.record.step import current_step
from datasphinx.agent.record.telemetry import tool as trace_tool
from datasphinx.agent.schema import spelling
from datasphinx.agent.tools import (
    create_dataset,
    get_schema,
    plot,
    resolve_fields,
    run_query,
    sample_rows,
)
from datasphinx.agent.tools.arguments import parse_arguments, read_arguments
from datasphinx.agent.tools.tool import Arguments, Outcome, Tool, Workbench

TOOLS: tuple[Tool, ...] = tuple(
    module.TOOL for module in (create_dataset, get_schema, sample_rows, run_query, plot, resolve_fields)
)
"""The tools that the model is offered."""

_REPORTED_TO_MODEL = (Retryable, TooLarge, NotFound, FileNotLoaded, FileUnreadable)
"""Errors that another call may avoid. Any other error ends the question."""

_MIN_SIMILARITY = 50.0

PastCall = tuple[str, Mapping[str, Any]]
"""An earlier call: the tool and its normalised arguments."""


@dataclass(frozen=True)
class CallResult:
    """A finished call: tool, normalised arguments, and either an outcome or an error."""

    tool: str
    arguments: Mapping[str, Any]
    outcome: Outcome | None
    error: DatasphinxError | None


class Toolbox:
    """The tools of one question. `timeout_s` limits a call in seconds; None means no limit."""

    def __init__(
        self,
        bench: Workbench,
        timeout_s: float | None,
        tools: Sequence[Tool] = TOOLS,
        past_calls: Sequence[PastCall] = (),
    ) -> None:
        """A call equal to one of `past_calls` is rejected."""
        self._bench, self._timeout_s, self._past_calls = bench, timeout_s, past_calls
        self._tools = {tool.name: tool for tool in tools}

    def schemas(self) -> list[dict[str, Any]]:
        """Return the offered tools in the format of OpenAI's function calling, the same in each step of a question.

        The caches of model providers end where a request differs, and the tools come before the messages.
        """
        return [
            function_schema(tool.name, tool.description, tool.arguments.shown_schema()) for tool in self._tools.values()
        ]

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> CallResult:
        """Call the tool `name` with `arguments`, a JSON text or a mapping.

        An invalid call or an unusable file is returned as `error`; an error that another call cannot avoid is raised.

        Raises:
            DatasphinxError: the store, its driver or the database fails.
        """
        mapping: Mapping[str, Any] = {}
        try:
            if name not in self._tools:
                offered = tuple(self._tools)
                names = spelling.nearest(name, offered, _MIN_SIMILARITY) or offered
                raise ToolCallInvalid(name[:80], (SpecProblem("tool", "there is no such tool", names),))
            tool = self._tools[name]
            mapping = parse_arguments(name, arguments)
            validated = read_arguments(name, tool.arguments, mapping)
            mapping = validated.model_dump(mode="json", by_alias=True, exclude_none=True)
            if (name, mapping) in self._past_calls:
                reason = f"call {self._past_calls.index((name, mapping)) + 1} was the same; use its result, or finish"
                raise ToolCallInvalid(name, (SpecProblem("arguments", reason),))
            with trace_tool(name, lambda: json.dumps(mapping, ensure_ascii=False)):
                outcome = self._run(tool, validated)
            return CallResult(name, mapping, outcome, None)
        except _REPORTED_TO_MODEL as error:
            return CallResult(name, mapping, None, error)

    def _run(self, tool: Tool, arguments: Arguments) -> Outcome:
        cancellation, step = Cancellation(), current_step.get()
        run_cancellation = step.cancellation if step else None
        try:
            with run_cancellation.calling(cancellation.cancel) if run_cancellation else nullcontext():
                with _deadline(cancellation, self._timeout_s):
                    return tool.run(arguments, self._bench, cancellation)
        except StatementCancelled:
            if (
                self._timeout_s is None
                or not cancellation.requested
                or (run_cancellation and run_cancellation.requested)
            ):
                raise
            raise ToolTimeout(tool.name, self._timeout_s) from None


def error_content(error: DatasphinxError) -> dict[str, Any]:
    """Return an error in the form that the model sees.

    It has a code, and either a message or problems with path, reason and nearest names. Notes of the exception are
    hints for the model alone.
    """
    problems = getattr(error, "problems", ())
    content: dict[str, Any] = {"code": error.code}
    if problems and isinstance(problems[0], SpecProblem):
        content["problems"] = [
            {
                "path": item.path,
                "reason": item.reason,
                **({"nearest": list(item.nearest)} if item.nearest else {}),
            }
            for item in problems
        ]
    else:
        content["message"] = without_paths(error.message())
    if hints := getattr(error, "__notes__", None):
        content["hint"] = "; ".join(hints)
    return {"error": content}


@contextmanager
def _deadline(cancellation: Cancellation, seconds: float | None) -> Iterator[None]:
    """Cancel after `seconds` unless the block has ended; None never cancels."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, cancellation.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

"""The tools as a model sees them, and the one way to call one: checked, within a time limit, wrong calls explained."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agent.audit.step import current_step
from agent.catalog import spelling
from agent.errors import (
    ArchiveSuspicious,
    DatasetUnknown,
    DatasphinxError,
    FileEmpty,
    FileEncrypted,
    FileTooLarge,
    FileUnknown,
    FileUnreadable,
    HeaderNotFound,
    Retryable,
    SheetNotFound,
    SpecProblem,
    StatementCancelled,
    ToolCallInvalid,
    ToolTimeout,
)
from agent.models.formats import function_schema
from agent.queryspec.problems import path_of
from agent.sql.limits import Cancellation
from agent.sql.redact import without_paths
from agent.text import valid_json
from agent.tools import create_dataset, get_schema, plot, resolve_fields, run_query, sample_rows
from agent.tools.tool import Arguments, Outcome, Tool, Workbench

TOOLS: tuple[Tool, ...] = tuple(
    module.TOOL for module in (create_dataset, get_schema, sample_rows, run_query, plot, resolve_fields)
)

MAX_ARGUMENTS = 20_000
"""Characters that the arguments of a call may have."""

_FOR_THE_MODEL = (
    Retryable, ArchiveSuspicious, DatasetUnknown, FileEmpty, FileEncrypted, FileTooLarge, FileUnknown, FileUnreadable,
    HeaderNotFound, SheetNotFound,
)  # fmt: skip
"""What another call may mend. Anything else is a defect or a store that does not answer, and ends the question."""

_ALIKE = 50.0

Made = tuple[str, Mapping[str, Any]]
"""A call that was made: the tool, and the arguments in one form."""


@dataclass(frozen=True)
class Called:
    """One call as it was made: its arguments in one form, and what came of it; one of the last two is there."""

    tool: str
    arguments: Mapping[str, Any]
    outcome: Outcome | None
    error: DatasphinxError | None


class Toolbox:
    """The tools over one workbench. `timeout_s` is what one call may take; None: as long as it takes."""

    def __init__(
        self, bench: Workbench, timeout_s: float | None, tools: Sequence[Tool] = TOOLS, made: Sequence[Made] = ()
    ) -> None:
        """`made` are the calls so far, which are not made again."""
        self._bench, self._timeout_s, self._made = bench, timeout_s, made
        self._tools = {tool.name: tool for tool in tools}

    def schemas(self) -> list[dict[str, Any]]:
        """Return every tool as OpenAI's function calling describes one; ids can only be those of the workbench."""
        return [
            function_schema(
                tool.name, tool.description, self._with_ids(tool.arguments.model_json_schema(by_alias=True))
            )
            for tool in self._tools.values()
        ]

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> Called:
        """Return what the tool `name` gives for `arguments`, which are JSON or what was read from it.

        A wrong call and a file that cannot be used come back as `error`; what the model cannot mend is raised.

        Raises:
            DatasphinxError: the store, its driver or the database fails.
        """
        read: Mapping[str, Any] = {}
        try:
            tool = self._tool(name)
            read = _read(name, arguments)
            checked = _checked(tool, read)
            read = checked.model_dump(mode="json", by_alias=True, exclude_none=True)
            self._refuse_repeated(name, read)
            return Called(name, read, self._run(tool, checked), None)
        except _FOR_THE_MODEL as error:
            return Called(name, read, None, error)

    def _tool(self, name: str) -> Tool:
        if name not in self._tools:
            names = spelling.nearest(name, self._tools, _ALIKE) or tuple(self._tools)
            raise ToolCallInvalid(name[:80], (SpecProblem("tool", "there is no such tool", names),))
        return self._tools[name]

    def _refuse_repeated(self, name: str, arguments: Mapping[str, Any]) -> None:
        for number, (tool, known) in enumerate(self._made, 1):
            if (tool, known) == (name, arguments):
                reason = f"call {number} was the same, so this brings nothing new: use what that gave, or finish"
                raise ToolCallInvalid(name, (SpecProblem("arguments", reason),))

    def _run(self, tool: Tool, arguments: Arguments) -> Outcome:
        cancellation, step = Cancellation(), current_step.get()
        of_run = step.cancellation if step else None
        try:
            with of_run.calling(cancellation.cancel) if of_run else nullcontext():
                with _deadline(cancellation, self._timeout_s):
                    return tool.run(arguments, self._bench, cancellation)
        except StatementCancelled:
            if self._timeout_s is None or not cancellation.requested or (of_run and of_run.requested):
                raise
            raise ToolTimeout(tool.name, self._timeout_s) from None

    def _with_ids(self, schema: dict[str, Any]) -> dict[str, Any]:
        known = {
            "dataset_id": self._bench.dataset_ids,
            "file_id": self._bench.file_ids,
            "result_id": tuple(self._bench.results),
        }
        for name, field in schema["properties"].items():
            if known.get(name):
                field["enum"] = list(known[name])
        return schema


def error_content(error: DatasphinxError) -> dict[str, Any]:
    """Return an error as the model is told it: what is wrong, and where there are places, path, reason and nearest."""
    problems = getattr(error, "problems", ())
    told: dict[str, Any] = {"code": error.code}
    if problems and isinstance(problems[0], SpecProblem):
        told["problems"] = [
            {"path": each.path, "reason": each.reason, **({"nearest": list(each.nearest)} if each.nearest else {})}
            for each in problems
        ]
    else:
        told["message"] = without_paths(error.message())
    return {"error": told}


def _read(name: str, arguments: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(arguments, str) and len(arguments) > MAX_ARGUMENTS:
        reason = f"they have more than {MAX_ARGUMENTS} characters"
        raise ToolCallInvalid(name, (SpecProblem("arguments", reason),))
    try:
        read = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError) as error:
        raise ToolCallInvalid(name, (SpecProblem("arguments", f"they are no JSON: {error}"),)) from None
    if not isinstance(read, Mapping):
        raise ToolCallInvalid(name, (SpecProblem("arguments", "a JSON object is expected"),))
    valid: dict[str, Any] = valid_json(dict(read))
    return valid


def _checked(tool: Tool, arguments: Mapping[str, Any]) -> Arguments:
    try:
        return tool.arguments.model_validate(arguments)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        raise ToolCallInvalid(tool.name, tuple(_problem(each, tool) for each in found)) from None


def _problem(error: ErrorDetails, tool: Tool) -> SpecProblem:
    location, reason = error["loc"], error["msg"].removeprefix("Value error, ")
    if error["type"] != "extra_forbidden":
        return SpecProblem(path_of(location), reason)
    names = list(tool.arguments.model_fields) if len(location) == 1 else []
    return SpecProblem(path_of(location), "there is no such field", spelling.nearest(str(location[-1]), names, 0))


@contextmanager
def _deadline(cancellation: Cancellation, seconds: float | None) -> Iterator[None]:
    """Cancel after so many seconds, unless the block has ended."""
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

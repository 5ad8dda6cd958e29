"""The workbench of a question, built from its state, and the state updates after a call."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from datasphinx.agent.analysis.earlier_results import last_number, readable_results
from datasphinx.agent.analysis.start import schema_calls
from datasphinx.agent.datasets.limits import LoadProgress, ignore_progress
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.errors import DatasphinxError, NotFound, NotPermitted, PermissionDenied
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.messages import Language, language_in
from datasphinx.agent.record.step import ToolRun, current_step, note
from datasphinx.agent.sources.source import Source
from datasphinx.agent.state import AnalystState, DrawnChart, Observation, ToolCall
from datasphinx.agent.tools.tool import Workbench
from datasphinx.agent.tools.toolbox import CallResult, error_content
from datasphinx.agent.types import AnswerChart


def workbench(
    state: AnalystState,
    registry: Registry,
    open_source: Callable[[str], Source],
    open_datasets: Callable[[Sequence[str]], Source],
    loading: LoadProgress = ignore_progress,
    layout_model: Callable[[], ModelClient | None] | None = None,
) -> Workbench:
    """Return the data that the tools may use for this question: those of a source, or files and datasets.

    A file of a dataset may be read again with other options as long as it is stored.
    """
    name = state.get("source")
    file_ids = list(state["file_ids"])
    for dataset_id in () if name else state["dataset_ids"]:
        with suppress(NotFound):
            file_ids.append(registry.file(registry.dataset(dataset_id).file_id).file_id)
    return Workbench(
        registry=registry,
        open_source=(lambda _: open_source(name)) if name else open_datasets,
        asks_database=name is not None,
        file_ids=tuple(dict.fromkeys(file_ids)),
        dataset_ids=tuple(state["dataset_ids"]),
        results=state["results"],
        earlier_results=readable_results(state["earlier_results"], state["dataset_ids"]),
        earlier_number=last_number(state["earlier_results"]),
        language=language_in(state),
        layout_model=layout_model,
        loading=loading,
    )


def call_update(call: CallResult, state: AnalystState) -> dict[str, Any]:
    """Return the state update after a call, and record the call in the audit."""
    outcome = call.outcome
    content = error_content(call.error) if call.error else dict(outcome.content) if outcome else {}
    _record(call, content, language_in(state))
    update: dict[str, Any] = {"observations": [*state["observations"], _observation(call, content)]}
    if outcome and outcome.kept:
        update["results"] = {**state["results"], content["result_id"]: outcome.kept}
    if outcome and outcome.drawing:
        drawing = outcome.drawing
        chart = AnswerChart(type=drawing.type, option=drawing.option)
        spec = drawing.spec.model_dump(mode="json")
        update["drawn"] = [*state["drawn"], DrawnChart(result_id=drawing.result_id, spec=spec, chart=chart)]
    if outcome and outcome.dataset_id and outcome.dataset_id not in state["dataset_ids"]:
        update |= _add_dataset(outcome.dataset_id, state)
    for text in outcome.notes if outcome else ():
        note(text)
    return update


def denied_update(call: ToolCall, error: NotPermitted | PermissionDenied, state: AnalystState) -> dict[str, Any]:
    """Return the state update after a call read a table without permission: the analysis continues without the table.

    Raises:
        NotPermitted, PermissionDenied: `error` itself, if no other table is left.
    """
    arguments = json.loads(call["arguments"])
    others = [name for name in state["dataset_ids"] if name != arguments.get("dataset_id")]
    if not others:
        raise error
    update = call_update(CallResult(call["tool"], arguments, None, error), state)
    # For a query with joins, the denied table is unknown.
    query = arguments.get("query", arguments)
    is_known = isinstance(query, dict) and not query.get("joins")
    return {**update, "dataset_ids": others} if is_known else update


def rejected_update(call: ToolCall, error: DatasphinxError, state: AnalystState) -> dict[str, Any]:
    """Return the state update after a rejected `finish` or `ask_user`: the model sees the error."""
    result = CallResult(call["tool"], {"asked": call["arguments"]}, None, error)
    return {"observations": [*state["observations"], _observation(result, error_content(error))], "call": None}


def _add_dataset(dataset_id: str, state: AnalystState) -> dict[str, Any]:
    """Return the state update with a new dataset and the call that reads its schema."""
    read = sum(observation["tool"] == "get_schema" for observation in state["observations"])
    waiting = sum(call["tool"] == "get_schema" for call in state["pending"])
    calls = schema_calls([dataset_id], read + waiting)
    return {"dataset_ids": [*state["dataset_ids"], dataset_id], "pending": [*state["pending"], *calls]}


def _observation(call: CallResult, content: dict[str, Any]) -> Observation:
    plain = json.loads(json.dumps(content, default=str))
    return Observation(tool=call.tool, arguments=dict(call.arguments), content=plain, failed="error" in content)


def _record(call: CallResult, content: dict[str, Any], language: Language) -> None:
    step = current_step.get()
    if step:
        error = call.error
        step.tool = ToolRun(
            tool=call.tool,
            arguments=dict(call.arguments),
            rows=call.outcome.rows if call.outcome else 0,
            result_id=content.get("result_id"),
            error=(str(error) if language == "en" else error.message(language)) if error else None,
        )

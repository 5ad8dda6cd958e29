"""The workbench of a question, made of its state, and what a call changes in the state."""

import json
from typing import Any

from agent.analysis.opening import schema_calls
from agent.analyst_state import AnalystState, DrawnChart, Observation, ToolCall
from agent.audit.step import ToolRun, current_step, note
from agent.errors import DatasphinxError, NotPermitted, PermissionDenied
from agent.messages import language_of
from agent.models.schemas import AnalystStep
from agent.services import Services
from agent.state import AnswerChart
from agent.tools.tool import Drawing, Workbench
from agent.tools.toolbox import Called, error_content


def workbench(state: AnalystState, services: Services) -> Workbench:
    """Return what the tools of this question may work on."""
    name = state.get("source")
    return Workbench(
        registry=services.registry,
        open_source=(lambda _: services.source(name)) if name else services.datasets,
        asks_database=name is not None,
        file_ids=tuple(state["file_ids"]),
        dataset_ids=tuple(state["dataset_ids"]),
        results=state["results"],
        language=language_of(state["question"]),
        loading=services.loading,
    )


def remembered(called: Called, state: AnalystState) -> dict[str, Any]:
    """Return what a call changes in the state, and put it on the audit."""
    outcome = called.outcome
    content = error_content(called.error) if called.error else dict(outcome.content) if outcome else {}
    _record(called, content)
    update: dict[str, Any] = {"observations": [*state["observations"], _observation(called, content)]}
    if outcome and outcome.kept:
        update["results"] = {**state["results"], content["result_id"]: outcome.kept}
    if outcome and outcome.drawing:
        update["drawn"] = [*state["drawn"], _drawn(outcome.drawing)]
    if outcome and outcome.dataset_id and outcome.dataset_id not in state["dataset_ids"]:
        update |= _with_dataset(outcome.dataset_id, state)
    for text in outcome.notes if outcome else ():
        note(text)
    return update


def refused(call: ToolCall, error: NotPermitted | PermissionDenied, state: AnalystState) -> dict[str, Any]:
    """Return what changes where a call reads a table that may not be read: the analysis goes on without the table.

    Raises:
        NotPermitted, PermissionDenied: `error`, where no other table is left.
    """
    arguments = json.loads(call["arguments"])
    others = [each for each in state["dataset_ids"] if each != arguments.get("dataset_id")]
    if not others:
        raise error
    update = remembered(Called(call["tool"], arguments, None, error), state)
    # Of a query with joins it is not known which of its tables is closed.
    query = arguments.get("query", {})
    is_known = isinstance(query, dict) and not query.get("joins")
    return {**update, "dataset_ids": others} if is_known else update


def told_wrong(step: AnalystStep, error: DatasphinxError, state: AnalystState) -> dict[str, Any]:
    """Return what changes where the model wanted to end, or to ask, and could not: it is told why."""
    called = Called(step.tool, {"asked": step.arguments}, None, error)
    return {"observations": [*state["observations"], _observation(called, error_content(error))]}


def _with_dataset(dataset_id: str, state: AnalystState) -> dict[str, Any]:
    """A new dataset is read next: nobody can ask it without its schema."""
    known = state["dataset_ids"]
    read = sum(made["tool"] == "get_schema" for made in state["observations"])
    waiting = sum(call["tool"] == "get_schema" for call in state["pending"])
    calls = schema_calls([dataset_id], read + waiting)
    return {"dataset_ids": [*known, dataset_id], "pending": [*state["pending"], *calls]}


def _observation(called: Called, content: dict[str, Any]) -> Observation:
    plain = json.loads(json.dumps(content, default=str))
    return Observation(tool=called.tool, arguments=dict(called.arguments), content=plain, failed="error" in content)


def _drawn(drawing: Drawing) -> DrawnChart:
    chart = AnswerChart(type=drawing.type, option=drawing.option)
    return DrawnChart(result_id=drawing.result_id, spec=drawing.spec.model_dump(mode="json"), chart=chart)


def _record(called: Called, content: dict[str, Any]) -> None:
    step = current_step.get()
    if step:
        step.tool = ToolRun(
            tool=called.tool,
            arguments=dict(called.arguments),
            rows=called.outcome.rows if called.outcome else 0,
            result_id=content.get("result_id"),
            error=str(called.error) if called.error else None,
        )

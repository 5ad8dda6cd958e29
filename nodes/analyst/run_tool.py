"""Node: run the planned tool call."""

import json
from typing import Any

from langgraph.config import get_stream_writer

from datasphinx.agent.analysis.planning import CONTROLS
from datasphinx.agent.analysis.start import schema_calls
from datasphinx.agent.analysis.workbench import observation_of, workbench
from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.datasets.limits import progress_events
from datasphinx.agent.errors import NotPermitted, PermissionDenied
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import FileLayout
from datasphinx.agent.messages import Language, language_in
from datasphinx.agent.record.step import ToolRun, current_step
from datasphinx.agent.services import Services
from datasphinx.agent.state import AnalystState, DrawnChart, ToolCall
from datasphinx.agent.tools.toolbox import CallResult, Toolbox
from datasphinx.agent.types import AnswerChart


def run_tool(state: AnalystState, services: Services) -> dict[str, Any]:
    """Run `call`; report an invalid call to the model, and end the question with an error in a user's file.

    A table that may not be read is reported to the model as well, as long as another table is left. Calls chosen by the
    model have a time limit; the user's files are loaded without one. The progress of a load is written to the stream of
    the run (mode `custom`) as `{"event": "progress", "data": ...}`.
    """
    call = state["call"]
    if call is None:
        raise ValueError("there is no call to make")
    timeout_s = None if call["is_given"] else services.settings.statement_timeout_s
    past_calls = [(observation["tool"], observation["arguments"]) for observation in state["observations"]]
    write = get_stream_writer()
    loading = progress_events(lambda progress: write({"event": "progress", "data": progress}))

    def layout_model() -> ModelClient | None:
        planner = services.roles.planner
        return planner if planner.can_answer(FileLayout) else None

    # Options that the model or the user has chosen are not proposed again.
    asked = layout_model if call["is_given"] else None
    bench = workbench(state, services, loading, asked)
    # An answer that the model wrote in the same reply does not know of an error.
    pending = [waiting for waiting in state["pending"] if waiting["tool"] not in CONTROLS]
    try:
        result = Toolbox(bench, timeout_s, past_calls=past_calls).call(call["tool"], call["arguments"])
    except (NotPermitted, PermissionDenied) as error:
        return {**_denied(call, error, state), "call": None, "pending": pending}
    update = {**_completed(result, state), "call": None}
    if result.error:
        update["pending"] = pending
    if call["is_given"] and result.error:
        update["failure"] = failure_of(result.error)
    return update


def _completed(call: CallResult, state: AnalystState) -> dict[str, Any]:
    """Return the changes of the state after a call, and record the call in the audit."""
    observation, outcome = observation_of(call), call.outcome
    result_id = observation["content"].get("result_id")
    _record(call, result_id, language_in(state))
    update: dict[str, Any] = {"observations": [*state["observations"], observation]}
    if outcome is None:
        return update
    if outcome.kept:
        update["results"] = {**state["results"], result_id: outcome.kept}
    if drawing := outcome.drawing:
        chart = AnswerChart(type=drawing.type, option=drawing.option)
        spec = drawing.spec.model_dump(mode="json")
        update["drawn"] = [*state["drawn"], DrawnChart(result_id=drawing.result_id, spec=spec, chart=chart)]
    if outcome.dataset_id and outcome.dataset_id not in state["dataset_ids"]:
        update |= _with_dataset(outcome.dataset_id, state)
    if outcome.notes:
        about = str(outcome.dataset_id or result_id)
        update["notes"] = {**state["notes"], about: [*state["notes"].get(about, ()), *outcome.notes]}
    return update


def _denied(call: ToolCall, error: NotPermitted | PermissionDenied, state: AnalystState) -> dict[str, Any]:
    """Return the changes of the state after a call read a table without permission: the rest is analysed without it.

    Raises:
        NotPermitted, PermissionDenied: `error` itself, if no other table is left.
    """
    arguments = json.loads(call["arguments"])
    others = [name for name in state["dataset_ids"] if name != arguments.get("dataset_id")]
    if not others:
        raise error
    update = _completed(CallResult(call["tool"], arguments, None, error), state)
    # For a query with joins, the denied table is unknown.
    query = arguments.get("query", arguments)
    is_known = isinstance(query, dict) and not query.get("joins")
    return {**update, "dataset_ids": others} if is_known else update


def _with_dataset(dataset_id: str, state: AnalystState) -> dict[str, Any]:
    """Return the changes of the state for a new dataset: its id, and the call that reads its schema."""
    read = sum(observation["tool"] == "get_schema" for observation in state["observations"])
    waiting = sum(call["tool"] == "get_schema" for call in state["pending"])
    calls = schema_calls([dataset_id], read + waiting)
    return {"dataset_ids": [*state["dataset_ids"], dataset_id], "pending": [*state["pending"], *calls]}


def _record(call: CallResult, result_id: str | None, language: Language) -> None:
    if step := current_step.get():
        error = call.error
        step.tool = ToolRun(
            tool=call.tool,
            arguments=dict(call.arguments),
            rows=call.outcome.rows if call.outcome else 0,
            result_id=result_id,
            error=(str(error) if language == "en" else error.message(language)) if error else None,
        )

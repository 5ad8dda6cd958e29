"""Node: run the planned tool call."""

from typing import Any

from langgraph.config import get_stream_writer

from datasphinx.agent.analysis.planning import CONTROLS
from datasphinx.agent.analysis.workbench import call_update, denied_update, workbench
from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.datasets.limits import progress_events
from datasphinx.agent.errors import NotPermitted, PermissionDenied
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import FileLayout
from datasphinx.agent.services import Services
from datasphinx.agent.state import AnalystState
from datasphinx.agent.tools.toolbox import Toolbox


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
    bench = workbench(state, services.registry, services.source, services.datasets, loading, asked)
    # An answer that the model wrote in the same reply does not know of an error.
    pending = [waiting for waiting in state["pending"] if waiting["tool"] not in CONTROLS]
    try:
        result = Toolbox(bench, timeout_s, past_calls=past_calls).call(call["tool"], call["arguments"])
    except (NotPermitted, PermissionDenied) as error:
        return {**denied_update(call, error, state), "call": None, "pending": pending}
    update = {**call_update(result, state), "call": None}
    if result.error:
        update["pending"] = pending
    if call["is_given"] and result.error:
        update["failure"] = failure_of(result.error)
    return update

"""Node: make the call of a tool that was planned."""

from typing import Any

from agent.analysis.workbench import refused, remembered, workbench
from agent.analyst_state import AnalystState
from agent.errors import NotPermitted, PermissionDenied
from agent.failure import failure_of
from agent.services import Services
from agent.tools.toolbox import Toolbox


def run_tool(state: AnalystState, services: Services) -> dict[str, Any]:
    """Make `call`; a wrong one is told to the model, and an error in a file of the user's ends the question.

    A table that may not be read is told to the model too, as long as there is another one.

    What the user brings is loaded however long that takes; a call that the model has chosen has a time limit.
    """
    call = state["call"]
    if call is None:
        raise ValueError("there is no call to make")
    timeout_s = None if call["is_given"] else services.settings.tool_timeout_s
    made = [(each["tool"], each["arguments"]) for each in state["observations"]]
    try:
        called = Toolbox(workbench(state, services), timeout_s, made=made).call(call["tool"], call["arguments"])
    except (NotPermitted, PermissionDenied) as error:
        return {**refused(call, error, state), "call": None}
    update = {**remembered(called, state), "call": None}
    if call["is_given"] and called.error:
        update["failure"] = failure_of(called.error)
    return update

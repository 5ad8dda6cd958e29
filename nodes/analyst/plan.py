"""Node: decide what is done next."""

from typing import Any

from agent.analysis.control import CONTROLS, control_schemas, controlled
from agent.analysis.embedded import embedded_step
from agent.analysis.messages import step_messages
from agent.analysis.opening import opening
from agent.analysis.workbench import told_wrong, workbench
from agent.analyst_state import AnalystState, ToolCall
from agent.errors import BudgetExceeded, InvalidOutputType, Retryable
from agent.failure import failure_of
from agent.models.schemas import AnalystStep
from agent.services import Services
from agent.settings import Settings
from agent.tools.toolbox import Toolbox


def plan(state: AnalystState, services: Services) -> dict[str, Any]:
    """Begin with the files; then give the next call: one that follows from the files, else the model's choice.

    The model may also end the analysis, or have the user asked. Where it wants another call than there are left, the
    question ends with what was found.
    """
    if not state.get("heard"):
        return _next_given(opening(state, services))
    if state["pending"]:
        return _next_given({"pending": state["pending"]})
    if services.model.profile == "embedded":
        return embedded_step(state, services)
    tools = [*Toolbox(workbench(state, services), None).schemas(), *control_schemas(state, services.settings)]
    step = services.model.ask(AnalystStep, step_messages(state, services.settings, services.today()), tools)
    if step.tool in CONTROLS:
        return _controlled(step, state, services.settings)
    if state["step_count"] >= services.settings.max_steps:
        return _out_of_steps(services.settings)
    call = ToolCall(tool=step.tool, arguments=step.arguments, is_given=False)
    return {"call": call, "step_count": state["step_count"] + 1}


def _next_given(update: dict[str, Any]) -> dict[str, Any]:
    first, *rest = update["pending"]
    return {**update, "call": first, "pending": rest}


def _out_of_steps(settings: Settings) -> dict[str, Any]:
    return {"failure": failure_of(BudgetExceeded(f"{settings.max_steps} steps", "DATASPHINX_MAX_STEPS"))}


def _controlled(step: AnalystStep, state: AnalystState, settings: Settings) -> dict[str, Any]:
    """Return the end, or the question to the user; where that cannot be, the model is told why, and it costs a step."""
    try:
        return controlled(step, state, settings)
    except Retryable as error:
        if state["step_count"] >= settings.max_steps:
            return _out_of_steps(settings)
        return {**told_wrong(step, error, state), "step_count": state["step_count"] + 1}
    except InvalidOutputType as error:
        if state["form_was_corrected"]:
            return {"failure": failure_of(error)}
        return {**told_wrong(step, error, state), "form_was_corrected": True}

"""Node: plan the next step of an analysis."""

from typing import Any

from agent.analysis.description import description_step
from agent.analysis.embedded import embedded_step
from agent.analysis.planning import CONTROLS, apply_control, control_schemas, step_messages
from agent.analysis.start import start_analysis
from agent.analysis.workbench import rejected_update, workbench
from agent.core.failure import failure_of
from agent.errors import BudgetExceeded, InvalidOutputType, Retryable
from agent.llm.schemas import AnalystStep
from agent.messages import Message
from agent.services import Services
from agent.settings import Settings
from agent.state import AnalystState, ToolCall
from agent.tools.toolbox import Toolbox

_UNCOUNTED = ("create_dataset", "get_schema")
"""Tools whose calls are no steps; the limit on model calls bounds them."""


def plan(state: AnalystState, services: Services) -> dict[str, Any]:
    """Return the next tool call: first those that follow from the files, then those that the model chooses.

    A request to describe the data needs no model. The model may also end the analysis or ask the user. Opening files
    and reading schemas are no steps. A call beyond the limit of steps ends the question with the results so far.
    """
    if not state.get("heard"):
        max_chars, any_path = services.settings.max_question_chars, services.any_source
        open_source = services.source_with_tables
        return _next_pending(
            start_analysis(state, services.registry, open_source, any_path=any_path, max_chars=max_chars)
        )
    if state["pending"]:
        return _next_pending({"pending": state["pending"]})
    bench = workbench(state, services.registry, services.source, services.datasets, services.loading)
    if description := description_step(state, bench):
        return description
    if not services.roles.calls_tools:
        return embedded_step(state, bench, services.roles.planner, services.today())
    tools = [*Toolbox(bench, None).schemas(), *control_schemas(state, services.settings)]
    step = services.roles.planner.ask(
        AnalystStep,
        step_messages(state, services.settings, services.instructions(state.get("source")), services.today()),
        tools,
    )
    if step.tool in CONTROLS:
        return _control_update(step, state, services.settings)
    call = ToolCall(tool=step.tool, arguments=step.arguments, is_given=False)
    if step.tool in _UNCOUNTED:
        return {"call": call}
    if state["step_count"] >= services.settings.max_steps:
        return _out_of_steps(services.settings)
    return {"call": call, "step_count": state["step_count"] + 1}


def _next_pending(update: dict[str, Any]) -> dict[str, Any]:
    first, *rest = update["pending"]
    return {**update, "call": first, "pending": rest}


def _out_of_steps(settings: Settings) -> dict[str, Any]:
    return {
        "failure": failure_of(BudgetExceeded(Message("limit_steps", count=settings.max_steps), "DATASPHINX_MAX_STEPS"))
    }


def _control_update(step: AnalystStep, state: AnalystState, settings: Settings) -> dict[str, Any]:
    """Return the conclusion or the question to the user; report an invalid one to the model, which costs a step."""
    try:
        return apply_control(step, state, settings)
    except Retryable as error:
        if state["step_count"] >= settings.max_steps:
            return _out_of_steps(settings)
        return {**rejected_update(step, error, state), "step_count": state["step_count"] + 1}
    except InvalidOutputType as error:
        if state["form_was_corrected"]:
            return {"failure": failure_of(error)}
        return {**rejected_update(step, error, state), "form_was_corrected": True}

"""Node: plan the next step of an analysis."""

from typing import Any

from datasphinx.agent.analysis.embedded import embedded_step
from datasphinx.agent.analysis.planning import (
    CONTROLS,
    apply_control,
    control_schemas,
    step_messages,
)
from datasphinx.agent.analysis.start import start_analysis
from datasphinx.agent.analysis.workbench import rejected_update, workbench
from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.errors import BudgetExceeded, DatasphinxError, InvalidOutputType, Retryable, ToolCallInvalid
from datasphinx.agent.llm.schemas import AnalystStep
from datasphinx.agent.messages import Message
from datasphinx.agent.routes import calls_left, may_ask_user, may_correct_form, may_return_draft
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from datasphinx.agent.state import AnalystState, ToolCall
from datasphinx.agent.tools.tool import Workbench
from datasphinx.agent.tools.toolbox import Toolbox


def plan(state: AnalystState, services: Services) -> dict[str, Any]:
    """Return the next tool call: first those that follow from the files, then those that the model chooses.

    The calls of one reply are made in order. The model may also end the
    analysis or ask the user. Each tool call that it chooses is a step. A call beyond the limit of steps ends the
    question with the results so far.
    """
    settings = services.settings
    if not state["file_ids"] and not state["dataset_ids"]:
        any_path, open_source = services.any_source, services.source_with_tables
        update = start_analysis(
            state,
            services.registry,
            open_source,
            any_path=any_path,
            read=lambda text: services.roles.follow_ups.read(text, state["turns"]).question,
        )
        call, *rest = update["pending"]
        return {**update, "call": call, "pending": rest}
    if state["pending"]:
        call, *rest = state["pending"]
        if call["is_given"]:
            return {"pending": rest, "call": call}
        if not calls_left(state, settings) and call["tool"] not in CONTROLS:
            # The steps are used up: the call is left out, and the model is asked to finish.
            return {"pending": rest}
        return {"pending": rest, **_chosen_call(call, state, services)}
    bench = _bench(state, services)
    if not services.roles.calls_tools:
        return embedded_step(state, bench, services.roles.planner, services.today())
    tools = [*Toolbox(bench, None).schemas(), *control_schemas(may_ask=may_ask_user(state, settings))]
    messages = step_messages(state, settings, bench, services.instructions(state.get("source")), services.today())
    try:
        step = services.roles.planner.ask(AnalystStep, messages, tools)
    except DatasphinxError:
        if not state["rejected"]:
            raise
        return state["rejected"]
    calls = [ToolCall(tool=each.tool, arguments=each.arguments, is_given=False) for each in (step, *step.further)]
    return {"pending": calls[1:], **_chosen_call(calls[0], state, services)}


def _bench(state: AnalystState, services: Services) -> Workbench:
    return workbench(state, services.registry, services.source, services.datasets)


def _chosen_call(call: ToolCall, state: AnalystState, services: Services) -> dict[str, Any]:
    if call["tool"] in CONTROLS:
        return _control_update(call, state, services)
    if not calls_left(state, services.settings):
        return _out_of_steps(state, services.settings)
    return {"call": call, "step_count": state["step_count"] + 1}


def _out_of_steps(state: AnalystState, settings: Settings) -> dict[str, Any]:
    error = BudgetExceeded(Message("limit_steps", count=settings.max_steps), "DATASPHINX_MAX_STEPS")
    return state["rejected"] or {"failure": failure_of(error)}


def _control_update(call: ToolCall, state: AnalystState, services: Services) -> dict[str, Any]:
    """Return the conclusion or the question to the user; report an invalid one to the model, which costs a step.

    A text with problems is reported once, which costs no step; at high effort, another call compares it with the rows.
    """
    settings = services.settings
    verifier = services.roles.text_writer if settings.effort == "high" else None
    try:
        update, problems = apply_control(call, state, settings, _bench(state, services), verifier)
    except Retryable as error:
        if not calls_left(state, settings):
            return _out_of_steps(state, settings)
        return {**rejected_update(call, error, state), "step_count": state["step_count"] + 1}
    except InvalidOutputType as error:
        if not may_correct_form(state["observations"]):
            return {"failure": failure_of(error)}
        return rejected_update(call, error, state)
    if problems and may_return_draft(state):
        return {**rejected_update(call, ToolCallInvalid(call["tool"], problems), state), "rejected": update}
    return update

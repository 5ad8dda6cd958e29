"""Node: plan the next step of an analysis."""

from typing import Any

from datasphinx.agent.analysis.analysis import Analysis, analysis_of
from datasphinx.agent.analysis.embedded import embedded_step
from datasphinx.agent.analysis.planning import (
    CONTROLS,
    apply_control,
    control_schemas,
    step_messages,
)
from datasphinx.agent.analysis.start import check_one_kind, start_with_files, start_with_source
from datasphinx.agent.analysis.workbench import observation_of, workbench
from datasphinx.agent.clarify.feedback import apply_user_input
from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.core.text import clean_question
from datasphinx.agent.errors import BudgetExceeded, DatasphinxError, InvalidOutputType, Retryable, ToolCallInvalid
from datasphinx.agent.llm.schemas import AnalystStep
from datasphinx.agent.messages import Message
from datasphinx.agent.routes import calls_left, clarify_of, may_correct_form, may_return_draft
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from datasphinx.agent.state import AnalystState, ToolCall
from datasphinx.agent.tools.toolbox import CallResult, Toolbox


def plan(state: AnalystState, services: Services) -> dict[str, Any]:
    """Return the next tool call: first those that follow from the files, then those that the model chooses.

    The calls of one reply are made in order. The model may also end the
    analysis or ask the user. Each tool call that it chooses is a step. A call beyond the limit of steps ends the
    question with the results so far.
    """
    settings = services.settings
    if not state["file_ids"] and not state["dataset_ids"]:
        update = _start(state, services)
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
    analysis, bench = analysis_of(state), workbench(state, services)
    if not services.roles.calls_tools:
        return embedded_step(analysis, bench, services.roles.planner, services.today())
    clarify, instructions = clarify_of(state, settings), services.instructions(state.get("source"))
    left = calls_left(state, settings)
    messages = step_messages(analysis, bench, instructions, services.today(), clarify=clarify, calls_left=left)
    tools = [*Toolbox(bench, None).schemas(), *control_schemas(may_ask=clarify != "never")]
    try:
        step = services.roles.planner.ask(AnalystStep, messages, tools)
    except DatasphinxError:
        if not state["rejected"]:
            raise
        return state["rejected"]
    calls = [ToolCall(tool=each.tool, arguments=each.arguments, is_given=False) for each in (step, *step.further)]
    return {"pending": calls[1:], **_chosen_call(calls[0], state, services)}


def _start(state: AnalystState, services: Services) -> dict[str, Any]:
    """Return the changes of the state for a question: as it is read, the data of the tools, and the first calls."""
    question, turns = clean_question(state.get("question")), state.get("turns")
    if turns and state.get("clarification_answer") is None:
        question = services.roles.follow_ups.read(question, turns).question
    name, files, datasets = state.get("source"), state.get("files") or (), state.get("datasets") or ()
    may_remark = bool(name or files or datasets) and not turns
    update = {"clarifications": [], **apply_user_input(state, may_remark=may_remark), "question": question}
    check_one_kind(name, bool(files or datasets))
    if name:
        asked = f"{turns[-1]['question']}\n{question}" if turns else question
        return {**update, **start_with_source(asked, services.source_with_tables(name))}
    any_path = services.any_source
    return {**update, **start_with_files(files, datasets, state.get("load"), services.registry, any_path=any_path)}


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
    settings, analysis, bench = services.settings, analysis_of(state), workbench(state, services)
    verifier = services.roles.text_writer if settings.effort == "high" else None
    may_ask = clarify_of(state, settings) != "never"
    try:
        update, problems = apply_control(call, analysis, bench, verifier, may_ask=may_ask)
    except Retryable as error:
        if not calls_left(state, settings):
            return _out_of_steps(state, settings)
        return {**_rejected(call, error, analysis), "step_count": state["step_count"] + 1}
    except InvalidOutputType as error:
        if not may_correct_form(state["observations"]):
            return {"failure": failure_of(error)}
        return _rejected(call, error, analysis)
    if problems and may_return_draft(state):
        return {**_rejected(call, ToolCallInvalid(call["tool"], problems), analysis), "rejected": update}
    return update


def _rejected(call: ToolCall, error: DatasphinxError, analysis: Analysis) -> dict[str, Any]:
    """Return the changes of the state after a rejected `finish` or `ask_user`: the model sees the error."""
    observation = observation_of(CallResult(call["tool"], {"asked": call["arguments"]}, None, error))
    return {"observations": [*analysis.observations, observation], "call": None}

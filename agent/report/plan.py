"""The questions of a report: planned by the model, or given by the user, who may be asked to approve a plan."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from datasphinx.agent.analysis.start import check_one_kind, start_with_files
from datasphinx.agent.answers.texts_without_rows import said_about, supported_reason
from datasphinx.agent.clarify.feedback import apply_user_input
from datasphinx.agent.conversation.inputs import inputs_of, previous_inputs
from datasphinx.agent.core.text import clean_question
from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.errors import InputInvalid
from datasphinx.agent.generation.prompt import question_messages
from datasphinx.agent.generation.question import question_of
from datasphinx.agent.knowledge.prompt import metrics_paragraph
from datasphinx.agent.linking import link_source, off_topic
from datasphinx.agent.messages import Message, language_in, render
from datasphinx.agent.record.step import current_step
from datasphinx.agent.report.fixed_plan import fixed_plan
from datasphinx.agent.report.schemas import ReportPlan, SubQuestion
from datasphinx.agent.services import Services
from datasphinx.agent.sources.source import Source
from datasphinx.agent.state import ReportInput, ReportState
from datasphinx.agent.types import ClarifyingQuestion, Option, PlannedQuestion

MAX_PLANNED = 8
APPROVAL = "plan"
"""The type of the clarifying question that shows a plan."""

_KEPT_INPUTS = ("source", "files", "datasets", "load", "clarify", "effort", "approve_plan")
"""Inputs that stay in effect until the report is written."""
_KEPT_STATE = ("plan", "parts", "clarification", "clarifications", "clarification_count")


def begin(state: ReportState, services: Services) -> dict[str, Any]:
    """Return the inputs of the run; the answer to a question of the report continues the report."""
    inputs = inputs_of(state, ReportInput.__annotations__)
    if "clarification_answer" not in inputs:
        return {**inputs, "clarification": None}
    asked = state.get("clarification")
    question = asked.get("about") if isinstance(asked, dict) else None
    carried = {name: state[name] for name in _KEPT_STATE if state.get(name)}  # type: ignore[literal-required]
    kept = previous_inputs(state, _KEPT_INPUTS)
    return {**kept, **inputs, **carried, "question": question or inputs.get("question")}


def plan(state: ReportState, services: Services) -> dict[str, Any]:
    """Return the questions of the report; with `approve_plan`, a question to the user that shows them.

    The plan is that of the user, that of the thread if the user has approved it or has answered another question, or
    one that the model writes.
    """
    asked = state.get("clarification")
    update = {
        "question": clean_question(state.get("question")),
        **_data(state, services),
        **apply_user_input(state, may_remark=False),
    }
    state = cast(ReportState, {**state, **update})
    given = _given(state.get("questions"))
    if given or (asked and state["plan"] and (asked["ambiguity_type"] != APPROVAL or _is_approved(state))):
        return {**update, "plan": given or state["plan"]}
    update |= _written(state, services)
    if state.get("approve_plan"):
        update["clarification"] = _approval(cast(ReportState, {**state, **update}))
    return update


def source_of(state: ReportState, services: Services) -> Source:
    """Return the source, or the datasets, that the report is about.

    Raises:
        DatasphinxError: errors of `Services.source_with_tables` and `Services.datasets`.
    """
    if state["dataset_ids"]:
        return services.datasets(state["dataset_ids"])
    return services.source_with_tables(state.get("source"), state["question"])


def numbered(questions: Sequence[tuple[str, str]], after: int = 0) -> list[PlannedQuestion]:
    """Return questions, each with its purpose, with ids that follow that of number `after`."""
    return [
        PlannedQuestion(id=f"q{number}", question=question, purpose=purpose)
        for number, (question, purpose) in enumerate(questions, after + 1)
    ]


def planned_questions(questions: Sequence[SubQuestion], after: int = 0) -> list[PlannedQuestion]:
    """Return questions of the model with ids that follow that of number `after`."""
    planned = numbered([(each.question.strip(), each.purpose.strip()) for each in questions], after)
    return [
        {**each, "change": asked.change.planned()} if asked.change else each
        for each, asked in zip(planned, questions, strict=True)
    ]


def _data(state: ReportState, services: Services) -> dict[str, Any]:
    """Return the datasets of the report, whose files are loaded once, or the source; one is chosen if none is named."""
    if state.get("files") or state.get("datasets"):
        check_one_kind(state.get("source"), has_files=True)
        load, registry, any_path = state.get("load"), services.registry, services.any_source
        begun = start_with_files(
            state.get("files") or (), state.get("datasets") or (), load, registry, any_path=any_path
        )
        options = LoadOptions.model_validate(load or {})
        step = current_step.get()
        created = [
            registry.create(file_id, options, cancellation=step.cancellation if step else None).dataset_id
            for file_id in begun["file_ids"]
        ]
        return {"dataset_ids": list(dict.fromkeys([*begun["dataset_ids"], *created]))}
    name = state.get("source") or link_source(str(state["question"]), services.choices, services.source).name
    # Clients may read the state, so the configured URL, with its password or path, is not kept in it.
    is_configured_url = name == services.settings.source and "://" in name
    return {"given": {**state["given"], "source": None if is_configured_url else name}}


def _given(questions: Any) -> list[PlannedQuestion]:
    """Return the plan that the user gives, if any.

    Raises:
        InputInvalid: it is no list of at most eight texts.
    """
    if questions is None:
        return []
    if not isinstance(questions, list) or not 0 < len(questions) <= MAX_PLANNED:
        raise InputInvalid("questions", Message("not_questions", limit=MAX_PLANNED))
    return numbered([(clean_question(question), "") for question in questions])


def _is_approved(state: ReportState) -> bool:
    """Return whether the user has chosen the option to go on; any other answer is a remark on the plan."""
    last = state["clarifications"][-1]
    return last["answer"] in last.get("options", ())


def _approval(state: ReportState) -> ClarifyingQuestion:
    language = language_in(state)
    lines = [f"{number}. {each['question']}" for number, each in enumerate(state["plan"], 1)]
    label = render("plan_start", language)
    return ClarifyingQuestion(
        question="\n".join([render("plan_shown", language), *lines]),
        ambiguity_type=APPROVAL,
        options=[Option(label=label, reading=label, preview=None)],
        about=state["question"] or "",
        language=language,
        earlier=state["clarifications"],
        rejected_sql=[],
    )


def _written(state: ReportState, services: Services) -> dict[str, Any]:
    """Return the plan that the model writes, and the language of the report; a fixed plan if it cannot write one.

    Raises:
        Unanswered: the data cannot answer the request.
        DatasphinxError: errors of the model and of `source_of`.
    """
    source = source_of(state, services)
    if not services.roles.planner.can_answer(ReportPlan):
        files = {name: services.registry.dataset(name).name.partition(".")[0] for name in state["dataset_ids"]}
        return {"plan": numbered(fixed_plan(state["question"] or "", source, language_in(state), files))}
    linked = services.roles.linker.link_tables(state["question"] or "", source, 1)
    if not linked.keys:
        raise off_topic(linked.reason, source)
    tables = {key: list(source.shown_catalog.tables[key].column_names) for key in linked.keys}
    asked = replace(question_of(state), columns=tables, table_list_tokens=linked.list_tokens)
    context = metrics_paragraph(source.knowledge, tables)
    today = services.today_of(source)
    messages = question_messages("plan_report", asked, source, today, context=context)
    planned = services.roles.planner.ask(ReportPlan, messages)
    questions = [each for each in planned.questions if each.question.strip()]
    if not questions:
        raise off_topic(supported_reason(planned.reason, said_about(asked)), source)
    language = {"language": planned.language} if planned.language else {}
    return {"plan": planned_questions(questions[:MAX_PLANNED]), **language}

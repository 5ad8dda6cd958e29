"""The questions of a report: planned by the model, or given by the user, who may be asked to approve a plan."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from datasphinx.agent.analysis.start import check_one_kind, start_with_files
from datasphinx.agent.answers.texts_without_rows import said_about, supported_reason
from datasphinx.agent.clarify.feedback import apply_user_input
from datasphinx.agent.conversation.inputs import asked_about, inputs_of, previous_inputs
from datasphinx.agent.core.text import clean_question
from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.errors import InputInvalid
from datasphinx.agent.generation.prompt import question_messages
from datasphinx.agent.generation.question import Question, question_of
from datasphinx.agent.knowledge.prompt import metrics_paragraph
from datasphinx.agent.linking import link_source, off_topic
from datasphinx.agent.messages import Language, Message, language_in, render
from datasphinx.agent.record.step import current_step
from datasphinx.agent.report.fixed_plan import fixed_plan
from datasphinx.agent.report.schemas import ReportPlan, SubQuestion
from datasphinx.agent.services import Services
from datasphinx.agent.sources.source import Source
from datasphinx.agent.state import ReportInput, ReportState
from datasphinx.agent.types import Clarification, ClarifyingQuestion, Option, PlannedQuestion

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
    carried = {name: state[name] for name in _KEPT_STATE if state.get(name)}  # type: ignore[literal-required]
    kept = previous_inputs(state, _KEPT_INPUTS)
    return {**kept, **inputs, **carried, "question": asked_about(state) or inputs.get("question")}


def plan(state: ReportState, services: Services) -> dict[str, Any]:
    """Return the questions of the report; with `approve_plan`, a question to the user that shows them.

    The plan is that of the user, that of the thread if the user has approved it or has answered another question, or
    one that the model writes.
    """
    asked, question = state.get("clarification"), clean_question(state.get("question"))
    files, datasets, name = state.get("files") or (), state.get("datasets") or (), state.get("source")
    update: dict[str, Any] = {"question": question}
    if files or datasets:
        check_one_kind(name, has_files=True)
        update["dataset_ids"] = _loaded(files, datasets, state.get("load"), services)
    else:
        name = name or link_source(question, services.choices, services.source).name
        # Clients may read the state, so the configured URL, with its password or path, is not kept in it.
        is_configured_url = name == services.settings.source and "://" in name
        update["given"] = {**state["given"], "source": None if is_configured_url else name}
    update |= apply_user_input(state, may_remark=False)
    state = cast(ReportState, {**state, "source": name, **update})
    given = _given(state.get("questions"))
    if given or (
        asked and state["plan"] and (asked["ambiguity_type"] != APPROVAL or _is_approved(state["clarifications"]))
    ):
        return {**update, "plan": given or state["plan"]}
    update |= _written(question_of(state), source_of(state, services), state["dataset_ids"], services)
    if state.get("approve_plan"):
        language = language_in({**state, **update})
        update["clarification"] = _approval(question, update["plan"], state["clarifications"], language)
    return update


def source_of(state: ReportState, services: Services) -> Source:
    """Return the source, or the datasets, that the report is about."""
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


def _loaded(
    files: Sequence[str], datasets: Sequence[str], load: dict[str, Any] | None, services: Services
) -> list[str]:
    """Return the ids of the datasets of the report, whose files are loaded once."""
    registry, step = services.registry, current_step.get()
    begun = start_with_files(files, datasets, load, registry, any_path=services.any_source)
    options, cancellation = LoadOptions.model_validate(load or {}), step.cancellation if step else None
    created = [registry.create(name, options, cancellation=cancellation).dataset_id for name in begun["file_ids"]]
    return list(dict.fromkeys([*begun["dataset_ids"], *created]))


def _given(questions: Any) -> list[PlannedQuestion]:
    """Return the plan that the user gives, if any. Raise InputInvalid if it is no list of at most eight texts."""
    if questions is None:
        return []
    if not isinstance(questions, list) or not 0 < len(questions) <= MAX_PLANNED:
        raise InputInvalid("questions", Message("not_questions", limit=MAX_PLANNED))
    return numbered([(clean_question(question), "") for question in questions])


def _is_approved(clarifications: Sequence[Clarification]) -> bool:
    """Return whether the user has chosen the option to go on; any other answer is a remark on the plan."""
    last = clarifications[-1]
    return last["answer"] in last.get("options", ())


def _approval(
    question: str, planned: Sequence[PlannedQuestion], earlier: list[Clarification], language: Language
) -> ClarifyingQuestion:
    lines = [f"{number}. {each['question']}" for number, each in enumerate(planned, 1)]
    label = render("plan_start", language)
    return ClarifyingQuestion(
        question="\n".join([render("plan_shown", language), *lines]),
        ambiguity_type=APPROVAL,
        options=[Option(label=label, reading=label, preview=None)],
        about=question,
        language=language,
        earlier=earlier,
        rejected_sql=[],
    )


def _written(question: Question, source: Source, dataset_ids: Sequence[str], services: Services) -> dict[str, Any]:
    """Return the plan that the model writes, and the language of the report; a fixed plan if it cannot write one.

    Raises:
        Unanswered: the data cannot answer the request.
        DatasphinxError: errors of the model.
    """
    if not services.roles.planner.can_answer(ReportPlan):
        files = {name: services.registry.dataset(name).name.partition(".")[0] for name in dataset_ids}
        return {"plan": numbered(fixed_plan(question.text, source, question.language, files))}
    linked = services.roles.linker.link_tables(question.text, source, 1)
    if not linked.keys:
        raise off_topic(linked.reason, source)
    tables = source.shown_catalog.selection(linked.keys)
    asked = replace(question, columns=tables, table_list_tokens=linked.list_tokens)
    context = metrics_paragraph(source.knowledge, tables)
    messages = question_messages("plan_report", asked, source, services.today_of(source), context=context)
    planned = services.roles.planner.ask(ReportPlan, messages)
    questions = [each for each in planned.questions if each.question.strip()]
    if not questions:
        raise off_topic(supported_reason(planned.reason, said_about(asked)), source)
    language = {"language": planned.language} if planned.language else {}
    return {"plan": planned_questions(questions[:MAX_PLANNED]), **language}

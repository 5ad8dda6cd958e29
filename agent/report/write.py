"""The review of the answers of a report, and its texts."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage

from datasphinx import prompts
from datasphinx.agent.answers.answer import Answer
from datasphinx.agent.answers.narration import correction, unverified
from datasphinx.agent.answers.outputs import question_text
from datasphinx.agent.answers.references import Filled
from datasphinx.agent.core.failure import error_info, full_text
from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.generation.prompt import today_text
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.messages import CONVENTIONS, language_in, render
from datasphinx.agent.record.step import note
from datasphinx.agent.report.markdown import markdown_of, markdown_without_secrets
from datasphinx.agent.report.parts import FURTHER
from datasphinx.agent.report.plan import planned_questions, source_of
from datasphinx.agent.report.schemas import ReportReview, WrittenReport
from datasphinx.agent.report.texts import Findings, findings_of, plain_text, report_text
from datasphinx.agent.routes import MAX_TEXTS
from datasphinx.agent.services import Services
from datasphinx.agent.state import ReportState
from datasphinx.agent.types import Report, ReportPart, ReportSection, ReportText

_MAX_ADDED = 3


def review(state: ReportState, services: Services) -> dict[str, Any]:
    """Return the plan with up to three further questions; a question may refer to values of the answers.

    Without a model that can review, or if its call fails, the report is written from the answers that there are.
    """
    update = {"review_count": state["review_count"] + 1}
    model, answered = services.roles.text_writer, any(part["result"] for part in state["parts"].values())
    if model is None or not answered:
        return update
    try:
        source, findings = source_of(state, services), findings_of(state, services)
        today = today_text(services.today_of(source), source)
        reviewed = model.ask(ReportReview, _messages("review_report", findings, today=today))
    except DatasphinxError as error:
        note(f"the answers were not reviewed: {error}")
        return update
    asked = {part["question"] for part in state["parts"].values()}
    added = []
    for each in reviewed.questions[:_MAX_ADDED]:
        filled = findings.fill(each.question)
        if filled.problems:
            note(f"question refused: {'; '.join(filled.problems)}")
        elif filled.text and filled.text not in asked:
            # The model has seen rows, whose values a purpose cannot refer to.
            purpose = "" if findings.title_problems(each.purpose) else each.purpose
            added.append(each.model_copy(update={"question": filled.text, "purpose": purpose}))
    return {**update, "plan": [*state["plan"], *planned_questions(added, len(state["plan"]))]}


def write(state: ReportState, services: Services) -> dict[str, Any]:
    """Return the report, which then has the parts, with its text and charts; it is plain if no model can write one.

    It is an error if no question was answered; the report then has the error of each. After a failure, it is the plain
    report of the questions that were asked before, if any.
    """
    language, clarification, parts = language_in(state), state.get("clarification"), list(state["parts"].values())
    report = _plain_report(state["question"], parts)
    if failure := state.get("failure"):
        failed = Answer(full_text(failure, language), language, status="error", error=error_info(failure, language))
        return {**failed.output(), "failure": failure, "report": report if parts else None, "parts": {}}
    if clarification:
        asked = Answer(question_text(clarification), language, status="clarification", clarification=clarification)
        return {**asked.output(), "report": None}
    model, answered = services.roles.text_writer, [part for part in parts if part["result"]]
    if model and answered:
        verifies = (state.get("effort") or services.settings.effort) == "high"
        opened = partial(findings_of, state, services)
        report = _written(model, opened, verifies=verifies) or report
    if model is None and not state.get("questions"):
        report["limits"].insert(0, plain_text(render("report_fixed", language)))
    text = markdown_of(report, language)
    error = None if answered else next((part["error"] for part in parts if part["error"]), None)
    answer = Answer(
        text,
        language,
        logged_answer=markdown_without_secrets(report, language),
        output_type=None if error else "string",
        value=None if error else text,
        charts=[part["chart"] for part in answered if part["chart"]],
        status="error" if error else "ok",
        error=error,
    )
    return {**answer.output(), "report": report, "parts": {}}


def _plain_report(question: str | None, parts: list[ReportPart]) -> Report:
    """Return the report whose sections are the questions with the texts of their answers."""
    return Report(
        title=question or "",
        summary=plain_text(""),
        sections=[_plain_section(part, parts) for part in parts if part["id"] == part["id"].rstrip(FURTHER)],
        parts=parts,
        limits=_remarks(parts),
    )


def _plain_section(part: ReportPart, parts: list[ReportPart]) -> ReportSection:
    """Return the section of a question with the text of its answer and all its tables."""
    tables = [each["id"] for each in parts if each["id"].rstrip(FURTHER) == part["id"]]
    return ReportSection(title=part["question"], text=plain_text(part["answer"]), parts=tables)


def _remarks(parts: list[ReportPart]) -> list[ReportText]:
    return [plain_text(f"{part['id']}: {remark}") for part in parts for remark in part["remarks"]]


def _messages(name: str, findings: Findings, **variables: str) -> list[Any]:
    return prompts.render(
        name,
        instructions=findings.instructions,
        language=CONVENTIONS[findings.facts.language].name,
        question=findings.said.question,
        answers=findings.prompt(),
        **variables,
    )


@dataclass(frozen=True)
class _Draft:
    """The texts of a report of a model: by their place in it, filled or with the reasons against them."""

    written: WrittenReport
    texts: Mapping[str, Filled]

    @property
    def problems(self) -> list[str]:
        """The reasons against its texts, each with its place."""
        return [f"{place}: {problem}" for place, filled in self.texts.items() for problem in filled.problems]


def _written(model: ModelClient, open_findings: Callable[[], Findings], *, verifies: bool) -> Report | None:
    """Return the report that the model writes; None if its call, or `open_findings`, fails.

    Texts with problems are written once more. Those that still have some are replaced by plain ones.
    """
    draft = None
    try:
        findings = open_findings()
        messages = _messages("write_report", findings)
        for _ in range(MAX_TEXTS):
            draft = _draft(model, messages, findings, verifies)
            if not draft.problems:
                break
            note(f"texts refused: {'; '.join(draft.problems)}")
            messages = [*messages, AIMessage(draft.written.model_dump_json()), correction(draft.problems)]
    except DatasphinxError as error:
        note(f"the report was not written by the model: {error}")
    return _report(draft, findings) if draft else None


def _draft(model: ModelClient, messages: list[Any], findings: Findings, verifies: bool) -> _Draft:
    """Return the report that `model` writes, its texts filled; with `verifies`, another call checks their claims."""
    written = model.ask(WrittenReport, messages)
    named = list(findings.parts)
    texts = {"title": _title(written.title, findings), "summary": findings.fill(written.summary, named)}
    for at, section in enumerate(written.sections):
        texts[f"title of section {at + 1}"] = _title(section.title, findings)
        texts[f"section {at + 1}"] = findings.fill(section.text, section.questions)
    texts |= {f"limit {at + 1}": findings.fill(limit) for at, limit in enumerate(written.limits)}
    if verifies:
        texts = {place: _verified(filled, findings, model) for place, filled in texts.items()}
    return _Draft(written, texts)


def _verified(filled: Filled, findings: Findings, model: ModelClient) -> Filled:
    """Return `filled` with the claims that `model` does not find in the rows as its problems."""
    if not filled.values:
        return filled
    return replace(filled, problems=unverified(filled, findings.facts, model, findings.said.question))


def _title(text: str, findings: Findings) -> Filled:
    problems = findings.title_problems(text)
    return Filled("" if problems else text.strip(), problems)


def _report(draft: _Draft, findings: Findings) -> Report:
    """Return the report of `draft`; sections for questions without an answer are at its end."""
    parts, texts = list(findings.parts.values()), draft.texts
    failed = [_plain_section(part, parts) for part in parts if not part["result"]]
    limits = [texts[f"limit {at + 1}"] for at in range(len(draft.written.limits))]
    return Report(
        title=_shown(texts["title"]).text or findings.said.question,
        summary=report_text(_shown(texts["summary"])),
        sections=[*_sections(draft, findings), *failed],
        parts=parts,
        limits=[*(report_text(each) for each in map(_shown, limits) if each.text), *_remarks(parts)],
    )


def _shown(filled: Filled) -> Filled:
    return Filled("") if filled.problems else filled


def _sections(draft: _Draft, findings: Findings) -> Iterator[ReportSection]:
    for at, section in enumerate(draft.written.sections):
        ids = [name for name in dict.fromkeys(section.questions) if name in findings.facts.others]
        parts = [findings.parts[name] for name in ids]
        title, text = _shown(draft.texts[f"title of section {at + 1}"]).text, _shown(draft.texts[f"section {at + 1}"])
        plain = plain_text("\n\n".join(part["answer"] for part in parts))
        if text.text or parts:
            yield ReportSection(
                title=title or (parts[0]["question"] if parts else ""),
                text=report_text(text) if text.text else plain,
                parts=ids,
            )

"""Summarize, review, ask: one call of the model that finds what is ambiguous, and whether the user has to be asked.

The method is Sphinteract's (Zhao et al., VLDB 2025), and one step beyond it: nobody is asked where the readings do not
differ in result.
"""

import re
from collections.abc import Iterable
from datetime import date

from langchain_core.messages import BaseMessage

import prompts
from agent.audit.step import note
from agent.catalog.describe import describe, one_line
from agent.catalog.source import Source
from agent.clarify.embedded import review_of_evidence
from agent.clarify.readings import Reading, distinct_readings
from agent.clarify.types import Ambiguity, Clarification, ClarifyingQuestion
from agent.errors import ModelAnswerUnreadable
from agent.models.schemas import AmbiguityReview, ReadingOption
from agent.services import Services
from agent.state import State

_MOST_OPTIONS = 3
_LONGEST_LABEL, _LONGEST_READING, _LONGEST_QUESTION = 120, 300, 500
_SQL = re.compile(r"\bselect\b.+\bfrom\b|\b(?:inner|left) join\b|\bgroup by\b.+[,;)]|```|\bwhere\b.+[=<>]", re.I | re.S)


def review(
    state: State, said: list[Clarification], rejected: list[str], found: list[Ambiguity], services: Services
) -> tuple[ClarifyingQuestion, list[Reading]] | None:
    """Return the question that the user has to be asked, and its readings; None where it need not be asked.

    `said` is what the user has said, `rejected` are statements whose answer was rejected, `found` is the evidence.

    Raises:
        ModelUnreachable, ModelRejected, BudgetExceeded: as `ModelClient.ask` says.
        SourceUnreachable, PermissionDenied: as `Source.execute` says.
    """
    source = services.source(state.get("source"))
    try:
        if services.model.embedded:
            settled = {known.get("ambiguity_type", "") for known in said}
            answer = review_of_evidence(state, found, settled, services.model.embedded, services)
        else:
            answer = services.model.ask(
                AmbiguityReview, _messages(state, said, rejected, found, source, services.today())
            )
    except ModelAnswerUnreadable as error:
        note(f"nobody was asked: {error}")
        return None
    problem = _problem(answer, said)
    if problem:
        note(f"nobody was asked: {problem}")
        return None
    readings = distinct_readings(_options(answer), source, rejected)
    if len(readings) < 2:
        note("nobody was asked: the readings do not differ in result")
        return None
    asked = ClarifyingQuestion(
        question=one_line(answer.question or "", _LONGEST_QUESTION),
        ambiguity_type=answer.ambiguity_type or "AmbQuestion",
        options=[reading.option for reading in readings],
        about=state["question"],
        earlier=said,
        rejected_sql=rejected,
    )
    return asked, readings


def _options(answer: AmbiguityReview) -> list[ReadingOption]:
    """Return the first options whose labels differ, cut to a length; a reading in SQL is left to its label."""
    by_label: dict[str, ReadingOption] = {}
    for option in answer.options:
        label, reading = one_line(option.label, _LONGEST_LABEL), one_line(option.reading, _LONGEST_READING)
        if label:
            said = reading if reading and not _SQL.search(reading) else label
            by_label.setdefault(label.casefold(), option.model_copy(update={"label": label, "reading": said}))
    return list(by_label.values())[:_MOST_OPTIONS]


def _problem(answer: AmbiguityReview, said: Iterable[Clarification]) -> str | None:
    """Return why the answer asks nothing that a user can be asked; None where it does."""
    if answer.no_ambiguity:
        return "no ambiguity"
    options = _options(answer)
    if not (answer.question or "").strip() or len(options) < 2:
        return "the review names no two readings"
    if any(_SQL.search(text) for text in (answer.question or "", *(option.label for option in options))):
        return "the review asks in SQL"
    labels = {option.label.casefold() for option in options}
    for known in said:
        same_options = labels and labels == {label.casefold() for label in known.get("options", ())}
        if same_options or known["question"].casefold() == (answer.question or "").casefold():
            return "it was asked before"
    return None


def _messages(
    state: State,
    said: list[Clarification],
    rejected: list[str],
    found: list[Ambiguity],
    source: Source,
    today: date,
) -> list[BaseMessage]:
    parts = [f"The user was asked: {known['question']}\nand said: {known['answer']}" for known in said]
    parts += [f"The user rejected the answer of: {sql}" for sql in rejected]
    parts += [f"It may be open what {each['phrase']!r} means: {'; '.join(each['candidates'])}" for each in found]
    return prompts.render(
        "review_ambiguity",
        dialect=source.catalog.dialect,
        today=today.isoformat(),
        schema=describe(source.catalog, state["relevant_tables_with_rel_columns"], source.database.quote),
        question=state["question"],
        context="\n".join(parts),
    )

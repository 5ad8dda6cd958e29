"""Summarize, review, ask: one call of the model that finds what is ambiguous, and whether the user has to be asked.

The method is Sphinteract's (Zhao et al., VLDB 2025), and one step beyond it: nobody is asked where the readings do not
differ in result.
"""

from datetime import date

from langchain_core.messages import BaseMessage

import prompts
from agent.audit.step import note
from agent.catalog.describe import describe, one_line
from agent.catalog.source import Source
from agent.clarify.askable import is_sql, why_not_asked
from agent.clarify.embedded import review_of_evidence
from agent.clarify.readings import Reading, distinct_readings
from agent.clarify.types import Ambiguity, Clarification, ClarifyingQuestion
from agent.errors import ModelAnswerUnreadable
from agent.models.schemas import AmbiguityReview, ReadingOption
from agent.services import Services
from agent.state import State

_MOST_OPTIONS = 3
_LONGEST_LABEL, _LONGEST_READING, _LONGEST_QUESTION = 120, 300, 500


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
    text, options = one_line(answer.question or "", _LONGEST_QUESTION), _options(answer)
    labels = [option.label for option in options]
    problem = "no ambiguity" if answer.no_ambiguity else why_not_asked(text, labels, said)
    if problem:
        note(f"nobody was asked: {problem}")
        return None
    readings = distinct_readings(options, source, rejected)
    if len(readings) < 2:
        note("nobody was asked: the readings do not differ in result")
        return None
    asked = ClarifyingQuestion(
        question=text,
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
            said = reading if reading and not is_sql(reading) else label
            by_label.setdefault(label.casefold(), option.model_copy(update={"label": label, "reading": said}))
    return list(by_label.values())[:_MOST_OPTIONS]


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

"""What the embedded model can say of an ambiguity: it writes the statement of each reading that the evidence names."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from agent.clarify.types import Ambiguity
from agent.embedded_statement import write_statement
from agent.errors import ModelAnswerUnreadable
from agent.messages import language_of, render
from agent.models.embedded import EmbeddedOptions
from agent.models.schemas import AmbiguityReview, ReadingOption
from agent.services import Services
from agent.state import State

_MOST_OPTIONS = 3


def review_of_evidence(
    state: State, found: Sequence[Ambiguity], settled: set[str], options: EmbeddedOptions, services: Services
) -> AmbiguityReview:
    """Return the review that `found` makes: of the first value or column that is open, each candidate is a reading.

    A reading is the question with the candidate in place of the words that are open, and the model is asked for its
    statement, once. Other ambiguities, and those of a type that is `settled`, are left to the likeliest reading.

    Raises:
        ModelUnreachable, ModelRejected, BudgetExceeded: as `ModelClient.write` says.
    """
    once = replace(options, candidates=1)
    for each in found:
        if each["type"] in ("AmbValue", "AmbTableColumn") and each["type"] not in settled:
            candidates = each["candidates"][:_MOST_OPTIONS]
            readings = [_reading(candidate, each["phrase"], state, once, services) for candidate in candidates]
            return AmbiguityReview(
                summary="",
                no_ambiguity=False,
                ambiguity_type=each["type"],
                question=render("what_is_meant", language_of(state["question"]), phrase=each["phrase"]),
                options=[reading for reading in readings if reading],
            )
    return AmbiguityReview(summary="", no_ambiguity=True)


def _reading(
    candidate: str, phrase: str, state: State, options: EmbeddedOptions, services: Services
) -> ReadingOption | None:
    place, _, value = candidate.partition(" = ")
    table, _, column = place.rpartition(".")
    said = value.strip("'\"") or column.replace("_", " ")
    question = _with(said, phrase, state["question"])
    asked = cast(State, {**state, "question": question, "clarifications": []})
    source = services.source(state.get("source"))
    try:
        written = write_statement(asked, source, services.model, options, services.today())
    except ModelAnswerUnreadable:
        return None
    label = f"{said} ({place if value else table})"
    return ReadingOption(label=label, reading=question, sql=written.sql) if written.sql else None


def _with(said: str, phrase: str, question: str) -> str:
    """Return `question` with `said` in place of `phrase`: where that stands as a word, if it does."""
    as_word = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", question)
    at = as_word.start() if as_word else question.find(phrase)
    return question if at < 0 else f"{question[:at]}{said}{question[at + len(phrase) :]}"

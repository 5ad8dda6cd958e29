"""Ambiguity review with the embedded model, which writes a statement for each reading of a detected ambiguity."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from agent.embedded.sql_writer import write_statement
from agent.errors import ModelAnswerUnreadable
from agent.llm.schemas import AmbiguityReview, ReadingOption
from agent.messages import language_of, render
from agent.services import Services
from agent.state import State
from agent.types import Ambiguity, EmbeddedOptions

_MAX_OPTIONS = 3


def review_with_embedded(
    state: State,
    ambiguities: Sequence[Ambiguity],
    settled_types: set[str],
    options: EmbeddedOptions,
    services: Services,
) -> AmbiguityReview:
    """Return a review of the first ambiguous value or column whose type is not in `settled_types`.

    Each of its first three candidates is a reading: the question with the candidate in place of the ambiguous phrase,
    for which the model writes one statement. Other types are never asked about: the model's default reading applies.

    Raises:
        ModelUnreachable, ModelRejected, BudgetExceeded: see `ModelClient.write`.
    """
    single = replace(options, candidates=1)
    for ambiguity in ambiguities:
        if ambiguity["type"] in ("AmbValue", "AmbTableColumn") and ambiguity["type"] not in settled_types:
            candidates = ambiguity["candidates"][:_MAX_OPTIONS]
            readings = [_reading(candidate, ambiguity["phrase"], state, single, services) for candidate in candidates]
            return AmbiguityReview(
                summary="",
                no_ambiguity=False,
                ambiguity_type=ambiguity["type"],
                question=render("what_is_meant", language_of(state["question"]), phrase=ambiguity["phrase"]),
                options=[reading for reading in readings if reading],
            )
    return AmbiguityReview(summary="", no_ambiguity=True)


def _reading(
    candidate: str, phrase: str, state: State, options: EmbeddedOptions, services: Services
) -> ReadingOption | None:
    """Return the reading for `candidate`, "table.column" or "table.column = 'value'"; None without a statement."""
    column_key, _, value = candidate.partition(" = ")
    table, _, column = column_key.rpartition(".")
    name = value.strip("'\"") or column.replace("_", " ")
    # Replace the phrase as a word if the question has it as one.
    as_word = rf"(?<!\w){re.escape(phrase)}(?!\w)"
    pattern = as_word if re.search(as_word, state["question"]) else re.escape(phrase)
    question = re.sub(pattern, lambda _: name, state["question"], count=1)
    reading_state = cast(State, {**state, "question": question, "clarifications": []})
    source = services.source(state.get("source"))
    try:
        written = write_statement(reading_state, source, services.model, options, services.today())
    except ModelAnswerUnreadable:
        return None
    label = f"{name} ({column_key if value else table})"
    return ReadingOption(label=label, reading=question, sql=written.sql) if written.sql else None

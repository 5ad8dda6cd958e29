"""Ambiguity review with the embedded model, which writes a statement for each reading of a detected ambiguity."""

import re
from dataclasses import dataclass, replace
from datetime import date
from typing import cast

from datasphinx.agent.embedded.ambiguities import find_ambiguities
from datasphinx.agent.embedded.sql_writer import write_statement
from datasphinx.agent.errors import ModelAnswerUnreadable
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import AmbiguityReview, AmbiguityType, ReadingOption
from datasphinx.agent.messages import language_in, render
from datasphinx.agent.schema.words import readable
from datasphinx.agent.sources.source import Source
from datasphinx.agent.state import State
from datasphinx.agent.types import EmbeddedOptions

_MAX_OPTIONS = 3


@dataclass(frozen=True)
class EmbeddedAmbiguityReviewer:
    """Reviews ambiguities with the embedded model, which can only write statements."""

    model: ModelClient
    options: EmbeddedOptions

    def review(self, state: State, source: Source, today: date) -> AmbiguityReview:
        """Return a review of the first ambiguous value or column of a type that was not settled.

        Each of its first three candidates is a reading: the question with the candidate in place of the ambiguous
        phrase, for which the model writes one statement. See
        `datasphinx.agent.clarify.review.AmbiguityReviewer.review`.
        """
        settled = {clarification.get("ambiguity_type", "") for clarification in state.get("clarifications") or ()}
        found = find_ambiguities(state["question"], source, state["relevant_tables_with_rel_columns"])
        for ambiguity in found:
            if ambiguity.type not in settled:
                readings = [
                    self._reading(candidate, ambiguity.phrase, state, source, today)
                    for candidate in ambiguity.candidates[:_MAX_OPTIONS]
                ]
                return AmbiguityReview(
                    summary="",
                    no_ambiguity=False,
                    ambiguity_type=cast(AmbiguityType, ambiguity.type),
                    question=render("shared_word", language_in(state), phrase=ambiguity.phrase),
                    options=[reading for reading in readings if reading],
                )
        return AmbiguityReview(summary="", no_ambiguity=True)

    def _reading(self, candidate: str, phrase: str, state: State, source: Source, today: date) -> ReadingOption | None:
        """Return the reading for `candidate`, "table.column" or "table.column = 'value'"; None without a statement."""
        column_key, _, value = candidate.partition(" = ")
        table, _, column = column_key.rpartition(".")
        name = value.strip("'\"") or readable(column)
        # Replace the phrase as a word if the question has it as one.
        as_word = rf"(?<!\w){re.escape(phrase)}(?!\w)"
        pattern = as_word if re.search(as_word, state["question"]) else re.escape(phrase)
        question = re.sub(pattern, lambda _: name, state["question"], count=1)
        reading_state = cast(State, {**state, "question": question, "clarifications": []})
        try:
            options = replace(self.options, candidates=1)
            written = write_statement(reading_state, source, self.model, options, today)
        except ModelAnswerUnreadable:
            return None
        statement = written.candidate
        place = readable(table)
        label = f"{name} ({place}: {readable(column)})" if value else f"{name} ({place})"
        return ReadingOption(label=label, reading=question, sql=statement.sql) if statement.sql else None

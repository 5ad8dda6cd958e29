"""Ambiguity review with the embedded model, which writes a statement for each stored value that may be meant."""

import re
from dataclasses import dataclass, replace
from datetime import date
from typing import cast

from datasphinx.agent.embedded.ambiguities import first_ambiguity
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
_TYPE: AmbiguityType = "AmbValue"


@dataclass(frozen=True)
class EmbeddedAmbiguityReviewer:
    """Reviews ambiguities with the embedded model, which can only write statements."""

    model: ModelClient
    options: EmbeddedOptions

    def review(self, state: State, source: Source, today: date) -> AmbiguityReview:
        """Return a review of the first ambiguous value, unless one was settled.

        Each of its first three candidates is a reading: the question with the candidate in place of the ambiguous
        phrase, for which the model writes one statement. See
        `datasphinx.agent.clarify.review.AmbiguityReviewer.review`.
        """
        settled = [clarification.get("ambiguity_type", "") for clarification in state.get("clarifications") or ()]
        selection = state["relevant_tables_with_rel_columns"]
        found = None if _TYPE in settled else first_ambiguity(state["question"], source, selection)
        if found is None:
            return AmbiguityReview(summary="", no_ambiguity=True)
        readings = [self._reading(each, found.phrase, state, source, today) for each in found.candidates[:_MAX_OPTIONS]]
        return AmbiguityReview(
            summary="",
            no_ambiguity=False,
            ambiguity_type=_TYPE,
            question=render("shared_word", language_in(state), phrase=found.phrase),
            options=[reading for reading in readings if reading],
        )

    def _reading(self, candidate: str, phrase: str, state: State, source: Source, today: date) -> ReadingOption | None:
        """Return the reading for `candidate`, "table.column = 'value'"; None without a statement."""
        column_key, _, value = candidate.partition(" = ")
        table, _, column = column_key.rpartition(".")
        name = value.strip("'\"")
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
        label = f"{name} ({place}: {readable(column)})"
        return ReadingOption(label=label, reading=question, sql=statement.sql) if statement.sql else None

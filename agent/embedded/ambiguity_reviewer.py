"""Ambiguity review with the embedded model, which writes a statement for each stored value that may be meant."""

import re
from dataclasses import dataclass, replace
from datetime import date

from datasphinx.agent.embedded.ambiguities import first_ambiguity
from datasphinx.agent.embedded.sql_writer import write_statement
from datasphinx.agent.errors import ModelAnswerUnreadable
from datasphinx.agent.generation.question import Question
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import AmbiguityReview, AmbiguityType, ReadingOption
from datasphinx.agent.messages import render
from datasphinx.agent.schema.words import readable
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import EmbeddedOptions

_MAX_OPTIONS = 3
_TYPE: AmbiguityType = "AmbValue"


@dataclass(frozen=True)
class EmbeddedAmbiguityReviewer:
    """Reviews ambiguities with the embedded model, which can only write statements."""

    model: ModelClient
    options: EmbeddedOptions

    def review(self, question: Question, source: Source, today: date) -> AmbiguityReview:
        """Return a review of the first ambiguous value, unless one was settled.

        Each of its first three candidates is a reading: the question with the candidate in place of the ambiguous
        phrase, for which the model writes one statement. See `datasphinx.agent.clarify.review.AmbiguityReviewer`.
        """
        settled = [clarification.get("ambiguity_type", "") for clarification in question.clarifications]
        found = None if _TYPE in settled else first_ambiguity(question.text, source, dict(question.columns))
        if found is None:
            return AmbiguityReview(summary="", no_ambiguity=True)
        candidates = found.candidates[:_MAX_OPTIONS]
        readings = [self._reading(each, found.phrase, question, source, today) for each in candidates]
        return AmbiguityReview(
            summary="",
            no_ambiguity=False,
            ambiguity_type=_TYPE,
            question=render("shared_word", question.language, phrase=found.phrase),
            options=[reading for reading in readings if reading],
        )

    def _reading(
        self, candidate: str, phrase: str, question: Question, source: Source, today: date
    ) -> ReadingOption | None:
        """Return the reading for `candidate`, "table.column = 'value'"; None without a statement."""
        column_key, _, value = candidate.partition(" = ")
        table, _, column = column_key.rpartition(".")
        name = value.strip("'\"")
        # Replace the phrase as a word if the question has it as one.
        as_word = rf"(?<!\w){re.escape(phrase)}(?!\w)"
        pattern = as_word if re.search(as_word, question.text) else re.escape(phrase)
        text = re.sub(pattern, lambda _: name, question.text, count=1)
        reading = replace(question, text=text, clarifications=())
        try:
            options = replace(self.options, candidates=1)
            written = write_statement(reading, source, self.model, options, today)
        except ModelAnswerUnreadable:
            return None
        label = f"{name} ({readable(table)}: {readable(column)})"
        return ReadingOption(label=label, reading=text, sql=written.sql) if written.sql else None

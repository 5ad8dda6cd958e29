"""A question as the calls and checks about it see it: a value, made of the state in one place."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datasphinx.agent.generation.attempts import current
from datasphinx.agent.generation.definitions import Asked
from datasphinx.agent.generation.follow_ups import with_previous
from datasphinx.agent.messages import Language, language_in
from datasphinx.agent.types import Attempt, Clarification, OutputType, Turn


@dataclass(frozen=True)
class Question:
    """A question, its conversation, the part of the schema that may answer it, and the statements written so far."""

    text: str
    columns: Mapping[str, list[str]] = field(default_factory=dict)
    """The tables and columns that prompts show in detail."""
    tables: Collection[str] = ()
    """All retrieved tables."""
    table_list_tokens: int = 0
    """Token limit of the list of all tables in prompts; 0 for no list."""
    source: str | None = None
    """The source by name or URL."""
    output_type: OutputType | None = None
    """The requested form of the answer."""
    sql_only: bool = False
    """Whether nothing is executed, so that the meanings of codes are not read either."""
    clarifications: Sequence[Clarification] = ()
    rejected_sql: Sequence[str] = ()
    turns: Sequence[Turn] = ()
    follows: Turn | None = None
    """The turn that it may continue."""
    attempts: Sequence[Attempt] = ()
    generation: int = 0
    """How often a statement was generated for it."""
    stated_language: str = ""
    """The code of its language, if a model stated it."""

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers and remarks of the user about it."""
        return tuple(each["answer"] for each in self.clarifications)

    @property
    def asked(self) -> Asked:
        """The question with the answers about it."""
        return Asked(self.text, self.answers)

    @property
    def named(self) -> Asked:
        """The question for its business knowledge: a follow-up is about the measures before it."""
        return Asked(with_previous(self.text, self.follows), self.answers)

    @property
    def language(self) -> Language:
        """Its language."""
        return language_in({"question": self.text, "language": self.stated_language, "follows": self.follows})

    @property
    def sql(self) -> str:
        """The last statement written for it; empty if there is none."""
        last = current(self.attempts)
        return "" if last["outcome"] == "not used" else last["sql"]


def question_of(state: Mapping[str, Any]) -> Question:
    """Return the question of a run with what its state says about it."""
    return Question(
        state.get("question") or "",
        columns=state.get("relevant_tables_with_rel_columns") or {},
        tables=state.get("relevant_tables") or {},
        table_list_tokens=state.get("table_list_tokens", 0),
        source=state.get("source"),
        output_type=state.get("output_type"),
        sql_only=bool(state.get("sql_only")),
        clarifications=state.get("clarifications") or (),
        rejected_sql=state.get("rejected_sql") or (),
        turns=state.get("turns") or (),
        follows=state.get("follows"),
        attempts=state.get("attempts") or (),
        generation=state.get("sql_generate_count", 0),
        stated_language=state.get("language", ""),
    )

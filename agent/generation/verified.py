"""Selection of the verified query that answers a question, and the mark of its answer."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.errors import ModelRejected, ModelUnreachable
from agent.knowledge.knowledge import Item
from agent.knowledge.verified import VerifiedMatch
from agent.messages import Language, render
from agent.record.step import note, record_event
from agent.retrieval.semantic import Embedder
from agent.sources.source import Source
from agent.sql.names import referenced_names
from agent.sql.validation import find_problem
from agent.types import VerifiedAnswer

logger = logging.getLogger("datasphinx")


@dataclass(frozen=True)
class FoundQuery:
    """A verified query with the literals of the question."""

    sql: str
    tables: tuple[str, ...]
    mark: VerifiedAnswer


class VerifiedSelector(Protocol):
    """Selects verified queries and adds them to the audit and the record."""

    def find(self, question: str, source: Source) -> FoundQuery | None:
        """Return the verified query that is equivalent to `question`; None if there is none."""


@dataclass(frozen=True)
class KnowledgeQueries:
    """Selects from the business knowledge of the source."""

    embedder: Embedder | None

    def find(self, question: str, source: Source) -> FoundQuery | None:
        """Return the equivalent query whose statement is valid and reads only tables that the row rules admit.

        An equivalent query with mistakes is logged and left out. If the embeddings endpoint fails, only the same words
        are equivalent.
        """
        knowledge = source.knowledge

        def is_usable(item: Item) -> bool:
            problem = next((each for each in knowledge.problems_of(item) if not each.is_warning), None)
            if problem:
                logger.warning("[KNOWLEDGE] a verified query is not used: %s", problem)
                note(f"a verified query was not used: {problem}")
            return problem is None

        try:
            match = knowledge.find_verified(question, lambda: source.values, self.embedder, is_usable)
        except (ModelUnreachable, ModelRejected) as error:
            note(f"verified questions were not compared by meaning: {error}")
            match = knowledge.find_verified(question, lambda: source.values, None, is_usable)
        if match is None:
            return None
        sql = match.statement(source.catalog.dialect)
        problem = find_problem(sql, source.catalog)
        if problem:
            knowledge.report_failure(str(match.item.place), str(problem))
            logger.warning("[KNOWLEDGE] the verified query at %s cannot run: %s", match.item.place, problem)
            return None
        tables = tuple(sorted(referenced_names(sql, source.catalog).tables))
        if not all(map(source.is_readable, tables)):
            return None
        return _record(FoundQuery(sql, tables, _mark_of(match)))


class RecordedQueries:
    """Selects the verified query of a recorded run, whatever the business knowledge is now."""

    def __init__(self, bodies: Sequence[Mapping[str, Any]]) -> None:
        """Take the query from the bodies of the recorded `verified` events; a run has at most one."""
        self._found = [FoundQuery(body["sql"], tuple(body["tables"]), body["verified"]) for body in bodies]

    def find(self, question: str, source: Source) -> FoundQuery | None:
        """Return the recorded query, if its tables still exist."""
        found = next(iter(self._found), None)
        return _record(found) if found and source.catalog.tables.keys() >= set(found.tables) else None


def verification_text(verified: VerifiedAnswer, language: Language) -> str:
    """Return the sentence that says who verified the query, and when."""
    author, date = verified["author"], verified["date"]
    code = "verified_by_on" if author and date else "verified_by" if author else "verified_on" if date else "verified"
    return render(code, language, author=author, date=date)


def _mark_of(match: VerifiedMatch) -> VerifiedAnswer:
    entry = match.entry
    return VerifiedAnswer(
        question=entry.question,
        parameters={name: value for name, value in match.parameters.items() if isinstance(value, str | int | float)},
        author=entry.author,
        date=entry.date.isoformat() if entry.date else None,
        note=entry.note,
        place=str(match.item.place),
    )


def _record(found: FoundQuery) -> FoundQuery:
    """Return `found` after adding it to the audit and the record."""
    note(f"verified query: {found.mark['place']}")
    record_event("verified", {"sql": found.sql, "tables": list(found.tables), "verified": dict(found.mark)})
    return found

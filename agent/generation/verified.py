"""Selection of the verified query that answers a question, or that a model repeats, and the mark of the answer."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlglot import exp

from datasphinx.agent.examples.selection import ShownExample
from datasphinx.agent.knowledge.verified import VerifiedMatch
from datasphinx.agent.messages import Language, render
from datasphinx.agent.record.step import note, record_event
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import canonical_sql
from datasphinx.agent.sql.names import referenced_names, resolved_query
from datasphinx.agent.sql.validation import find_problem
from datasphinx.agent.types import VerifiedAnswer

logger = logging.getLogger("datasphinx")


class FoundQuery(NamedTuple):
    """A verified query with the examples of its parameters."""

    sql: str
    tables: tuple[str, ...]
    mark: VerifiedAnswer


class KnowledgeQueries:
    """Selects verified queries from the business knowledge of the source, and adds them to the audit and the record."""

    def find(self, question: str, source: Source) -> FoundQuery | None:
        """Return the verified query whose question is `question`; None if there is none.

        Its statement has to be valid and to read only tables that the row rules admit. A query with mistakes is logged
        and left out.
        """
        knowledge = source.knowledge
        match = knowledge.find_verified(question)
        if match is None:
            return None
        problem = next((each for each in knowledge.problems_of(match.item) if not each.is_warning), None)
        if problem:
            logger.warning("[KNOWLEDGE] a verified query is not used: %s", problem)
            note(f"a verified query was not used: {problem}")
            return None
        sql = match.statement(source.catalog.dialect)
        failure = find_problem(sql, source.catalog)
        if failure:
            knowledge.report_failure(str(match.item.place), str(failure))
            logger.warning("[KNOWLEDGE] the verified query at %s cannot run: %s", match.item.place, failure)
            return None
        tables = tuple(sorted(referenced_names(sql, source.catalog).tables))
        if not all(map(source.is_readable, tables)):
            return None
        found = FoundQuery(sql, tables, _mark_of(match))
        _record(found.mark, {"sql": found.sql, "tables": list(found.tables)})
        return found

    def confirmed(self, sql: str, examples: Sequence[ShownExample], source: Source) -> VerifiedAnswer | None:
        """Return the mark of the verified query among `examples` that a model repeated as `sql`; None if none.

        An example with the question of a verified query, but with another statement, is no verified query.
        """
        catalog = source.catalog
        for example in examples:
            match = source.knowledge.find_verified(example["question"])
            verified = source.knowledge.verified_queries[match.entry.question]() if match else None
            if match is None or verified is None:
                continue
            same = (verified, source.ending_with_nulls(verified))
            if _compared(sql, catalog) in (_compared(each, catalog) for each in same):
                mark = _mark_of(match)
                _record(mark, {"confirmed": True})
                return mark
        return None


class RecordedQueries:
    """Selects the verified query of a recorded run, whatever the business knowledge is now."""

    def __init__(self, bodies: Sequence[Mapping[str, Any]]) -> None:
        """Take the queries from the bodies of the recorded `verified` events."""
        self._found = [body for body in bodies if not body.get("confirmed")]
        self._confirmed = [body["verified"] for body in bodies if body.get("confirmed")]

    def find(self, question: str, source: Source) -> FoundQuery | None:
        """Return the recorded query, if its tables still exist."""
        body = next(iter(self._found), None)
        if body is None or not source.catalog.tables.keys() >= set(body["tables"]):
            return None
        _record(body["verified"], {"sql": body["sql"], "tables": body["tables"]})
        return FoundQuery(body["sql"], tuple(body["tables"]), body["verified"])

    def confirmed(self, sql: str, examples: Sequence[ShownExample], source: Source) -> VerifiedAnswer | None:
        """Return the recorded mark."""
        mark = next(iter(self._confirmed), None)
        if mark:
            _record(mark, {"confirmed": True})
        return mark


def verification_text(verified: VerifiedAnswer, language: Language) -> str:
    """Return the sentence that says who verified the query, and when."""
    author, date = verified["author"], verified["date"]
    code = "verified_by_on" if author and date else "verified_by" if author else "verified_on" if date else "verified"
    return render(code, language, author=author, date=date)


def _compared(sql: str, catalog: Catalog) -> exp.Expr | str:
    """Return the tree of `sql` with qualified names, or its canonical text if they cannot be resolved."""
    query = resolved_query(sql, catalog)
    return query.tree if query else canonical_sql(sql, catalog.dialect)


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


def _record(mark: VerifiedAnswer, body: Mapping[str, Any]) -> None:
    """Add a verified query to the audit and the record."""
    note(f"verified query: {mark['place']}")
    record_event("verified", {**body, "verified": dict(mark)})

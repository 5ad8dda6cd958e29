"""Questions with which to start on a source: of its knowledge, and counts by groups and by month, or of tables."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from typing_extensions import TypedDict

from datasphinx.agent.errors import DatasphinxError, SourceUnreachable, StatementCancelled
from datasphinx.agent.generation.execution import is_blank
from datasphinx.agent.messages import Language, render
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import run
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.schema.catalog import Column, Table
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.sources.profile import is_personal
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Result

COUNT = 6
_MAX_TRIED = 24
_MAX_TABLES = 6
_MAX_OF_KNOWLEDGE = 2
"""Maximum number of verified questions, and of metrics."""
_MAX_NAME_CHARS = 60
_BUDGET_S = 5.0
_MIN_GROUPS, _MAX_GROUPS = 2, 30
_ROWS = {"agg": "count", "col": "*", "as": "row_count"}

Q = TypeVar("Q")


class StartingQuestion(TypedDict):
    """A question, and where it comes from: `verified` or `metric` of the knowledge, or `schema`."""

    question: str
    origin: str


class Candidate(NamedTuple, Generic[Q]):
    """A question that may be offered."""

    question: Q
    read: Callable[[], Result]
    """Executes a statement for the question; raises a DatasphinxError or ValueError."""
    min_rows: int = 1
    """The number of rows with a value that the statement has to return."""


def starting_questions(source: Source, language: Language) -> list[StartingQuestion]:
    """Return up to six questions whose statements return rows. They are kept until the source is opened again.

    At most 24 statements are executed, which start within five seconds.

    Raises:
        SourceUnreachable: the database does not answer.
    """
    return source.memoized(
        ("starting questions", language), lambda: list(with_rows(_candidates(source, language), COUNT, _MAX_TRIED))
    )


def with_rows(candidates: Iterable[Candidate[Q]], count: int, max_tried: int) -> Iterator[Q]:
    """Yield the questions of the first `count` candidates whose statements return enough rows.

    At most `max_tried` statements are executed, which start within five seconds.

    Raises:
        SourceUnreachable: the database does not answer.
        StatementCancelled: a statement was cancelled.
    """
    deadline, found = time.monotonic() + _BUDGET_S, 0
    for tried, candidate in enumerate(candidates):
        if found == count or tried == max_tried or time.monotonic() > deadline:
            return
        try:
            result = candidate.read()
        except (SourceUnreachable, StatementCancelled):
            raise
        except (DatasphinxError, ValueError):
            continue
        rows = [row for row in result["rows"] if any(value is not None for value in row)]
        if not is_blank(result) and len(rows) >= candidate.min_rows:
            found += 1
            yield candidate.question


def offered_columns(source: Source, table: Table) -> list[Column]:
    """Return the columns of a shown table that a question may name: neither secret nor personal."""
    personal = source.knowledge.knowledge.personal
    return [each for each in table.columns if not (each.secret or is_personal(table, each, personal))]


def group_column(columns: Sequence[Column], table: Table) -> Column | None:
    """Return the first text column with few values that repeat, by which rows can be grouped; None without one."""
    for column in columns:
        distinct = column.distinct or 0
        repeats = _MIN_GROUPS <= distinct <= _MAX_GROUPS and (not table.rows or 2 * distinct <= table.rows)
        if column.type_class == "text" and column.name not in table.key_columns and repeats:
            return column
    return None


def shown_name(name: str) -> str:
    """Return the name of a table or column as words in one line."""
    return one_line(name.replace("_", " "), _MAX_NAME_CHARS)


def _candidates(source: Source, language: Language) -> Iterator[Candidate[StartingQuestion]]:
    yield from _verified(source)
    yield from _metrics(source, language)
    tables = _tables(source)
    grouped = [candidate for table in tables for candidate in _by_columns(source, table, language)]
    yield from grouped or [_of_all_rows(source, table, language) for table in tables]


def _verified(source: Source) -> Iterator[Candidate[StartingQuestion]]:
    statements = list(source.knowledge.verified_queries.items())[:_MAX_OF_KNOWLEDGE]
    for question, statement in statements:
        sql = statement()
        if sql is not None:
            yield Candidate({"question": question, "origin": "verified"}, _executes(source, sql))


def _metrics(source: Source, language: Language) -> Iterator[Candidate[StartingQuestion]]:
    for item in source.knowledge.knowledge.of_kind("metric")[:_MAX_OF_KNOWLEDGE]:
        definition = source.knowledge.named_definition(item).definition if source.knowledge.is_valid(item) else None
        if definition:
            question = render("starting_metric", language, metric=one_line(item.name, _MAX_NAME_CHARS))
            sql = definition.statement(source.catalog, rows=1)
            yield Candidate({"question": question, "origin": "metric"}, _executes(source, sql))


def _executes(source: Source, sql: str) -> Callable[[], Result]:
    return lambda: source.execute(sql)


def _tables(source: Source) -> list[Table]:
    """Return the largest tables that may be shown, without views."""
    tables = [table for table in source.shown_catalog.tables.values() if not table.is_view] or [
        *source.shown_catalog.tables.values()
    ]
    return sorted(tables, key=lambda table: -(table.rows or 0))[:_MAX_TABLES]


def _by_columns(source: Source, table: Table, language: Language) -> Iterator[Candidate[StartingQuestion]]:
    """Yield questions for the number of rows of a table by groups and by month, if it has columns for them."""
    columns = offered_columns(source, table)
    group = group_column(columns, table)
    day = next((each for each in columns if each.type_class in ("date", "datetime")), None)
    kinds: list[tuple[str, Column, Any]] = []
    if group:
        kinds.append(("starting_groups", group, group.name))
    if day:
        kinds.append(("starting_months", day, {"col": day.name, "by": "month"}))
    for code, column, key in kinds:
        spec = {"aggregations": [_ROWS], "group_by": [key], "limit": 50}
        question = render(code, language, table=shown_name(table.name), column=shown_name(column.name))
        yield Candidate({"question": question, "origin": "schema"}, partial(_run, source, table, spec), min_rows=2)


def _of_all_rows(source: Source, table: Table, language: Language) -> Candidate[StartingQuestion]:
    """Return the question for the number of rows of a table."""
    question = render("starting_count", language, table=shown_name(table.name))
    read = partial(_run, source, table, {"aggregations": [_ROWS]})
    return Candidate({"question": question, "origin": "schema"}, read)


def _run(source: Source, table: Table, spec: dict[str, Any]) -> Result:
    return run(read_spec(spec), Datasets(table.key, {table.key: table}), source)

"""Questions with which to start on a source, made without a model from its knowledge and schema."""

import time
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple, cast

from typing_extensions import TypedDict

from agent.answers.text import is_identifier
from agent.errors import DatasphinxError, SourceUnreachable
from agent.generation.attempt import is_blank
from agent.knowledge.entries import MetricEntry
from agent.knowledge.references import Unresolved, definition_of
from agent.messages import Language, render
from agent.queryspec.columns import Datasets
from agent.queryspec.compile import run
from agent.queryspec.spec import read_spec
from agent.schema.catalog import Table
from agent.schema.describe import one_line
from agent.sources.profile import is_personal
from agent.sources.source import Source
from agent.types import Result

COUNT = 6
_MAX_TRIED = 24
_BUDGET_S = 5.0
_MAX_TABLES = 6
_MAX_OF_KNOWLEDGE = 2
"""Maximum number of verified questions, and of metrics."""
_MIN_GROUPS, _MAX_GROUPS = 2, 30
_MAX_NAME_CHARS = 60


class StartingQuestion(TypedDict):
    """A question, and where it comes from: `verified` or `metric` of the knowledge, or `schema`."""

    question: str
    origin: str


class _Candidate(NamedTuple):
    question: StartingQuestion
    read: Callable[[], Result]
    """Executes a statement for the question; raises a DatasphinxError."""


def starting_questions(source: Source, language: Language) -> list[StartingQuestion]:
    """Return up to six questions whose statements return rows. They are kept until the source is opened again.

    At most 24 statements are executed, which start within five seconds.

    Raises:
        SourceUnreachable: the database does not answer.
    """
    return source.memoized(("starting questions", language), lambda: list(_find(source, language)))


def _find(source: Source, language: Language) -> Iterator[StartingQuestion]:
    deadline, found = time.monotonic() + _BUDGET_S, 0
    for tried, candidate in enumerate(_candidates(source, language)):
        if found == COUNT or tried == _MAX_TRIED or time.monotonic() > deadline:
            return
        try:
            result = candidate.read()
        except SourceUnreachable:
            raise
        except (DatasphinxError, ValueError):
            continue
        if not is_blank(result) and any(value is not None for row in result["rows"] for value in row):
            found += 1
            yield candidate.question


def _candidates(source: Source, language: Language) -> Iterator[_Candidate]:
    yield from _verified(source)
    yield from _metrics(source, language)
    # One question of each kind first, each about the largest table that has the columns for it.
    kinds = [
        [each for each in kind if each]
        for kind in zip(*(_of_table(source, table, language) for table in _tables(source)), strict=True)
    ]
    for candidates in zip_longest(*kinds):
        yield from filter(None, candidates)


def _verified(source: Source) -> Iterator[_Candidate]:
    statements = list(source.knowledge.verified_queries().items())[:_MAX_OF_KNOWLEDGE]
    for question, statement in statements:
        sql = statement()
        if sql is not None:
            yield _Candidate({"question": question, "origin": "verified"}, _executes(source, sql))


def _metrics(source: Source, language: Language) -> Iterator[_Candidate]:
    for item in source.knowledge.knowledge.of_kind("metric")[:_MAX_OF_KNOWLEDGE]:
        if not source.knowledge.is_valid(item):
            continue
        try:
            definition = definition_of(cast(MetricEntry, item.entry), source.catalog)
        except Unresolved:
            continue
        if definition:
            question = render("starting_metric", language, metric=one_line(item.name, _MAX_NAME_CHARS))
            sql = definition.statement(source.catalog, rows=1)
            yield _Candidate({"question": question, "origin": "metric"}, _executes(source, sql))


def _executes(source: Source, sql: str) -> Callable[[], Result]:
    return lambda: source.execute(sql)


def _tables(source: Source) -> list[Table]:
    """Return the largest tables that may be shown, without views."""
    tables = [table for table in source.shown_catalog.tables.values() if not table.is_view] or [
        *source.shown_catalog.tables.values()
    ]
    return sorted(tables, key=lambda table: -(table.rows or 0))[:_MAX_TABLES]


def _of_table(source: Source, table: Table, language: Language) -> tuple[_Candidate | None, ...]:
    """Return a question of each kind about a table; None if the table has no columns for it."""
    personal = source.knowledge.knowledge.personal
    columns = [each for each in table.columns if not (each.secret or is_personal(table, each, personal))]
    columns_without_keys = [each for each in columns if each.name not in table.key_columns]
    numbers = (each for each in columns_without_keys if each.type_class == "number" and not is_identifier(each.name))
    measure = next((each for each in numbers if (each.distinct or 0) >= _MIN_GROUPS), None)
    texts = (each for each in columns_without_keys if each.type_class == "text")
    group = next((each for each in texts if _MIN_GROUPS <= (each.distinct or 0) <= _MAX_GROUPS), None)
    day = next((each for each in columns if each.type_class in ("date", "datetime")), None)
    names = {"table": _shown(table.name)} | {
        name: _shown(column.name) for name, column in (("measure", measure), ("group", group)) if column
    }
    total = {"agg": "sum", "col": measure.name, "as": "total"} if measure else None
    rows = {"agg": "count", "col": "*", "as": "row_count"}

    def candidate(code: str, aggregation: dict[str, Any], group_by: list[Any]) -> _Candidate:
        spec = {"aggregations": [aggregation], "group_by": group_by, "limit": 50}
        question = render(code, language, **names)
        return _Candidate({"question": question, "origin": "schema"}, lambda: _run(source, table, spec))

    months = [{"col": day.name, "by": "month"}] if day else []
    groups = [group.name] if group else []
    return (
        candidate("starting_trend", total, months) if total and day else None,
        candidate("starting_total", total, groups) if total and group else None,
        candidate("starting_count", rows, []),
        candidate("starting_groups", rows, groups) if group else None,
        candidate("starting_count_trend", rows, months) if day else None,
    )


def _run(source: Source, table: Table, spec: dict[str, Any]) -> Result:
    return run(read_spec(spec), Datasets(table.key, {table.key: table}), source)


def _shown(name: str) -> str:
    return one_line(name.replace("_", " "), _MAX_NAME_CHARS)

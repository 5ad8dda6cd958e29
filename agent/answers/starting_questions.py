"""Questions with which to start on a source, made without a model from its knowledge and schema."""

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any, cast

from typing_extensions import TypedDict

from agent.answers.offered_questions import MAX_NAME_CHARS, Candidate, is_group, offered_columns, shown_name, with_rows
from agent.answers.text import is_identifier
from agent.knowledge.entries import MetricEntry
from agent.knowledge.references import Unresolved, definition_of
from agent.messages import Language, render
from agent.queryspec.columns import Datasets
from agent.queryspec.compile import run
from agent.queryspec.spec import read_spec
from agent.schema.catalog import Column, Table
from agent.schema.describe import one_line
from agent.sources.source import Source
from agent.types import Result

COUNT = 6
_MAX_TRIED = 24
_MAX_TABLES = 6
_MAX_OF_KNOWLEDGE = 2
"""Maximum number of verified questions, and of metrics."""
_MIN_DISTINCT = 2


class StartingQuestion(TypedDict):
    """A question, and where it comes from: `verified` or `metric` of the knowledge, or `schema`."""

    question: str
    origin: str


def starting_questions(source: Source, language: Language) -> list[StartingQuestion]:
    """Return up to six questions whose statements return rows. They are kept until the source is opened again.

    At most 24 statements are executed, which start within five seconds.

    Raises:
        SourceUnreachable: the database does not answer.
    """
    return source.memoized(
        ("starting questions", language), lambda: list(with_rows(_candidates(source, language), COUNT, _MAX_TRIED))
    )


def _candidates(source: Source, language: Language) -> Iterator[Candidate[StartingQuestion]]:
    yield from _verified(source)
    yield from _metrics(source, language)
    # One question of each kind first, each about the largest table that has the columns for it.
    kinds = [
        [each for each in kind if each]
        for kind in zip(*(_of_table(source, table, language) for table in _tables(source)), strict=True)
    ]
    for candidates in zip_longest(*kinds):
        yield from filter(None, candidates)


def _verified(source: Source) -> Iterator[Candidate[StartingQuestion]]:
    statements = list(source.knowledge.verified_queries.items())[:_MAX_OF_KNOWLEDGE]
    for question, statement in statements:
        sql = statement()
        if sql is not None:
            yield Candidate({"question": question, "origin": "verified"}, _executes(source, sql))


def _metrics(source: Source, language: Language) -> Iterator[Candidate[StartingQuestion]]:
    for item in source.knowledge.knowledge.of_kind("metric")[:_MAX_OF_KNOWLEDGE]:
        if not source.knowledge.is_valid(item):
            continue
        try:
            definition = definition_of(cast(MetricEntry, item.entry), source.catalog)
        except Unresolved:
            continue
        if definition:
            question = render("starting_metric", language, metric=one_line(item.name, MAX_NAME_CHARS))
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


def _of_table(source: Source, table: Table, language: Language) -> tuple[Candidate[StartingQuestion] | None, ...]:
    """Return a question of each kind about a table; None if the table has no columns for it."""
    columns = offered_columns(source, table)
    measure = next((each for each in columns if _is_measure(each, table)), None)
    group = next((each for each in columns if is_group(each, table)), None)
    day = next((each for each in columns if each.type_class in ("date", "datetime")), None)
    names = {"table": shown_name(table.name)} | {
        name: shown_name(column.name) for name, column in (("measure", measure), ("group", group)) if column
    }
    total = {"agg": "sum", "col": measure.name, "as": "total"} if measure else None
    rows = {"agg": "count", "col": "*", "as": "row_count"}

    def candidate(code: str, aggregation: dict[str, Any], group_by: list[Any]) -> Candidate[StartingQuestion]:
        spec = {"aggregations": [aggregation], "group_by": group_by, "limit": 50}
        question = render(code, language, **names)
        return Candidate({"question": question, "origin": "schema"}, lambda: _run(source, table, spec))

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


def _is_measure(column: Column, table: Table) -> bool:
    is_key = column.name in table.key_columns or column.distinct is None or column.distinct < _MIN_DISTINCT
    return column.type_class == "number" and not is_key and not is_identifier(column.name)

"""Questions with which to start on a source: verified ones, and metrics and numbers of rows by groups and by month."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from typing_extensions import TypedDict

from datasphinx.agent.core.text import capitalised
from datasphinx.agent.errors import DatasphinxError, SourceUnreachable, StatementCancelled
from datasphinx.agent.generation.execution import finds_nothing
from datasphinx.agent.knowledge.entries import MetricEntry
from datasphinx.agent.knowledge.knowledge import Item
from datasphinx.agent.knowledge.metric_query import metric_statement
from datasphinx.agent.llm.schemas import MetricQuery
from datasphinx.agent.messages import Language, render
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import run
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.schema.catalog import TIMES, Column, Table
from datasphinx.agent.schema.describe import one_line
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


class StartingQuestion(TypedDict):
    """A question, and where it comes from: `verified` or `metric` of the knowledge, or `schema`."""

    question: str
    origin: str


class _Candidate(NamedTuple):
    """A question that may be offered."""

    question: str
    origin: str
    read: Callable[[], Result]
    """Executes a statement for the question; raises a DatasphinxError or ValueError."""


def starting_questions(source: Source, language: Language) -> list[StartingQuestion]:
    """Return up to six questions whose statements return rows. They are kept until the source is opened again.

    At most 24 statements are executed, which start within five seconds.
    """
    return source.memoized(("starting questions", language), lambda: list(_with_rows(_candidates(source, language))))


def _with_rows(candidates: Iterator[_Candidate]) -> Iterator[StartingQuestion]:
    """Yield the questions of the first candidates whose statements return rows, groups at least two of them."""
    deadline, found = time.monotonic() + _BUDGET_S, 0
    for tried, candidate in enumerate(candidates):
        if found == COUNT or tried == _MAX_TRIED or time.monotonic() > deadline:
            return
        try:
            result = candidate.read()
        except (SourceUnreachable, StatementCancelled):
            raise
        except (DatasphinxError, ValueError):
            continue
        rows = [row for row in result["rows"] if any(value is not None for value in row)]
        if not finds_nothing(result) and (len(rows) > 1 or candidate.origin == "verified"):
            found += 1
            yield StartingQuestion(question=candidate.question, origin=candidate.origin)


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


def _candidates(source: Source, language: Language) -> Iterator[_Candidate]:
    for question, statement in list(source.knowledge.verified_queries.items())[:_MAX_OF_KNOWLEDGE]:
        if sql := statement():
            yield _Candidate(question, "verified", partial(source.execute, sql))
    for item in source.knowledge.knowledge.of_kind("metric")[:_MAX_OF_KNOWLEDGE]:
        if source.knowledge.is_valid(item) and isinstance(item.entry, MetricEntry):
            yield from _of_metric(item, item.entry, source, language)
    tables = list(source.shown_catalog.tables.values())
    tables = [table for table in tables if not table.is_view] or tables
    for table in sorted(tables, key=lambda table: -(table.rows or 0))[:_MAX_TABLES]:
        yield from _of_table(table, source, language)


def _of_metric(item: Item, entry: MetricEntry, source: Source, language: Language) -> Iterator[_Candidate]:
    """Yield questions for a metric by the first of its dimensions with few values, and by month."""
    measure, definition = capitalised(one_line(item.name, _MAX_NAME_CHARS)), source.knowledge.named_definition(item)
    allowed = {name.lower() for name in entry.dimensions}
    keys = {name.rpartition(".")[0] for name in allowed}
    if not allowed and definition.definition:
        keys = {key.lower() for key in definition.definition.tables}
    kinds = [(render("by_months", language, measure=measure), "month")]
    for key, table in source.shown_catalog.tables.items():
        columns = source.open_columns(table) if key.lower() in keys else []
        columns = [each for each in columns if not allowed or f"{key}.{each.name}".lower() in allowed]
        if group := group_column(columns, table):
            question = render("by_groups", language, measure=measure, group=shown_name(group.name))
            kinds = [(question, f"{key}.{group.name}"), *kinds]
            break
    for question, dimension in kinds:
        query = MetricQuery(metrics=[item.name], dimensions=[dimension])
        yield _Candidate(question, "metric", partial(_execute_metric, query, source))


def _execute_metric(query: MetricQuery, source: Source) -> Result:
    return source.execute(metric_statement(query, source.knowledge))


def _of_table(table: Table, source: Source, language: Language) -> Iterator[_Candidate]:
    """Yield questions for the number of rows of a table by groups and by month, if it has columns for them."""
    columns = source.open_columns(table)
    measure = capitalised(render("figure_count", language, table=shown_name(table.name)))
    kinds: list[tuple[str, Any]] = []
    if group := group_column(columns, table):
        kinds.append((render("by_groups", language, measure=measure, group=shown_name(group.name)), group.name))
    if day := next((each for each in columns if each.type_class in TIMES), None):
        kinds.append((render("by_months", language, measure=measure), {"col": day.name, "by": "month"}))
    for question, key in kinds:
        spec = read_spec({"aggregations": [_ROWS], "group_by": [key], "limit": 50})
        yield _Candidate(question, "schema", partial(run, spec, Datasets(table.key, {table.key: table}), source))

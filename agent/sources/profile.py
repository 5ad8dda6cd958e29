"""Data profile of tables and columns: row estimates, shares of NULL, distinct values, examples, ranges, keys."""

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from datasphinx.agent.engines.base import Engine
from datasphinx.agent.errors import DatasphinxError, SourceUnreachable
from datasphinx.agent.record.step import not_recorded
from datasphinx.agent.retrieval.value_store import MAX_VALUE_LENGTH, ColumnValues
from datasphinx.agent.schema.catalog import CELL_TYPES, COUNTED_ROWS, NO_TYPE, Catalog, Column, ForeignKey, Table
from datasphinx.agent.schema.contents import parts_of
from datasphinx.agent.schema.describe import quoted_key
from datasphinx.agent.sources.packed_tables import Values
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.dialects import exact_dialect
from datasphinx.agent.sql.execute import RowAccess, execute
from datasphinx.agent.types import Limits, Result

_PLAIN_TEXT = ("char", "text", "clob", "string")
STATEMENT_TIMEOUT_S = 1.0
"""Limit of a statement that reads a sample, in seconds."""
_MAX_STATISTICS_ROWS = 1_000_000
_SAMPLED_ROWS = 1000
_SAMPLED_CELLS = 20_000
_MIN_ROWS = 100
_EXAMPLES = 5
_EXAMPLE_CHARS = 60
_MAX_VALUES = 200
_MAX_INDEXED = 100_000
"""Number of distinct values of a column that are read for the index of values."""
_MAX_READ_CELLS = 200_000
"""Number of cells up to which all rows of a table are read for the values of its text columns."""
_MAX_TOGETHER = 50
"""Maximum number of columns whose distinct values are read in one statement."""
_MAX_DISTINCT_TOGETHER = 400_000
"""Number of distinct values up to which those of several columns are read in one statement."""
_PARSED_CELLS = 200
_LONG_CELLS, _PARSED_CHARS = 20, 20_000
"""Number and length of long texts that are parsed as JSON."""
_MAX_WARNINGS = 100
_MIN_KEYS = 2
"""Number of distinct values from which on a key may hold by more than chance."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}\S*)?")
"""A date as text that sorts in the order of time."""


class Sampler:
    """Runs small queries until a time budget is used up or `stop` returns True. Not thread-safe."""

    def __init__(
        self,
        database: Database,
        catalog: Catalog,
        *,
        access: RowAccess | None = None,
        personal: frozenset[str] = frozenset(),
        first: Sequence[str] = (),
        budget_s: float,
        timeout_s: float = STATEMENT_TIMEOUT_S,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Set the budget of all queries and the timeout of one query, in seconds, and what is read.

        The budget starts after the first query, which may have to connect or to start a process. All queries are
        restricted by the row rules in `access`. The columns `personal`, as `table.column` in lower case, are never
        read. The tables `first` come before the others.
        """
        self.catalog, self.access = catalog, access
        self._database, self._personal = database, personal
        self._places = {key: place for place, key in enumerate(first)}
        self._exact = exact_dialect(catalog.dialect)
        self.warnings: list[str] = []
        self._budget_s, self._timeout_s = budget_s, timeout_s
        self._deadline = math.inf if budget_s > 0 else -math.inf
        self._stop, self._disconnected = stop, False

    @property
    def is_finished(self) -> bool:
        """True after the deadline, a request to stop, or a lost connection."""
        return self._disconnected or time.monotonic() > self._deadline or self._stop()

    def query(self, sql: str, table: Table, rows: int, *others: Table) -> Result | None:
        """Return up to `rows` rows of `sql`, a query of `table` and `others` alone; None on failure or timeout.

        The query is not recorded in the audit, since it belongs to no question.
        """
        if self.is_finished:
            return None
        tables = {each.key: each for each in (table, *others)}
        catalog = Catalog(self.catalog.dialect, tables, self.catalog.default_schema, routines=self.catalog.routines)
        timeout_s = max(0.05, min(self._timeout_s, self._deadline - time.monotonic()))
        try:
            with not_recorded():
                return execute(sql, self._database, catalog, Limits(timeout_s, rows), access=self.access)
        except SourceUnreachable:
            self._disconnected = True
        except DatasphinxError as error:
            # The message of the error may quote a value; its code cannot.
            self.warnings.append(f"{table.key[:80]!a} is not sampled: {error.code}")
        finally:
            self._deadline = min(self._deadline, time.monotonic() + self._budget_s)
        return None

    def in_order(self, keys: Iterable[str]) -> list[str]:
        """Return `keys` of tables in the order in which they are read."""
        return sorted(keys, key=lambda key: self._places.get(key, len(self._places)))

    def is_read(self, table: Table, column: Column) -> bool:
        """Return whether the values of `column` may be read."""
        return not (column.secret or is_personal(table, column, self._personal))

    def name(self, table: Table) -> str:
        """Return the quoted name of `table`."""
        return quoted_key(table, self.quote)

    def quote(self, name: str) -> str:
        """Return `name` in quotes, which need no list of reserved words."""
        return self._exact.generate(exp.to_identifier(name, quoted=True))

    def column(self, column: Column) -> str:
        """Return the quoted name of `column`."""
        return self.quote(column.name)

    def as_text(self, column: Column) -> str:
        """Return an expression for the value of `column` as text."""
        return self._exact.generate(exp.cast(exp.column(column.name, quoted=True), "varchar"))

    def value_or_presence(self, column: Column) -> str:
        """Return an expression for the value of `column`: long text truncated, 1 for binary data."""
        name = self.column(column)
        if column.type_class == "binary":
            return f"CASE WHEN {name} IS NULL THEN NULL ELSE 1 END"
        return f"SUBSTRING({name}, 1, {MAX_VALUE_LENGTH})" if is_plain_text(column) else name

    def is_short(self, column: Column) -> str:
        """Return a condition that is true for values that are not NULL and not too long."""
        name = self.column(column)
        length = self._exact.generate(exp.Length(this=exp.column(column.name, quoted=True)))
        return f"{name} IS NOT NULL{f' AND {length} <= {MAX_VALUE_LENGTH}' if is_plain_text(column) else ''}"


def is_plain_text(column: Column) -> bool:
    """Return whether text functions apply to `column`; they do not to enumerations, UUIDs and arrays."""
    return column.type_class == "text" and any(word in column.type.lower() for word in _PLAIN_TEXT)


def row_estimates(sampler: Sampler) -> dict[str, int]:
    """Return row estimates by table key; tables without statistics are left out.

    SQLite collects statistics only on ANALYZE, the others automatically. If the engine refuses, the result is empty.
    """
    catalog = sampler.catalog
    statistics = catalog.engine.statistics
    if statistics is None:
        return {}
    table = Table(
        statistics.table, tuple(Column(name, "TEXT") for name in statistics.columns), schema=statistics.schema
    )
    result = sampler.query(statistics.sql, table, _MAX_STATISTICS_ROWS)
    estimates: dict[str, int] = {}
    for schema, name, rows in result["rows"] if result else ():
        key = name if schema in (None, catalog.default_schema) else f"{schema}.{name}"
        number = str(rows).split()[0] if rows is not None else ""
        if key in catalog.tables and number.isdigit():
            estimates[key] = int(number)
    return estimates


def count_rows(sampler: Sampler, table: Table) -> int | None:
    """Return the number of rows of `table`, counted up to a million; None on failure or timeout."""
    sql = f"SELECT COUNT(*) FROM (SELECT 1 FROM {sampler.name(table)} LIMIT {COUNTED_ROWS}) AS counted"
    result = sampler.query(sql, table, 1)
    return int(result["rows"][0][0]) if result and result["rows"] else None


@dataclass
class _Samples:
    tables: dict[str, Table]
    values: Values = field(default_factory=dict)
    ranged: dict[str, list[Column]] = field(default_factory=dict)
    """Columns of numbers and dates whose range is not known yet, because the table is larger than the sample."""


def profile(sampler: Sampler, max_tables: int | None = None) -> Catalog:
    """Return the catalog with row estimates, column statistics, and distinct values of its text columns.

    Up to 1,000 rows of a table are sampled, in the order the engine returns them. Ranges of tables of up to a million
    rows are read last, and whether inferred keys that are not likely hold for all rows, which makes them likely. Tables
    sampled before, those after the first `max_tables` others or not reached in time, and columns that are not read are
    left unchanged. The profile shows nothing of hidden rows.
    """
    catalog = sampler.catalog
    # The engine's statistics include rows hidden by row rules.
    estimates = {} if sampler.access else row_estimates(sampler)
    sampler.warnings.clear()
    samples = _Samples(dict(catalog.tables), dict(catalog.values))
    unsampled = sampler.in_order(key for key, table in catalog.tables.items() if not is_sampled(table))
    for key in unsampled:
        samples.tables[key] = replace(catalog.tables[key], rows=estimates.get(key))
    for key, table in catalog.tables.items():
        if is_sampled(table) and (without_range := _columns_without_range(table)):
            samples.ranged[key] = without_range
    for key in unsampled[:max_tables]:
        if sampler.is_finished:
            break
        _sample_table(sampler, samples.tables[key], samples, key)
    warnings = tuple(dict.fromkeys((*catalog.warnings, *sampler.warnings)))[:_MAX_WARNINGS]
    for key, columns in samples.ranged.items():
        samples.tables[key] = _add_ranges(sampler, samples.tables[key], columns)
    for key in filter(lambda key: is_sampled(samples.tables[key]), unsampled[:max_tables]):
        samples.tables[key] = _with_contained_keys(sampler, samples.tables[key], samples.tables)
    return replace(catalog, tables=samples.tables, values=samples.values, warnings=warnings)


def is_personal(table: Table, column: Column, personal: frozenset[str]) -> bool:
    """Return whether `personal` contains the column, as `table.column` in lower case."""
    return bool(personal) and f"{table.key}.{column.name}".lower() in personal


def _sample_table(sampler: Sampler, table: Table, samples: _Samples, key: str) -> None:
    columns = [column for column in table.columns if sampler.is_read(table, column)]
    if not columns:
        return
    limit = _sample_size(table)
    rows, columns = _read_sample(sampler, table, columns, limit)
    if rows is None:
        return
    is_complete = len(rows) < limit
    total = len(rows) if is_complete else (table.rows or (None if table.is_view else count_rows(sampler, table)))
    if not is_complete and total is not None:
        # Statistics may be outdated. See `_is_sampled_completely`.
        total = max(total, limit)
    profiled_columns: dict[str, Column] = {}
    texts: dict[Column, list[Any]] = {}
    for index, column in enumerate(columns):
        cells = [row[index] for row in rows]
        column = _with_type_of_cells(column, cells, sampler.catalog.engine)
        profiled_column = _profile_column(column, cells, len(rows) if is_complete else total)
        profiled_column = profiled_column._replace(parts=_parts(sampler, table, column, cells))
        if _is_ranged(table, column, cells):
            if is_complete:
                profiled_column = _with_range(profiled_column, [cell for cell in cells if cell is not None])
            elif total and total <= COUNTED_ROWS and not table.is_view:
                samples.ranged.setdefault(key, []).append(column)
        profiled_columns[column.name] = profiled_column
        if column.type_class == "text":
            texts[column] = cells
    distinct = {} if is_complete else _read_distinct(sampler, table, list(texts), _MAX_VALUES)
    for column, cells in texts.items():
        stored = sorted({_text(cell) for cell in distinct.get(column, cells) if cell is not None})
        # The values that an enumeration declares, in a table without rows.
        samples.values[key, column.name] = tuple((stored if cells else column.examples)[:_MAX_VALUES])
    all_columns = tuple(profiled_columns.get(column.name, column) for column in table.columns)
    samples.tables[key] = replace(table, columns=all_columns, rows=total)


def _read_sample(
    sampler: Sampler, table: Table, columns: list[Column], limit: int
) -> tuple[list[list[Any]] | None, list[Column]]:
    """Return up to `limit` rows of `columns`, and the columns that could be read; None if none could.

    If the statement fails, each column is read in its own; the cells of a row are then not those of one row.
    """

    def read(names: list[Column]) -> list[list[Any]] | None:
        expressions = ", ".join(sampler.value_or_presence(column) for column in names)
        result = sampler.query(f"SELECT {expressions} FROM {sampler.name(table)} LIMIT {limit}", table, limit)
        return result["rows"] if result else None

    rows = read(columns)
    if rows is not None or len(columns) == 1:
        return rows, columns
    read_alone = {column: cells for column in columns if (cells := read([column])) is not None}
    if not read_alone:
        return None, []
    count = min(map(len, read_alone.values()))
    return [[cells[at][0] for cells in read_alone.values()] for at in range(count)], list(read_alone)


def _with_type_of_cells(column: Column, cells: list[Any], engine: Engine) -> Column:
    """Return a column without a declared type with that of its cells, if all have one."""
    if column.type != NO_TYPE or engine.enforces_types:
        return column
    kinds = {type(cell) for cell in cells if cell is not None}
    kind = "real" if kinds == {int, float} else CELL_TYPES.get(kinds.pop()) if len(kinds) == 1 else None
    return column._replace(type=kind) if kind else column


def _parts(sampler: Sampler, table: Table, column: Column, cells: list[Any]) -> tuple[str, ...]:
    """Return what the JSON objects or arrays in `cells` contain; see `datasphinx.agent.schema.contents.parts_of`."""
    if column.type_class not in ("json", "array", "text"):
        return ()
    present = [cell for cell in cells if cell is not None][:_PARSED_CELLS]
    if any(isinstance(cell, str) and len(cell) == MAX_VALUE_LENGTH and cell[0] in "{[" for cell in present):
        # The sample has the beginnings of long texts only.
        name = sampler.column(column)
        sql = f"SELECT SUBSTRING({name}, 1, {_PARSED_CHARS}) FROM {sampler.name(table)} WHERE {name} IS NOT NULL"
        result = sampler.query(f"{sql} LIMIT {_LONG_CELLS}", table, _LONG_CELLS)
        present = [row[0] for row in result["rows"]] if result else []
    return parts_of(table, present)


def is_sampled(table: Table) -> bool:
    """Return whether `profile` has sampled a column of `table`."""
    return any(column.distinct is not None or column.null_share is not None for column in table.columns)


def is_profiled(catalog: Catalog, personal: frozenset[str] = frozenset()) -> bool:
    """Return whether all tables of `catalog` are sampled that have a column neither secret nor `personal`."""
    return all(
        is_sampled(table) or all(column.secret or is_personal(table, column, personal) for column in table.columns)
        for table in catalog.tables.values()
    )


def _columns_without_range(table: Table) -> list[Column]:
    """Return the columns of a sampled table that have no range because there was no time to read it."""
    if table.is_view or table.rows is None or table.rows > COUNTED_ROWS or _is_sampled_completely(table):
        return []
    return [
        column
        for column in table.columns
        if column.minimum is None and column.examples
        if (column.type_class == "number" and column.name not in table.key_columns)
        or all(map(_DATE.fullmatch, column.examples))
    ]


def _sample_size(table: Table) -> int:
    """Return the maximum number of rows sampled from `table`."""
    columns = sum(not column.secret for column in table.columns)
    return max(_MIN_ROWS, min(_SAMPLED_ROWS, _SAMPLED_CELLS // max(1, columns)))


def _is_sampled_completely(table: Table) -> bool:
    """Return whether the sample contained all rows: only then are there fewer than the maximum of the sample."""
    return table.rows is not None and table.rows < _sample_size(table)


def _is_ranged(table: Table, column: Column, cells: list[Any]) -> bool:
    """Return whether all `cells` that are not NULL are numbers that are no keys, or all are dates."""
    present = [cell for cell in cells if cell is not None]
    if column.type_class == "number":
        is_key = column.name in table.key_columns
        return bool(present) and not is_key and all(type(cell) in (int, float) for cell in present)
    if column.type_class not in ("date", "datetime", "text"):
        return False
    return bool(present) and all(type(cell) is str and _DATE.fullmatch(cell) for cell in present)


def _with_range(column: Column, cells: list[Any]) -> Column:
    return column._replace(minimum=str(min(cells)), maximum=str(max(cells)))


def _add_ranges(sampler: Sampler, table: Table, columns: list[Column]) -> Table:
    """Return `table` with the ranges of `columns`; on failure or timeout, unchanged."""
    expressions = ", ".join(f"MIN({sampler.column(column)}), MAX({sampler.column(column)})" for column in columns)
    result = sampler.query(f"SELECT {expressions} FROM {sampler.name(table)}", table, 1)
    if not result or not result["rows"]:
        return table
    (row,) = result["rows"]
    ends = {column.name: list(row[2 * index : 2 * index + 2]) for index, column in enumerate(columns)}
    return replace(
        table,
        columns=tuple(
            _with_range(column, ends[column.name])
            if column.name in ends and None not in ends[column.name] and _is_ranged(table, column, ends[column.name])
            else column
            for column in table.columns
        ),
    )


def _with_contained_keys(sampler: Sampler, table: Table, tables: Mapping[str, Table]) -> Table:
    """Return `table` with each inferred key likely of which all values, at least two, are in the column it refers to.

    Keys of secret columns, and keys that cannot be checked in time, are left as they are.
    """

    def check(foreign: ForeignKey) -> ForeignKey:
        if foreign.likely:
            return foreign
        target = tables[foreign.target]
        own, other = table.column(foreign.columns[0]), target.column(foreign.target_columns[0])
        if own.secret or other.secret or (own.distinct or 0) < _MIN_KEYS:
            return foreign
        key, value = f"target.{sampler.column(other)}", f"source.{sampler.column(own)}"
        keys = f"SELECT {key} FROM {sampler.name(target)} AS target WHERE {key} IS NOT NULL"
        sql = f"SELECT 1 FROM {sampler.name(table)} AS source WHERE {value} NOT IN ({keys}) LIMIT 1"
        result = sampler.query(sql, table, 1, target)
        return replace(foreign, likely=result is not None and not result["rows"])

    return replace(table, foreign_keys=tuple(map(check, table.foreign_keys)))


def _profile_column(column: Column, cells: list[Any], total: int | None) -> Column:
    if not cells:
        return column._replace(distinct=0)
    counts = Counter(_text(cell) for cell in cells if cell is not None)
    null_share = round(1 - counts.total() / len(cells), 4)
    if column.type_class == "binary":
        return column._replace(null_share=null_share)
    examples = tuple(value[:_EXAMPLE_CHARS] for value, _ in counts.most_common(_EXAMPLES))
    distinct = estimate_distinct(list(counts.values()), total and round(total * (1 - null_share)))
    return column._replace(null_share=null_share, distinct=distinct, examples=examples)


def estimate_distinct(counts: list[int], total: int | None) -> int:
    """Return the estimated number of distinct values in `total` rows from the value `counts` of a sample.

    The GEE estimator: a value that occurs once counts as sqrt(rows / sampled rows), any other value as one (Charikar,
    Chaudhuri, Motwani, Narasayya: Towards estimation error guarantees for distinct values, PODS 2000). Without `total`,
    the number of distinct values in the sample.
    """
    sample_size = sum(counts)
    if total is None or total <= sample_size:
        return len(counts)
    singletons = sum(count == 1 for count in counts)
    return (
        min(total, round(math.sqrt(total / sample_size) * singletons) + len(counts) - singletons) if sample_size else 0
    )


def _read_distinct(sampler: Sampler, table: Table, columns: list[Column], limit: int) -> dict[Column, list[str]]:
    """Return up to `limit` distinct values of each of `columns`, without those that failed or timed out.

    Up to 50 columns are read in one statement. If it fails, each column is read in its own.
    """
    values: dict[Column, list[str]] = {}
    for batch in (columns[at : at + _MAX_TOGETHER] for at in range(0, len(columns), _MAX_TOGETHER)):
        together = _read_distinct_together(sampler, table, batch, limit) if len(batch) > 1 else None
        if together is not None:
            values |= together
            continue
        for column in batch:
            result = sampler.query(_distinct_sql(sampler, table, column, limit), table, limit)
            if result is not None and not result["truncated"]:
                values[column] = [str(row[0]) for row in result["rows"]]
    return values


def _read_distinct_together(
    sampler: Sampler, table: Table, columns: list[Column], limit: int
) -> dict[Column, list[str]] | None:
    """Return up to `limit` distinct values of each of `columns`; None on failure or timeout, or for too many values."""
    sql = " UNION ALL ".join(
        f"SELECT {number} AS place, word FROM ({_distinct_sql(sampler, table, column, limit, 'word')}) AS texts"
        for number, column in enumerate(columns)
    )
    result = sampler.query(sql, table, min(limit * len(columns), _MAX_DISTINCT_TOGETHER))
    if result is None or result["truncated"]:
        return None
    values: dict[Column, list[str]] = {column: [] for column in columns}
    for place, text in result["rows"]:
        values[columns[int(place)]].append(str(text))
    return values


def _distinct_sql(sampler: Sampler, table: Table, column: Column, limit: int, name: str = "") -> str:
    """Return a query for up to `limit` distinct values of `column`, as text in a column `name` if that is not empty."""
    value = sampler.column(column)
    if name:
        value = f"{value if is_plain_text(column) else sampler.as_text(column)} AS {name}"
    return f"SELECT DISTINCT {value} FROM {sampler.name(table)} WHERE {sampler.is_short(column)} LIMIT {limit}"


def _text(cell: Any) -> str:
    return str(cell)[:MAX_VALUE_LENGTH]


def read_values(sampler: Sampler, *, sampled_only: bool = False) -> Iterator[ColumnValues]:
    """Yield up to 100,000 distinct values of each text column that may be read.

    Texts of more than 200 characters are left out. Nothing is read where the sample in the catalog has all values;
    otherwise the columns of a table are read in one statement. A table or column that cannot be read in time gets the
    values sampled in the catalog, and is not `read`. With `sampled_only`, tables that are not sampled are left out.
    """
    catalog = sampler.catalog
    for key in sampler.in_order(key for key, table in catalog.tables.items() if is_sampled(table) or not sampled_only):
        table, unread = catalog.tables[key], []
        for column in table.columns:
            if column.type_class == "text" and sampler.is_read(table, column):
                sampled = _sampled_values(catalog, table, column)
                if sampled.complete:
                    yield sampled
                else:
                    unread.append(column)
        is_moderate = table.rows is None or table.rows * len(unread) <= _MAX_READ_CELLS
        rows = _read_table(sampler, table, unread) if unread and is_moderate else None
        if rows is not None:
            yield from rows
        elif sampler.is_finished:
            yield from (_sampled_values(catalog, table, column) for column in unread)
        else:
            distinct = _read_distinct(sampler, table, unread, _MAX_INDEXED + 1)
            for column in unread:
                values = distinct.get(column)
                if values is None:
                    yield _sampled_values(catalog, table, column)
                else:
                    kept, is_complete = tuple(values[:_MAX_INDEXED]), len(values) <= _MAX_INDEXED
                    yield ColumnValues(table.key, column.name, kept, is_complete)


def _sampled_values(catalog: Catalog, table: Table, column: Column) -> ColumnValues:
    """Return the values of `column` in the catalog; texts truncated in the sample are left out."""
    sample = catalog.values.get((table.key, column.name), ())
    values = tuple(value for value in sample if len(value) < MAX_VALUE_LENGTH)
    is_complete = len(sample) == len(values) < _MAX_VALUES and _is_sampled_completely(table)
    return ColumnValues(table.key, column.name, values, is_complete, read=is_complete)


def _read_table(sampler: Sampler, table: Table, columns: list[Column]) -> list[ColumnValues] | None:
    """Return all values of `columns`, read in one statement; None on failure or timeout, or if the table is large."""
    # One character more than an indexed value shows which texts are too long.
    expressions = (
        f"SUBSTRING({sampler.column(column)}, 1, {MAX_VALUE_LENGTH + 1})"
        if is_plain_text(column)
        else sampler.column(column)
        for column in columns
    )
    limit = _MAX_READ_CELLS // len(columns) + 1
    result = sampler.query(f"SELECT {', '.join(expressions)} FROM {sampler.name(table)} LIMIT {limit}", table, limit)
    if result is None or len(result["rows"]) == limit or result["truncated"]:
        return None
    read = []
    for at, column in enumerate(columns):
        texts = dict.fromkeys(str(row[at]) for row in result["rows"] if row[at] is not None)
        values = tuple(text for text in texts if len(text) <= MAX_VALUE_LENGTH)
        read.append(ColumnValues(table.key, column.name, values[:_MAX_INDEXED], len(values) <= _MAX_INDEXED))
    return read

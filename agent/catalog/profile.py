"""What a sample of rows tells about columns: shares of NULL, distinct values, examples. One statement a table."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from agent.catalog.estimates import count_rows, row_estimates
from agent.catalog.sampling import LONGEST_VALUE, Sampler
from agent.catalog.schema import Catalog, Column, Table
from agent.sql.database import Database
from agent.sql.execute import RowAccess

_SAMPLED_ROWS = 1000
_SAMPLED_CELLS = 20_000
_FEWEST_ROWS = 100
_EXAMPLES = 5
_EXAMPLE_CHARS = 60
_KEPT_VALUES = 200
_KEPT_WARNINGS = 100

Values = dict[tuple[str, str], tuple[str, ...]]


@dataclass
class _Found:
    tables: dict[str, Table]
    values: Values = field(default_factory=dict)


def profile(
    database: Database,
    catalog: Catalog,
    *,
    access: RowAccess | None = None,
    budget_s: float,
    stop: Callable[[], bool] = lambda: False,
) -> Catalog:
    """Return `catalog` with row estimates, what is known of each column, and distinct values of its text columns.

    Up to 1,000 rows of a table are read, the first that come. Tables that are not reached within `budget_s` seconds
    stay as they are; so do columns that are secret, whose values are not read.
    """
    sampler = Sampler(database, catalog, access=access, budget_s=budget_s, stop=stop)
    # The engine's statistics count hidden rows too.
    estimates = {} if access else row_estimates(sampler, catalog)
    sampler.warnings.clear()
    found = _Found({key: replace(table, rows=estimates.get(key)) for key, table in catalog.tables.items()})
    for key, table in list(found.tables.items()):
        if sampler.is_spent:
            break
        _sample(sampler, table, found, key)
    warnings = tuple(dict.fromkeys((*catalog.warnings, *sampler.warnings)))[:_KEPT_WARNINGS]
    return replace(catalog, tables=found.tables, values=found.values, warnings=warnings)


def _sample(sampler: Sampler, table: Table, found: _Found, key: str) -> None:
    columns = [column for column in table.columns if not column.secret]
    if not columns:
        return
    limit = max(_FEWEST_ROWS, min(_SAMPLED_ROWS, _SAMPLED_CELLS // len(columns)))
    read = ", ".join(_expression(sampler, column) for column in columns)
    result = sampler.ask(f"SELECT {read} FROM {sampler.name(table)} LIMIT {limit}", table, limit)
    if result is None:
        return
    rows = result["rows"]
    whole = len(rows) < limit
    total = len(rows) if whole else (table.rows or (None if table.is_view else count_rows(sampler, table)))
    profiled = {}
    for at, column in enumerate(columns):
        cells = [row[at] for row in rows]
        profiled[column.name] = _profiled(column, cells, len(rows) if whole else total)
        if column.type_class == "text":
            found.values[key, column.name] = _texts(cells) if whole else _distinct(sampler, table, column, cells)
    merged = tuple(profiled.get(column.name, column) for column in table.columns)
    found.tables[key] = replace(table, columns=merged, rows=total)


def _expression(sampler: Sampler, column: Column) -> str:
    """Of bytes only whether they are there is read."""
    if column.type_class == "binary":
        return f"CASE WHEN {sampler.column(column)} IS NULL THEN NULL ELSE 1 END"
    return sampler.beginning(column)


def _profiled(column: Column, cells: list[Any], total: int | None) -> Column:
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
    """Return about how many distinct values `total` rows have of which a sample shows values `counts` times.

    The GEE estimator: sqrt(rows / sampled rows) for each value seen once, one for each other (Charikar, Chaudhuri,
    Motwani, Narasayya: Towards estimation error guarantees for distinct values, PODS 2000). Without `total`, what the
    sample shows.
    """
    sampled = sum(counts)
    if total is None or total <= sampled:
        return len(counts)
    once = sum(count == 1 for count in counts)
    return min(total, round(math.sqrt(total / sampled) * once) + len(counts) - once) if sampled else 0


def _distinct(sampler: Sampler, table: Table, column: Column, cells: list[Any]) -> tuple[str, ...]:
    """The values of a table that the sample does not cover; those of the sample where that takes too long."""
    sql = (
        f"SELECT DISTINCT {sampler.column(column)} FROM {sampler.name(table)}"
        f" WHERE {sampler.is_short(column)} LIMIT {_KEPT_VALUES}"
    )
    result = sampler.ask(sql, table, _KEPT_VALUES)
    return _texts([row[0] for row in result["rows"]] if result else cells)


def _texts(cells: list[Any]) -> tuple[str, ...]:
    return tuple(sorted({_text(cell) for cell in cells if cell is not None})[:_KEPT_VALUES])


def _text(cell: Any) -> str:
    return str(cell)[:LONGEST_VALUE]

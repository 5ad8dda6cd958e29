"""Reads the distinct values of text columns for the value index, completely where they are not too many."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.catalog.sampling import LONGEST_VALUE, Sampler
from agent.catalog.schema import Catalog, Column, Table
from agent.sql.database import Database
from agent.sql.execute import RowAccess


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Distinct values of one column. `complete` is False where the column may hold others that are not too long."""

    table: str
    column: str
    values: tuple[str, ...]
    complete: bool


def read_values(
    database: Database,
    catalog: Catalog,
    *,
    access: RowAccess | None = None,
    per_column: int = 100_000,
    budget_s: float = 30.0,
    timeout_s: float = 5.0,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[ColumnValues]:
    """Yield up to `per_column` distinct values of each text column that is not secret.

    Texts of more than 200 characters are left out. A column that cannot be read within `timeout_s` seconds, or after
    all columns took `budget_s` seconds, comes with the values that the catalog sampled.
    """
    sampler = Sampler(database, catalog, access=access, budget_s=budget_s, timeout_s=timeout_s, stop=stop)
    for table in catalog.tables.values():
        for column in table.columns:
            if column.type_class == "text" and not column.secret:
                sampled = catalog.values.get((table.key, column.name), ())
                yield _distinct(sampler, table, column, per_column) or _incomplete(table, column, sampled)


def _distinct(sampler: Sampler, table: Table, column: Column, limit: int) -> ColumnValues | None:
    sql = (
        f"SELECT DISTINCT {sampler.column(column)} FROM {sampler.name(table)}"
        f" WHERE {sampler.is_short(column)} LIMIT {limit + 1}"
    )
    result = sampler.ask(sql, table, limit + 1)
    if result is None:
        return None
    values = tuple(str(row[0]) for row in result["rows"])
    return ColumnValues(table.key, column.name, values[:limit], len(values) <= limit and not result["truncated"])


def _incomplete(table: Table, column: Column, values: tuple[str, ...]) -> ColumnValues:
    # The sample cuts texts, and a text that was cut is no value of the column.
    return ColumnValues(
        table.key, column.name, tuple(value for value in values if len(value) < LONGEST_VALUE), complete=False
    )

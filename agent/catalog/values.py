"""Samples the values of text columns: they tell a model how data is spelt, and a question what it may be about."""

import time

from agent.catalog.schema import Catalog, Table
from agent.errors import DatasphinxError
from agent.sql.database import Database
from agent.sql.execute import execute
from agent.sql.limits import Limits

_TEXT = ("CHAR", "TEXT", "CLOB", "ENUM", "STRING")
_STATEMENT_TIMEOUT_S = 1.0


def sample_values(
    database: Database, catalog: Catalog, *, per_column: int = 200, budget_s: float = 3.0
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return up to `per_column` distinct values of each text column, by (table key, column name).

    After `budget_s` seconds the columns that are left are not sampled; a column that cannot be sampled is left out.
    """
    deadline = time.monotonic() + budget_s
    values: dict[tuple[str, str], tuple[str, ...]] = {}
    for key, table in catalog.tables.items():
        for column in table.columns:
            if time.monotonic() > deadline:
                return values
            if any(word in column.type.upper() for word in _TEXT):
                values[key, column.name] = _distinct(database, catalog, table, column.name, per_column)
    return values


def _distinct(database: Database, catalog: Catalog, table: Table, column: str, limit: int) -> tuple[str, ...]:
    name, source = database.quote(column), database.quote(table.name)
    sql = f"SELECT DISTINCT {name} FROM {source} WHERE {name} IS NOT NULL ORDER BY {name} LIMIT {limit}"
    try:
        result = execute(sql, database, catalog, Limits(_STATEMENT_TIMEOUT_S, limit))
    except DatasphinxError:
        return ()
    return tuple(str(row[0]) for row in result["rows"])

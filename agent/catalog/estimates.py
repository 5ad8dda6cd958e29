"""About how many rows tables have, as the engine's own statistics say it: one statement for all tables."""

from collections.abc import Mapping

from agent.catalog.sampling import Sampler
from agent.catalog.schema import Catalog, Column, Table


def _table(schema: str | None, name: str, *columns: str) -> Table:
    return Table(name, tuple(Column(column, "TEXT") for column in columns), schema=schema)


_STATISTICS: Mapping[str, tuple[str, Table]] = {
    "postgres": (
        "SELECT schemaname, relname, n_live_tup FROM pg_catalog.pg_stat_user_tables WHERE n_live_tup > 0",
        _table("pg_catalog", "pg_stat_user_tables", "schemaname", "relname", "n_live_tup"),
    ),
    "mysql": (
        "SELECT table_schema, table_name, table_rows FROM information_schema.tables WHERE table_type = 'BASE TABLE'",
        _table("information_schema", "tables", "table_schema", "table_name", "table_rows", "table_type"),
    ),
    "sqlite": ("SELECT 'main', tbl, stat FROM sqlite_stat1", _table(None, "sqlite_stat1", "tbl", "stat")),
}
"""For each dialect a query of schema, table and rows, and the one table of the engine that it may read."""

_MAX_ROWS = 1_000_000
_COUNTED = 1_000_000


def row_estimates(sampler: Sampler, catalog: Catalog) -> dict[str, int]:
    """Return estimates by table key; tables of which the engine keeps no statistics are left out.

    SQLite has them after ANALYZE, the others by themselves. An engine that refuses gives none.
    """
    if catalog.dialect not in _STATISTICS:
        return {}
    sql, table = _STATISTICS[catalog.dialect]
    result = sampler.ask(sql, table, _MAX_ROWS)
    found: dict[str, int] = {}
    for schema, name, rows in result["rows"] if result else ():
        key = name if schema == catalog.default_schema or catalog.dialect == "sqlite" else f"{schema}.{name}"
        number = str(rows).split()[0] if rows is not None else ""
        if key in catalog.tables and number.isdigit():
            found[key] = int(number)
    return found


def count_rows(sampler: Sampler, table: Table) -> int | None:
    """Return the number of rows of `table`, counted up to a million; None where that is not done in time."""
    sql = f"SELECT COUNT(*) FROM (SELECT 1 FROM {sampler.name(table)} LIMIT {_COUNTED}) AS counted"
    result = sampler.ask(sql, table, 1)
    return int(result["rows"][0][0]) if result and result["rows"] else None

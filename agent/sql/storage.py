"""Which tables, beside views, show rows that other tables show too: partitions, merge and virtual tables, and so on.

A rule on the rows of one table has to hold for every table that shows the same rows. For DuckDB, whose SQLAlchemy
dialect does not report generated columns, it also finds the tables that have them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection

Name = tuple[str, str]
"""Schema and name of a table."""

_POSTGRES = """
    SELECT child_schema.nspname, child.relname, parent_schema.nspname, parent.relname
    FROM pg_catalog.pg_inherits AS link
    JOIN pg_catalog.pg_class AS child ON child.oid = link.inhrelid
    JOIN pg_catalog.pg_namespace AS child_schema ON child_schema.oid = child.relnamespace
    JOIN pg_catalog.pg_class AS parent ON parent.oid = link.inhparent
    JOIN pg_catalog.pg_namespace AS parent_schema ON parent_schema.oid = parent.relnamespace
    WHERE child.relkind IN ('r', 'p', 'f')"""
_MYSQL = """
    SELECT table_schema, table_name, engine FROM information_schema.tables
    WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')
    AND table_schema NOT IN ('mysql', 'performance_schema', 'sys')"""
_SQLITE = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
_CLICKHOUSE = "SELECT database, name, engine, create_table_query FROM system.tables"
_DUCKDB = "SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE NOT internal"
_TRINO = "SELECT schema_name, name FROM system.metadata.materialized_views"

_MYSQL_OWN = {
    "INNODB", "MYISAM", "ARIA", "MEMORY", "HEAP", "ARCHIVE", "CSV", "ROCKSDB", "TOKUDB", "COLUMNSTORE", "S3", "NDB",
    "NDBCLUSTER",
}  # fmt: skip
"""Storage engines whose tables hold their own rows; MRG_MYISAM, FEDERATED, CONNECT and SPIDER, for example, do not."""

_CLICKHOUSE_OWN = {"Memory", "Log", "TinyLog", "StripeLog", "Set", "Join", "EmbeddedRocksDB"}
_CLICKHOUSE_TARGET = re.compile(r"\sTO\s+(`[^`]+`|\w+)\.(`[^`]+`|\w+)")


@dataclass(frozen=True)
class Storage:
    """Tables that do not hold all of their rows alone."""

    parents: Mapping[Name, tuple[Name, ...]] = field(default_factory=dict)
    """By partition or inheritance child, the tables that show its rows too."""
    shared: frozenset[Name] = frozenset()
    """Tables whose rows may be those of any other table."""
    computed: frozenset[Name] = frozenset()
    """Tables that may have generated columns, as far as reflection does not report them."""


def storage_of(connection: Connection, dialect: str, default: str) -> Storage:
    """Return where rows are stored, as far as the engine tells it; `default` is the schema of SQLite's tables.

    Raises:
        SQLAlchemyError: the engine does not answer.
    """
    readers = {
        "postgres": _postgres, "mysql": _mysql, "clickhouse": _clickhouse, "trino": _trino, "duckdb": _duckdb,
    }  # fmt: skip
    if dialect == "sqlite":
        return _sqlite(connection, default)
    return readers[dialect](connection) if dialect in readers else Storage()


def _postgres(connection: Connection) -> Storage:
    parents: dict[Name, tuple[Name, ...]] = {}
    for schema, name, parent_schema, parent in connection.exec_driver_sql(_POSTGRES):
        parents[schema, name] = (*parents.get((schema, name), ()), (parent_schema, parent))
    return Storage(parents)


def _mysql(connection: Connection) -> Storage:
    rows = connection.exec_driver_sql(_MYSQL)
    return Storage(shared=frozenset((str(s), str(n)) for s, n, engine in rows if str(engine).upper() not in _MYSQL_OWN))


def _sqlite(connection: Connection, default: str) -> Storage:
    tables = {str(name): str(sql or "") for name, sql in connection.exec_driver_sql(_SQLITE)}
    virtual = [name for name, sql in tables.items() if re.match(r"\s*CREATE\s+VIRTUAL\b", sql, re.IGNORECASE)]
    # A virtual table keeps its rows in shadow tables, which begin with its name and an underscore.
    prefixes = tuple(f"{name}_".lower() for name in virtual)
    shadows = [name for name in tables if name.lower().startswith(prefixes)] if prefixes else []
    return Storage(shared=frozenset((default, name) for name in (*virtual, *shadows)))


def _clickhouse(connection: Connection) -> Storage:
    shared = set()
    for schema, name, engine, query in connection.exec_driver_sql(_CLICKHOUSE):
        if not (engine.endswith("MergeTree") or engine in _CLICKHOUSE_OWN) or name.startswith(".inner"):
            shared.add((schema, name))
        target = _CLICKHOUSE_TARGET.search(query) if engine == "MaterializedView" else None
        if target:
            shared.add((target[1].strip("`"), target[2].strip("`")))
    return Storage(shared=frozenset(shared))


def _duckdb(connection: Connection) -> Storage:
    rows = connection.exec_driver_sql(_DUCKDB)
    # The text is written by DuckDB. A comment or default that has the words costs a barrier, and nothing else.
    return Storage(computed=frozenset((str(s), str(n)) for s, n, sql in rows if "GENERATED ALWAYS" in str(sql)))


def _trino(connection: Connection) -> Storage:
    return Storage(shared=frozenset((str(schema), str(name)) for schema, name in connection.exec_driver_sql(_TRINO)))

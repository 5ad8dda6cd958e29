"""Queries of the engines' system catalogs: user-defined routines, composite types, foreign keys, and shared rows.

Row rules have to hold for every table that shows the same rows: partitions, inheritance children, merge tables and
virtual tables. The statements here are constants. They call no functions that a macro of the database could replace.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, text

_POSTGRES_ROUTINES = """
SELECT proname FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = pronamespace
WHERE nspname NOT IN ('pg_catalog', 'information_schema') AND NOT EXISTS (
  SELECT FROM pg_catalog.pg_depend d
  WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
AND NOT EXISTS (
  SELECT FROM pg_catalog.pg_proc own
  WHERE own.pronamespace = 'pg_catalog'::regnamespace AND own.proname = p.proname AND own.proargtypes = p.proargtypes)
UNION
SELECT oprname FROM pg_catalog.pg_operator o
JOIN pg_catalog.pg_namespace n ON n.oid = oprnamespace
LEFT JOIN pg_catalog.pg_type l ON l.oid = oprleft LEFT JOIN pg_catalog.pg_type r ON r.oid = oprright
WHERE nspname <> 'pg_catalog' AND NOT EXISTS (
  SELECT FROM pg_catalog.pg_depend d
  WHERE d.classid = 'pg_catalog.pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e')
AND NOT EXISTS (
  SELECT FROM pg_catalog.pg_operator own
  WHERE own.oprnamespace = 'pg_catalog'::regnamespace AND own.oprname = o.oprname
  AND own.oprleft = o.oprleft AND own.oprright = o.oprright)
AND coalesce(l.typnamespace, 'pg_catalog'::regnamespace) = 'pg_catalog'::regnamespace
AND coalesce(r.typnamespace, 'pg_catalog'::regnamespace) = 'pg_catalog'::regnamespace
"""
"""User-defined functions outside of extensions, and such operators on built-in types: other operators require a column
of a user-defined type.

A function with the same name and arguments as one in pg_catalog is never called, since sessions search pg_catalog
first.
"""

_ROUTINES = {
    "postgres": _POSTGRES_ROUTINES,
    "mysql": "SELECT routine_name FROM information_schema.routines WHERE routine_schema = DATABASE()",
    "duckdb": "SELECT function_name FROM duckdb_functions() WHERE NOT internal",
    "clickhouse": "SELECT name FROM system.functions WHERE origin <> 'System'",
    "spark": "SHOW USER FUNCTIONS",
    "databricks": "SHOW USER FUNCTIONS",
    "redshift": """SELECT proname FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE nspname NOT IN ('pg_catalog', 'information_schema')""",
    "snowflake": "SELECT function_name FROM information_schema.functions",
    "bigquery": "SELECT routine_name FROM INFORMATION_SCHEMA.ROUTINES",
    "tsql": "SELECT name FROM sys.objects WHERE type IN ('FN', 'IF', 'TF', 'FS', 'FT', 'AF')",
}

_COMPOSITE_FIELDS = """
SELECT a.attname, f.attname FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname NOT IN ('pg_catalog', 'information_schema')
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem
JOIN pg_catalog.pg_attribute f ON f.attrelid IN (t.typrelid, e.typrelid) AND f.attrelid <> 0
WHERE a.attnum > 0 AND f.attnum > 0 AND NOT a.attisdropped AND NOT f.attisdropped
"""


_POSTGRES_PARENTS = """
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
_SQLITE_FOREIGN_KEYS = """
    SELECT t.name, f.id, f."table", f."from",
        coalesce(f."to", (SELECT name FROM pragma_table_info(f."table", 'main') WHERE pk = f.seq + 1))
    FROM (
        SELECT name, (length(sql) - length(replace(upper(sql), 'FOREIGN KEY', ''))) / 11 AS constraints
        FROM main.sqlite_master WHERE type = 'table' AND name IN :tables
    ) AS t JOIN pragma_foreign_key_list(t.name, 'main') AS f
    ORDER BY t.name, CASE WHEN f.id < t.constraints THEN -1 - f.id ELSE f.id END, f.seq"""
"""Foreign keys in the order of SQLAlchemy: table constraints as written, then those of columns, the last first.

SQLite omits the target columns if they are the target's primary key.
"""
_SQLITE = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
_CLICKHOUSE = "SELECT database, name, engine, create_table_query FROM system.tables"
_DUCKDB = "SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE NOT internal"
_TRINO = "SELECT schema_name, name FROM system.metadata.materialized_views"
_MYSQL_LOCAL_ENGINES = {
    "INNODB", "MYISAM", "ARIA", "MEMORY", "HEAP", "ARCHIVE", "CSV", "ROCKSDB", "TOKUDB", "COLUMNSTORE", "S3", "NDB",
    "NDBCLUSTER",
}  # fmt: skip
"""Storage engines whose tables hold their own rows, unlike MRG_MYISAM, FEDERATED, CONNECT or SPIDER."""
_CLICKHOUSE_LOCAL_ENGINES = {"Memory", "Log", "TinyLog", "StripeLog", "Set", "Join", "EmbeddedRocksDB"}
_CLICKHOUSE_TARGET = re.compile(r"\sTO\s+(`[^`]+`|\w+)\.(`[^`]+`|\w+)")


def user_routines(connection: Connection, dialect: str) -> frozenset[str]:
    """Return the names of user-defined functions, macros and operators in lower case.

    Empty for SQLite, which stores none, and for Trino, which cannot list them.
    """
    query = _ROUTINES.get(dialect)
    rows = connection.exec_driver_sql(query).fetchall() if query else []
    return frozenset(str(name).rpartition(".")[2].lower() for (name, *_) in rows)


def composite_fields(connection: Connection, dialect: str) -> frozenset[tuple[str, str]]:
    """Return (column, field) pairs of columns with a composite type or an array of one, in lower case.

    Empty for engines other than PostgreSQL, where a field after a dot is never a call.
    """
    rows = connection.exec_driver_sql(_COMPOSITE_FIELDS).fetchall() if dialect == "postgres" else []
    return frozenset((str(column).lower(), str(field).lower()) for column, field in rows)


_COMPOSITE_TYPES = """
SELECT n.nspname, c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND t.typnamespace <> 'pg_catalog'::regnamespace
"""


def composite_types(connection: Connection, dialect: str) -> frozenset[tuple[str, str, str, str]]:
    """Return schema, table, column and the name of the type for columns of PostgreSQL's types outside pg_catalog."""
    rows = connection.exec_driver_sql(_COMPOSITE_TYPES).fetchall() if dialect == "postgres" else []
    return frozenset((str(schema), str(table), str(column), str(kind)) for schema, table, column, kind in rows)


TableName = tuple[str, str]
"""Schema and name of a table."""


@dataclass(frozen=True)
class Storage:
    """Tables that share rows with others, or have generated columns."""

    parents: Mapping[TableName, tuple[TableName, ...]] = field(default_factory=dict)
    """Partitions and inheritance children, with the tables that also show their rows."""
    shared: frozenset[TableName] = frozenset()
    """Tables that may show rows of any other table."""
    computed: frozenset[TableName] = frozenset()
    """Tables that may have generated columns; only for DuckDB, whose SQLAlchemy dialect does not report them."""
    definitions: Mapping[TableName, str] = field(default_factory=dict)
    """Texts that name the tables whose rows a table in `shared` may show, where the engine has them."""


def sqlite_foreign_keys(connection: Connection, tables: Sequence[str]) -> dict[tuple[None, str], list[dict[str, Any]]]:
    """Return the foreign keys of `tables` of a SQLite file in the form of `Inspector.get_multi_foreign_keys`.

    SQLAlchemy would scan the whole schema for each table.

    Raises:
        SQLAlchemyError: the file cannot be read.
    """
    keys: dict[tuple[None, str], dict[int, dict[str, Any]]] = {}
    statement = text(_SQLITE_FOREIGN_KEYS).bindparams(bindparam("tables", expanding=True))
    rows = connection.execute(statement, {"tables": list(tables)})
    for table, number, target, column, target_column in rows:
        key = keys.setdefault((None, table), {}).setdefault(
            number,
            {"referred_table": target, "referred_schema": None, "constrained_columns": [], "referred_columns": []},
        )
        key["constrained_columns"].append(column)
        key["referred_columns"] += [target_column] if target_column else []
    return {name: list(references.values()) for name, references in keys.items()}


def storage_of(connection: Connection, dialect: str, default: str) -> Storage:
    """Return the tables that share rows, as far as the engine reports them; `default` is the schema of SQLite's tables.

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
    parents: dict[TableName, tuple[TableName, ...]] = {}
    for schema, name, parent_schema, parent in connection.exec_driver_sql(_POSTGRES_PARENTS):
        parents[schema, name] = (*parents.get((schema, name), ()), (parent_schema, parent))
    return Storage(parents)


def _mysql(connection: Connection) -> Storage:
    rows = connection.exec_driver_sql(_MYSQL)
    return Storage(
        shared=frozenset((str(s), str(n)) for s, n, engine in rows if str(engine).upper() not in _MYSQL_LOCAL_ENGINES)
    )


def _sqlite(connection: Connection, default: str) -> Storage:
    tables = {str(name): str(sql or "") for name, sql in connection.exec_driver_sql(_SQLITE)}
    virtual = [name for name, sql in tables.items() if re.match(r"\s*CREATE\s+VIRTUAL\b", sql, re.IGNORECASE)]
    # A virtual table stores its rows in shadow tables, whose names begin with its name and an underscore.
    definitions = {
        (default, name): tables[owner]
        for owner in virtual
        for name in tables
        if name == owner or name.lower().startswith(f"{owner}_".lower())
    }
    return Storage(shared=frozenset(definitions), definitions=definitions)


def _clickhouse(connection: Connection) -> Storage:
    shared, definitions = set(), {}
    for schema, name, engine, query in connection.exec_driver_sql(_CLICKHOUSE):
        if not (engine.endswith("MergeTree") or engine in _CLICKHOUSE_LOCAL_ENGINES) or name.startswith(".inner"):
            shared.add((schema, name))
        target = _CLICKHOUSE_TARGET.search(query) if engine == "MaterializedView" else None
        if target:
            shown = target[1].strip("`"), target[2].strip("`")
            shared.add(shown)
            definitions[shown] = query
    return Storage(shared=frozenset(shared), definitions=definitions)


def _duckdb(connection: Connection) -> Storage:
    rows = connection.exec_driver_sql(_DUCKDB)
    # DuckDB generates this text. The words in a comment or default only cause an unnecessary barrier.
    return Storage(computed=frozenset((str(s), str(n)) for s, n, sql in rows if "GENERATED ALWAYS" in str(sql)))


def _trino(connection: Connection) -> Storage:
    return Storage(shared=frozenset((str(schema), str(name)) for schema, name in connection.exec_driver_sql(_TRINO)))

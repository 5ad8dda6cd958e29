"""What users of a database have defined that a statement could call: functions, macros, operators, composite types.

The statements here are constants and read the engines' own catalogs. They call no function: a macro of the file could
stand in for it.
"""

from sqlalchemy import Connection

_POSTGRES = """
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
"""Functions that no extension brought, and such operators on the engine's own types: others need a column of theirs.

One with the same name and arguments in pg_catalog is never reached, since sessions search that schema first.
"""

_ROUTINES = {
    "postgres": _POSTGRES,
    "mysql": "SELECT routine_name FROM information_schema.routines WHERE routine_schema = DATABASE()",
    "duckdb": "SELECT function_name FROM duckdb_functions() WHERE NOT internal",
    "clickhouse": "SELECT name FROM system.functions WHERE origin <> 'System'",
    "spark": "SHOW USER FUNCTIONS",
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


def user_routines(connection: Connection, dialect: str) -> frozenset[str]:
    """Return the names of functions, macros and operators that users of the database have defined, in lower case.

    Empty for SQLite, which keeps none, and for Trino, where no statement lists them.
    """
    query = _ROUTINES.get(dialect)
    rows = connection.exec_driver_sql(query).fetchall() if query else []
    return frozenset(str(name).rpartition(".")[2].lower() for (name, *_) in rows)


def composite_fields(connection: Connection, dialect: str) -> frozenset[tuple[str, str]]:
    """Return each column of a composite type, or of an array of one, with each field of the type, in lower case.

    Only PostgreSQL is asked: elsewhere a field after a dot is never a call.
    """
    rows = connection.exec_driver_sql(_COMPOSITE_FIELDS).fetchall() if dialect == "postgres" else []
    return frozenset((str(column).lower(), str(field).lower()) for column, field in rows)

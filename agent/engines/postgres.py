"""PostgreSQL."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from datasphinx.agent.engines.base import (
    CONNECT_TIMEOUT_S,
    STOP_S,
    Engine,
    Storage,
    SystemQuery,
    TableName,
    at_connect,
    materialized,
    timeout_of,
    with_version,
)
from datasphinx.agent.engines.privileges import Grants, column_of
from datasphinx.agent.engines.spelling import Spelling
from datasphinx.agent.engines.store import Store
from datasphinx.agent.types import Limits

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy import Dialect as SQLAlchemyDialect
    from sqlalchemy import Engine as SQLAlchemyEngine


class _Spelling(Spelling):
    dialect = "postgres"
    types = {**Spelling.types, "number": "DOUBLE PRECISION"}
    decimal = "DECIMAL"
    formatter = "TO_CHAR"
    formats = {
        "day": "YYYY-MM-DD",
        "week": 'IYYY-"W"IW',
        "month": "YYYY-MM",
        "quarter": 'YYYY-"Q"Q',
        "year": "YYYY",
    }
    formulas = {
        "duration": "(x) * INTERVAL '1 second'",
        # An empty text has no words.
        "initcap": "COALESCE((SELECT STRING_AGG(UPPER(SUBSTRING(word, 1, 1)) || SUBSTRING(word, 2), ' ' ORDER BY place)"
        " FROM UNNEST(STRING_TO_ARRAY(x, ' ')) WITH ORDINALITY AS words(word, place)), x)",
        "percentile": "PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x)",
    }

    def typed_null(self, name: str) -> exp.Expr:
        """Cast NULL, which is text otherwise."""
        return exp.cast(exp.null(), exp.DataType.build(name, dialect=self.dialect, udt=True), copy=False)

    def bound_text(self, placeholder: exp.Expr) -> exp.Expr:
        """Say that it is a text."""
        return self.cast(placeholder, "text")


_PARSER_SETTINGS = {
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "client_encoding": "'UTF8'",
}
"""PostgreSQL settings that affect parsing, with their defaults."""

_PATH = """SELECT pg_catalog.set_config('search_path', COALESCE((
SELECT pg_catalog.string_agg(pg_catalog.quote_ident(s), ', ')
FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) AS s
WHERE s OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.name), ''), {local})"""
"""Statement that keeps the schemas of the search path and makes pg_catalog come first, as it does if the path does not
name it. No function or operator of another schema then replaces one of pg_catalog.
"""


_ROUTINES = """
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
UNION
SELECT place FROM (
  WITH RECURSIVE own_casts AS (
    SELECT castsource AS source, casttarget AS target FROM pg_catalog.pg_cast k
    WHERE castmethod = 'f' AND k.oid >= 16384 AND NOT EXISTS (
      SELECT FROM pg_catalog.pg_depend d
      WHERE d.classid = 'pg_catalog.pg_cast'::regclass AND d.objid = k.oid AND d.deptype = 'e')
  ), kinds AS (
    SELECT t.oid AS kind, typrelid FROM pg_catalog.pg_type t
    WHERE oid IN (SELECT source FROM own_casts UNION SELECT target FROM own_casts)
    AND typnamespace <> 'pg_catalog'::regnamespace
    UNION
    SELECT t.oid, t.typrelid FROM pg_catalog.pg_type t JOIN kinds ON kind IN (t.typelem, t.typbasetype)
  ), columns AS (
    SELECT relname, attname FROM kinds JOIN pg_catalog.pg_attribute a ON atttypid = kind AND attnum > 0
    JOIN pg_catalog.pg_class c ON c.oid = attrelid WHERE NOT attisdropped AND typrelid = 0
  )
  SELECT relname || '::' AS place FROM kinds JOIN pg_catalog.pg_class c ON c.oid = typrelid
  UNION SELECT relname || '::' FROM columns
  UNION SELECT '::' || attname FROM columns
  UNION SELECT pg_catalog.format_type(source, NULL) || '::' || pg_catalog.format_type(target, NULL)
  FROM own_casts JOIN pg_catalog.pg_type t ON t.oid = source WHERE typnamespace = 'pg_catalog'::regnamespace
) AS casts
"""
"""User-defined functions outside of extensions, such operators on built-in types, and what casts with such functions
read, as `ReadableNames.routines` has it. Other operators require a column of a user-defined type.

A function with the same name and arguments as one in pg_catalog is never called, since sessions search pg_catalog
first.
"""
_COMPOSITE_FIELDS = """
SELECT a.attname, f.attname FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname NOT IN ('pg_catalog', 'information_schema')
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem
JOIN pg_catalog.pg_attribute f ON f.attrelid IN (t.typrelid, e.typrelid) AND f.attrelid <> 0
WHERE a.attnum > 0 AND f.attnum > 0 AND NOT a.attisdropped AND NOT f.attisdropped
"""
_COMPOSITE_TYPES = """
SELECT n.nspname, c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND t.typnamespace <> 'pg_catalog'::regnamespace
"""
_PARENTS = """
    SELECT child_schema.nspname, child.relname, parent_schema.nspname, parent.relname
    FROM pg_catalog.pg_inherits AS link
    JOIN pg_catalog.pg_class AS child ON child.oid = link.inhrelid
    JOIN pg_catalog.pg_namespace AS child_schema ON child_schema.oid = child.relnamespace
    JOIN pg_catalog.pg_class AS parent ON parent.oid = link.inhparent
    JOIN pg_catalog.pg_namespace AS parent_schema ON parent_schema.oid = parent.relnamespace
    WHERE child.relkind IN ('r', 'p', 'f')"""
_ROLE = """
SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = current_user"""
_ROLE_RIGHTS = ("superuser", "CREATEROLE", "CREATEDB", "REPLICATION", "BYPASSRLS")
_MEMBERSHIPS = """
SELECT rolname FROM pg_roles WHERE rolname IN ('pg_write_all_data', 'pg_write_server_files', 'pg_read_server_files',
'pg_execute_server_program', 'pg_signal_backend', 'pg_maintain', 'pg_checkpoint')
AND pg_has_role(current_user, oid, 'MEMBER') ORDER BY 1"""
_TABLES = """
SELECT DISTINCT right_name || ' on ' || count(*) OVER (PARTITION BY right_name) || ' tables, such as '
|| first_value(name) OVER (PARTITION BY right_name ORDER BY name)
FROM (SELECT c.oid, n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema') t
CROSS JOIN unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) right_name
WHERE has_table_privilege(t.oid, right_name) ORDER BY 1"""
_CREATE = """
SELECT 'CREATE in schema ' || nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%'
AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'CREATE')
UNION ALL SELECT 'CREATE in database ' || current_database()
WHERE has_database_privilege(current_database(), 'CREATE') ORDER BY 1"""
_FUNCTIONS = """
SELECT what FROM (VALUES ('lo_create(oid)', 'large objects (lo_create)'),
('pg_advisory_lock(bigint)', 'advisory locks (pg_advisory_lock)')) v(signature, what)
WHERE has_function_privilege(signature, 'EXECUTE') ORDER BY 1"""


class _Store(Store):
    keeps_threads = True
    lock = "SELECT pg_advisory_xact_lock({number})"

    def arguments(self, connect_s: int, response_s: int) -> dict[str, Any]:
        """Limit the connection and its silence."""
        return {"connect_timeout": connect_s, "tcp_user_timeout": response_s * 1000}

    def transaction_limits(self, seconds: int) -> str:
        """Set them in the transaction: poolers refuse them as options of a connection, and share sessions."""
        return f"SET LOCAL statement_timeout = '{seconds}s'; SET LOCAL lock_timeout = '{seconds}s'"


class PostgreSQL(Engine):
    """PostgreSQL, with psycopg."""

    name = "postgresql"
    other_schemes = ("postgres",)
    dialect = "postgres"
    driver = "postgresql+psycopg"
    packages = ("psycopg",)
    extra = "postgres"
    status = "tested"
    folds_unquoted = True
    system_columns = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"})
    bare_session_functions = frozenset({"user"})
    quotes_make_columns = True
    function_schemas = frozenset({"pg_catalog"})
    dot_may_call = True
    exists_needs_no_columns = True
    usual_schema = "public"
    has_isnull = True
    has_trim_from = True
    has_exact_columns = True
    compares_strictly = True
    rejects_number_for_text = True
    divides_integers = True
    sums_long_integers_exactly = True
    groups_strictly = True
    grouping_follows_key = True
    has_ties = True
    confusion_rank = 2
    spelling = _Spelling()
    # DISCARD ALL at check-in would drop prepared statements.
    driver_arguments = {"connect_timeout": CONNECT_TIMEOUT_S, "prepare_threshold": None}
    pool_options = {"pool_reset_on_return": None}
    routines = _ROUTINES
    read_only_account = """CREATE ROLE datasphinx LOGIN PASSWORD '...' NOSUPERUSER NOCREATEDB NOCREATEROLE;
GRANT CONNECT ON DATABASE {database} TO datasphinx;
GRANT USAGE ON SCHEMA public TO datasphinx;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO datasphinx;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO datasphinx;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
-- for all accounts, if these functions are not needed:
REVOKE EXECUTE ON FUNCTION lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_advisory_lock(bigint), pg_advisory_lock(integer, integer) FROM PUBLIC;"""
    statistics = SystemQuery(
        "SELECT schemaname, relname, n_live_tup FROM pg_catalog.pg_stat_user_tables WHERE n_live_tup > 0",
        "pg_stat_user_tables",
        "pg_catalog",
        ("schemaname", "relname", "n_live_tup"),
    )
    has_exact_distances = True
    zone = SystemQuery(
        "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'TimeZone'",
        "pg_settings",
        "pg_catalog",
        ("name", "setting"),
    )
    text_bytes = 'CAST(x AS TEXT) COLLATE "C"'
    has_barrier = True
    url_options = frozenset({"sslmode", "application_name"})
    has_form = True
    store = _Store()
    covers_grammar = True
    stores_lower_case = True

    def prepare_pool(self, pool: "SQLAlchemyEngine") -> None:
        """Set the parser, and discard the state of the session when a connection comes back.

        A rollback alone would keep settings changed by `set_config`, advisory locks and prepared plans.
        """
        from sqlalchemy import event

        at_connect(pool, "; ".join(_parser_settings("SESSION")))

        @event.listens_for(pool, "reset")
        def discard(connection: Any, record: Any, state: Any) -> None:
            if state.terminate_only:
                return
            connection.rollback()
            connection.autocommit = True
            connection.execute("DISCARD ALL")
            # DISCARD ALL restores the settings of the role and database.
            connection.execute("; ".join(_parser_settings("SESSION")))
            connection.autocommit = False

    def setup_statements(self, connection: "Connection", limits: Limits) -> tuple[str, ...]:
        """Begin a read-only transaction with a time limit."""
        timeout = f"SET LOCAL statement_timeout = {int(timeout_of(limits) * 1000)}"
        return ("; ".join(("SET TRANSACTION READ ONLY", timeout, *_parser_settings("LOCAL"))),)

    def stop(self, pool: "SQLAlchemyEngine", driver: Any) -> None:
        """Cancel the statement."""
        driver.cancel_safe(timeout=STOP_S)

    def product(self, dialect: "SQLAlchemyDialect") -> str:
        """Return the name with the version of the server."""
        return with_version("PostgreSQL", dialect)

    def composite_fields(self, connection: "Connection") -> frozenset[tuple[str, str]]:
        """Read them from the catalog."""
        rows = connection.exec_driver_sql(_COMPOSITE_FIELDS).fetchall()
        return frozenset((str(column).lower(), str(field).lower()) for column, field in rows)

    def composite_types(self, connection: "Connection") -> frozenset[tuple[str, str, str, str]]:
        """Return the types outside of pg_catalog."""
        rows = connection.exec_driver_sql(_COMPOSITE_TYPES).fetchall()
        return frozenset((str(schema), str(table), str(column), str(kind)) for schema, table, column, kind in rows)

    def storage(self, connection: "Connection", default: str) -> Storage:
        """Return partitions and inheritance children."""
        parents: dict[TableName, tuple[TableName, ...]] = {}
        for schema, name, parent_schema, parent in connection.exec_driver_sql(_PARENTS):
            parents[schema, name] = (*parents.get((schema, name), ()), (parent_schema, parent))
        return Storage(parents)

    def grants(self, connection: "Connection") -> Grants:
        """Return the rights of the role, its memberships, and those on tables, schemas, the database and functions."""
        flags = connection.exec_driver_sql(_ROLE).one()
        privileges = [right for right, has in zip(_ROLE_RIGHTS, flags, strict=True) if has]
        if "superuser" not in privileges:
            privileges += [f"member of {role}" for role in column_of(connection, _MEMBERSHIPS)]
            privileges += column_of(connection, _TABLES) + column_of(connection, _CREATE)
        return Grants(tuple(privileges), tuple(column_of(connection, _FUNCTIONS)))

    def with_barrier(self, rows: exp.Select, cte: str) -> exp.Select:
        """Use a materialised CTE with a second, empty arm, which the planner removes.

        The planner calls operators of the statement on values sampled by ANALYZE, through OFFSET 0 in every version and
        through a CTE since version 17. It does not look for statistics below a UNION ALL.
        """
        empty = rows.copy()
        empty.set("where", exp.Where(this=exp.false()))
        return materialized(exp.Union(this=rows, expression=empty, distinct=False), cte)

    def compares_by_bytes(self, types: Iterable[str]) -> bool:
        """Only citext ignores case."""
        return not any("citext" in name.lower() for name in types)


def _parser_settings(scope: Literal["SESSION", "LOCAL"]) -> list[str]:
    path = _PATH.format(local=str(scope == "LOCAL").lower())
    return [*(f"SET {scope} {name} = {value}" for name, value in _PARSER_SETTINGS.items()), path]

"""SQLAlchemy dialect for Amazon Redshift over psycopg, which PostgreSQL's catalog queries do not run on.

Redshift derives from PostgreSQL 8.0: it lacks the functions and columns of the system catalogs that SQLAlchemy's
dialect for PostgreSQL reads. The queries here use only what both have. Tables of external schemas and columns of
late-binding views are not in these catalogs.
"""

from itertools import groupby
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.types import UserDefinedType

_IN_SCHEMA = """
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = %(schema)s"""
_RELATIONS = f"""
SELECT c.relname, c.relkind, d.description {_IN_SCHEMA}
LEFT JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0
AND d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
WHERE c.relkind IN ('r', 'p', 'v', 'm') ORDER BY c.relname"""
_COLUMNS = f"""
SELECT c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, d.description, a.attnum
{_IN_SCHEMA}
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = a.attnum
AND d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
WHERE c.relkind IN ('r', 'p', 'v', 'm') ORDER BY c.relname, a.attnum"""
_KEYS = f"""
SELECT c.relname, k.contype, k.conkey, tn.nspname, t.relname, k.confkey {_IN_SCHEMA}
JOIN pg_catalog.pg_constraint k ON k.conrelid = c.oid AND k.contype IN ('p', 'f')
LEFT JOIN pg_catalog.pg_class t ON t.oid = k.confrelid
LEFT JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace
ORDER BY c.relname, k.conname"""
_SCHEMAS = "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE 'pg!_%' ESCAPE '!' ORDER BY nspname"
_VIEW = f"SELECT c.relname, pg_catalog.pg_get_viewdef(c.oid) {_IN_SCHEMA} WHERE c.relkind IN ('v', 'm')"


class RedshiftType(UserDefinedType[Any]):
    """A type by its name in Redshift, such as `character varying(20)` or `super`."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        """Return the name in upper case."""
        return self.name.upper()


class RedshiftDialect(PGDialect_psycopg):
    """Reflection of tables, views, columns, declared keys and comments."""

    name = "redshift"
    supports_statement_cache = True

    # PostgreSQL's dialect reads the catalogs in bulk; these read one table at a time, from cached queries of a schema.
    get_multi_columns = DefaultDialect.get_multi_columns  # type: ignore[assignment]
    get_multi_pk_constraint = DefaultDialect.get_multi_pk_constraint  # type: ignore[assignment]
    get_multi_foreign_keys = DefaultDialect.get_multi_foreign_keys  # type: ignore[assignment]
    get_multi_table_comment = DefaultDialect.get_multi_table_comment  # type: ignore[assignment]

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"use_native_hstore": False, **options})  # type: ignore[no-untyped-call]

    def _get_server_version_info(self, connection: Connection) -> tuple[int, ...]:
        return (8, 0, 2)

    def _set_backslash_escapes(self, connection: Connection) -> None:
        self._backslash_escapes = True

    def get_schema_names(self, connection: Connection, **_: Any) -> list[str]:
        """Return all schemas but those of the system."""
        return [str(name) for (name,) in connection.execution_options(no_parameters=True).exec_driver_sql(_SCHEMAS)]

    def get_table_names(self, connection: Connection, schema: str | None = None, **options: Any) -> list[str]:
        """Return the tables of `schema`."""
        return self._relations(connection, schema, options, "rp")

    def get_view_names(self, connection: Connection, schema: str | None = None, **options: Any) -> list[str]:
        """Return the views of `schema`."""
        return self._relations(connection, schema, options, "v")

    def get_materialized_view_names(
        self, connection: Connection, schema: str | None = None, **options: Any
    ) -> list[str]:
        """Return the materialised views of `schema`; Redshift lists its own as views."""
        return self._relations(connection, schema, options, "m")

    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **options: Any
    ) -> str:
        """Return the query of a view; empty if it is unknown."""
        rows = self._rows(connection, _VIEW, schema, options).get(view_name, ())
        return next((str(sql) for _, sql in rows), "")

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> list[Any]:
        """Return the columns of one table or view."""
        return [
            {"name": name, "type": RedshiftType(kind), "nullable": not required, "default": None, "comment": comment}
            for _, name, kind, required, comment, _ in self._rows(connection, _COLUMNS, schema, options).get(
                table_name, ()
            )
        ]

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> Any:
        """Return the primary key, which Redshift does not enforce; it may have no columns."""
        for _, kind, positions, *_ in self._rows(connection, _KEYS, schema, options).get(table_name, ()):
            if _text(kind) == "p":
                columns = self._names_at(connection, positions, table_name, schema, options)
                return {"constrained_columns": columns, "name": None}
        return {"constrained_columns": [], "name": None}

    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> list[Any]:
        """Return the declared foreign keys, which Redshift does not enforce."""
        return [
            {
                "name": None,
                "constrained_columns": self._names_at(connection, positions, table_name, schema, options),
                "referred_schema": target_schema,
                "referred_table": target,
                "referred_columns": self._names_at(connection, targets, target, target_schema, options),
                "options": {},
            }
            for _, kind, positions, target_schema, target, targets in self._rows(
                connection, _KEYS, schema, options
            ).get(table_name, ())
            if _text(kind) == "f"
        ]

    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> list[Any]:
        """Return an empty list: Redshift has no indexes."""
        return []

    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> Any:
        """Return the comment on one table or view."""
        rows = self._rows(connection, _RELATIONS, schema, options).get(table_name, ())
        return {"text": next((comment for _, _, comment in rows), None)}

    def _relations(self, connection: Connection, schema: str | None, options: dict[str, Any], kinds: str) -> list[str]:
        groups = self._rows(connection, _RELATIONS, schema, options)
        return [name for name, rows in groups.items() if _text(rows[0][1]) in kinds]

    def _names_at(
        self, connection: Connection, positions: Any, table: str, schema: str | None, options: dict[str, Any]
    ) -> list[str]:
        rows = self._rows(connection, _COLUMNS, schema, options).get(table, ())
        names = {number: name for _, name, *_, number in rows}
        return [names[position] for position in positions]

    def _rows(
        self, connection: Connection, sql: str, schema: str | None, options: dict[str, Any]
    ) -> dict[str, list[Any]]:
        """Return the rows of a query about one schema by their first column; cached by the inspector."""
        cache, schema = options.get("info_cache", {}), schema or self.default_schema_name
        if (sql, schema) not in cache:
            rows = connection.exec_driver_sql(sql, {"schema": schema})
            cache[sql, schema] = {name: list(group) for name, group in groupby(rows, key=lambda row: row[0])}
        return cache[sql, schema]  # type: ignore[no-any-return]


def _text(value: str | bytes) -> str:
    """Return a value of the type "char", which drivers may return as bytes."""
    return value.decode() if isinstance(value, bytes) else value

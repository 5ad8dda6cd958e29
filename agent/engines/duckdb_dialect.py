"""SQLAlchemy dialect for DuckDB: connections, and schemas read through DuckDB's table functions.

It reads schemas and compiles parameters; worker processes run the statements of users on separate connections. It
requires only the package `duckdb`, version 2.0 or later.
"""

from itertools import groupby
from typing import Any

from sqlalchemy import URL, Connection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.interfaces import (
    ReflectedColumn,
    ReflectedForeignKeyConstraint,
    ReflectedIndex,
    ReflectedPrimaryKeyConstraint,
    ReflectedTableComment,
)
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.types import UserDefinedType

_HERE = "database_name = current_database()"
_SCHEMAS = f"SELECT schema_name FROM duckdb_schemas() WHERE {_HERE} ORDER BY ALL"
_TABLES = f"SELECT table_name, comment FROM duckdb_tables() WHERE {_HERE} AND schema_name = ? ORDER BY ALL"
_VIEWS = f"SELECT view_name, comment, sql FROM duckdb_views() WHERE {_HERE} AND schema_name = ? ORDER BY ALL"
_COLUMNS = f"""
SELECT table_name, column_name, data_type, is_nullable, column_default, comment
FROM duckdb_columns() WHERE {_HERE} AND schema_name = ? ORDER BY table_name, column_index
"""
_KEYS = f"""
SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names
FROM duckdb_constraints() WHERE {_HERE} AND schema_name = ? AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
ORDER BY table_name, constraint_index
"""
_SYSTEM_SCHEMAS = {"information_schema", "pg_catalog"}


class DuckDBType(UserDefinedType[Any]):
    """A type by its name in DuckDB, such as `DECIMAL(12,2)` or `INTEGER[]`; enumerations without their values."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = "ENUM" if name.startswith("ENUM(") else name

    def get_col_spec(self, **_: Any) -> str:
        """Return the name."""
        return self.name


class DuckDBDialect(DefaultDialect):
    """Reflection of tables, views, columns, keys and comments of the opened database, without attached ones."""

    name = "duckdb"
    driver = "duckdb"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_comments = True

    @classmethod
    def import_dbapi(cls) -> Any:
        """Return the driver."""
        import duckdb

        return duckdb

    def create_connect_args(self, url: URL) -> tuple[list[str], dict[str, Any]]:
        """Return the path of the file as the argument of the driver."""
        return [url.database or ":memory:"], {}

    def get_isolation_level_values(self, dbapi_conn: Any) -> list[Any]:
        """Return the only level: each statement is a transaction of its own."""
        return ["AUTOCOMMIT"]

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """Return the only level."""
        return "AUTOCOMMIT"

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        """Do nothing: there is one level."""

    def do_begin(self, dbapi_connection: Any) -> None:
        """Do nothing: each statement is a transaction of its own."""

    def do_commit(self, dbapi_connection: Any) -> None:
        """Do nothing: there is no open transaction."""

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Do nothing: there is no open transaction, and the driver would raise an error."""

    def _get_default_schema_name(self, connection: Connection) -> str:
        return str(connection.exec_driver_sql("SELECT current_schema()").scalar())

    def get_schema_names(self, connection: Connection, **_: Any) -> list[str]:
        """Return the schemas of the opened database, without those of the system."""
        return [name for (name,) in connection.exec_driver_sql(_SCHEMAS) if name not in _SYSTEM_SCHEMAS]

    def get_table_names(self, connection: Connection, schema: str | None = None, **options: Any) -> list[str]:
        """Return the tables of `schema`."""
        return list(self._rows_by_table(connection, _TABLES, schema, options))

    def get_view_names(self, connection: Connection, schema: str | None = None, **options: Any) -> list[str]:
        """Return the views of `schema`."""
        return list(self._rows_by_table(connection, _VIEWS, schema, options))

    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **options: Any
    ) -> str:
        """Return the statement of a view.

        Raises:
            NoSuchTableError: there is no such view.
        """
        for _, _, sql in self._rows_by_table(connection, _VIEWS, schema, options).get(view_name, ()):
            return str(sql)
        raise NoSuchTableError(view_name)

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **options: Any) -> bool:
        """Return whether there is a table or view with this name."""
        return any(table_name in self._rows_by_table(connection, sql, schema, options) for sql in (_TABLES, _VIEWS))

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> list[ReflectedColumn]:
        """Return the columns of one table or view."""
        return [
            {"name": name, "type": DuckDBType(kind), "nullable": nullable, "default": default, "comment": comment}
            for _, name, kind, nullable, default, comment in self._rows_by_table(
                connection, _COLUMNS, schema, options
            ).get(table_name, ())
        ]

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> ReflectedPrimaryKeyConstraint:
        """Return the primary key, which may have no columns."""
        keys = self._rows_by_table(connection, _KEYS, schema, options).get(table_name, ())
        primary_keys = [columns for _, kind, columns, _, _ in keys if kind == "PRIMARY KEY"]
        return {"constrained_columns": primary_keys[0] if primary_keys else [], "name": None}

    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> list[ReflectedForeignKeyConstraint]:
        """Return the foreign keys. DuckDB allows them within a schema only."""
        return [
            {
                "name": None,
                "constrained_columns": columns,
                "referred_schema": schema,
                "referred_table": target,
                "referred_columns": target_columns,
                "options": {},
            }
            for _, kind, columns, target, target_columns in self._rows_by_table(connection, _KEYS, schema, options).get(
                table_name, ()
            )
            if kind == "FOREIGN KEY"
        ]

    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> list[ReflectedIndex]:
        """Return an empty list, since indexes are not used."""
        return []

    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> ReflectedTableComment:
        """Return the comment on one table or view."""
        for sql in (_TABLES, _VIEWS):
            for row in self._rows_by_table(connection, sql, schema, options).get(table_name, ()):
                return {"text": row[1]}
        return {"text": None}

    def _rows_by_table(
        self, connection: Connection, sql: str, schema: str | None, options: dict[str, Any]
    ) -> dict[str, list[Any]]:
        """Return the rows of a statement about one schema, by their first column; cached by the inspector."""
        cache = options.get("info_cache", {})
        if (sql, schema) not in cache:
            rows = connection.exec_driver_sql(sql, (schema or self.default_schema_name,))
            cache[sql, schema] = {name: list(group) for name, group in groupby(rows, key=lambda row: row[0])}
        return cache[sql, schema]  # type: ignore[no-any-return]

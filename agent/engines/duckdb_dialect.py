"""SQLAlchemy dialect for DuckDB: connections, and schemas read through DuckDB's table functions.

It reads schemas and compiles parameters; worker processes run the statements of users on separate connections. It
requires only the package `duckdb`, version 2.0 or later.
"""

from typing import Any

from sqlalchemy import URL, Connection
from sqlalchemy.engine.default import DefaultDialect

from datasphinx.agent.engines.catalog_queries import CatalogQueries

_HERE = "database_name = current_database()"
_IN_SCHEMA = f"{_HERE} AND schema_name = :schema"
_SCHEMAS = f"""
SELECT schema_name FROM duckdb_schemas()
WHERE {_HERE} AND schema_name NOT IN ('information_schema', 'pg_catalog') ORDER BY ALL"""


class DuckDBDialect(CatalogQueries, DefaultDialect):
    """Reflection of tables, views, columns, keys and comments of the opened database, without attached ones."""

    name = "duckdb"
    driver = "duckdb"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_comments = True

    relations = f"""
    SELECT table_name, 'table', comment FROM duckdb_tables() WHERE {_IN_SCHEMA}
    UNION ALL SELECT view_name, 'view', comment FROM duckdb_views() WHERE {_IN_SCHEMA} ORDER BY ALL"""
    definitions = f"SELECT view_name, sql FROM duckdb_views() WHERE {_IN_SCHEMA} ORDER BY ALL"
    # The values of an enumeration are not part of its name.
    columns = f"""
    SELECT table_name, column_name, CASE WHEN data_type LIKE 'ENUM(%' THEN 'ENUM' ELSE data_type END, is_nullable,
    column_default, comment, column_index
    FROM duckdb_columns() WHERE {_IN_SCHEMA} ORDER BY table_name, column_index"""
    # A foreign key refers to a table of its schema.
    keys = f"""
    SELECT table_name, constraint_type, constraint_column_names, schema_name, referenced_table, referenced_column_names
    FROM duckdb_constraints() WHERE {_IN_SCHEMA} AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
    ORDER BY table_name, constraint_index"""

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
        return [name for (name,) in connection.exec_driver_sql(_SCHEMAS)]

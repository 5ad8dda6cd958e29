"""SQLAlchemy dialect for Spark SQL over Thrift: PyHive's dialect with Spark's form of schema queries.

Hive returns one column for SHOW TABLES, Spark three: namespace, name and whether it is temporary.
"""

from typing import Any

from pyhive.sqlalchemy_hive import HiveDialect
from sqlalchemy import Connection

from datasphinx.agent.engines.catalog_queries import NamedType


class SparkDialect(HiveDialect):  # type: ignore[misc]
    """Reflection of tables, views, columns and comments; Spark has no keys."""

    name = "spark"
    supports_statement_cache = False

    @classmethod
    def import_dbapi(cls) -> Any:
        """Return the PyHive driver."""
        from pyhive import hive

        return hive

    def get_table_names(self, connection: Connection, schema: str | None = None, **_: Any) -> list[str]:
        """Return the tables of `schema`, without views and temporary tables."""
        views = set(self.get_view_names(connection, schema))
        return [name for name in self._names(connection, "TABLES", schema) if name not in views]

    def get_view_names(self, connection: Connection, schema: str | None = None, **_: Any) -> list[str]:
        """Return the views of `schema`."""
        return self._names(connection, "VIEWS", schema)

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> list[dict[str, Any]]:
        """Return the columns with their Spark types."""
        quote = self.identifier_preparer.quote_identifier
        full = ".".join(quote(part) for part in (schema, table_name) if part)
        columns: dict[str, dict[str, Any]] = {}
        for name, kind, comment in connection.exec_driver_sql(f"DESCRIBE TABLE {full}"):
            if not name or name.startswith("#"):
                break
            columns[name] = {
                "name": name,
                "type": NamedType(kind.upper()),
                "nullable": True,
                "default": None,
                "comment": comment,
            }
        return list(columns.values())

    def get_pk_constraint(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """Return an empty primary key."""
        return {"constrained_columns": [], "name": None}

    def _names(self, connection: Connection, kind: str, schema: str | None) -> list[str]:
        place = f" IN {self.identifier_preparer.quote_identifier(schema)}" if schema else ""
        rows = connection.exec_driver_sql(f"SHOW {kind}{place}").fetchall()
        return [name for _, name, is_temporary in rows if not is_temporary]

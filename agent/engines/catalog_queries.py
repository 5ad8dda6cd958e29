"""Reflection for SQLAlchemy from a few queries about a schema, for engines whose catalogs it does not read itself."""

from itertools import groupby
from typing import Any, ClassVar

from sqlalchemy import Connection, text
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.types import UserDefinedType


class NamedType(UserDefinedType[Any]):
    """A type by its name in the engine, such as `DECIMAL(12,2)` or `array<string>`."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        """Return the name."""
        return self.name


class CatalogQueries:
    """Methods of a SQLAlchemy dialect that read tables, views, columns, keys and comments.

    The rows of each query begin with the name of a table; the inspector caches them by schema, which is `:schema`.
    """

    relations: ClassVar[str]
    """Name, kind (`table`, `view` or `materialized view`) and comment of tables and views."""
    definitions: ClassVar[str]
    """Name and query of views."""
    columns: ClassVar[str]
    """Table, name, type, whether it may be NULL, default, comment and number of columns, in order."""
    keys: ClassVar[str]
    """Table, `PRIMARY KEY` or `FOREIGN KEY`, columns, and schema, table and columns referred to; columns by name or
    number.
    """
    default_schema_name: str | None

    def get_table_names(self, connection: Connection, schema: str | None = None, **options: Any) -> list[str]:
        """Return the tables of `schema`."""
        return self._of_kind("table", connection, schema, options)

    def get_view_names(self, connection: Connection, schema: str | None = None, **options: Any) -> list[str]:
        """Return the views of `schema`."""
        return self._of_kind("view", connection, schema, options)

    def get_materialized_view_names(
        self, connection: Connection, schema: str | None = None, **options: Any
    ) -> list[str]:
        """Return the materialized views of `schema`, as far as the engine does not list them as views."""
        return self._of_kind("materialized view", connection, schema, options)

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **options: Any) -> bool:
        """Return whether there is a table or view with this name."""
        return table_name in self._rows(self.relations, connection, schema, options)

    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **options: Any
    ) -> str:
        """Return the query of a view. Raise NoSuchTableError if there is no such view."""
        for _, sql in self._rows(self.definitions, connection, schema, options).get(view_name, ()):
            return str(sql)
        raise NoSuchTableError(view_name)

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> list[Any]:
        """Return the columns of a table or view."""
        return [
            {"name": name, "type": NamedType(kind), "nullable": nullable, "default": default, "comment": comment}
            for _, name, kind, nullable, default, comment, _ in self._rows(
                self.columns, connection, schema, options
            ).get(table_name, ())
        ]

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> Any:
        """Return the primary key, which may have no columns."""
        keys = self._rows(self.keys, connection, schema, options).get(table_name, ())
        own = next((columns for _, kind, columns, *_ in keys if kind == "PRIMARY KEY"), ())
        return {"constrained_columns": self._names(own, connection, table_name, schema, options), "name": None}

    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> list[Any]:
        """Return the declared foreign keys."""
        keys = self._rows(self.keys, connection, schema, options).get(table_name, ())
        return [
            {
                "name": None,
                "constrained_columns": self._names(columns, connection, table_name, schema, options),
                "referred_schema": target_schema,
                "referred_table": target,
                "referred_columns": self._names(targets, connection, target, target_schema, options),
                "options": {},
            }
            for _, kind, columns, target_schema, target, targets in keys
            if kind == "FOREIGN KEY"
        ]

    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> list[Any]:
        """Return an empty list, since indexes are not used."""
        return []

    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **options: Any
    ) -> Any:
        """Return the comment on a table or view."""
        rows = self._rows(self.relations, connection, schema, options).get(table_name, ())
        return {"text": next((comment for _, _, comment in rows), None)}

    def _of_kind(self, kind: str, connection: Connection, schema: str | None, options: dict[str, Any]) -> list[str]:
        groups = self._rows(self.relations, connection, schema, options)
        return [name for name, rows in groups.items() if rows[0][1] == kind]

    def _names(
        self, columns: Any, connection: Connection, table: str, schema: str | None, options: dict[str, Any]
    ) -> list[str]:
        rows = self._rows(self.columns, connection, schema, options).get(table, ())
        names = {number: name for _, name, *_, number in rows}
        return [names.get(column, column) for column in columns]

    def _rows(
        self, sql: str, connection: Connection, schema: str | None, options: dict[str, Any]
    ) -> dict[str, list[Any]]:
        cache, schema = options.get("info_cache", {}), schema or self.default_schema_name
        if (sql, schema) not in cache:
            rows = connection.execute(text(sql), {"schema": schema})
            cache[sql, schema] = {name: list(group) for name, group in groupby(rows, key=lambda row: row[0])}
        return cache[sql, schema]  # type: ignore[no-any-return]

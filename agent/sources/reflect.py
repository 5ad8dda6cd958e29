"""Reflection of a database schema into a `Catalog`: in bulk, or in smaller parts if a bulk read fails."""

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from sys import intern
from typing import Any, TypeVar

from sqlalchemy import ARRAY, Connection, Enum, Inspector
from sqlalchemy.engine.default import StrCompileDialect
from sqlalchemy.engine.reflection import ObjectKind, ObjectScope
from sqlalchemy.exc import DBAPIError, SAWarning, SQLAlchemyError

from datasphinx.agent.engines.base import Engine, Storage, TableName
from datasphinx.agent.schema.catalog import NO_TYPE, Catalog, Column, ForeignKey, FullName, Table
from datasphinx.agent.schema.inferred_keys import infer_foreign_keys
from datasphinx.agent.schema.secret import mark_secrets
from datasphinx.agent.sql.database import Database, driver_message

T = TypeVar("T")

Progress = Callable[[int, int], None]
"""Callback that receives the number of tables read and their total."""

_CHUNK_SIZE = 2000
"""Number of tables read together. It limits the memory for a large schema, and is the step of the progress."""
_MAX_WARNINGS = 100
_GENERIC_DIALECT = StrCompileDialect()
_MAX_NAME_LENGTH = 80
_MAX_LABELS = 200
"""Number of declared values of an enumeration that are kept."""


def reflect(
    database: Database,
    *,
    schemas: Collection[str] | None = None,
    secret_columns: Sequence[str] = (),
    progress: Progress | None = None,
) -> Catalog:
    """Return tables and views with columns, keys, comments and inferred foreign keys.

    Without `schemas`, all schemas visible to the account are read, except system schemas; on MySQL and MariaDB, where a
    schema is a database, only the database of the URL. Unreadable objects are left out and listed in `warnings`.
    """
    # Warnings about invalid foreign keys in the database are of no use to users. A block of `catch_warnings` would end
    # the blocks of other threads.
    warnings.filterwarnings("ignore", category=SAWarning, module=r"datasphinx\.agent\.")
    with database.inspector() as inspector:
        default = inspector.default_schema_name or database.default_schema
        reader = _Reader(inspector, default, database.kind, progress)
        tables = reader.with_storage(reader.read(_schemas_to_read(inspector, default, database.kind, schemas)))
        tables = reader.with_type_names(tables)
        if database.view_files:
            # A view over files is the only access to them, so it is treated as a table.
            sharing = database.view_files.sharing_views()
            tables = {
                key: replace(table, is_view=False, shares_rows=table.name in sharing) for key, table in tables.items()
            }
        definitions = reader.definitions(tables)
        routines = reader.query("user-defined functions", database.kind.user_routines)
        fields = reader.query("composite types", database.kind.composite_fields)
    tables = mark_secrets(tables, secret_columns, definitions, reader.expressions, database.dialect)
    return Catalog(
        database.dialect,
        infer_foreign_keys(dict(sorted(tables.items()))),
        default,
        warnings=tuple(reader.warnings),
        routines=routines,
        composite_fields=fields,
    )


def _schemas_to_read(
    inspector: Inspector, default: str | None, engine: Engine, requested: Collection[str] | None
) -> list[str | None]:
    """Return the schemas to read: None for the default schema, which comes first."""
    if requested is None and engine.schema_is_database and default:
        return [None]
    names = inspector.get_schema_names() if requested is None else requested
    ignored = engine.system_schemas if requested is None else set()
    others = [name for name in names if name != default and name.lower() not in ignored]
    has_default = default is not None and (requested is None or default in requested)
    return [*([None] if has_default else []), *sorted(others)]


class _Reader:
    """Reads tables through one inspector and collects warnings about unreadable objects."""

    def __init__(self, inspector: Inspector, default: str | None, engine: Engine, progress: Progress | None) -> None:
        self.warnings: list[str] = []
        self.expressions: dict[str, dict[str, str]] = {}
        """The expressions of generated columns and defaults, by table and column."""
        self._shared_definitions: dict[str, str] = {}
        self._inspector = inspector
        self._progress = progress or (lambda done, total: None)
        self._default, self._engine = default, engine

    def read(self, schemas: Sequence[str | None]) -> dict[str, Table]:
        names = {schema: self._table_names(schema) for schema in schemas}
        total, tables_read = sum(map(len, names.values())), 0
        tables: dict[str, Table] = {}
        self._progress(0, total)
        for schema, views in names.items():
            ordered = sorted(views)
            for chunk in (ordered[at : at + _CHUNK_SIZE] for at in range(0, len(ordered), _CHUNK_SIZE)):
                for table in self._read_chunk(schema, chunk, views):
                    tables[table.key] = table
                tables_read += len(chunk)
                self._progress(tables_read, total)
        return tables

    def with_storage(self, tables: dict[str, Table]) -> dict[str, Table]:
        """Return `tables` with parent tables and shared rows marked.

        If storage information cannot be read, every table is marked as sharing rows.
        """
        connection: Any = self._inspector.bind
        try:
            storage = self._engine.storage(connection, self._default or "")
        except SQLAlchemyError as error:
            self._recover(error)
            self._warn("the storage of tables", error)
            return {key: replace(table, shares_rows=True) for key, table in tables.items()}
        names = {(table.schema or self._default or "", table.name): key for key, table in tables.items()}
        parents = {
            names[name]: tuple(_catalog_parents(name, names, storage)) for name in storage.parents if name in names
        }
        shared = {names[name] for name in storage.shared if name in names}
        self._shared_definitions = {names[name]: text for name, text in storage.definitions.items() if name in names}
        changed = {key: replace(tables[key], parents=keys) for key, keys in parents.items()}
        changed |= {key: replace(changed.get(key, tables[key]), shares_rows=True) for key in shared}
        return {**tables, **changed}

    def definitions(self, tables: dict[str, Table]) -> dict[str, str | None]:
        """Return the text of each view, None if it cannot be read, and of the other tables whose text is known."""
        definitions: dict[str, str | None] = {**self._shared_definitions}
        for key, table in tables.items():
            if table.is_view:
                try:
                    definitions[key] = self._inspector.get_view_definition(table.name, schema=table.schema) or None
                except (SQLAlchemyError, NotImplementedError) as error:
                    self._recover(error)
                    definitions[key] = None
        return definitions

    def query(self, subject: str, read: Callable[[Connection], frozenset[T]]) -> frozenset[T]:
        """Return the result of `read`; an empty set, with a warning, if the database refuses."""
        connection = self._inspector.bind
        try:
            return read(connection) if isinstance(connection, Connection) else frozenset()
        except SQLAlchemyError as error:
            self._recover(error)
            self._warn(subject, error)
            return frozenset()

    def _table_names(self, schema: str | None) -> dict[str, bool]:
        """Return the names in `schema`, with True for views. Only the default schema must be readable."""
        try:
            views = self._inspector.get_view_names(schema)
            with suppress(NotImplementedError):
                views = [*views, *self._inspector.get_materialized_view_names(schema)]
            return dict.fromkeys(self._inspector.get_table_names(schema), False) | dict.fromkeys(views, True)
        except SQLAlchemyError as error:
            if schema is None:
                raise
            self._recover(error)
            self._warn(f"schema {schema}", error)
            return {}

    def _read_chunk(self, schema: str | None, names: Sequence[str], views: dict[str, bool]) -> Iterator[Table]:
        try:
            tables = self._read_tables(schema, names, views)
        except Exception as error:  # if the dialect fails for one table, still read the others
            self._recover(error)
            if len(names) == 1:
                self._warn(_display_name(schema, names[0]), error)
                return
            middle = len(names) // 2
            yield from self._read_chunk(schema, names[:middle], views)
            yield from self._read_chunk(schema, names[middle:], views)
            return
        for name in set(names) - {table.name for table in tables}:
            self._warn(_display_name(schema, name), "it cannot be reflected")
        yield from tables

    def _read_tables(self, schema: str | None, names: Sequence[str], views: dict[str, bool]) -> list[Table]:
        options: Any = {
            "schema": schema, "filter_names": names, "kind": ObjectKind.ANY, "scope": ObjectScope.ANY,
        }  # fmt: skip
        primary: Mapping[Any, tuple[str, ...]] | None = None
        foreign = self._foreign_keys(options)
        comments, connection = self._comments(options), self._inspector.bind
        written = {} if schema or not isinstance(connection, Connection) else self._engine.comments(connection, names)
        tables = []
        for name, columns in self._columns(options):
            self.expressions[FullName(schema, name[1]).key] = _expressions(columns)
            if not columns:
                continue
            # SQLite includes them with the columns; a separate query would scan its whole schema for each table.
            if "primary_key" not in columns[0] and primary is None:
                primary = self._primary_keys(options)
            table = Table(
                name=intern(str(name[1])),
                columns=tuple([_column(column, written.get(name[1], {})) for column in columns]),
                schema=schema,
                primary_key=_primary_key(columns) if primary is None else primary.get(name, ()),
                foreign_keys=tuple(dict.fromkeys(map(self._foreign_key, foreign.get(name, ())))),
                comment=comments.get(name),
                is_view=views[name[1]],
            )
            tables.append(table)
        return tables

    def _columns(self, options: Any) -> Iterable[tuple[Any, list[Any]]]:
        """Return the columns of the tables in `options` as the items of `Inspector.get_multi_columns`."""
        columns = None if options["schema"] else self._engine.columns(self._inspector, options["filter_names"])
        return self._inspector.get_multi_columns(**options).items() if columns is None else columns

    def with_type_names(self, tables: dict[str, Table]) -> dict[str, Table]:
        """Return `tables` with the names of types that SQLAlchemy does not know, such as composite types."""
        unknown = {key for key, table in tables.items() if any(column.type == NO_TYPE for column in table.columns)}
        if not unknown:
            return tables
        read = self.query("types of columns", self._engine.composite_types)
        names = {(schema, table, column): kind for schema, table, column, kind in read}
        changed = {}
        for key in unknown:
            place = (tables[key].schema or self._default or "", tables[key].name)
            columns = (
                column._replace(type=names.get((*place, column.name), NO_TYPE)) if column.type == NO_TYPE else column
                for column in tables[key].columns
            )
            changed[key] = replace(tables[key], columns=tuple(columns))
        return {**tables, **changed}

    def _primary_keys(self, options: Any) -> dict[Any, tuple[str, ...]]:
        keys = self._inspector.get_multi_pk_constraint(**options)
        return {name: tuple(key["constrained_columns"]) for name, key in keys.items() if key}

    def _foreign_keys(self, options: Any) -> Any:
        """Return the foreign keys of the tables in `options` as `Inspector.get_multi_foreign_keys` does."""
        connection = self._inspector.bind
        if not options["schema"] and isinstance(connection, Connection):
            keys = self._engine.foreign_keys(connection, options["filter_names"])
            if keys is not None:
                return keys
        return self._inspector.get_multi_foreign_keys(**options)

    def _foreign_key(self, reference: Any) -> ForeignKey:
        name, schema = reference["referred_table"], reference["referred_schema"]
        target = FullName(None if schema == self._default else schema, name).key
        return ForeignKey(tuple(reference["constrained_columns"]), target, tuple(reference["referred_columns"]))

    def _comments(self, options: Any) -> dict[Any, str | None]:
        try:
            comments = self._inspector.get_multi_table_comment(**options)
        except (NotImplementedError, SQLAlchemyError) as error:
            self._recover(error)
            return {}
        return {name: comment["text"] for name, comment in comments.items()}

    def _recover(self, error: Exception) -> None:
        """Roll back the transaction that `error` aborted; raise `error` if the connection is lost."""
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            raise error
        self._inspector.bind.rollback()  # type: ignore[union-attr]

    def _warn(self, subject: str, reason: Exception | str) -> None:
        if len(self.warnings) < _MAX_WARNINGS:
            text = reason if isinstance(reason, str) else driver_message(reason)
            self.warnings.append(f"{subject} is left out: {text[:200]}")


def _catalog_parents(name: TableName, names: Mapping[TableName, str], storage: Storage) -> Iterator[str]:
    """Yield the keys of the nearest tables in the catalog that also return the rows of `name`."""
    for parent in storage.parents.get(name, ()):
        if parent in names:
            yield names[parent]
        else:
            yield from _catalog_parents(parent, names, storage)


def _display_name(schema: str | None, name: str) -> str:
    full = f"{schema}.{name}" if schema else name
    return ascii(full)[1:-1][:_MAX_NAME_LENGTH] if not full.isprintable() else full[:_MAX_NAME_LENGTH]


def _column(column: Any, written: Mapping[str, str]) -> Column:
    kind, comment = column["type"], column.get("comment") or written.get(column["name"])
    if kind.__visit_name__ == "DOMAIN":
        comment = f"{comment} (domain {kind.name})" if comment else f"domain {kind.name}"
    # Without rows, the values that an enumeration declares are all that is known of it.
    labels = tuple(map(str, kind.enums[:_MAX_LABELS])) if isinstance(kind, Enum) else ()
    return Column(intern(str(column["name"])), intern(_type_name(kind)), column["nullable"], comment, examples=labels)


def _primary_key(columns: Sequence[Any]) -> tuple[str, ...]:
    key = sorted((column["primary_key"], column["name"]) for column in columns if column["primary_key"])
    return tuple(name for _, name in key)


def _expressions(columns: Sequence[Any]) -> dict[str, str]:
    """Return the expressions of generated columns, and defaults: ClickHouse and DuckDB report the former as these."""
    return {
        str(column["name"]): str(text)
        for column in columns
        if (text := (column.get("computed") or {}).get("sqltext") or column.get("default"))
    }


@lru_cache(maxsize=64)
def _type_name(kind: Any) -> str:
    """Return the name of a type: of a domain that of its values, of an array that of its elements with brackets.

    Columns of SQLite share the objects of few types.
    """
    if kind.__visit_name__ == "DOMAIN":
        return _type_name(kind.data_type)
    if isinstance(kind, ARRAY):
        return f"{_type_name(kind.item_type)}{'[]' * (kind.dimensions or 1)}"
    if isinstance(kind, Enum):
        return "ENUM"
    name = type(kind).__name__
    # MariaDB reports BOOLEAN as TINYINT(1); without the width it would be a number.
    if name == "TINYINT" and getattr(kind, "display_width", None) == 1:
        return "TINYINT(1)"
    if name == "BIT" and getattr(kind, "length", None):
        return f"BIT({kind.length})"
    try:
        # `str(kind)` is the same, and creates a dialect for each column.
        text = str(kind.compile(dialect=_GENERIC_DIALECT))
    except Exception:  # a type that only its own dialect can compile
        text = name.upper()
    text = text.partition(" COLLATE ")[0]
    is_zoned = getattr(kind, "timezone", False) is True and "ZONE" not in text
    return f"{text} WITH TIME ZONE" if is_zoned else text

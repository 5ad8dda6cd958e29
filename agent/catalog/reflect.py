"""Reads the schema of a database into a `Catalog`: in bulk, and table by table where a bulk fails."""

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from sys import intern
from typing import Any, TypeVar

from sqlalchemy import Connection, Enum, Inspector
from sqlalchemy.engine.reflection import ObjectKind, ObjectScope
from sqlalchemy.exc import DBAPIError, SAWarning, SQLAlchemyError

from agent.catalog.joins import with_inferred_joins
from agent.catalog.schema import Catalog, Column, ForeignKey, Table
from agent.catalog.secret import mark_secrets
from agent.sql.database import Database, reason_of
from agent.sql.routines import composite_fields, user_routines
from agent.sql.storage import Name, Storage, storage_of

T = TypeVar("T")

Progress = Callable[[int, int], None]
"""Is told how many tables are read and how many there are."""

_AT_ONCE = 500
_SYSTEM_SCHEMAS = {"information_schema", "performance_schema", "pg_catalog", "mysql", "sys", "system", "temp"}
_DUCKDB_SCHEMA = re.compile(r'("(?:[^"]|"")*"|[^."]+)\.(.+)')
_MAX_WARNINGS = 100
_SHOWN_NAME = 80


def reflect(
    database: Database,
    *,
    schemas: Collection[str] | None = None,
    secret_columns: Sequence[str] = (),
    progress: Progress | None = None,
) -> Catalog:
    """Return tables and views with columns, keys, comments and inferred joins.

    Without `schemas` all that the account can see are read, but for those of the engine itself; on MySQL and MariaDB,
    where a schema is a database, the one that the URL names. What cannot be read is left out and in `warnings`.

    Raises:
        SourceUnreachable: the database does not answer.
    """
    with database.inspector() as inspector, warnings.catch_warnings():
        # A foreign key that a database declares and does not keep is nothing that a user has to hear of.
        warnings.simplefilter("ignore", SAWarning)
        default = inspector.default_schema_name or database.default_schema
        reader = _Reader(inspector, default, progress)
        tables = reader.with_storage(reader.read(_schemas(inspector, default, schemas)), database.dialect)
        definitions = reader.definitions(tables)
        routines = reader.ask("functions of users", user_routines, database.dialect)
        fields = reader.ask("composite types", composite_fields, database.dialect)
    tables = mark_secrets(tables, secret_columns, definitions)
    found = with_inferred_joins(dict(sorted(tables.items())))
    return Catalog(
        database.dialect,
        found,
        default,
        warnings=tuple(reader.warnings),
        routines=routines,
        composite_fields=fields,
    )


def _schemas(inspector: Inspector, default: str | None, wanted: Collection[str] | None) -> list[str | None]:
    """Return the schemas to read, the default one as None and first."""
    if wanted is None and inspector.dialect.name in {"mysql", "mariadb", "sqlite"} and default:
        return [None]
    names = _seen(inspector) if wanted is None else wanted
    hidden = _SYSTEM_SCHEMAS if wanted is None else set()
    others = [name for name in names if name != default and name.lower() not in hidden]
    has_default = default is not None and (wanted is None or default in wanted)
    return [*([None] if has_default else []), *sorted(others)]


def _seen(inspector: Inspector) -> list[str]:
    """Return the schemas that the inspector sees; DuckDB puts the name of the file, `system` or `temp` before each."""
    names = inspector.get_schema_names()
    if inspector.dialect.name != "duckdb":
        return names
    parts = [_DUCKDB_SCHEMA.fullmatch(name) for name in names]
    found = [(part[1].strip('"'), part[2].strip('"').replace('""', '"')) for part in parts if part]
    return [schema for database, schema in found if database not in {"system", "temp"}]


class _Reader:
    """Reads tables through one inspector and keeps account of what could not be read."""

    def __init__(self, inspector: Inspector, default: str | None, progress: Progress | None) -> None:
        self.warnings: list[str] = []
        self._inspector = inspector
        self._progress = progress or (lambda done, total: None)
        self._default = default

    def read(self, schemas: Sequence[str | None]) -> dict[str, Table]:
        names = {schema: self._names(schema) for schema in schemas}
        total, done = sum(map(len, names.values())), 0
        tables: dict[str, Table] = {}
        for schema, kinds in names.items():
            for chunk in _chunks(sorted(kinds)):
                for table in self._chunk(schema, chunk, kinds):
                    tables[table.key] = table
                done += len(chunk)
                self._progress(done, total)
        return tables

    def with_storage(self, tables: dict[str, Table], dialect: str) -> dict[str, Table]:
        """Return `tables` with the tables that show the same rows, and those that compute columns.

        Where that cannot be read, each may show any rows.
        """
        connection: Any = self._inspector.bind
        try:
            storage = storage_of(connection, dialect, self._default or "")
        except SQLAlchemyError as error:
            self._go_on(error)
            self._warn("where tables store their rows", error)
            return {key: replace(table, shares_rows=True) for key, table in tables.items()}
        names = {(table.schema or self._default or "", table.name): key for key, table in tables.items()}
        parents = {
            names[name]: tuple(_known_parents(name, names, storage)) for name in storage.parents if name in names
        }
        shared = {names[name] for name in storage.shared if name in names}
        changed = {key: replace(tables[key], parents=found) for key, found in parents.items()}
        changed |= {key: replace(changed.get(key, tables[key]), shares_rows=True) for key in shared}
        computed = _computed(names, {**tables, **changed}, storage)
        changed |= {key: replace(changed.get(key, tables[key]), computes_columns=True) for key in computed}
        return {**tables, **changed}

    def definitions(self, tables: dict[str, Table]) -> dict[str, str | None]:
        """Return the text of each view; None where it cannot be read."""
        found: dict[str, str | None] = {}
        for key, table in tables.items():
            if table.is_view:
                try:
                    found[key] = self._inspector.get_view_definition(table.name, schema=table.schema) or None
                except (SQLAlchemyError, NotImplementedError) as error:
                    self._go_on(error)
                    found[key] = None
        return found

    def ask(self, what: str, question: Callable[[Connection, str], frozenset[T]], dialect: str) -> frozenset[T]:
        """Return what `question` reads; nothing, with a warning, where the database does not tell."""
        connection = self._inspector.bind
        try:
            return question(connection, dialect) if isinstance(connection, Connection) else frozenset()
        except SQLAlchemyError as error:
            self._go_on(error)
            self._warn(what, error)
            return frozenset()

    def _names(self, schema: str | None) -> dict[str, bool]:
        """Return the names in `schema`; True for views. The default schema must be readable, another may not be."""
        try:
            views = [*self._inspector.get_view_names(schema), *self._materialized(schema)]
            return dict.fromkeys(self._inspector.get_table_names(schema), False) | dict.fromkeys(views, True)
        except SQLAlchemyError as error:
            if schema is None:
                raise
            self._go_on(error)
            self._warn(f"schema {schema}", error)
            return {}

    def _materialized(self, schema: str | None) -> list[str]:
        try:
            return self._inspector.get_materialized_view_names(schema)
        except NotImplementedError:
            return []

    def _chunk(self, schema: str | None, names: Sequence[str], kinds: dict[str, bool]) -> Iterator[Table]:
        try:
            read = self._tables(schema, names, kinds)
        except Exception as error:  # a dialect that stumbles over one odd table must not cost the others
            self._go_on(error)
            if len(names) == 1:
                self._warn(_shown(schema, names[0]), error)
                return
            for name in names:
                yield from self._chunk(schema, [name], kinds)
            return
        for name in set(names) - {table.name for table in read}:
            self._warn(_shown(schema, name), "it cannot be reflected")
        yield from read

    def _tables(self, schema: str | None, names: Sequence[str], kinds: dict[str, bool]) -> list[Table]:
        chosen: Any = {
            "schema": schema, "filter_names": names, "kind": ObjectKind.ANY, "scope": ObjectScope.ANY,
        }  # fmt: skip
        columns = self._inspector.get_multi_columns(**chosen)
        primary = self._primary_keys(chosen, columns)
        foreign = self._inspector.get_multi_foreign_keys(**chosen)
        comments = self._comments(chosen)
        return [
            Table(
                name=intern(str(name[1])),
                columns=tuple(_column(column) for column in columns[name]),
                schema=schema,
                primary_key=primary.get(name, ()),
                foreign_keys=tuple(self._foreign_key(reference, schema) for reference in foreign.get(name, ())),
                comment=comments.get(name),
                is_view=kinds[name[1]],
                computes_columns=any("computed" in column for column in columns[name]),
            )
            for name in columns
            if columns[name]
        ]

    def _primary_keys(self, chosen: Any, columns: Any) -> dict[Any, tuple[str, ...]]:
        """SQLite tells them with the columns, and asking again would scan its whole schema for each table."""
        if all("primary_key" in column for each in columns.values() for column in each):
            return {name: _numbered_key(each) for name, each in columns.items()}
        found = self._inspector.get_multi_pk_constraint(**chosen)
        return {name: tuple(each["constrained_columns"]) for name, each in found.items() if each}

    def _foreign_key(self, reference: Any, schema: str | None) -> ForeignKey:
        """SQLite leaves out the target columns where they are the primary key of the target."""
        name, place = reference["referred_table"], reference["referred_schema"]
        place = None if place == self._default else place
        columns = tuple(reference["referred_columns"]) or self._primary_key(name, place)
        target = f"{place}.{name}" if place else name
        return ForeignKey(tuple(reference["constrained_columns"]), target, columns)

    def _primary_key(self, name: str, schema: str | None) -> tuple[str, ...]:
        try:
            return tuple(self._inspector.get_pk_constraint(name, schema=schema)["constrained_columns"])
        except SQLAlchemyError:
            return ()

    def _comments(self, chosen: Any) -> dict[Any, str | None]:
        try:
            found = self._inspector.get_multi_table_comment(**chosen)
        except (NotImplementedError, SQLAlchemyError) as error:
            self._go_on(error)
            return {}
        return {name: comment["text"] for name, comment in found.items()}

    def _go_on(self, error: Exception) -> None:
        """End a transaction that `error` has broken; a connection that is gone ends the reading."""
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            raise error
        self._inspector.bind.rollback()  # type: ignore[union-attr]

    def _warn(self, what: str, reason: Exception | str) -> None:
        if len(self.warnings) < _MAX_WARNINGS:
            text = reason if isinstance(reason, str) else reason_of(reason)
            self.warnings.append(f"{what} is left out: {text[:200]}")


def _known_parents(name: Name, names: Mapping[Name, str], storage: Storage) -> Iterator[str]:
    """Return the keys of the nearest tables of the catalog that show the rows of `name` too."""
    for parent in storage.parents.get(name, ()):
        if parent in names:
            yield names[parent]
        else:
            yield from _known_parents(parent, names, storage)


def _computed(names: Mapping[Name, str], tables: Mapping[str, Table], storage: Storage) -> set[str]:
    """Return the keys of tables that have generated columns, or show the rows of tables that have or may have them."""
    # What is known of a partition outside of the catalog is only that it exists; foreign tables are among them.
    pending = [name for name in storage.parents if name not in names]
    pending += [name for name, key in names.items() if tables[key].computes_columns or name in storage.computed]
    found: set[Name] = set()
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += storage.parents.get(name, ())
    return {names[name] for name in found if name in names}


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[at : at + _AT_ONCE] for at in range(0, len(names), _AT_ONCE))


def _shown(schema: str | None, name: str) -> str:
    full = f"{schema}.{name}" if schema else name
    return ascii(full)[1:-1][:_SHOWN_NAME] if not full.isprintable() else full[:_SHOWN_NAME]


def _numbered_key(columns: Any) -> tuple[str, ...]:
    in_key = sorted((column["primary_key"], column["name"]) for column in columns if column["primary_key"])
    return tuple(name for _, name in in_key)


def _column(column: Any) -> Column:
    return Column(
        intern(str(column["name"])), intern(_type_name(column["type"])), column["nullable"], column.get("comment")
    )


def _type_name(kind: Any) -> str:
    if isinstance(kind, Enum):
        return "ENUM"
    # What MariaDB makes of BOOLEAN; the name alone would be that of a number.
    if type(kind).__name__ == "TINYINT" and getattr(kind, "display_width", None) == 1:
        return "TINYINT(1)"
    try:
        return str(kind)
    except Exception:  # a type that only its own dialect can write
        return type(kind).__name__.upper()

"""What a source holds: tables, columns and keys, as plain values that nodes, prompts and checks share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple, Protocol, runtime_checkable

from agent.catalog.type_class import TypeClass, type_class


class Column(NamedTuple):
    """A column; `type` is the database's own name for its type.

    A tuple, since there are hundreds of thousands of them and a start from the cache makes them all.
    What a sample of rows tells is None, or empty, where the column was not sampled; a secret column never is.
    """

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    null_share: float | None = None
    """Share of NULL among the sampled rows, from 0 to 1."""
    distinct: int | None = None
    """About how many distinct values the column has, NULL left out."""
    examples: tuple[str, ...] = ()
    """A few values as text, the most frequent of the sample first."""
    secret: bool = False
    """Marked as secret: nothing in the catalog reads its values, and no model or log gets them from a result."""

    @property
    def type_class(self) -> TypeClass:
        """What kind of values it holds, whatever the engine calls its type."""
        return type_class(self.type)


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` of the table that has it point to `target_columns` of the table with key `target`."""

    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    inferred: bool = False
    """True where the database declares no such key and names, types and keys suggest it."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view. `schema` is None in the schema that the connection looks in by itself."""

    name: str
    columns: tuple[Column, ...]
    schema: str | None = None
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    comment: str | None = None
    is_view: bool = False
    parents: tuple[str, ...] = ()
    """Keys of the tables that also show its rows: that of which it is a partition, those it inherits from."""
    shares_rows: bool = False
    """True for a table that is no view and may show rows of any other: merge, federated and virtual tables, say."""
    computes_columns: bool = False
    """True for a table with generated columns, or with partitions or children that have them or are not known."""
    rows: int | None = None
    """About how many rows it has; None where that is not known cheaply."""

    @property
    def key(self) -> str:
        """The name the catalog knows it by: `name`, or `schema.name`."""
        return FullName(self.schema, self.name).key

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in the table's order."""
        return tuple(column.name for column in self.columns)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Columns of the primary key and of foreign keys: those that joins need."""
        joined = (column for foreign_key in self.foreign_keys for column in foreign_key.columns)
        return tuple(dict.fromkeys((*self.primary_key, *joined)))


class FullName(NamedTuple):
    """What a table is called. `schema` is None in the schema that the connection looks in by itself."""

    schema: str | None
    name: str

    @property
    def key(self) -> str:
        """The name the catalog knows it by: `name`, or `schema.name`."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


@runtime_checkable
class Directory(Protocol):
    """Tables that tell their names without being read."""

    def full_names(self) -> Mapping[str, FullName]:
        """Return schema and name of every table by its key."""

    def column_names(self) -> Mapping[str, Sequence[str]]:
        """Return the names of the columns of every table by its key."""


IGNORES_CASE = {"sqlite", "duckdb", "spark", "trino"}
"""Dialects in which names are equal in any case, also in quotes."""

_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def folded(name: str) -> str:
    """Return `name` with ASCII letters in lower case, as engines fold names; other letters keep their case.

    >>> folded("Größe \N{KELVIN SIGN}")
    'größe \N{KELVIN SIGN}'
    """
    return name.translate(_ASCII_LOWER)


def joined(*parts: str) -> str:
    r"""Return the parts of a name with dots between them; a dot within a part is escaped.

    >>> joined("hr", "employees"), joined("hr.employees")
    ('hr.employees', 'hr\\.employees')
    """
    return ".".join(part.replace(".", "\\.") for part in parts)


@dataclass(frozen=True)
class ReadableNames:
    """The names of a database that decide what a statement may do."""

    tables: frozenset[str] | None
    """Every way to name a table that may be read, by `joined`, and `folded` where the dialect ignores case; with None
    every table may be read that is no system catalog."""
    routines: frozenset[str] = frozenset()
    """Functions, macros and operators that users of the database have defined, in lower case; none may be called."""
    composite_fields: frozenset[tuple[str, str]] = frozenset()
    """Columns of composite types with each field of theirs, as (column, field) in lower case."""


@dataclass(frozen=True)
class Catalog:
    """The tables of one source by their key. `dialect` is sqlglot's name of the SQL it speaks."""

    dialect: str
    tables: Mapping[str, Table]
    default_schema: str | None = None
    """The schema whose tables have no schema in their key."""
    values: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """Distinct values of text columns, by (table key, column name), as far as they were sampled."""
    warnings: tuple[str, ...] = ()
    """What could not be read, and why."""
    routines: frozenset[str] = frozenset()
    """Names of the functions and macros that users of the database have defined, in lower case."""
    composite_fields: frozenset[tuple[str, str]] = frozenset()
    """Columns of composite types with each field of theirs, as (column, field) in lower case."""

    @cached_property
    def full_names(self) -> Mapping[str, FullName]:
        """Schema and name of every table by its key."""
        if isinstance(self.tables, Directory):
            return self.tables.full_names()
        return {key: FullName(table.schema, table.name) for key, table in self.tables.items()}

    @cached_property
    def readable(self) -> ReadableNames:
        """What a statement may name: tables by their key and with their default schema, and fields of columns."""
        names = {joined(*filter(None, full)) for full in self.full_names.values()}
        if self.default_schema:
            names |= {joined(self.default_schema, full.name) for full in self.full_names.values() if not full.schema}
        tables = frozenset(map(folded, names) if self.dialect in IGNORES_CASE else names)
        return ReadableNames(tables, self.routines, self.composite_fields)

    @cached_property
    def has_schemas(self) -> bool:
        """True where a table has a schema in its key."""
        return any(full.schema for full in self.full_names.values())

    def keys_named(self, name: str) -> Sequence[str]:
        """Return the keys of the tables called `name`, in whatever schema and case."""
        return self._keys_by_name.get(name.lower(), ())

    def key_of(self, key: str) -> str | None:
        """Return the key that is `key` but for the case, the first of them; None where there is none."""
        return self._keys_by_lower.get(key.lower())

    def selection(self) -> dict[str, list[str]]:
        """Return every table with all its columns."""
        if isinstance(self.tables, Directory):
            return {key: list(names) for key, names in self.tables.column_names().items()}
        return {key: list(table.column_names) for key, table in self.tables.items()}

    @cached_property
    def _keys_by_name(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for key, full in self.full_names.items():
            found.setdefault(full.name.lower(), []).append(key)
        return found

    @cached_property
    def _keys_by_lower(self) -> Mapping[str, str]:
        return {key.lower(): key for key in reversed(list(self.tables))}

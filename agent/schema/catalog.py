"""Tables, columns and keys of a data source, as plain values."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from datasphinx.agent.engines import engine_of
from datasphinx.agent.schema.words import readable

if TYPE_CHECKING:
    from datasphinx.agent.engines.base import Engine

COUNTED_ROWS = 1_000_000
"""Rows of a table are counted up to this number."""

TypeClass = Literal["number", "text", "date", "datetime", "time", "boolean", "binary", "json", "array", "other"]
TIMES: tuple[TypeClass, ...] = ("date", "datetime")
"""The classes of dates, with and without a time."""
ColumnKey = tuple[str, str]
"""The key of a table and the name of one of its columns."""

_WRAPPERS = re.compile(r"\b(nullable|lowcardinality)\s*\(")
_PATTERNS: tuple[tuple[TypeClass, re.Pattern[str]], ...] = (
    ("array", re.compile(r"\[\d*\]\s*$|^(array|list|struct|map|tuple|nested|row)\b|vector$")),
    ("json", re.compile(r"json|^variant|^object\b")),
    ("datetime", re.compile(r"timestamp|datetime")),
    ("date", re.compile(r"^date(32)?\b")),
    ("other", re.compile(r"point|geometry|range\b")),
    ("time", re.compile(r"^time|^interval")),
    ("boolean", re.compile(r"^bool|^bit\(1\)$|^tinyint\(1\)$")),
    ("binary", re.compile(r"blob|binary|bytea|^bit\b|^varbit|^image$|^raw\b")),
    ("text", re.compile(r"char|text|clob|string|^enum|^set\b|^uuid|^guid|^name$|^inet|^cidr|^xml|^citext")),
    ("number", re.compile(r"int|serial|number|numeric|dec|real|double|float|money|^year\b|^oid$|^u?hugeint")),
)
"""Patterns in order of precedence: the name of one type may contain that of another."""

_SCALE = re.compile(r"\(\s*\d+\s*,\s*(\d+)\s*\)")
"""The decimal places of a type such as DECIMAL(9, 2)."""

NO_TYPE = "NULL"
"""Type of a column that declares none, such as a computed column of a view in SQLite."""
CELL_TYPES: Mapping[type, str] = {int: "integer", float: "real", str: "text"}
"""Types of such columns by their cells, in lower case, unlike those that are declared."""


@lru_cache(maxsize=4096)
def type_class(name: str) -> TypeClass:
    """Return the class of the SQL type `name`: "number" for NUMERIC(9, 2); "other" for an unknown type."""
    plain = _WRAPPERS.sub("", name.strip().lower())
    return next((kind for kind, pattern in _PATTERNS if pattern.search(plain)), "other")


class Column(NamedTuple):
    """A column. `type` is the database's own name for its type.

    A named tuple, because loading a cached catalog creates hundreds of thousands of columns. `null_share`, `distinct`,
    `examples`, `minimum` and `maximum` come from rows and are unset if the column was not sampled, except the values
    that an enumeration declares; secret columns never are.
    """

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    null_share: float | None = None
    """Share of NULL among the sampled rows, from 0 to 1."""
    distinct: int | None = None
    """Estimated number of distinct values other than NULL."""
    examples: tuple[str, ...] = ()
    """A few values as text, the most frequent of the sample first; without a sample, those an enumeration declares."""
    secret: bool = False
    """Marked as secret: its values are never sampled and are masked for models and logs."""
    minimum: str | None = None
    """Smallest value as text, for numbers and dates, except keys; None if it is not known."""
    maximum: str | None = None
    """Largest value as text; None if it is not known."""
    parts: tuple[str, ...] = ()
    """What the sampled JSON objects or arrays contain: keys and elements with some of their values, as text."""

    @property
    def type_class(self) -> TypeClass:
        """Class of the column's type, independent of the engine."""
        return type_class(self.type)

    @property
    def decimals(self) -> int | None:
        """Decimal places of a number: those of its type, else the most of the known values; None if none is known."""
        if self.type_class != "number":
            return None
        if scale := _SCALE.search(self.type):
            return int(scale[1])
        values = [value for value in (*self.examples, self.minimum, self.maximum) if value]
        return max((len(value.partition(".")[2].rstrip("0")) for value in values), default=None)


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A reference from `columns` of the table that holds it to `target_columns` of the table with key `target`."""

    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    inferred: bool = False
    """True if the key was inferred from names, types and primary keys, not declared in the database."""
    likely: bool = True
    """False for an inferred key whose names agree only in part; prompts leave it out."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view. `schema` is None for the connection's default schema."""

    name: str
    columns: tuple[Column, ...]
    schema: str | None = None
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    comment: str | None = None
    is_view: bool = False
    parents: tuple[str, ...] = ()
    """Keys of the tables that also return its rows: partitioned tables and tables it inherits from."""
    shares_rows: bool = False
    """True for a table that may return rows of any other table, such as a merge, federated or virtual table."""
    rows: int | None = None
    """Approximate number of rows, at least `COUNTED_ROWS` if equal to it; None if no cheap estimate is available."""

    @property
    def key(self) -> str:
        """Key of the table in the catalog: `name`, or `schema.name` outside the default schema."""
        return FullName(self.schema, self.name).key

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in the table's order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """Return the column `name`. Raise StopIteration if there is none."""
        return next(column for column in self.columns if column.name == name)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Columns of the primary key and of foreign keys, which joins need."""
        foreign_columns = (column for foreign_key in self.foreign_keys for column in foreign_key.columns)
        return tuple(dict.fromkeys((*self.primary_key, *foreign_columns)))


class FullName(NamedTuple):
    """Schema and name of a table. `schema` is None for the connection's default schema."""

    schema: str | None
    name: str

    @property
    def key(self) -> str:
        """Key of the table in the catalog: `name`, or `schema.name` outside the default schema."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


@runtime_checkable
class Directory(Protocol):
    """A collection of tables that can list names without loading the tables."""

    def full_names(self) -> Mapping[str, FullName]:
        """Return the schema and name of every table by its key."""

    def column_names(self) -> Mapping[str, Sequence[str]]:
        """Return the column names of every table by its key."""


def dotted_name(*parts: str) -> str:
    r"""Return the parts of a name joined by dots; dots within a part are escaped.

    >>> dotted_name("hr", "employees"), dotted_name("hr.employees")
    ('hr.employees', 'hr\\.employees')
    """
    return ".".join(part.replace(".", "\\.") for part in parts)


@dataclass(frozen=True)
class ReadableNames:
    """Names in a database that decide which statements are allowed."""

    tables: frozenset[str] | None
    """Readable tables under each of their names, as returned by `dotted_name`, with `fold_case` applied if the dialect
    ignores case. If None, all tables except system catalogs are readable.
    """
    routines: frozenset[str] = frozenset()
    """User-defined functions, macros and operators, and casts: of rows as `table::`, of columns as `::column`, between
    built-in types as `source::target`; all in lower case. None may be called.
    """
    composite_fields: frozenset[tuple[str, str]] = frozenset()
    """Fields of columns of composite types, as (column, field) in lower case."""


@dataclass(frozen=True)
class Catalog:
    """The tables of one source by their key. `dialect` is the name of its SQL dialect, as `engine_of` takes it."""

    dialect: str
    tables: Mapping[str, Table]
    default_schema: str | None = None
    """Schema whose tables have no schema in their key."""
    values: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """Sampled distinct values of text columns, by (table key, column name)."""
    warnings: tuple[str, ...] = ()
    """Parts of the schema that could not be read, with the reason."""
    routines: frozenset[str] = frozenset()
    """Names of user-defined functions and macros, in lower case."""
    composite_fields: frozenset[tuple[str, str]] = frozenset()
    """Fields of columns of composite types, as (column, field) in lower case."""
    formats: Mapping[ColumnKey, str] = field(default_factory=dict)
    """Formats of columns, as a model may name them, that the cells of their file show."""
    denied: frozenset[str] = frozenset()
    """Keys of the tables that row rules deny. Errors and repairs suggest none of their names."""

    @property
    def engine(self) -> "Engine":
        """The engine of the source."""
        return engine_of(self.dialect)

    @cached_property
    def full_names(self) -> Mapping[str, FullName]:
        """Schema and name of every table by its key."""
        if isinstance(self.tables, Directory):
            return self.tables.full_names()
        return {key: FullName(table.schema, table.name) for key, table in self.tables.items()}

    @cached_property
    def readable(self) -> ReadableNames:
        """Names that statements may use: tables with and without the default schema, and fields of columns."""
        names = {dotted_name(*filter(None, full)) for full in self.full_names.values()}
        if self.default_schema:
            names |= {
                dotted_name(self.default_schema, full.name) for full in self.full_names.values() if not full.schema
            }
        return ReadableNames(frozenset(map(self.engine.table_name, names)), self.routines, self.composite_fields)

    @cached_property
    def secret_names(self) -> frozenset[str]:
        """Names of the secret columns of all tables, in lower case."""
        return frozenset(
            column.name.lower() for table in self.tables.values() for column in table.columns if column.secret
        )

    @cached_property
    def name_words(self) -> frozenset[str]:
        """The words of the names of all tables and columns, in lower case."""
        tables = self.tables.values()
        names = (name for table in tables for name in (table.name, *table.column_names))
        return frozenset(word for name in names for word in readable(name).lower().split())

    @cached_property
    def has_schemas(self) -> bool:
        """True if the key of any table includes a schema."""
        return any(full.schema for full in self.full_names.values())

    def keys_named(self, name: str) -> Sequence[str]:
        """Return the keys of the tables called `name`, in any schema, ignoring case."""
        return self._keys_by_name.get(name.lower(), ())

    def key_of(self, key: str) -> str | None:
        """Return `key` if it is one, else the first that equals it ignoring case; None if there is none."""
        return key if key in self.tables else self._keys_by_lower.get(key.lower())

    def selection(self, keys: Iterable[str] | None = None) -> dict[str, list[str]]:
        """Return the tables `keys`, by default every table, with all their columns."""
        if keys is None and isinstance(self.tables, Directory):
            return {key: list(names) for key, names in self.tables.column_names().items()}
        return {key: list(self.tables[key].column_names) for key in (self.tables if keys is None else keys)}

    @cached_property
    def _keys_by_name(self) -> Mapping[str, Sequence[str]]:
        keys: dict[str, list[str]] = {}
        for key, full in self.full_names.items():
            keys.setdefault(full.name.lower(), []).append(key)
        return keys

    @cached_property
    def _keys_by_lower(self) -> Mapping[str, str]:
        return {key.lower(): key for key in reversed(list(self.tables))}

    def are_equivalent(self, first: ColumnKey, second: ColumnKey) -> bool:
        """Return whether both columns are the same column or lead to a common one along foreign keys, ignoring case.

        Reads only the tables on these paths, because each table of a cached catalog is unpacked on access.
        """
        return not self._reachable(first).isdisjoint(self._reachable(second))

    def _reachable(self, start: ColumnKey) -> set[ColumnKey]:
        pending = [(start[0], start[1].lower())]
        visited = set(pending)
        while pending:
            key, name = pending.pop()
            table = self.tables.get(key)
            targets = {
                (self.key_of(foreign_key.target) or foreign_key.target, target.lower())
                for foreign_key in (table.foreign_keys if table else ())
                for column, target in zip(foreign_key.columns, foreign_key.target_columns, strict=False)
                if column.lower() == name
            }
            pending += targets - visited
            visited |= targets
        return visited

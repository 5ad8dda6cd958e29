"""A schema as seen by question generators: columns by role (measure, date, category, ...), links, and values."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from random import Random
from typing import Any, TypeVar

from datasphinx.agent.embedded.compact import quoted
from datasphinx.agent.errors import PermissionDenied, StatementError
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sources.source import Source
from training.synthesis.nouns import Term, column_words, table_words, term_of

_ID = re.compile(
    r"(^|_|\b)(id|no|nr|number|num|code|key|ssn|zip|postcode|phone|fax|ean)$|[a-z]I[dD]$|^(x|y|lat|long)|"
    r"^(major|minor|advisor)$",
    re.I,
)
_YEAR = re.compile(r"year|season|opened_in|founded", re.I)
_FIXED = re.compile(
    r"price|rate|age$|rating|score|stars|height|weight|percent|level|grade|rank|position|bedrooms|floor|reorder|year|"
    r"latitude|longitude|temperature|speed|salary|pay$|capacity|monthly|nightly|minimum|maximum|avg|gpa|order$|round|"
    r"month|day$|term|version|area|seats|premium|mileage|target|pages",
    re.I,
)
_LABEL = re.compile(r"(^|_|\b)(name|title|nickname|headline|label)$|[a-z](Name|Title)$|^name", re.I)
_LONG = re.compile(r"detail|descr|comment|note|address|mail|phone|feedback|text|url|street|password|login|postal", re.I)
_MAX_CATEGORIES = 12

Option = TypeVar("Option")


class NoFit(Exception):
    """A schema has nothing that a question could be about."""


@dataclass(frozen=True)
class Field:
    """A column with the words of its name."""

    table: str
    column: Column
    words: tuple[str, ...]

    @property
    def sql(self) -> str:
        """The qualified column in SQL."""
        return f"{quoted(self.table)}.{quoted(self.column.name)}"

    @cached_property
    def term(self) -> Term:
        """The name as a noun."""
        return term_of(self.words)


@dataclass(frozen=True)
class Link:
    """A foreign key with one column."""

    child: str
    column: str
    parent: str
    parent_column: str
    nullable: bool

    def join(self, table: str) -> str:
        """Return the JOIN clause that adds `table`, one of the two tables of the link."""
        condition = f"{self.child_sql} = {self.parent_sql}"
        return f"JOIN {quoted(table)} ON {condition}"

    @property
    def child_sql(self) -> str:
        """The referencing column in SQL."""
        return f"{quoted(self.child)}.{quoted(self.column)}"

    @property
    def parent_sql(self) -> str:
        """The referenced column in SQL."""
        return f"{quoted(self.parent)}.{quoted(self.parent_column)}"


@dataclass(frozen=True)
class Entity:
    """A table with its columns by role."""

    table: Table
    words: tuple[str, ...]
    dates: tuple[Field, ...] = ()
    years: tuple[Field, ...] = ()
    measures: tuple[Field, ...] = ()
    categories: tuple[Field, ...] = ()
    flags: tuple[Field, ...] = ()
    labels: tuple[Field, ...] = ()
    gaps: tuple[Field, ...] = ()
    """Columns that are NULL in some rows."""
    parents: list[Link] = field(default_factory=list)
    children: list[Link] = field(default_factory=list)

    @property
    def sql(self) -> str:
        """The table name in SQL."""
        return quoted(self.table.name)

    @cached_property
    def term(self) -> Term:
        """The noun for one row."""
        return term_of(self.words)

    @property
    def sums(self) -> tuple[Field, ...]:
        """Measures whose sum is meaningful."""
        return tuple(measure for measure in self.measures if is_additive(measure))

    @property
    def key_sql(self) -> str | None:
        """The primary key in SQL if it has one column, else None."""
        if len(self.table.primary_key) != 1:
            return None
        return f"{self.sql}.{quoted(self.table.primary_key[0])}"


@dataclass(frozen=True)
class View:
    """The entities of a catalog by table name."""

    entities: dict[str, Entity]

    def all_with(self, *roles: str) -> list[Entity]:
        """Return the entities that have columns in all of `roles`."""
        return [entity for entity in self.entities.values() if all(getattr(entity, role) for role in roles)]

    def parent(self, link: Link) -> Entity:
        """Return the referenced entity of a link."""
        return self.entities[link.parent]


def view_of(catalog: Catalog) -> View:
    """Return the view of `catalog`, without database views and tables without columns."""
    entities = {name: _entity(table) for name, table in catalog.tables.items() if table.columns and not table.is_view}
    for entity in entities.values():
        for link in _links(entity.table):
            if link.parent in entities and link.parent != link.child:
                entity.parents.append(link)
                entities[link.parent].children.append(link)
    return View(entities)


def is_additive(measure: Field) -> bool:
    """Return whether a sum of the column is meaningful; sums of prices or ages are not."""
    name = measure.column.name
    return not _FIXED.search(name) or bool(re.search(r"total|amount|paid|sale_price|gross", name, re.I))


def _entity(table: Table) -> Entity:
    words = tuple(table_words(table.name))
    keys = set(table.key_columns)
    fields = [Field(table.name, column, tuple(column_words(column.name, words))) for column in table.columns]
    free = [field for field in fields if field.column.name not in keys]
    return Entity(
        table,
        words,
        tuple(field for field in free if field.column.type_class in ("date", "datetime")),
        tuple(field for field in free if field.column.type_class == "number" and _YEAR.search(field.column.name)),
        tuple(field for field in free if _is_measure(field.column)),
        tuple(field for field in free if _is_category(field.column)),
        tuple(field for field in free if field.column.type_class == "boolean"),
        tuple(_labels(fields)),
        tuple(field for field in free if field.column.null_share and field.column.null_share < 0.9),
    )


def _is_measure(column: Column) -> bool:
    if column.type_class != "number" or _ID.search(column.name) or _YEAR.search(column.name):
        return False
    return len(column.name) > 2 and (column.distinct or 0) > 3


def _is_category(column: Column) -> bool:
    if column.type_class != "text" or _ID.search(column.name) or _LONG.search(column.name):
        return False
    place = re.search(r"city|country|region|nationality|state|location", column.name, re.I)
    return not _LABEL.search(column.name) and 2 <= (column.distinct or 0) <= (25 if place else _MAX_CATEGORIES)


def _labels(fields: list[Field]) -> Iterator[Field]:
    """Yield the columns that identify a row for a reader: its name, or first and last name."""
    names = [field for field in fields if field.column.type_class == "text" and _LABEL.search(field.column.name)]
    first = [field for field in names if re.search(r"^first|^f_?name|^last|^l_?name", field.column.name, re.I)]
    yield from first if len(first) == 2 else names[:1]


def _links(table: Table) -> Iterator[Link]:
    targets = [foreign.target for foreign in table.foreign_keys]
    for foreign in table.foreign_keys:
        if len(foreign.columns) == 1 and targets.count(foreign.target) == 1:
            column = next(column for column in table.columns if column.name == foreign.columns[0])
            nullable = bool(column.nullable) and column.name not in table.primary_key
            yield Link(table.name, column.name, foreign.target, foreign.target_columns[0], nullable)


@dataclass
class Reader:
    """Reads column values through the guarded execution of the source, with a cache."""

    source: Source
    view: View
    rng: Random
    _values: dict[str, list[Any]] = field(default_factory=dict)

    def values(self, column: Field) -> list[Any]:
        """Return the values of `column` in all rows, without NULL."""
        if column.sql not in self._values:
            entity = self.view.entities[column.table]
            rows = self.rows(
                f"SELECT {column.sql} FROM {entity.sql} WHERE {column.sql} IS NOT NULL ORDER BY {column.sql}"
            )
            self._values[column.sql] = [row[0] for row in rows or []]
        return self._values[column.sql]

    def rows(self, sql: str) -> list[list[Any]] | None:
        """Return the rows of `sql`; None if it is rejected or fails."""
        try:
            return self.source.execute(sql)["rows"]
        except (StatementError, PermissionDenied):
            return None

    def pick(self, options: Sequence[Option]) -> Option:
        """Return a random one of `options`.

        Raises:
            NoFit: there is none.
        """
        if not options:
            raise NoFit
        return self.rng.choice(options)

    def entity_with(self, *roles: str) -> Entity:
        """Return a random entity that has columns in all of `roles`.

        Raises:
            NoFit: there is none.
        """
        return self.pick(self.view.all_with(*roles))

    def value(self, column: Field) -> Any:
        """Return the value of a random row; None if the column is empty."""
        values = self.values(column)
        return self.rng.choice(values) if values else None

    def day(self, column: Field) -> date | None:
        """Return the date of a random row; None if the value is not a date."""
        value = self.value(column)
        try:
            return date.fromisoformat(str(value)[:10])
        except ValueError:
            return None

"""What a schema offers to questions: things that are counted, amounts, dates, groups, states, and what links them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from agent.catalog.schema import Catalog, Column, Table
from agent.models.training.synthesis.nouns import Term, column_words, table_words, term_of
from agent.models.training.synthesis.query import quoted

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
_MOST_GROUPS = 12


@dataclass(frozen=True)
class Field:
    """A column as questions speak of it."""

    table: str
    column: Column
    words: tuple[str, ...]

    @property
    def sql(self) -> str:
        """The column with its table, as a statement names it."""
        return f"{quoted(self.table)}.{quoted(self.column.name)}"

    @cached_property
    def term(self) -> Term:
        """Its name as a noun."""
        return term_of(self.words)


@dataclass(frozen=True)
class Link:
    """A foreign key of one column."""

    child: str
    column: str
    parent: str
    parent_column: str
    nullable: bool

    def join(self, table: str) -> str:
        """Return the JOIN clause that brings `table`, one of its two ends, in."""
        condition = f"{self.child_sql} = {self.parent_sql}"
        return f"JOIN {quoted(table)} ON {condition}"

    @property
    def child_sql(self) -> str:
        """The column that points."""
        return f"{quoted(self.child)}.{quoted(self.column)}"

    @property
    def parent_sql(self) -> str:
        """The column that is pointed at."""
        return f"{quoted(self.parent)}.{quoted(self.parent_column)}"


@dataclass(frozen=True)
class Entity:
    """A table with its columns by what they are good for."""

    table: Table
    words: tuple[str, ...]
    dates: tuple[Field, ...] = ()
    years: tuple[Field, ...] = ()
    measures: tuple[Field, ...] = ()
    categories: tuple[Field, ...] = ()
    flags: tuple[Field, ...] = ()
    labels: tuple[Field, ...] = ()
    gaps: tuple[Field, ...] = ()
    """Columns that are NULL in some rows and not in others."""
    parents: list[Link] = field(default_factory=list)
    children: list[Link] = field(default_factory=list)

    @property
    def sql(self) -> str:
        """Its name as a statement holds it."""
        return quoted(self.table.name)

    @cached_property
    def term(self) -> Term:
        """What a row of it is, as a noun."""
        return term_of(self.words)

    @property
    def sums(self) -> tuple[Field, ...]:
        """Measures that can be added up."""
        return tuple(measure for measure in self.measures if is_additive(measure))

    @property
    def is_bridge(self) -> bool:
        """True where its primary key is made of foreign keys."""
        return len(self.table.primary_key) > 1

    @property
    def key_sql(self) -> str | None:
        """Its primary key where that is one column."""
        if len(self.table.primary_key) != 1:
            return None
        return f"{self.sql}.{quoted(self.table.primary_key[0])}"


@dataclass(frozen=True)
class View:
    """The entities of a catalog by the names of their tables."""

    entities: dict[str, Entity]

    def all_with(self, *roles: str) -> list[Entity]:
        """Return the entities that have something in each of these roles."""
        return [entity for entity in self.entities.values() if all(getattr(entity, role) for role in roles)]

    def parent(self, link: Link) -> Entity:
        """Return the entity a link points to."""
        return self.entities[link.parent]


def view_of(catalog: Catalog) -> View:
    """Return what `catalog` offers; tables without rows or with names that say nothing are left out."""
    entities = {name: _entity(table) for name, table in catalog.tables.items() if table.columns and not table.is_view}
    for entity in entities.values():
        for link in _links(entity.table):
            if link.parent in entities and link.parent != link.child:
                entity.parents.append(link)
                entities[link.parent].children.append(link)
    return View(entities)


def is_additive(measure: Field) -> bool:
    """Return whether a sum of the column means something, as a sum of prices or ages does not."""
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
    return not _LABEL.search(column.name) and 2 <= (column.distinct or 0) <= (25 if place else _MOST_GROUPS)


def _labels(fields: list[Field]) -> Iterator[Field]:
    """The columns that say which row it is: its name, or the first and the last name."""
    named = [field for field in fields if field.column.type_class == "text" and _LABEL.search(field.column.name)]
    first = [field for field in named if re.search(r"^first|^f_?name|^last|^l_?name", field.column.name, re.I)]
    yield from first if len(first) == 2 else named[:1]


def _links(table: Table) -> Iterator[Link]:
    targets = [foreign.target for foreign in table.foreign_keys]
    for foreign in table.foreign_keys:
        if len(foreign.columns) == 1 and targets.count(foreign.target) == 1:
            column = next(column for column in table.columns if column.name == foreign.columns[0])
            nullable = bool(column.nullable) and column.name not in table.primary_key
            yield Link(table.name, column.name, foreign.target, foreign.target_columns[0], nullable)

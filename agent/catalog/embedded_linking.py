"""Schema linking for the embedded model, without a model: few tables and columns, the same ones in the same order.

All comes in the catalog's order, so that prompts over one database begin alike and their beginning is computed once.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from agent.catalog.index import SchemaIndex
from agent.catalog.linked_values import linked_values
from agent.catalog.schema import Catalog
from agent.catalog.value_index import ValueIndex
from agent.catalog.words import content_words, words

_WHOLE_TABLES, _WHOLE_COLUMNS = 10, 80
"""A schema of at most so many is shown whole."""
_BEST_TABLES = 6
_MOST_COLUMNS = 16


class Linkable(Protocol):
    """What linking reads of a `Source`; the builder of training sets has nothing more of one."""

    @property
    def catalog(self) -> Catalog:
        """The tables."""

    @property
    def index(self) -> SchemaIndex:
        """The index over the catalog."""

    @property
    def values(self) -> ValueIndex:
        """The index of stored values."""


def is_shown_whole(catalog: Catalog) -> bool:
    """Return whether the embedded model is shown all of the schema, whatever the question."""
    columns = sum(len(table.columns) for table in catalog.tables.values())
    return len(catalog.tables) <= _WHOLE_TABLES and columns <= _WHOLE_COLUMNS


def embedded_tables(question: str, source: Linkable, attempt: int = 1) -> list[str]:
    """Return the keys of the tables for `question`, in the catalog's order.

    All of at most 10 with at most 80 columns; else the best that the index ranks, at most 6, with what it takes to join
    them, at most 10 together. Each further attempt (from 1) is laxer about spelling.
    """
    tables = source.catalog.tables
    if is_shown_whole(source.catalog):
        return list(tables)
    ranked = source.index.rank(question, fuzzy=attempt - 1, limit=_BEST_TABLES)
    joined = (source.index.connected(ranked[:count]) for count in range(len(ranked), 0, -1))
    chosen = set(next((keys for keys in joined if len(keys) <= _WHOLE_TABLES), ()))
    return [key for key in tables if key in chosen] or list(tables)[:_BEST_TABLES]


def embedded_columns(question: str, source: Linkable, tables: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return at most 16 columns of each of `tables`, in the table's order.

    First come keys, then columns that share a word with the question, then those that hold a value it names, then the
    others.
    """
    wide = {key: columns for key, columns in tables.items() if len(columns) > _MOST_COLUMNS}
    links = linked_values(question, source.values, wide) if wide else []
    asked = content_words(question)

    def best(key: str, columns: Sequence[str]) -> Iterable[str]:
        table = source.catalog.tables.get(key)
        yield from (name for name in table.key_columns if name in columns) if table else ()
        yield from (name for name in columns if words(name) & asked)
        yield from (link.column for link in links if link.table == key)
        yield from columns

    chosen = {key: set(list(dict.fromkeys(best(key, wide[key])))[:_MOST_COLUMNS]) for key in wide}
    return {
        key: [name for name in columns if key not in chosen or name in chosen[key]] for key, columns in tables.items()
    }

"""Selection of tables and columns for a question without a model, for models that can only write statements.

Tables and columns keep the order of the catalog, so that the prompts over one database share a prefix, which servers
cache.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from datasphinx.agent.retrieval.index import SchemaIndex
from datasphinx.agent.retrieval.linked_values import linked_values
from datasphinx.agent.retrieval.value_index import ValueIndex
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.schema.deletion import deletion_marks
from datasphinx.agent.schema.words import content_words, words

_WHOLE_TABLES, _WHOLE_COLUMNS = 10, 80
"""Limits up to which a schema is selected whole."""
_MAX_RANKED_TABLES = 6
_MAX_COLUMNS = 16


class Linkable(Protocol):
    """The parts of a `Source` that the selection reads; the builder of training sets provides only these."""

    @property
    def catalog(self) -> Catalog:
        """The tables."""

    @property
    def index(self) -> SchemaIndex:
        """The index over the catalog."""

    @property
    def values(self) -> ValueIndex:
        """The index of stored values."""


def is_selected_whole(catalog: Catalog) -> bool:
    """Return whether all tables are selected for every question: at most 10 tables with at most 80 columns."""
    columns = sum(len(table.columns) for table in catalog.tables.values())
    return len(catalog.tables) <= _WHOLE_TABLES and columns <= _WHOLE_COLUMNS


def select_tables(question: str, source: Linkable, attempt: int = 1) -> list[str]:
    """Return the keys of the tables for `question`, in the catalog's order.

    All tables of a small schema (`is_selected_whole`); otherwise the best 6 of the index and the tables needed to join
    them, at most 10 in total. Each further attempt, counted from 1, tolerates more spelling errors.
    """
    tables = source.catalog.tables
    if is_selected_whole(source.catalog):
        return list(tables)
    ranked = source.index.rank(question, fuzzy=attempt - 1, limit=_MAX_RANKED_TABLES)
    candidates = (source.index.connected(ranked[:count]) for count in range(len(ranked), 0, -1))
    subset = set(next((keys for keys in candidates if len(keys) <= _WHOLE_TABLES), ()))
    return [key for key in tables if key in subset] or list(tables)[:_MAX_RANKED_TABLES]


def select_columns(question: str, source: Linkable, tables: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return at most 16 columns of each of `tables`, in the table's order.

    Priority: keys, columns that mark rows as deleted, columns that share a word with the question, columns that store a
    value named in it, others.
    """
    wide_tables = {key: columns for key, columns in tables.items() if len(columns) > _MAX_COLUMNS}
    links = linked_values(question, source.values, wide_tables) if wide_tables else []
    question_words = content_words(question)

    def by_priority(key: str, columns: Sequence[str]) -> Iterable[str]:
        table = source.catalog.tables.get(key)
        marks = [mark.name for mark in deletion_marks(table, source.catalog.values)] if table else []
        yield from (name for name in [*table.key_columns, *marks] if name in columns) if table else ()
        yield from (name for name in columns if words(name) & question_words)
        yield from (link.column for link in links if link.table == key)
        yield from columns

    names_by_table = {
        key: set(list(dict.fromkeys(by_priority(key, wide_tables[key])))[:_MAX_COLUMNS]) for key in wide_tables
    }
    return {
        key: [name for name in columns if key not in names_by_table or name in names_by_table[key]]
        for key, columns in tables.items()
    }

"""Which tables hold a term, and where: an inverted index of a catalog in flat arrays."""

from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from agent.catalog.identifiers import Identifiers
from agent.catalog.schema import Catalog, Table
from agent.catalog.words import words

NAME, COLUMN, REMARK, VALUE = 1.0, 0.8, 0.6, 0.5
"""How much a word counts by where it stands: table name, column name, comment or schema name, sampled value."""

_VALUE_CHARS = 200
_MOST_VALUES = 1_000_000
_FEWEST_PER_TABLE = 20


class Postings:
    """The tables, by number, that hold a term, with the strength of the best place it stands in."""

    def __init__(self, catalog: Catalog) -> None:
        """Index names, comments and sampled values; of more than a million values in all, the first of each table."""
        names = {name for table in catalog.tables.values() for name in (table.name, *table.column_names)}
        self.identifiers = Identifiers(names)
        self.tables = len(catalog.tables)
        self._slots: dict[str, int] = {}
        self._build(catalog)

    @property
    def terms(self) -> list[str]:
        """Every term, in the order of first sight."""
        return list(self._slots)

    def of(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the numbers of the tables that hold `term`, each once, and the strengths."""
        slot = self._slots.get(term)
        span = slice(0, 0) if slot is None else slice(self._starts[slot], self._starts[slot + 1])
        return self._tables[span], self._strengths[span]

    def frequency(self, term: str) -> int:
        """Return how many tables hold `term`."""
        return len(self.of(term)[0])

    def names(self) -> list[str]:
        """Return the single words that stand in a name or a comment, not only in values."""
        single = self.identifiers.spellings
        strongest = np.maximum.reduceat(self._strengths, self._starts[:-1]) if self._slots else np.zeros(0)
        return [
            term for term, strength in zip(self._slots, strongest, strict=True) if strength > VALUE and term in single
        ]

    def matrix(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """Return starts by term, table numbers and strengths: the columns of a sparse tables-by-terms matrix."""
        return self._starts, self._tables, self._strengths

    def _build(self, catalog: Catalog) -> None:
        slots, numbers, strengths = array("i"), array("i"), array("f")
        budget = max(_FEWEST_PER_TABLE, _MOST_VALUES // max(1, self.tables))
        for number, (key, table) in enumerate(catalog.tables.items()):
            found = self._table_terms(catalog, key, table, budget)
            slots.extend(self._slots.setdefault(term, len(self._slots)) for term in found)
            numbers.extend([number] * len(found))
            strengths.extend(found.values())
        by_slot = np.frombuffer(slots, np.int32) if slots else np.zeros(0, np.int32)
        order = np.argsort(by_slot, kind="stable")
        self._tables = np.array(numbers, np.int32)[order]
        self._strengths = np.array(strengths, np.float32)[order]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(by_slot, minlength=len(self._slots)))])

    def _table_terms(self, catalog: Catalog, key: str, table: Table, budget: int) -> dict[str, float]:
        """Return the terms of a table with their strengths; what is stronger is written last."""
        found: dict[str, float] = {}
        for value in self._values(catalog, key, table, budget):
            found.update(dict.fromkeys(words(value[:_VALUE_CHARS]), VALUE))
        for remark in (table.comment, table.schema, *(column.comment for column in table.columns)):
            if remark:
                found.update(dict.fromkeys(self.identifiers.terms(remark), REMARK))
        for column in table.columns:
            found.update(dict.fromkeys(self.identifiers.terms(column.name), COLUMN))
        found.update(dict.fromkeys(self.identifiers.terms(table.name), NAME))
        return found

    def _values(self, catalog: Catalog, key: str, table: Table, budget: int) -> Iterator[str]:
        sampled = [catalog.values.get((key, column.name), ()) for column in table.columns]
        share = max(1, budget // max(1, sum(map(bool, sampled))))
        for values in sampled:
            yield from values[:share]

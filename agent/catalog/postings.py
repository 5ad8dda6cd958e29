"""Which tables hold a term, and where: an inverted index of a catalog in flat arrays."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from agent.catalog.archive import Arrays, check_numbers, check_starts, flat, packed, unpacked
from agent.catalog.identifiers import Identifiers
from agent.catalog.schema import Catalog, Table
from agent.catalog.words import words

NAME, COLUMN, REMARK, VALUE = 1.0, 0.8, 0.6, 0.5
"""How much a word counts by where it stands: table name, column name, comment or schema name, sampled value."""

_VALUE_CHARS = 200
_MOST_VALUES = 1_000_000
_FEWEST_PER_TABLE = 20


@dataclass(frozen=True, eq=False)
class Postings:
    """The tables, by number, that hold a term, with the strength of the best place it stands in."""

    slots: Mapping[str, int]
    """Every term, in the order of first sight, with its place in `starts`."""
    spellings: Mapping[str, str]
    """The terms that are single words, with one spelling of each."""
    words_in_name: NDArray[np.float32]
    """How many words the name of each table has, at least 1."""
    starts: NDArray[np.int64]
    numbers: NDArray[np.int32]
    strengths: NDArray[np.float32]

    @classmethod
    def of_catalog(cls, catalog: Catalog) -> "Postings":
        """Index names, comments and sampled values; of more than a million values in all, the first of each table."""
        return _Reader(catalog).read()

    @classmethod
    def of_arrays(cls, arrays: Arrays) -> "Postings":
        """Return what `arrays` was called on.

        Raises:
            UNUSABLE: these are other arrays.
        """
        terms, spellings = unpacked(arrays["terms"]), unpacked(arrays["spellings"])
        if type(spellings) is not dict or not {str}.issuperset(map(type, chain(terms, spellings.values()))):
            raise TypeError("a term is no text")
        starts = flat(arrays, "starts", np.int64, len(terms) + 1)
        numbers = flat(arrays, "numbers", np.int32, int(starts[-1]))
        words_in_name = flat(arrays, "words_in_name", np.float32)
        check_starts(starts, len(numbers))
        check_numbers(numbers, len(words_in_name))
        strengths = flat(arrays, "strengths", np.float32, len(numbers))
        slots = {term: slot for slot, term in enumerate(terms)}
        return cls(slots, spellings, words_in_name, starts, numbers, strengths)

    def arrays(self) -> Arrays:
        """Return all of it as arrays, for a file."""
        texts = {"terms": packed(list(self.slots)), "spellings": packed(dict(self.spellings))}
        names = ("words_in_name", "starts", "numbers", "strengths")
        return texts | {name: getattr(self, name) for name in names}

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return len(self.words_in_name)

    @property
    def terms(self) -> list[str]:
        """Every term, in the order of first sight."""
        return list(self.slots)

    def of(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the numbers of the tables that hold `term`, each once, and the strengths."""
        slot = self.slots.get(term)
        span = slice(0, 0) if slot is None else slice(self.starts[slot], self.starts[slot + 1])
        return self.numbers[span], self.strengths[span]

    def frequency(self, term: str) -> int:
        """Return how many tables hold `term`."""
        return len(self.of(term)[0])

    def names(self) -> list[str]:
        """Return the single words that stand in a name or a comment, not only in values."""
        strongest = np.maximum.reduceat(self.strengths, self.starts[:-1]) if self.slots else np.zeros(0)
        in_names = (strongest > VALUE).tolist()
        return [term for term, is_name in zip(self.slots, in_names, strict=True) if is_name and term in self.spellings]


class _Reader:
    """Reads the terms of a catalog, with the words that the catalog itself uses."""

    def __init__(self, catalog: Catalog) -> None:
        names = {name for table in catalog.tables.values() for name in (table.name, *table.column_names)}
        self._catalog, self._identifiers = catalog, Identifiers(names)
        self._budget = max(_FEWEST_PER_TABLE, _MOST_VALUES // max(1, len(catalog.tables)))

    def read(self) -> Postings:
        terms: dict[str, int] = {}
        slots, numbers, strengths, lengths = array("i"), array("i"), array("f"), array("f")
        for number, (key, table) in enumerate(self._catalog.tables.items()):
            found = self._table_terms(key, table)
            slots.extend(terms.setdefault(term, len(terms)) for term in found)
            numbers.extend([number] * len(found))
            strengths.extend(found.values())
            lengths.append(max(1, len(self._identifiers.words(table.name))))
        by_slot = np.frombuffer(slots, np.int32) if slots else np.zeros(0, np.int32)
        order = np.argsort(by_slot, kind="stable")
        counts = np.bincount(by_slot, minlength=len(terms))
        return Postings(
            terms,
            self._identifiers.spellings,
            np.array(lengths, np.float32),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.array(numbers, np.int32)[order],
            np.array(strengths, np.float32)[order],
        )

    def _table_terms(self, key: str, table: Table) -> dict[str, float]:
        """Return the terms of a table with their strengths; what is stronger is written last."""
        terms = self._identifiers.terms
        found: dict[str, float] = {}
        for value in self._values(key, table):
            found.update(dict.fromkeys(words(value[:_VALUE_CHARS]), VALUE))
        for remark in (table.comment, table.schema, *(column.comment for column in table.columns)):
            if remark:
                found.update(dict.fromkeys(terms(remark), REMARK))
        for name in table.column_names:
            found.update(dict.fromkeys(terms(name), COLUMN))
        found.update(dict.fromkeys(terms(table.name), NAME))
        return found

    def _values(self, key: str, table: Table) -> Iterator[str]:
        sampled = [self._catalog.values.get((key, name), ()) for name in table.column_names]
        share = max(1, self._budget // max(1, sum(map(bool, sampled))))
        for values in sampled:
            yield from values[:share]

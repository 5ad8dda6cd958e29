"""Inverted index of a catalog in flat arrays: the tables that contain a term, and the strength of each match."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, pairwise

import numpy as np
from numpy.typing import NDArray

from datasphinx.agent.retrieval.arrays import Arrays, pack_json, unpack_json
from datasphinx.agent.schema.catalog import Catalog, Table
from datasphinx.agent.schema.words import han_pairs, is_function_word, spelt_words, stem, words

_MIN_SPLIT_LENGTH = 6
_MIN_PART_LENGTH = 3
_SHORT_PARTS = frozenset(["id", "no"])
_PREFIX_LENGTHS = (2, 3)
"""Lengths of a prefix of the schema, such as `sb` in `sbcustomer`."""
_ENGLISH_PREFIXES = "be co com con de dis en ex im in mis out per pre pro re sub un".split()
"""Prefixes of English words: the names `reorder`, `rename` and `review` share no prefix of their schema."""
_MIN_PREFIXED_WORDS = 3
_MIN_STEM_LENGTH = 4
"""Minimum length of a word of a comment, of a word with a plural, and of a word after a prefix."""
_COMMON = frozenset(
    """account address age amount balance birth city code comment cost count country cust date day desc email end
    first group key last level line list month name nation num number order part phone price qty rate region ship
    size start state status supp time title total type user value year""".split()
)

NAME, COLUMN, COMMENT, VALUE = 1.0, 0.8, 0.6, 0.5
"""Strength of a word by its place: table name, column name, comment or schema name, sampled value."""
_STORED = ("words_in_name", "starts", "numbers", "strengths")
_VALUE_CHARS = 200
_MAX_VALUES = 1_000_000
_MIN_VALUES_PER_TABLE = 20


class Identifiers:
    """Tokeniser of identifiers, with the vocabulary of the schema itself."""

    def __init__(self, names: Iterable[str], comments: Iterable[str] = ()) -> None:
        """Collect the vocabulary from `names` and the longer words of `comments`."""
        self._spelt = {name: tuple(spelt_words(name)) for name in names}
        spelt = set(chain.from_iterable(self._spelt.values()))
        described = {word for comment in comments for word in spelt_words(comment) if not is_function_word(word)}
        known = {word for word in spelt if len(word) >= _MIN_PART_LENGTH} | _COMMON
        known |= {word for word in described if len(word) >= _MIN_STEM_LENGTH}
        self._vocabulary = known | {form for word in known for form in _number_forms(word)}
        self._prefixes = self._shared_prefixes(spelt)
        self._terms: dict[str, tuple[str, ...]] = {}
        self._known: set[str] = set()
        self._compounds: dict[str, list[str]] = {}
        """The words of which a known word consists, if there are several."""
        self.spellings: dict[str, str] = {}
        """One spelling for the stem of each single word."""

    def terms(self, name: str) -> tuple[str, ...]:
        """Return the stems of the words in `name`, followed by each pair of adjacent words joined into one. Some recur.

        "ShipDate" and "ship_date" have the same terms, and so has "shipdate" if its parts occur in the schema or are
        common in schemas.
        """
        if name not in self._terms:
            self._terms[name] = self._parse(name)
        return self._terms[name]

    def words(self, name: str) -> frozenset[str]:
        """Return the stems of the words in `name`; words joined without a separator are split.

        A prefix that several names share, such as `sb` in `sbcustomer`, is a word of its own.
        """
        return frozenset(map(stem, self._parts_of(self._spellings(name)))).union(han_pairs(name))

    def _parse(self, name: str) -> tuple[str, ...]:
        spellings = self._spellings(name)
        parts = self._parts_of(spellings)
        single = map(stem, spellings if parts is spellings else (*parts, *spellings))
        # The stem of a number is the number; those of a large schema would fill the cache of stems.
        pairs = [a + b if b.isdigit() else stem(a + b) for a, b in pairwise(parts)]
        return (*single, *pairs, *(() if name.isascii() else han_pairs(name)))

    def _spellings(self, name: str) -> Sequence[str]:
        return self._spelt.get(name) or spelt_words(name)

    def _parts_of(self, spellings: Sequence[str]) -> Sequence[str]:
        """Return the words of which `spellings` consist: `spellings` itself if none of them consists of several."""
        # A large schema has few words beside its names.
        if not self._known.issuperset(spellings):
            split = {word: self._split(word) for word in spellings if word not in self._known}
            self._known.update(split)
            self._compounds.update((word, parts) for word, parts in split.items() if len(parts) > 1)
            for word in (*self._parts_of(spellings), *spellings):
                self.spellings.setdefault(stem(word), word)
        if self._compounds.keys().isdisjoint(spellings):
            return spellings
        return [part for word in spellings for part in self._compounds.get(word, (word,))]

    def _shared_prefixes(self, spelt: Iterable[str]) -> frozenset[str]:
        """Return the short prefixes without a meaning that precede known words in several names, as in `sbcustomer`."""
        words_by_prefix: dict[str, set[str]] = defaultdict(set)
        for word in spelt:
            for length in _PREFIX_LENGTHS:
                rest = word[length:]
                if len(rest) >= _MIN_STEM_LENGTH and rest in self._vocabulary and word not in _COMMON:
                    words_by_prefix[word[:length]].add(rest)
        for prefix in _ENGLISH_PREFIXES:
            words_by_prefix.pop(prefix, None)
        return frozenset(prefix for prefix, rests in words_by_prefix.items() if len(rests) >= _MIN_PREFIXED_WORDS)

    def _split(self, word: str) -> list[str]:
        """Return the words of which `word` consists, fewest first, or `word` itself."""
        if len(word) < _MIN_SPLIT_LENGTH or word in _COMMON:
            return [word]
        prefix = next((word[:length] for length in _PREFIX_LENGTHS if word[:length] in self._prefixes), "")
        splits = [parts for start in dict.fromkeys(("", prefix)) if (parts := self._parts(word, start))]
        if not splits:
            return [word]
        fewest = min(splits, key=lambda parts: (len(parts), -min(map(len, parts[-2:]))))
        return [shorter for part in fewest for shorter in self._split(part)]

    def _parts(self, word: str, prefix: str) -> list[str] | None:
        """Return `prefix` and up to three known words after it that make up `word`; None if there are none."""
        rest = word.removeprefix(prefix)
        if prefix and rest in self._vocabulary:
            return [prefix, rest]
        parts = self._two_words(rest) or self._three_words(rest)
        return [prefix, *parts] if prefix and parts else parts

    def _two_words(self, word: str) -> list[str] | None:
        if word[-2:] in _SHORT_PARTS and word[:-2] in self._vocabulary:
            return [word[:-2], word[-2:]]
        splits = [
            [word[:at], word[at:]]
            for at in range(_MIN_PART_LENGTH, len(word) - 1)
            if word[:at] in self._vocabulary and word[at:] in self._vocabulary
        ]
        return max(splits, key=lambda parts: min(map(len, parts)), default=None)

    def _three_words(self, word: str) -> list[str] | None:
        splits = [
            [word[:at], *rest]
            for at in range(_MIN_STEM_LENGTH, len(word) - 2 * _MIN_STEM_LENGTH + 3)
            if word[:at] in self._vocabulary and (rest := self._two_words(word[at:]))
        ]
        return max(splits, key=lambda parts: min(map(len, parts)), default=None)


def _number_forms(word: str) -> Iterator[str]:
    """Yield the plural or singular of an English word by its ending."""
    if len(word) < _MIN_STEM_LENGTH or not word.isascii():
        return
    if word.endswith("ies"):
        yield f"{word[:-3]}y"
    elif word.endswith("s"):
        if not word.endswith(("ss", "us", "is")):
            yield word[:-1]
    elif word.endswith("y"):
        yield f"{word[:-1]}ies"
    else:
        yield f"{word}s"


@dataclass(frozen=True, eq=False)
class Postings:
    """Tables, by number, that contain each term, with the strength of its strongest occurrence."""

    slots: Mapping[str, int]
    """Every term in order of first occurrence, with its index in `starts`."""
    spellings: Mapping[str, str]
    """One spelling for each term that is a single word."""
    words_in_name: NDArray[np.float32]
    """Number of words in the name of each table, at least 1."""
    starts: NDArray[np.int64]
    numbers: NDArray[np.int32]
    strengths: NDArray[np.float32]

    @classmethod
    def of_catalog(cls, catalog: Catalog) -> "Postings":
        """Index names, comments and at most about a million sampled values, the first of each table."""
        return _Reader(catalog).read()

    @classmethod
    def of_arrays(cls, arrays: Arrays) -> "Postings":
        """Return the postings stored by `arrays`."""
        slots = {term: slot for slot, term in enumerate(unpack_json(arrays["terms"]))}
        return cls(slots, unpack_json(arrays["spellings"]), *(arrays[name] for name in _STORED))

    def arrays(self) -> Arrays:
        """Return the postings as arrays for a file."""
        texts = {"terms": pack_json(list(self.slots)), "spellings": pack_json(dict(self.spellings))}
        return texts | {name: getattr(self, name) for name in _STORED}

    @property
    def tables(self) -> int:
        """Number of tables."""
        return len(self.words_in_name)

    @property
    def terms(self) -> list[str]:
        """Every term, in order of first occurrence."""
        return list(self.slots)

    def lookup(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the numbers of the tables that contain `term`, without duplicates, and the strengths."""
        slot = self.slots.get(term)
        span = slice(0, 0) if slot is None else slice(self.starts[slot], self.starts[slot + 1])
        return self.numbers[span], self.strengths[span]

    def frequency(self, term: str) -> int:
        """Return the number of tables that contain `term`."""
        return len(self.lookup(term)[0])

    def names(self) -> list[str]:
        """Return the single words that occur in a name or comment, not only in values."""
        strongest = np.maximum.reduceat(self.strengths, self.starts[:-1]) if self.slots else np.zeros(0)
        in_names = (strongest > VALUE).tolist()
        return [term for term, is_name in zip(self.slots, in_names, strict=True) if is_name and term in self.spellings]


class _Reader:
    """Reads the terms of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        names = {name for table in catalog.tables.values() for name in (table.name, *table.column_names)}
        comments = {
            comment
            for table in catalog.tables.values()
            for comment in (table.comment, *(column.comment for column in table.columns))
            if comment
        }
        self._catalog, self._identifiers = catalog, Identifiers(names, comments)
        self._budget = max(_MIN_VALUES_PER_TABLE, _MAX_VALUES // max(1, len(catalog.tables)))

    def read(self) -> Postings:
        terms: dict[str, int] = defaultdict(count().__next__)
        slots, strengths, sizes, lengths = array("i"), array("f"), array("i"), array("f")
        for key, table in self._catalog.tables.items():
            table_terms = self._table_terms(key, table)
            slots.extend(map(terms.__getitem__, table_terms))
            strengths.extend(table_terms.values())
            sizes.append(len(table_terms))
            lengths.append(max(1, len(self._identifiers.words(table.name))))
        by_slot = np.frombuffer(slots, np.int32) if slots else np.zeros(0, np.int32)
        order = np.argsort(by_slot, kind="stable")
        counts = np.bincount(by_slot, minlength=len(terms))
        return Postings(
            dict(terms),
            self._identifiers.spellings,
            np.array(lengths, np.float32),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[order],
            np.array(strengths, np.float32)[order],
        )

    def _table_terms(self, key: str, table: Table) -> dict[str, float]:
        """Return the strength of each term of a table; stronger occurrences overwrite weaker ones."""
        terms = self._identifiers.terms
        strengths: dict[str, float] = {}
        for value in self._values(key, table):
            strengths.update(dict.fromkeys(words(value[:_VALUE_CHARS]), VALUE))
        for comment in (table.comment, table.schema, *(column.comment for column in table.columns)):
            if comment:
                strengths.update(dict.fromkeys(terms(comment), COMMENT))
        strengths.update(dict.fromkeys(chain.from_iterable(map(terms, table.column_names)), COLUMN))
        strengths.update(dict.fromkeys(terms(table.name), NAME))
        return strengths

    def _values(self, key: str, table: Table) -> Iterator[str]:
        samples = [self._catalog.values.get((key, name), ()) for name in table.column_names]
        share = max(1, self._budget // max(1, sum(map(bool, samples))))
        for values in samples:
            yield from values[:share]

"""Schema linking without a model: which tables a question is about, by words, meaning and foreign keys."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.catalog.archive import Arrays, flat
from agent.catalog.asked import Asked, read_question
from agent.catalog.closure import JoinGraph
from agent.catalog.evidence import Evidence, Frequencies, gather, named_share
from agent.catalog.fusion import FEATURES, fuse
from agent.catalog.postings import Postings
from agent.catalog.schema import Catalog
from agent.catalog.semantic import Embedder, Meanings
from agent.catalog.spelling import Spelling
from agent.catalog.words import asks_for_data, content_words

_MEANS_THE_SAME = 0.35
_SAID = FEATURES.index("named")
"""The features before it are above 0 where a term of the question meets a table."""


class Reading(NamedTuple):
    """A question as the index took it: its terms, what they meet, and how near each table is in meaning."""

    asked: Asked
    words: Evidence
    phrases: Evidence
    synonyms: Evidence
    meaning: NDArray[np.float32]

    def frequencies(self, postings: Postings) -> Frequencies:
        """Return how many tables of `postings` each term meets."""
        parts = [part.frequencies(postings).met for part in (self.synonyms, self.phrases, self.words)]
        return Frequencies(postings.tables, {term: count for met in parts for term, count in met.items()})


class SchemaIndex:
    """An index over the words, meanings and foreign keys of a catalog. It is never changed, so threads may share it."""

    def __init__(self, catalog: Catalog, embedder: Embedder | None = None) -> None:
        """Index `catalog`; without `embedder` words meet by spelling alone.

        Raises:
            ModelUnreachable, ModelRejected: an embedder that is an endpoint gave no vectors.
        """
        postings = Postings.of_catalog(catalog)
        columns = [len(table.columns) for table in catalog.tables.values()]
        meanings = Meanings(postings, embedder) if embedder else None
        self._take(postings, JoinGraph(catalog), meanings, np.array(columns, np.float32))

    @classmethod
    def of_arrays(cls, keys: Sequence[str], arrays: Arrays, embedder: Embedder | None = None) -> "SchemaIndex":
        """Return the index that `arrays` was called on, with the same `embedder`; `keys` are those of its catalog.

        Raises:
            UNUSABLE: these are arrays of another catalog or format.
        """
        postings = Postings.of_arrays(arrays)
        columns = flat(arrays, "columns", np.float32, len(keys))
        if postings.tables != len(keys):
            raise ValueError("the index is of other tables")
        index = cls.__new__(cls)
        meanings = Meanings(postings, embedder, arrays) if embedder else None
        index._take(postings, JoinGraph.of_arrays(keys, arrays), meanings, columns)
        return index

    def arrays(self) -> Arrays:
        """Return all that was built as arrays, for a file, without the keys of the tables."""
        meanings = self._meanings.arrays() if self._meanings else {}
        return {**self.postings.arrays(), **self._joins.arrays(), **meanings, "columns": self._columns}

    def _take(
        self, postings: Postings, joins: JoinGraph, meanings: Meanings | None, columns: NDArray[np.float32]
    ) -> None:
        self.postings, self._joins, self._meanings, self._columns = postings, joins, meanings, columns
        self._spelling = Spelling(postings.names())
        self._is_latin = 2 * sum(map(str.isascii, postings.slots)) > len(postings.slots)
        self._by_key = np.argsort(np.argsort(np.array(joins.keys, object)))
        self._shape = np.stack([np.log1p(columns), np.log(joins.surroundings), np.log1p(joins.degrees)])

    def rank(self, question: str, *, fuzzy: int = 0, limit: int | None = None) -> list[str]:
        """Return the keys of the tables that `question` meets, itself or through a join or two, best first.

        They are at most `limit`; equal ones stand in the order of their keys.

        With `fuzzy` above 0 names that are spelt almost so, or cut short, are met too: 1 is strict about it, 2 less so.
        """
        met, scores = self._score(self.read(question, fuzzy=fuzzy), None)
        order = np.lexsort((self._by_key[met], -scores))
        return [self._joins.keys[number] for number in met[order][:limit].tolist()]

    def scores(self, question: str, *, fuzzy: int = 0, frequencies: Frequencies | None = None) -> dict[str, float]:
        """Return a score for each table that `question` meets: log-odds up to a constant of the question.

        Scores of several indexes compare when all are computed with the `frequencies` of all catalogs taken as one.

        Raises:
            ModelUnreachable, ModelRejected: an embedder that is an endpoint gave no vectors.
        """
        met, scores = self._score(self.read(question, fuzzy=fuzzy), frequencies)
        keys = self._joins.keys
        return {keys[number]: score for number, score in zip(met.tolist(), scores.tolist(), strict=True)}

    def frequencies(self, question: str, *, fuzzy: int = 0) -> Frequencies:
        """Return how many tables each term of `question` meets."""
        return self.read(question, fuzzy=fuzzy).frequencies(self.postings)

    def met_words(self, question: str, *, fuzzy: int = 0) -> tuple[str, ...]:
        """Return the words of `question`, as it spells them, that names, comments or values of the catalog hold."""
        reading = self.read(question, fuzzy=fuzzy)
        return tuple(reading.asked.spellings.get(term, term) for term in reading.words.terms)

    def read(self, question: str, *, fuzzy: int = 0) -> Reading:
        """Return what the terms of `question` meet."""
        asked = read_question(question)
        meant, meaning = self._meant(asked)
        words = gather(self.postings, {word: self._spelled(word, fuzzy) for word in asked.words})
        phrases = gather(self.postings, {phrase: {phrase: 1.0} for phrase in asked.phrases})
        synonyms = gather(self.postings, meant).without(words)
        return Reading(asked, words, phrases, synonyms, meaning)

    def features(self, reading: Reading, frequencies: Frequencies) -> NDArray[np.float32]:
        """Return what the score of each table is made of: a row for each of `agent.catalog.fusion.FEATURES`."""
        asked, words, phrases, synonyms = reading.asked, reading.words, reading.phrases, reading.synonyms
        named = named_share(words, asked.words, self.postings.words_in_name)
        parts = [words.rows, phrases.rows, synonyms.rows, named[None], reading.meaning[None]]
        near = np.split(self._joins.spread(np.concatenate(parts)), np.cumsum([len(part) for part in parts])[:-1])
        sums = [
            np.array([asked.words.get(term, 1.0) * frequencies.rarity(term) for term in evidence.terms], np.float32)
            @ rows
            for evidence, rows in zip((words, phrases, synonyms), near, strict=False)
        ]
        return np.concatenate([np.stack([*sums, near[3][0], reading.meaning, near[4][0]]), self._shape])

    def may_concern(self, question: str, *, fuzzy: int = 0) -> bool:
        """False where no word of `question` meets the catalog and nothing in its wording asks for data.

        A question in another script than the catalog's can meet nothing, so that nothing follows from it.

        Raises:
            ModelUnreachable, ModelRejected: an embedder that is an endpoint gave no vectors.
        """
        words = content_words(question)
        foreign = self._is_latin and not any(word.isascii() for word in words)
        if foreign or asks_for_data(question) or any(self._spelled(word, fuzzy) for word in words):
            return True
        meant, _ = self._meant(read_question(question))
        return any(near >= _MEANS_THE_SAME for word in words for near in meant.get(word, {}).values())

    def with_neighbours(self, keys: Sequence[str]) -> list[str]:
        """Return `keys`, then what it takes to join them, then the tables that foreign keys join to any of them."""
        joined = [other for key in keys for other in self._joins.neighbours(key)]
        return list(dict.fromkeys([*self.connected(keys), *joined]))

    def connected(self, keys: Sequence[str]) -> list[str]:
        """Return `keys`, then the tables on the shortest paths of foreign keys between them."""
        return [*keys, *self._joins.bridges(keys)]

    def _score(
        self, reading: Reading, frequencies: Frequencies | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the numbers of the tables that are met, and their scores."""
        features = self.features(reading, frequencies or reading.frequencies(self.postings))
        met = np.flatnonzero(features[:_SAID].any(axis=0))
        return met, fuse(features[:, met], with_meaning=self._meanings is not None)

    def _spelled(self, word: str, fuzzy: int) -> dict[str, float]:
        if self.postings.frequency(word):
            return {word: 1.0}
        return dict.fromkeys(self._spelling.near(word, fuzzy), 1.0) if fuzzy else {}

    def _meant(self, asked: Asked) -> tuple[dict[str, dict[str, float]], NDArray[np.float32]]:
        """Return for each word those that are near in meaning, with their shares, and each table's nearness."""
        if self._meanings is None:
            return {}, np.zeros(self.postings.tables, np.float32)
        vectors, known = self._meanings.of_question(asked)
        near = self._meanings.near_words(vectors)
        nearness = self._meanings.nearness(vectors, [asked.words[word] for word in known])
        return {word: found for word, found in zip(known, near, strict=True)}, nearness

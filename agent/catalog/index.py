"""Schema linking without a model: which tables a question is about, by words, meaning and foreign keys."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.catalog.asked import Asked, read_question
from agent.catalog.closure import JoinGraph
from agent.catalog.evidence import Evidence, Frequencies, gather, named_share
from agent.catalog.fusion import fuse
from agent.catalog.postings import Postings
from agent.catalog.schema import Catalog
from agent.catalog.semantic import Embedder, Meanings
from agent.catalog.spelling import Spelling
from agent.catalog.words import asks_for_data, content_words

_MEANING_SHARE = 0.5
_MEANS_THE_SAME = 0.35


class Reading(NamedTuple):
    """A question as the index took it: its terms, what they meet, and how near each table is in meaning."""

    asked: Asked
    words: Evidence
    phrases: Evidence
    meaning: NDArray[np.float32]

    def frequencies(self, postings: Postings) -> Frequencies:
        """Return how many tables of `postings` each term meets."""
        words, phrases = self.words.frequencies(postings), self.phrases.frequencies(postings)
        return Frequencies(postings.tables, words.met | phrases.met)


class SchemaIndex:
    """An index over the words, meanings and foreign keys of a catalog. It is never changed, so threads may share it."""

    def __init__(self, catalog: Catalog, embedder: Embedder | None = None) -> None:
        """Index `catalog`; without `embedder` words meet by spelling alone.

        Raises:
            ModelUnreachable, ModelRejected: an embedder that is an endpoint gave no vectors.
        """
        self._postings = Postings(catalog)
        self._joins = JoinGraph(catalog)
        self._meanings = Meanings(self._postings, embedder) if embedder else None
        self._spelling = Spelling(self._postings.names())
        terms = self._postings.terms
        self._is_latin = 2 * sum(term.isascii() for term in terms) > len(terms)
        tables = catalog.tables.values()
        split = self._postings.identifiers.words
        self._words_in_name = np.array([max(1, len(split(table.name))) for table in tables], np.float32)
        columns = np.array([len(table.columns) for table in tables], np.float32)
        self._shape = np.stack([np.log1p(columns), np.log(self._joins.surroundings), np.log1p(self._joins.degrees)])

    def rank(self, question: str, *, fuzzy: int = 0) -> list[str]:
        """Return the keys of the tables that `question` meets, itself or through a join or two, best first.

        With `fuzzy` above 0 names that are spelt almost so, or cut short, are met too: 1 is strict about it, 2 less so.
        """
        found = self.scores(question, fuzzy=fuzzy)
        return sorted(found, key=lambda key: (-found[key], key))

    def scores(self, question: str, *, fuzzy: int = 0, frequencies: Frequencies | None = None) -> dict[str, float]:
        """Return a score for each table that `question` meets: log-odds up to a constant of the question.

        Scores of several indexes compare when all are computed with the `frequencies` of all catalogs taken as one.

        Raises:
            ModelUnreachable, ModelRejected: an embedder that is an endpoint gave no vectors.
        """
        reading = self.read(question, fuzzy=fuzzy)
        features = self.features(reading, frequencies or reading.frequencies(self._postings))
        fused = fuse(features, with_meaning=self._meanings is not None)
        return {self._joins.keys[number]: float(fused[number]) for number in np.flatnonzero(features[0] > 0).tolist()}

    def frequencies(self, question: str, *, fuzzy: int = 0) -> Frequencies:
        """Return how many tables each term of `question` meets."""
        return self.read(question, fuzzy=fuzzy).frequencies(self._postings)

    def read(self, question: str, *, fuzzy: int = 0) -> Reading:
        """Return what the terms of `question` meet."""
        asked = read_question(question)
        meant, meaning = self._meant(asked)
        standing = {word: self._spelled(word, fuzzy) | meant.get(word, {}) for word in asked.words}
        phrases = {phrase: {phrase: 1.0} for phrase in asked.phrases}
        return Reading(asked, gather(self._postings, standing), gather(self._postings, phrases), meaning)

    def features(self, reading: Reading, frequencies: Frequencies) -> NDArray[np.float32]:
        """Return what the score of each table is made of: a row for each of `agent.catalog.fusion.FEATURES`."""
        asked, words, phrases = reading.asked, reading.words, reading.phrases
        named = named_share(words, asked.words, self._words_in_name)
        near = self._joins.spread(np.concatenate([words.rows, phrases.rows, named[None], reading.meaning[None]]))
        weights = [asked.words[term] * frequencies.rarity(term) for term in words.terms]
        rare = [frequencies.rarity(term) for term in phrases.terms]
        split = len(words.terms)
        said = np.array(weights, np.float32) @ near[:split]
        phrased = np.array(rare, np.float32) @ near[split:-2]
        return np.concatenate([np.stack([said, phrased, near[-2], reading.meaning, near[-1]]), self._shape])

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

    def _spelled(self, word: str, fuzzy: int) -> dict[str, float]:
        if self._postings.frequency(word):
            return {word: 1.0}
        return dict.fromkeys(self._spelling.near(word, fuzzy), 1.0) if fuzzy else {}

    def _meant(self, asked: Asked) -> tuple[dict[str, dict[str, float]], NDArray[np.float32]]:
        """Return for each word those that are near in meaning, with their shares, and each table's nearness."""
        if self._meanings is None:
            return {}, np.zeros(self._postings.tables, np.float32)
        vectors, known = self._meanings.of_question(asked)
        near = self._meanings.near_words(vectors)
        shares = [{other: _MEANING_SHARE * by for other, by in found.items()} for found in near]
        nearness = self._meanings.nearness(vectors, [asked.words[word] for word in known])
        return {word: found for word, found in zip(known, shares, strict=True)}, nearness

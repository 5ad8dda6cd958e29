"""Ranking of tables for a question by words, meaning and foreign keys, without a model; and a cache of the index."""

import hashlib
import sys
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasphinx.agent.messages import language_of
from datasphinx.agent.retrieval.arrays import (
    READ_ERRORS,
    Arrays,
    pack_json,
    read_arrays,
    unpack_json,
    write_arrays,
)
from datasphinx.agent.retrieval.join_graph import JoinGraph
from datasphinx.agent.retrieval.postings import VALUE, Postings
from datasphinx.agent.retrieval.query import (
    Frequencies,
    QuestionTerms,
    TermMatches,
    match_terms,
    name_coverage,
    parse_question,
)
from datasphinx.agent.retrieval.semantic import Embedder, SchemaEmbeddings, identity_of
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.schema.spelling import NameMatcher
from datasphinx.agent.schema.words import german_stem

FEATURES = ("words", "phrases", "synonyms", "named", "meaning", "meaning_near", "columns", "surroundings", "joins")
"""Components of a table's score, in the order of the weights; docs/retrieval.md describes them."""

WITH_MEANING = np.array([0.733, 0.199, 0.453, 2.583, 2.586, 4.456, 0.621, -0.915, 0.559], np.float32)
LEXICAL = np.array([0.974, 0.316, 0.0, 3.181, 0.0, 0.0, 0.251, -1.026, 0.468], np.float32)

_NEAR = 0.42
"""The least cosine of a word that a question may have in place of one of the schema: "school" for "highschooler"."""
_MATCH_FEATURES = FEATURES.index("named")
"""Number of features that are above 0 only if a term of the question matches a table."""
_NO_VOWELS = str.maketrans("", "", "aeiouy")
_LAST = chr(sys.maxunicode)

_FORMAT = 2
"""Increased with every change of the stored data or of the conversion of texts to terms."""


def score_tables(features: NDArray[np.float32], *, with_meaning: bool) -> NDArray[np.float32]:
    """Return a score for each column of `features` (one row for each of FEATURES): a log-odds up to a constant.

    The weights are those of a softmax over tables that maximises the likelihood of the gold tables of the training
    questions (`python -m benchmarks.fit_recall`).
    """
    return np.asarray((WITH_MEANING if with_meaning else LEXICAL) @ features, np.float32)


class QuestionMatches(NamedTuple):
    """The terms of a question, their matches, and the similarity of each table in meaning."""

    terms: QuestionTerms
    words: TermMatches
    phrases: TermMatches
    synonyms: TermMatches
    meaning: NDArray[np.float32]

    def frequencies(self, postings: Postings) -> Frequencies:
        """Return the number of tables in `postings` that match each term."""
        parts = [part.frequencies(postings).counts for part in (self.synonyms, self.phrases, self.words)]
        return Frequencies(postings.tables, {term: count for counts in parts for term, count in counts.items()})


class SchemaIndex:
    """An index over the words, embeddings and foreign keys of a catalog. Immutable, so threads may share it."""

    def __init__(self, catalog: Catalog, embedder: Embedder | None = None) -> None:
        """Index `catalog`; without `embedder`, words match only by spelling."""
        postings = Postings.of_catalog(catalog)
        columns = [len(table.columns) for table in catalog.tables.values()]
        embeddings = SchemaEmbeddings(postings, embedder) if embedder else None
        self._set_parts(postings, JoinGraph(catalog), embeddings, np.array(columns, np.float32))

    @classmethod
    def of_arrays(cls, keys: Sequence[str], arrays: Arrays, embedder: Embedder | None = None) -> "SchemaIndex":
        """Return the index stored by `arrays`, for the same `embedder` and the table keys of its catalog."""
        postings = Postings.of_arrays(arrays)
        index = cls.__new__(cls)
        embeddings = SchemaEmbeddings(postings, embedder, arrays) if embedder else None
        index._set_parts(postings, JoinGraph.of_arrays(keys, arrays), embeddings, arrays["columns"])
        return index

    def arrays(self) -> Arrays:
        """Return the index as arrays for a file, without the table keys."""
        embeddings = self._embeddings.arrays() if self._embeddings else {}
        return {**self.postings.arrays(), **self._joins.arrays(), **embeddings, "columns": self._columns}

    def _set_parts(
        self, postings: Postings, joins: JoinGraph, embeddings: SchemaEmbeddings | None, columns: NDArray[np.float32]
    ) -> None:
        self.postings, self._joins, self._embeddings, self._columns = postings, joins, embeddings, columns
        self._spelling = NameMatcher(postings.names())
        self._by_key = np.argsort(np.argsort(np.array(joins.keys, object)))
        self._shape = np.stack([np.log1p(columns), np.log(joins.neighbourhood_sizes), np.log1p(joins.degrees)])

    def with_joins(self, catalog: Catalog) -> "SchemaIndex":
        """Return the index with the foreign keys of `catalog`, which has the same tables."""
        index = copy(self)
        index._set_parts(self.postings, JoinGraph(catalog), self._embeddings, self._columns)
        return index

    def rank(self, question: str, *, fuzzy: int = 0, limit: int | None = None) -> list[str]:
        """Return the keys of the tables that match `question`, directly or through up to two joins, best first.

        At most `limit` keys are returned; ties are sorted by key. With `fuzzy` above 0, misspelt and abbreviated names
        also match: 1 is strict, 2 less so.
        """
        matched, scores = self._score(self.match(question, fuzzy=fuzzy), None)
        order = np.lexsort((self._by_key[matched], -scores))
        return [self._joins.keys[number] for number in matched[order][:limit].tolist()]

    def scores(self, question: str, *, frequencies: Frequencies | None = None) -> dict[str, float]:
        """Return a score for each table that matches `question`: log-odds up to a constant of the question.

        Scores of several indexes are comparable if all are computed with the `frequencies` over all catalogs.
        """
        matched, scores = self._score(self.match(question), frequencies)
        keys = self._joins.keys
        return {keys[number]: score for number, score in zip(matched.tolist(), scores.tolist(), strict=True)}

    def frequencies(self, question: str) -> Frequencies:
        """Return the number of tables that match each term of `question`."""
        return self.match(question).frequencies(self.postings)

    def match(self, question: str, *, fuzzy: int = 0) -> QuestionMatches:
        """Return the matches of the terms of `question`."""
        terms = parse_question(question)
        similar_words, meaning = self._embed(terms)
        words = match_terms(self.postings, {word: self._similar_words(word, question, fuzzy) for word in terms.words})
        phrases = match_terms(self.postings, {phrase: {phrase: 1.0} for phrase in terms.phrases})
        synonyms = match_terms(self.postings, similar_words).without(words)
        return QuestionMatches(terms, words, phrases, synonyms, meaning)

    def features(self, matches: QuestionMatches, frequencies: Frequencies) -> NDArray[np.float32]:
        """Return the components of each table's score: one row for each of `FEATURES`."""
        weights, words, phrases, synonyms = matches.terms.words, matches.words, matches.phrases, matches.synonyms
        coverage = name_coverage(words, weights, self.postings.words_in_name)
        parts = [words.rows, phrases.rows, synonyms.rows, coverage[None], matches.meaning[None]]
        propagated = np.split(
            self._joins.propagate(np.concatenate(parts)), np.cumsum([len(part) for part in parts])[:-1]
        )
        sums = [
            np.array([weights.get(term, 1.0) * frequencies.rarity(term) for term in part.terms], np.float32) @ rows
            for part, rows in zip((words, phrases, synonyms), propagated, strict=False)
        ]
        return np.concatenate([np.stack([*sums, propagated[3][0], matches.meaning, propagated[4][0]]), self._shape])

    def mentions(self, question: str) -> bool:
        """Return whether a word of `question` is in a name or comment, or is near to one in spelling or meaning.

        Words of stored values do not count: they occur in any text.
        """
        terms = parse_question(question)
        near = (self._similar_words(word, question, fuzzy=1) for word in terms.words)
        words = [*terms.phrases, *chain.from_iterable(near)]
        if any((self.postings.lookup(word)[1] > VALUE).any() for word in words):
            return True
        return self._embeddings is not None and (
            self._embeddings.nearest(self._embeddings.embed_question(terms)[0]) >= _NEAR
        )

    def with_neighbours(self, keys: Sequence[str]) -> list[str]:
        """Return `keys`, the tables that connect them, and the tables joined to them by foreign keys."""
        neighbours = [other for key in keys for other in self._joins.neighbours(key)]
        return list(dict.fromkeys([*self.connected(keys), *neighbours]))

    def connected(self, keys: Sequence[str]) -> list[str]:
        """Return `keys`, followed by the tables on the shortest foreign key paths between them."""
        return [*keys, *self._joins.connecting_tables(keys)]

    def _score(
        self, matches: QuestionMatches, frequencies: Frequencies | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the numbers of the matching tables, and their scores."""
        features = self.features(matches, frequencies or matches.frequencies(self.postings))
        matched = np.flatnonzero(features[:_MATCH_FEATURES].any(axis=0))
        return matched, score_tables(features[:, matched], with_meaning=self._embeddings is not None)

    def _similar_words(self, word: str, question: str, fuzzy: int) -> dict[str, float]:
        """Return the words of the schema that stand for `word`: itself, other forms of a German word, or misspelt."""
        if self.postings.frequency(word):
            return {word: 1.0}
        if (forms := self._german_forms(word)) and language_of(question) == "de":
            return dict.fromkeys(forms, 1.0)
        return dict.fromkeys(self._spelling.near(word, fuzzy), 1.0) if fuzzy else {}

    def _german_forms(self, word: str) -> list[str]:
        """Return the words in names with the German stem of `word`."""
        stem = german_stem(word)
        first = _consonants(stem)
        start, end = (bisect_left(self._by_consonants, (text,)) for text in (first, f"{first}{_LAST}"))
        return [name for _, name in self._by_consonants[start:end] if german_stem(name) == stem]

    @cached_property
    def _by_consonants(self) -> list[tuple[str, str]]:
        """The words in names by their consonants.

        Those of a stem begin those of its forms, of which only vowels and endings differ. A stem takes a fifth of a
        millisecond, too much for every name.
        """
        return sorted((_consonants(name), name) for name in self.postings.names())

    def _embed(self, terms: QuestionTerms) -> tuple[dict[str, dict[str, float]], NDArray[np.float32]]:
        """Return the similar schema words of each word, with their shares, and the similarity of each table."""
        if self._embeddings is None:
            return {}, np.zeros(self.postings.tables, np.float32)
        vectors, words = self._embeddings.embed_question(terms)
        similar_words = self._embeddings.similar_words(vectors)
        tables = self._embeddings.table_similarity(vectors, [terms.words[word] for word in words])
        return dict(zip(words, similar_words, strict=True)), tables


def _consonants(word: str) -> str:
    return word.translate(_NO_VOWELS)


class IndexCache:
    """A cache file with the index over one catalog."""

    def __init__(self, path: Path, embedder: Embedder | None) -> None:
        """Set the path; no file access yet. An index whose embedder has no `identity` is not stored."""
        self._path, self._embedder = path, embedder

    def load(self, keys: Sequence[str], digest: str) -> SchemaIndex | None:
        """Return the index over the catalog with `digest` and table `keys`; None if it is not stored.

        An unusable file is deleted.
        """
        expected = self._fingerprint(digest)
        try:
            arrays = read_arrays(self._path)
            if expected is None or unpack_json(arrays["made_of"]) != expected:
                raise ValueError("the index belongs to another catalog or embedder")
            return SchemaIndex.of_arrays(keys, arrays, self._embedder)
        except READ_ERRORS:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        return None

    def store(self, index: SchemaIndex, digest: str) -> None:
        """Store `index`, over the catalog with `digest`; an unwritable directory is ignored."""
        made_of = self._fingerprint(digest)
        if made_of is not None:
            with suppress(OSError):
                write_arrays(self._path, {"made_of": pack_json(made_of), **index.arrays()})

    def _fingerprint(self, digest: str) -> str | None:
        identity = identity_of(self._embedder)
        if identity is None:
            return None
        # Another version of the stemmer may produce other terms.
        parts = (str(_FORMAT), version("snowballstemmer"), digest, identity)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

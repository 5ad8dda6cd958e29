"""The search terms of a question, and their matches in the tables of a schema."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasphinx.agent.retrieval.postings import NAME, Postings
from datasphinx.agent.schema.words import han_pairs, is_data_word, is_function_word, spelt_words, stem

_DATA_WORD_WEIGHT = 0.3
_PHRASING = re.compile(
    r"\b(?:(?:in|by|with) )?(?:the )?(?:alphabetic(?:al)?|lexicographic(?:al)?|ascending|descending|increasing"
    r"|decreasing|chronological|reverse) (?:order|ordering)\b|\b(?:order|sort)(?:ed)? by\b|\bin order\b"
    r"|\bhow many\b|\bnumber of\b"
    r"|^\W*(?:list|show|find|count|give|return|tell|display|report|what|which)\b"
    r"|\bfirst (?:\d+|one|two|three|five|ten)\b|\b(?:different|distinct)\b",
    re.IGNORECASE,
)
"""Phrases that only sort, count or introduce: "in alphabetical order" does not refer to orders."""


@dataclass(frozen=True)
class QuestionTerms:
    """The search terms of a question."""

    words: dict[str, float]
    """Weight of each stem, from 0 to 1."""
    phrases: tuple[str, ...]
    """Stems of two adjacent words joined into one, as identifiers may write them."""
    spellings: dict[str, str]
    """Spelling in the question of each stem."""


def parse_question(question: str) -> QuestionTerms:
    """Return the search terms of `question`, without function words and phrases that only sort or count."""
    question_words = spelt_words(_PHRASING.sub(" ", question)) or spelt_words(question)
    spellings = {stem(word): word for word in reversed(question_words) if not is_function_word(word)}
    words = {root: _DATA_WORD_WEIGHT if is_data_word(spellings[root]) else 1.0 for root in reversed(spellings)}
    pairs = dict.fromkeys(han_pairs(question), 1.0)
    neighbours = pairwise(question_words)
    phrases = [stem(a + b) for a, b in neighbours if not (is_function_word(a) or is_function_word(b))]
    return QuestionTerms(words | pairs, tuple(dict.fromkeys(phrases)), spellings)


SchemaTerms = Mapping[str, Mapping[str, float]]
"""Terms of a question, each with the schema terms that match it and their shares, from 0 to 1."""


class Frequencies(NamedTuple):
    """Number of tables, out of `tables`, that match each term of a question."""

    tables: int
    counts: dict[str, int]

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of `term`: log(1 + tables / matching tables)."""
        return float(np.log1p(self.tables / max(1, self.counts.get(term, 0))))


def sum_frequencies(catalogs: list[Frequencies]) -> Frequencies:
    """Return the frequencies over several catalogs, counted as one."""
    counts: dict[str, int] = {}
    for frequencies in catalogs:
        for term, count in frequencies.counts.items():
            counts[term] = counts.get(term, 0) + count
    return Frequencies(sum(frequencies.tables for frequencies in catalogs), counts)


@dataclass(frozen=True)
class TermMatches:
    """Strength of each match, from 0 to 1: a row for each matching term, a column for each table."""

    terms: tuple[str, ...]
    rows: NDArray[np.float32]

    def frequencies(self, postings: Postings) -> Frequencies:
        """Return the number of tables for each term.

        Tables that contain the term itself are counted; if there are none, those with a similar term.
        """
        table_counts = np.count_nonzero(self.rows, axis=1).tolist()
        counts = {term: postings.frequency(term) or count for term, count in zip(self.terms, table_counts, strict=True)}
        return Frequencies(postings.tables, counts)

    def without(self, other: "TermMatches") -> "TermMatches":
        """Return these matches without those that `other` has for the same term and table."""
        others = dict(zip(other.terms, other.rows, strict=True))
        rows = [
            np.where(others[term] > 0, 0, row) if term in others else row
            for term, row in zip(self.terms, self.rows, strict=True)
        ]
        return TermMatches(self.terms, np.stack(rows).astype(np.float32) if rows else self.rows)


def match_terms(postings: Postings, terms: SchemaTerms) -> TermMatches:
    """Return the strength of the best match of each of `terms` in each table."""
    matched_terms, rows = [], []
    for term, schema_terms in terms.items():
        row = np.zeros(postings.tables, np.float32)
        for schema_term, share in schema_terms.items():
            tables, strengths = postings.lookup(schema_term)
            row[tables] = np.maximum(row[tables], strengths * np.float32(share))
        if row.any():
            matched_terms.append(term)
            rows.append(row)
    stacked = np.stack(rows) if rows else np.zeros((0, postings.tables), np.float32)
    return TermMatches(tuple(matched_terms), stacked)


def name_coverage(
    matches: TermMatches, weights: Mapping[str, float], words_in_name: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the share of the words in each table's name that the question contains, from 0 to 1."""
    term_weights = np.array([weights.get(term, 0.0) for term in matches.terms], np.float32)
    covered = term_weights @ (matches.rows >= NAME).astype(np.float32)
    return np.asarray(np.minimum(1.0, covered / words_in_name), np.float32)

"""What speaks for each table: how strongly every term of a question meets it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.catalog.postings import NAME, Postings

Met = Mapping[str, Mapping[str, float]]
"""Terms of a question with the terms of the schema that stand for them, each with a share of 1."""


class Frequencies(NamedTuple):
    """How many of `tables` tables each term of a question meets: what makes a term rare."""

    tables: int
    met: dict[str, int]

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of `term`, log(1 + tables / met)."""
        return float(np.log1p(self.tables / max(1, self.met.get(term, 0))))


def add_frequencies(all_of_them: list[Frequencies]) -> Frequencies:
    """Return the frequencies over several catalogs taken as one."""
    met: dict[str, int] = {}
    for frequencies in all_of_them:
        for term, count in frequencies.met.items():
            met[term] = met.get(term, 0) + count
    return Frequencies(sum(frequencies.tables for frequencies in all_of_them), met)


@dataclass(frozen=True)
class Evidence:
    """One row for each term that meets anything, one column for each table; strengths from 0 to 1."""

    terms: tuple[str, ...]
    rows: NDArray[np.float32]

    def frequencies(self, postings: Postings) -> Frequencies:
        """Return how many tables each term meets: by itself, where the schema has it, else by what stands for it."""
        counts = np.count_nonzero(self.rows, axis=1).tolist()
        met = {term: postings.frequency(term) or count for term, count in zip(self.terms, counts, strict=True)}
        return Frequencies(postings.tables, met)

    def without(self, other: "Evidence") -> "Evidence":
        """Return this evidence where `other` has none for the same term."""
        known = dict(zip(other.terms, other.rows, strict=True))
        rows = [
            np.where(known[term] > 0, 0, row) if term in known else row
            for term, row in zip(self.terms, self.rows, strict=True)
        ]
        return Evidence(self.terms, np.stack(rows).astype(np.float32) if rows else self.rows)


def gather(postings: Postings, met: Met) -> Evidence:
    """Return for each term of `met` the best strength that what stands for it has in each table."""
    terms, rows = [], []
    for term, standing in met.items():
        row = np.zeros(postings.tables, np.float32)
        for known, share in standing.items():
            tables, strengths = postings.of(known)
            row[tables] = np.maximum(row[tables], strengths * np.float32(share))
        if row.any():
            terms.append(term)
            rows.append(row)
    stacked = np.stack(rows) if rows else np.zeros((0, postings.tables), np.float32)
    return Evidence(tuple(terms), stacked)


def named_share(
    evidence: Evidence, weights: Mapping[str, float], words_in_name: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return which share of the words of each table's name the question says, from 0 to 1."""
    weighed = np.array([weights.get(term, 0.0) for term in evidence.terms], np.float32)
    said = weighed @ (evidence.rows >= NAME).astype(np.float32)
    return np.asarray(np.minimum(1.0, said / words_in_name), np.float32)

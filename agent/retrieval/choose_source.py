"""Choice of the source that a question refers to, from the tables of all sources."""

from collections.abc import Mapping
from typing import NamedTuple

from agent.retrieval.index import SchemaIndex
from agent.retrieval.query import sum_frequencies


class SourceChoice(NamedTuple):
    """A source with its best table for a question. `score` is None if nothing in the source matches."""

    name: str
    score: float | None
    table: str | None
    terms: tuple[str, ...]
    """Words of the question that occur in names, comments or values of the source."""


def choose_source(question: str, indexes: Mapping[str, SchemaIndex], *, fuzzy: int = 0) -> str:
    """Return the name of the source with the best table for `question`; the first source wins ties.

    Raises:
        ValueError: there are no sources.
        ModelUnreachable, ModelRejected: an embedding endpoint failed.
    """
    if not indexes:
        raise ValueError("there are no sources to choose from")
    return rank_sources(question, indexes, fuzzy=fuzzy)[0].name


def rank_sources(question: str, indexes: Mapping[str, SchemaIndex], *, fuzzy: int = 0) -> list[SourceChoice]:
    """Return all sources, best first; ties keep the order of `indexes`.

    Inverse document frequencies are computed over the tables of all sources, so that a word cannot decide in favour of
    a source only because it is rare there.

    Raises:
        ModelUnreachable, ModelRejected: an embedding endpoint failed.
    """
    frequencies = sum_frequencies([index.frequencies(question, fuzzy=fuzzy) for index in indexes.values()])
    choices = []
    for name, index in indexes.items():
        scores = index.scores(question, fuzzy=fuzzy, frequencies=frequencies)
        table = min(scores, key=lambda key: (-scores[key], key), default=None)
        choices.append(
            SourceChoice(
                name, None if table is None else scores[table], table, index.matched_words(question, fuzzy=fuzzy)
            )
        )
    return sorted(choices, key=lambda choice: float("inf") if choice.score is None else -choice.score)

"""Which of several sources a question is about, decided over all their tables at once."""

from collections.abc import Mapping
from typing import NamedTuple

from agent.catalog.evidence import add_frequencies
from agent.catalog.index import SchemaIndex


class SourceChoice(NamedTuple):
    """A source with its best table for a question. `score` is None where the question meets nothing of the source."""

    name: str
    score: float | None
    table: str | None
    terms: tuple[str, ...]
    """Words of the question, as it spells them, that stand in names, comments or values of the source."""


def choose_source(question: str, indexes: Mapping[str, SchemaIndex], *, fuzzy: int = 0) -> str:
    """Return the name of the source with the best table for `question`; the first one where none is better.

    Raises:
        ValueError: there is no source.
        ModelUnreachable, ModelRejected: an embedder that is an endpoint gave no vectors.
    """
    if not indexes:
        raise ValueError("there is no source to choose from")
    return rank_sources(question, indexes, fuzzy=fuzzy)[0].name


def rank_sources(question: str, indexes: Mapping[str, SchemaIndex], *, fuzzy: int = 0) -> list[SourceChoice]:
    """Return all sources, best first, with what speaks for them; equal ones in the order given.

    A word is as rare as it is over the tables of all sources together, so that a source cannot win by a word that is
    rare in it and common elsewhere.

    Raises:
        ModelUnreachable, ModelRejected: an embedder that is an endpoint gave no vectors.
    """
    together = add_frequencies([index.frequencies(question, fuzzy=fuzzy) for index in indexes.values()])
    choices = []
    for name, index in indexes.items():
        scores = index.scores(question, fuzzy=fuzzy, frequencies=together)
        table = min(scores, key=lambda key: (-scores[key], key), default=None)
        choices.append(
            SourceChoice(name, None if table is None else scores[table], table, index.met_words(question, fuzzy=fuzzy))
        )
    return sorted(choices, key=lambda choice: float("inf") if choice.score is None else -choice.score)

"""Synonyms of common business words in English, Russian, Chinese and a few in German, from `synonyms.txt`.

The vocabulary for generating training questions is separate: there a word has exactly one counterpart in each language,
chosen to fit its tables ("номер" for a hotel room).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files

from datasphinx.agent.schema.words import han_pairs, han_runs, is_function_word, spelt_words, stem

Concept = frozenset[str]
"""Possible senses of a word, as lines of the glossary; for a word outside the glossary, its stem."""


@lru_cache(maxsize=10_000)
def concepts(text: str) -> tuple[Concept, ...]:
    """Return the concepts of the words and phrases in `text`, preferring long phrases; function words have none."""
    chinese = (concept for run in han_runs(text) for concept in _match_phrases(run, ""))
    return tuple(dict.fromkeys([*_match_phrases(_stems(text), " "), *chinese]))


def overlap(first: Sequence[Concept], second: Sequence[Concept]) -> float:
    """Return the share of `first`, from 0 to 1, with a sense in common with any of `second`; 0 if `first` is empty."""
    return sum(any(concept & other for other in second) for concept in first) / len(first) if first else 0.0


def _match_phrases(parts: Sequence[str], separator: str) -> Iterator[Concept]:
    """Yield the concept of each phrase in `parts`, stems or Chinese characters; unknown parts are their own concept."""
    glossary, longest = _glossary()
    at, unknown = 0, ""
    while at < len(parts):
        size = next((size for size in range(longest, 0, -1) if separator.join(parts[at : at + size]) in glossary), 0)
        if separator or size:
            yield from map(frozenset, ({pair} for pair in han_pairs(unknown)))
            yield glossary.get(separator.join(parts[at : at + (size or 1)]), frozenset({parts[at]}))
            unknown = ""
        else:
            unknown += parts[at]
        at += size or 1
    yield from map(frozenset, ({pair} for pair in han_pairs(unknown)))


@lru_cache(maxsize=1)
def _glossary() -> tuple[dict[str, Concept], int]:
    """Return the concept of every name, with words stemmed, and the length of the longest name in parts."""
    text = files("datasphinx.agent.retrieval").joinpath("synonyms.txt").read_text(encoding="utf-8")
    lines: dict[str, set[str]] = defaultdict(set)
    longest = 1
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        for name in (name.strip() for names in line.split("|") for name in names.split(",")):
            stems = _stems(name)
            for key, size in ((" ".join(stems), len(stems)), *((run, len(run)) for run in han_runs(name))):
                lines[key].add(line)
                longest = max(longest, size)
    lines.pop("", None)
    return {key: frozenset(concepts) for key, concepts in lines.items()}, longest


def _stems(text: str) -> list[str]:
    return [stem(word.replace("ё", "е")) for word in spelt_words(text) if not is_function_word(word)]

"""Words for measures, such as "revenue", in sentences and column names, in English, Russian and Chinese.

`measures.txt` has a line for each measure: its name, its kind, and the words of each language.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from agent.grounding.stems import stem

_LINE = re.compile(r"(?P<name>\w+) \[(?P<kind>\w+)\]: (?P<words>.+)")
_WORD = re.compile(r"[^\W\d_\u3400-\u9fff]+")
_HAN = re.compile(r"[\u3400-\u9fff]+")

_SINGLE = {"price", "age", "temperature", "speed", "area", "duration", "distance"}
"""Kinds whose measures count as one, since a result rarely has two of them."""


class MeasureWord(NamedTuple):
    """A word or phrase of a text, and the names of the measures that it may mean."""

    start: int
    end: int
    measures: frozenset[str]


class _Lexicon(NamedTuple):
    kinds: dict[str, str]
    phrases: dict[tuple[str, ...], frozenset[str]]
    """By the stems of the words."""
    longest_phrase: int
    han: dict[str, frozenset[str]]
    longest_han: int


def measure_words(text: str) -> Iterator[MeasureWord]:
    """Yield the words and phrases of `text` that name measures, the longest at each position."""
    lexicon = _lexicon()
    words = [(match.start(), match.end(), stem(match.group())) for match in _WORD.finditer(text)]
    at = 0
    while at < len(words):
        for size in range(min(lexicon.longest_phrase, len(words) - at), 0, -1):
            measures = lexicon.phrases.get(tuple(stem_ for _, _, stem_ in words[at : at + size]))
            if measures:
                yield MeasureWord(words[at][0], words[at + size - 1][1], measures)
                at += size - 1
                break
        at += 1
    for run in _HAN.finditer(text):
        at = run.start()
        while at < run.end():
            for size in range(min(lexicon.longest_han, run.end() - at), 0, -1):
                measures = lexicon.han.get(text[at : at + size])
                if measures:
                    yield MeasureWord(at, at + size, measures)
                    at += size - 1
                    break
            at += 1


@lru_cache(maxsize=2_000)
def measures_of(text: str) -> frozenset[str]:
    """Return the names of the measures that `text`, such as the name of a column, may refer to.

    >>> measures_of("total revenue")
    frozenset({'revenue'})
    """
    return frozenset(name for word in measure_words(text) for name in word.measures)


@lru_cache(maxsize=2_000)
def kinds_of(measures: frozenset[str]) -> frozenset[str]:
    """Return the kinds of measures, such as "money" or "count"."""
    return frozenset(_lexicon().kinds[name] for name in measures)


@cache
def _lexicon() -> _Lexicon:
    kinds: dict[str, str] = {}
    phrases: dict[tuple[str, ...], set[str]] = defaultdict(set)
    han: dict[str, set[str]] = defaultdict(set)
    for line in files("agent.grounding").joinpath("measures.txt").read_text(encoding="utf-8").splitlines():
        match = _LINE.fullmatch(line.strip())
        if not match:
            continue
        name, kind = match["name"], match["kind"]
        kinds[name] = kinds[kind] = "count" if kind == "people" else kind
        names = {name, kind} if kind in _SINGLE else {name}
        for word in (each.strip() for part in match["words"].split("|") for each in part.split(",")):
            if _HAN.search(word):
                han[word] |= names
            elif stems := tuple(stem(each.group()) for each in _WORD.finditer(word)):
                phrases[stems] |= names
    return _Lexicon(
        kinds,
        {stems: frozenset(names) for stems, names in phrases.items()},
        max(map(len, phrases), default=0),
        {word: frozenset(names) for word, names in han.items()},
        max(map(len, han), default=0),
    )

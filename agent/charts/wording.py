"""What a question says about charts: whether it asks for one, and which types it names."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from datasphinx.agent.grounding.vocabulary import all_vocabularies
from datasphinx.agent.types import ChartType


class Wish(NamedTuple):
    """The chart that a text asks for: named types, the first one first, and how bars and areas are arranged."""

    types: tuple[ChartType, ...]
    hints: tuple[ChartType, ...]
    """Types that the purpose suggests, such as a line for a trend; they are used only if they suit the rows."""
    stacked: bool
    horizontal: bool
    grouped: bool
    """Whether a measure is asked for by group ("by month")."""


Kind = Literal["chart", "table", "number", "text"]

_MAX_QUESTIONS = 512
"""Questions whose wording is kept: several steps of a run read that of one question."""


@lru_cache(_MAX_QUESTIONS)
def requested_form(question: str) -> Kind | None:
    """Return the form that `question` asks for: of several, the last; None if it names none.

    A rewritten follow-up may name an earlier form first. Words that name data ("plots of land", "graph databases",
    "график работы", "图书") and refused forms ("no chart", "не график", "不要图表") do not count.

    >>> requested_form("Plot sales by month"), requested_form("How many plots of land are there?")
    ('chart', None)
    """
    words = _words()
    text = words.not_charts.sub(lambda match: "." * len(match[0]), question)
    text = words.refused.sub(lambda match: "." * len(match[0]), text)
    ends = {
        kind: max((match.end() for pattern in patterns for match in pattern.finditer(text)), default=-1)
        for kind, patterns in words.forms.items()
    }
    form = max(ends, key=ends.__getitem__)
    return form if ends[form] >= 0 else None


def refuses_chart(question: str) -> bool:
    """Return whether `question` asks for an answer without a chart.

    >>> refuses_chart("Sales by month, no chart please"), refuses_chart("Sales by month without a table")
    (True, False)
    """
    words = _words()
    return any(words.chart_word.search(match[0]) for match in words.refused.finditer(question))


@lru_cache(_MAX_QUESTIONS)
def wish_of(text: str) -> Wish:
    """Return the types of charts that `text` names or suggests."""
    words = _words()
    return Wish(
        _found(words.types, text),
        _found(words.hints, text),
        bool(words.stacked.search(text)),
        bool(words.horizontal.search(text)),
        bool(words.grouped.search(text)),
    )


def _found(patterns: Mapping[ChartType, re.Pattern[str]], text: str) -> tuple[ChartType, ...]:
    found = [(match.start(), kind) for kind, pattern in patterns.items() if (match := pattern.search(text))]
    return tuple(dict.fromkeys(kind for _, kind in sorted(found)))


def asks_for_shares(question: str) -> bool:
    """Return whether `question` asks for the parts of a whole."""
    return _words().shares.search(question) is not None


def names_shares(column: str) -> bool:
    """Return whether the name of a column says that its values are shares or percentages."""
    return _words().share_columns.search(column) is not None


class _Words(NamedTuple):
    """The chart words of all languages; see `ChartWords`."""

    not_charts: re.Pattern[str]
    refused: re.Pattern[str]
    chart_word: re.Pattern[str]
    forms: dict[Kind, tuple[re.Pattern[str], ...]]
    types: dict[ChartType, re.Pattern[str]]
    hints: dict[ChartType, re.Pattern[str]]
    stacked: re.Pattern[str]
    horizontal: re.Pattern[str]
    grouped: re.Pattern[str]
    shares: re.Pattern[str]
    share_columns: re.Pattern[str]


@cache
def _words() -> _Words:
    every = [vocabulary.charts for vocabulary in all_vocabularies()]

    def pattern(name: str) -> re.Pattern[str]:
        return _pattern(*(part for words in every for part in getattr(words, name)))

    def types(name: str) -> dict[ChartType, re.Pattern[str]]:
        kinds: list[ChartType] = sorted({kind for words in every for kind in getattr(words, name)})
        return {
            kind: _pattern(*(part for words in every for part in getattr(words, name).get(kind, ()))) for kind in kinds
        }

    return _Words(
        not_charts=pattern("not_charts"),
        refused=pattern("refused"),
        chart_word=pattern("chart_word"),
        forms={
            "chart": tuple(_pattern(*words.chart) for words in every),
            "table": (pattern("table"),),
            "number": (pattern("number"),),
            "text": (pattern("text"),),
        },
        types=types("types"),
        hints=types("hints"),
        stacked=pattern("stacked"),
        horizontal=pattern("horizontal"),
        grouped=pattern("grouped"),
        shares=pattern("shares"),
        share_columns=re.compile(f"%|{pattern('share_columns').pattern}", re.IGNORECASE),
    )


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)

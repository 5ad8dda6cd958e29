"""The words with which each language states claims.

Each language of `datasphinx.agent.messages` has a module in this package.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, cast

from datasphinx.agent.messages import LANGUAGES, Language


class _UncompiledPattern:
    """Stands for a pattern, which is compiled when one of its attributes is first read."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._uncompiled = pattern, flags

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(re.compile(*self._uncompiled), name)
        # Later reads of the same attribute do not call this method.
        self.__dict__[name] = attribute
        return attribute


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return `pattern`, compiled at its first use; a text needs few of the patterns of all languages.

    Only its methods and attributes can be used, not functions of `re` such as `re.sub(lazy, ...)`.
    """
    return cast("re.Pattern[str]", _UncompiledPattern(pattern, flags))


@dataclass(frozen=True)
class NumberWord:
    """A number in words: its position, its value, and its kind as in `Figure`."""

    start: int
    end: int
    value: float
    kind: str = "plain"


@dataclass(frozen=True)
class ChartWords:
    """Words of questions about the form of the answer, as parts of patterns."""

    not_charts: tuple[str, ...]
    """Words like those for charts that name data, such as "plots of land"."""
    refused: tuple[str, ...]
    """Forms that a question rejects, such as "no chart"."""
    chart_word: tuple[str, ...]
    chart: tuple[str, ...]
    """Requests for a chart; those for the other forms follow."""
    table: tuple[str, ...]
    number: tuple[str, ...]
    text: tuple[str, ...]
    types: Mapping[str, tuple[str, ...]]
    """Names of types of charts."""
    hints: Mapping[str, tuple[str, ...]]
    """Words that suggest a type, such as "trend"."""
    stacked: tuple[str, ...]
    horizontal: tuple[str, ...]
    grouped: tuple[str, ...]
    """Words by which a measure is asked for by group ("by month")."""
    shares: tuple[str, ...]
    """Words that ask for the parts of a whole."""
    share_columns: tuple[str, ...]
    """Parts of names of columns with shares."""


@dataclass(frozen=True)
class QuestionWords:
    """Words of questions that need no query, as parts of patterns."""

    describe: str
    """Verbs and nouns that request a description."""
    data: str
    """Nouns for data of any kind."""
    fillers: str
    """All other words that a request for a description may have."""
    tables: str
    """Complete questions for the tables of the data."""


@dataclass(frozen=True)
class DateWords:
    """The words by which questions limit dates, as patterns; `@` stands for a date or period."""

    between: str
    before: str
    since: str
    after: str
    through: str
    """Up to and including a period."""
    within: str
    changed_before: str
    """Words directly before a range that change its meaning, such as "early" and "except"."""
    changed_after: str
    of_year: str
    """The text between a period and its year, such as " of "."""
    trailing: Mapping[str, str]
    """The last `n` days, weeks, months, quarters or years, by unit; without the group `n` one of them."""
    to_date: Mapping[str, str]
    """From the beginning of the current year, quarter or month."""
    in_year: str
    """A year as the only limit, such as "in {year}"."""


@dataclass(frozen=True)
class Vocabulary:
    """The patterns of one language; they ignore case."""

    questions: QuestionWords
    charts: ChartWords
    relative_periods: Mapping[str, re.Pattern[str]]
    """Periods relative to today, such as "last week", by names that all languages share."""
    months: tuple[str, ...]
    """The names of the twelve months, as patterns."""
    dates: tuple[str, ...]
    """Date formats with words; groups are named as in `Period`, `{year}` and `{month}` are placeholders."""
    date_words: Mapping[str, int]
    """Beginnings of ordinals and names in `dates`, with their numbers."""
    date_limits: DateWords
    number_words: Callable[[str], Iterator[NumberWord]]


@cache
def vocabulary_of(language: Language) -> Vocabulary:
    """Return the words of `language`."""
    return import_module(f"datasphinx.agent.grounding.vocabulary.{language}").VOCABULARY  # type: ignore[no-any-return]


@cache
def all_vocabularies() -> tuple[Vocabulary, ...]:
    """Return the words of all languages, since column names and cells may be in another one than the text."""
    return tuple(vocabulary_of(language) for language in LANGUAGES)

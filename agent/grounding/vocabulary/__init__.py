"""The words by which each language states claims.

A further language is a further module of this package, and an entry in `_LANGUAGES`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from agent.messages import Language

_LANGUAGES: tuple[Language, ...] = ("en", "ru", "zh")


@dataclass(frozen=True)
class NumberWord:
    """A number that is written in words: where it stands, its value, and its kind as of a figure."""

    start: int
    end: int
    value: float
    kind: str = "plain"


@dataclass(frozen=True)
class Vocabulary:
    """The patterns of one language. Each matches words as they stand in a text, in any case."""

    up: re.Pattern[str]
    """A metric rose over time."""
    down: re.Pattern[str]
    improves: re.Pattern[str]
    """A metric rose, or fell where low values are the good ones."""
    worsens: re.Pattern[str]
    judged: re.Pattern[str]
    """Comparatives of the better or worse, which may be a rise or a fall."""
    steady: re.Pattern[str]
    always: re.Pattern[str]
    """A change in each period, such as "steadily"."""
    more: re.Pattern[str]
    """A comparative that says that the subject has more than the object, such as "higher"."""
    less: re.Pattern[str]
    than: re.Pattern[str]
    """What stands before the object of a comparison."""
    exceeds: re.Pattern[str]
    """A verb whose subject has more than its object."""
    trails: re.Pattern[str]
    equal: re.Pattern[str]
    highest: re.Pattern[str]
    lowest: re.Pattern[str]
    best: re.Pattern[str]
    """The highest value, or the lowest of what is better low."""
    worst: re.Pattern[str]
    either: re.Pattern[str]
    """A superlative that is the highest or the lowest value, by what is measured."""
    better_low: re.Pattern[str]
    """Names of columns whose low values are the good ones."""
    each: re.Pattern[str]
    """A figure for each of something: "per order"."""
    not_superlative: re.Pattern[str]
    """What before a superlative takes its meaning away, such as "one of the"."""
    followed_by: re.Pattern[str]
    rank: re.Pattern[str]
    """A place in an order, with the ordinal in the group `ordinal`."""
    ordinals: Mapping[str, int]
    """The beginnings of ordinals in words."""
    total: re.Pattern[str]
    average: re.Pattern[str]
    weighted: re.Pattern[str]
    streak: re.Pattern[str]
    median: re.Pattern[str]
    share: re.Pattern[str]
    rated: re.Pattern[str]
    """Nouns for a ratio of two columns, such as "share"."""
    difference: re.Pattern[str]
    by: re.Pattern[str]
    """What directly before a figure says that it is a difference."""
    ratio: re.Pattern[str]
    every: re.Pattern[str]
    none: re.Pattern[str]
    only: re.Pattern[str]
    majority: re.Pattern[str]
    some: re.Pattern[str]
    """A number of rows that is not given, such as "several"."""
    rest: re.Pattern[str]
    complement: re.Pattern[str]
    """What says that a share is that of those without something."""
    first_last: re.Pattern[str]
    """What behind a number of rows says which they are."""
    top: re.Pattern[str]
    """"top", "first" and the like before a number of rows."""
    bottom: re.Pattern[str]
    existence: re.Pattern[str]
    """What before a count says that it is that of all: "there are", "all"."""
    about: re.Pattern[str]
    over: re.Pattern[str]
    """What directly before a figure says that the value is larger. The same for the others."""
    under: re.Pattern[str]
    nearly: re.Pattern[str]
    """Those of `under` that only round, such as "almost"."""
    at_least: re.Pattern[str]
    at_most: re.Pattern[str]
    about_after: re.Pattern[str]
    over_after: re.Pattern[str]
    at_least_after: re.Pattern[str]
    positive: re.Pattern[str]
    negative: re.Pattern[str]
    negation: re.Pattern[str]
    previous: re.Pattern[str]
    """A period before the one that is named, as an object of a comparison."""
    following: re.Pattern[str]
    """The period after the one that is named."""
    since: re.Pattern[str]
    multiple: re.Pattern[str]
    """What near "times" says that it compares."""
    own: re.Pattern[str]
    """What says that a superlative is among the periods of one subject, such as "its best year"."""
    missing: re.Pattern[str]
    """What behind a cause says that there is no data."""
    unknown: re.Pattern[str]
    """What says that the rows do not tell."""
    dated: re.Pattern[str]
    """What stands before a year that limits a time."""
    dated_after: re.Pattern[str]
    shown: re.Pattern[str]
    """What limits a claim to the rows that are shown."""
    pronoun: re.Pattern[str]
    """A subject of the sentence before."""
    joins: re.Pattern[str]
    """What stands between the members of a list."""
    against: re.Pattern[str]
    """What stands between two figures that are compared."""
    starts: re.Pattern[str]
    """What stands before the first end of a range of figures."""
    part_of: re.Pattern[str]
    """What stands before the whole that a figure is a part of, as in "41 of 198"."""
    ranges: re.Pattern[str]
    """What stands between the ends of a range."""
    breaks: re.Pattern[str]
    """What stands between two clauses or two parts of a comparison."""
    after_figure: re.Pattern[str]
    """All that stands between a figure and the entity behind it that it belongs to."""
    links: re.Pattern[str]
    """Words that end the noun phrase behind a figure."""
    cause: re.Pattern[str]
    afterwards: re.Pattern[str]
    """Causes that only say that one thing was after another."""
    cause_columns: re.Pattern[str]
    forecast: re.Pattern[str]
    event: re.Pattern[str]
    """Nouns for a change or an extreme of values."""
    schedule: re.Pattern[str]
    """A weaker forecast, supported by a date of the rows."""
    forecast_columns: re.Pattern[str]
    sentiment: re.Pattern[str]
    recommendation: re.Pattern[str]
    relative_periods: Mapping[str, re.Pattern[str]]
    """Periods relative to today, such as "last week", by names that all languages share."""
    months: tuple[str, ...]
    """The names of the twelve months, as patterns."""
    dates: tuple[str, ...]
    """Forms of dates beside those of figures alone, with the groups of a `Period`; `{year}` and `{month}` are filled in."""
    date_words: Mapping[str, int]
    """Beginnings of ordinals and names in `dates`, with their numbers."""
    number_words: Callable[[str], Iterator[NumberWord]]
    counters: re.Pattern[str]
    """Nouns that count anything, such as "pieces"."""
    units: Mapping[str, str]
    """Units of measure by their words, as patterns."""
    per: re.Pattern[str]
    generic: re.Pattern[str]
    """Words that name rows of any kind."""
    total_rows: re.Pattern[str]
    """Labels of rows that hold totals."""


@cache
def vocabulary_of(language: Language) -> Vocabulary:
    """Return the words of `language`."""
    return import_module(f"agent.grounding.vocabulary.{language}").VOCABULARY  # type: ignore[no-any-return]


@cache
def all_vocabularies() -> tuple[Vocabulary, ...]:
    """Return the words of all languages, for names of columns and cells, which may be of another than the text."""
    return tuple(vocabulary_of(language) for language in _LANGUAGES)

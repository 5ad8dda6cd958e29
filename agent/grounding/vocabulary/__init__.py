"""The words with which each language asks for charts and descriptions.

Each language of `datasphinx.agent.messages` has a module in this package.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from datasphinx.agent.messages import LANGUAGES, Language


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
class Vocabulary:
    """The patterns of one language; they ignore case."""

    questions: QuestionWords
    charts: ChartWords


@cache
def vocabulary_of(language: Language) -> Vocabulary:
    """Return the words of `language`."""
    return import_module(f"datasphinx.agent.grounding.vocabulary.{language}").VOCABULARY  # type: ignore[no-any-return]


@cache
def all_vocabularies() -> tuple[Vocabulary, ...]:
    """Return the words of all languages, since column names and cells may be in another one than the text."""
    return tuple(vocabulary_of(language) for language in LANGUAGES)

"""Texts for users in every language: error messages, their reasons, notes and labels.

Each module of this package is a language, named by its ISO 639-1 code: `TEXTS` by code, and the `CONVENTIONS` of the
language. The code of an error is `DatasphinxError.code`. To add a text, add its code to each module. A module that is
added to the package adds a language.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

Language = str
"""The code of a language, one of `LANGUAGES`."""


@dataclass(frozen=True)
class Conventions:
    """How a language writes numbers, lists and sentences, and how its texts are recognised."""

    name: str
    """The English name, for prompts."""
    grouping: str
    """The separator of thousands."""
    decimal: str
    quotation: str
    """The marks of a quotation, with `{}` for its text. An English text quotes English messages as they are."""
    month: str
    """A month with its year, as a pattern of Unicode's locale data."""
    month_of_year: str
    """A month beside others, one of which has the year, in the same way."""
    short_month: str
    """A month with its year along an axis, in the same way."""
    quarter: str
    """A quarter with its year, in the same way."""
    quarter_of_year: str
    """A quarter beside others, one of which has the year, in the same way."""
    date: str
    long_date: str
    """A day in a table and in a sentence, in the same way."""
    letters: str = "[A-Za-z\u00c0-\u024f]"
    """A pattern of one letter of the script."""
    weight: int = 1
    """The number of Latin letters that a letter counts as."""
    comma: str = ", "
    list_comma: str = ", "
    """The separator in a list of names."""
    has_serial_comma: bool = False
    """Whether a comma may stand before "and" in a list, as one of its items has an "and"."""
    clause_comma: str = ""
    """The separator in a list of clauses that has no "and"; empty where a list of clauses is as one of names."""
    aside: str = " ({})"
    """A value in parentheses after a name, with `{}` for it."""
    year: str = "{}"
    """A year in a sentence, with `{}` for it."""
    semicolon: str = "; "
    space: str = " "
    """The separator of words and sentences."""

    @cached_property
    def letter(self) -> re.Pattern[str]:
        """The pattern of one letter."""
        return re.compile(self.letters)

    def separated(self, digits: str) -> str:
        """Return `digits`, written as in 1,234.5, with the separators of the language."""
        return digits.translate({ord(","): self.grouping, ord("."): self.decimal})


LANGUAGES: tuple[Language, ...] = tuple(
    sorted((module.name for module in iter_modules(__path__)), key=lambda code: (code != "en", code))
)
"""The codes of the modules of this package, English first: it is the language of unrecognised texts."""

_MODULES = {language: import_module(f"datasphinx.agent.messages.{language}") for language in LANGUAGES}

TEXTS: dict[Language, dict[str, str]] = {language: module.TEXTS for language, module in _MODULES.items()}

CONVENTIONS: dict[Language, Conventions] = {language: module.CONVENTIONS for language, module in _MODULES.items()}

_QUOTED_FACTS = {"reason", "problems", "findings", "unknown", "rights", "error"}
"""Facts that are texts. Unless they are messages of the catalogue, they are quotations of a database or a library."""

_CLEARLY = 0.8
"""The least probability of a language: names and short texts look like several."""


class Message(str):
    """A text of the catalogue with its facts. As a string, it is the English text.

    >>> Message("row_without_cells", row=3)
    'row 3 has no cell'
    >>> Message("row_without_cells", row=3).in_language("ru")
    'в строке 3 нет ячеек'
    """

    code: str
    facts: dict[str, Any]

    def __new__(cls, code: str, /, **facts: Any) -> "Message":
        """Return the text of `code` with `facts`; see `render`."""
        message = super().__new__(cls, render(code, "en", **facts))
        message.code, message.facts = code, facts
        return message

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """Return the arguments from which `copy` and `pickle` create the message."""
        return (self.code,), self.facts

    def in_language(self, language: Language) -> str:
        """Return the text in `language`."""
        return render(self.code, language, **self.facts)


def message_of(error: Exception) -> Message | str:
    """Return the message of the catalogue that `error` was raised with, else its text."""
    message = error.args[0] if error.args else None
    return message if isinstance(message, Message) else str(error)


@lru_cache(maxsize=512)
def language_of(text: str, otherwise: Language = "en") -> Language:
    """Return the language for the answer to `text`: detected by script, and within a script by its letters.

    A text that may be of several languages of a script is in `otherwise`, if that is one of them. A Chinese character
    counts as two letters, because it carries about as much of a word.

    >>> language_of("Сколько заказов в таблице orders?"), language_of("Wie hoch ist der Umsatz?")
    ('ru', 'de')
    """
    scripts: dict[str, list[Language]] = {}
    for language in LANGUAGES:
        scripts.setdefault(CONVENTIONS[language].letters, []).append(language)
    latin = CONVENTIONS["en"].letters
    counts = {script: len(CONVENTIONS[first].letter.findall(text)) for script, (first, *_) in scripts.items()}
    for script in sorted(scripts.keys() - {latin}, key=lambda script: -CONVENTIONS[scripts[script][0]].weight):
        count = counts[script] * CONVENTIONS[scripts[script][0]].weight
        if count and count >= max(other for name, other in counts.items() if name != script) // 2:
            return _by_letters(text, scripts[script], otherwise)
    return _by_letters(text, scripts[latin], otherwise)


def language_in(said: Mapping[str, Any]) -> Language:
    """Return the language that a model stated for a run, its output, a question to the user, or an earlier turn.

    Where none is stated, as before a model replied, it is recognised from the question or the answer; a short follow-up
    is in the language of the turn that it follows.

    >>> language_in({"question": "Budget?"}), language_in({"question": "Budget?", "language": "de"})
    ('en', 'de')
    >>> language_in({"question": "Und 2023?", "follows": {"language": "de"}})
    'de'
    """
    texts = (said.get(name) for name in ("about", "question", "answer"))
    before = (said.get("follows") or {}).get("language")
    return said.get("language") or language_of(str(next(filter(None, texts), "")), before or "en")


def _by_letters(text: str, languages: list[Language], otherwise: Language) -> Language:
    """Return the one of `languages` that `text` is clearly written in, else `otherwise` or the first."""
    unclear = otherwise if otherwise in languages else languages[0]
    if len(languages) == 1 or not CONVENTIONS[languages[0]].letter.search(text):
        return unclear
    best, probability = _identifier(tuple(languages)).rank(text)[0]
    return str(best) if probability >= _CLEARLY else unclear


@cache
def _identifier(languages: tuple[Language, ...]) -> "LanguageIdentifier":
    # Its model takes half a second to load, which most questions do not need: a chat model states their language.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(languages))
    return identifier


def render(code: str, language: Language, /, **facts: Any) -> str:
    """Return the text of `code` in `language`, with `facts` filled in.

    Messages among the facts are rendered in the same language, and other texts of `_QUOTED_FACTS` are quoted. A
    sequence is joined with semicolons.

    Raises:
        KeyError: the code is unknown, or a fact is missing.
    """
    return TEXTS[language][code].format(**{name: fact_text(name, fact, language) for name, fact in facts.items()})


def fact_text(name: str, fact: Any, language: Language) -> Any:
    """Return the value that a text in `language` shows for the fact `name`; see `render`."""
    if hasattr(fact, "in_language"):
        return fact.in_language(language)
    if isinstance(fact, tuple | list):
        return "; ".join(str(fact_text(name, part, language)) for part in fact)
    return CONVENTIONS[language].quotation.format(fact) if name in _QUOTED_FACTS and fact else fact

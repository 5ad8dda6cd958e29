"""Texts for users in every language: error messages, their reasons, notes and labels.

The module of a language holds its texts by code; the code of an error is `DatasphinxError.code`. To add a text, add its
code to each module. To add a language, add its module, its code to `Language`, its quotation marks to `_QUOTATION`, and
its script to `language_of`.
"""

import re
from importlib import import_module
from typing import Any, Literal, get_args

Language = Literal["en", "ru", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

TEXTS: dict[Language, dict[str, str]] = {
    language: import_module(f"agent.messages.{language}").TEXTS for language in LANGUAGES
}

_QUOTATION: dict[Language, str] = {"en": "{}", "ru": "«{}»", "zh": "“{}”"}
"""Marks of a quotation. An English text quotes English messages as they are."""

_QUOTED_FACTS = {"reason", "problems", "findings", "unknown", "rights", "error"}
"""Facts that are texts. Unless they are messages of the catalogue, they are quotations of a database or a library."""

_HAN = re.compile(r"[\u3400-\u9fff]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LATIN = re.compile(r"[A-Za-z]")


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


def language_of(text: str) -> Language:
    """Return the language for the answer to `text`, detected by script.

    A Chinese character counts as two letters, because it carries about as much of a word.

    >>> language_of("Сколько заказов в таблице orders?")
    'ru'
    """
    han, cyrillic, latin = (len(pattern.findall(text)) for pattern in (_HAN, _CYRILLIC, _LATIN))
    if han and 2 * han >= max(cyrillic, latin) // 2:
        return "zh"
    return "ru" if cyrillic and cyrillic >= latin // 2 else "en"


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
    return _QUOTATION[language].format(fact) if name in _QUOTED_FACTS and fact else fact

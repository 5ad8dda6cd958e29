"""Texts for users in every language: error messages, notes and labels.

The module of a language holds its texts by code; the code of an error is `DatasphinxError.code`. To add a text, add its
code to each module. To add a language, add its module, its code to `Language`, and its script to `language_of`.
"""

import re
from importlib import import_module
from typing import Any, Literal, get_args

Language = Literal["en", "ru", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

TEXTS: dict[Language, dict[str, str]] = {
    language: import_module(f"agent.messages.{language}").TEXTS for language in LANGUAGES
}

_HAN = re.compile(r"[\u3400-\u9fff]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LATIN = re.compile(r"[A-Za-z]")


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


def render(code: str, language: Language, **facts: Any) -> str:
    """Return the text of `code` in `language`, with `facts` filled in; a sequence is joined with semicolons.

    Raises:
        KeyError: the code is unknown, or a fact is missing.
    """
    shown = {
        name: "; ".join(map(str, value)) if isinstance(value, tuple | list) else value for name, value in facts.items()
    }
    return TEXTS[language][code].format(**shown)

"""Words of the official languages of all countries (CLDR): months, weekdays, halves of the day, currencies, scales."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from babel import localedata
from babel.core import get_global
from babel.languages import get_official_languages
from babel.numbers import list_currencies

from datasphinx.agent.schema.currencies import CURRENCY_SIGNS

_QUOTED = re.compile("'([^']+)'")
_SCALE_UNITS = {
    "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12,
    "mn": 1e6, "bn": 1e9, "tn": 1e12, "bln": 1e9, "mln": 1e6, "mlrd": 1e9,
}  # fmt: skip
"""Words for scales in English besides those of CLDR; lower-case `m` and `b` are units and flags."""

_OTHER_FILLERS = {"года", "year", "the", "of"}
"""Words in dates that are an inflection of those of CLDR, or are not part of its formats."""


@dataclass(frozen=True)
class LocaleWords:
    """Words in casefolded form, without a final point.

    `months` gives the number by language, since a few names mean different months. `fillers` are the other words of
    dates. `halves` is true for the afternoon. `currencies` gives codes by signs, and `scales` factors by words; these
    two keep their case; the signs of
    `CURRENCY_SIGNS` are in lower case.
    """

    months: dict[str, dict[str, int]] = field(default_factory=dict)
    weekdays: set[str] = field(default_factory=set)
    fillers: set[str] = field(default_factory=set)
    halves: dict[str, bool] = field(default_factory=dict)
    currencies: dict[str, str] = field(default_factory=dict)
    scales: dict[str, float] = field(default_factory=dict)


def plain_word(text: str) -> str:
    """Return a word in the form in which `LocaleWords` has it."""
    return unicodedata.normalize("NFC", text).casefold().strip(" .\u00a0\u202f")


@cache
def english_words() -> LocaleWords:
    """Return the words of English."""
    return _read(["en"])


@cache
def locale_words() -> LocaleWords:
    """Return the words of all official languages; English comes first. Reading them takes some tenths of a second."""
    territories = get_global("territory_languages")
    languages = {name.split("_")[0] for each in territories for name in get_official_languages(each, de_facto=True)}
    return _read(["en", *sorted(languages - {"en"})])


def months_of(words: set[str]) -> dict[str, int]:
    """Return the numbers of month names, by the language that knows all of `words`; names that none knows are missing.

    >>> months_of({"listopad"}), months_of({"srpanj", "listopad"}), months_of({"marble"})
    ({'listopad': 11}, {'listopad': 10, 'srpanj': 7}, {})
    """
    known = english_words().months
    if not all(word in known for word in words):
        known = locale_words().months
    found = {word: known[word] for word in sorted(words) if word in known}
    common = set.intersection(*(set(months) for months in found.values())) if found else set()

    def number(months: Mapping[str, int]) -> int:
        numbers = [months[language] for language in sorted(common)] or list(months.values())
        return max(numbers, key=numbers.count)

    return {word: number(months) for word, months in found.items()}


def currency_codes() -> frozenset[str]:
    """Return the ISO codes of all currencies, and codes that are used in their place."""
    return frozenset({*list_currencies(), *CURRENCY_SIGNS.values(), "RUR", "RMB"})


def _read(languages: list[str]) -> LocaleWords:
    words = LocaleWords(fillers=set(_OTHER_FILLERS), scales=dict(_SCALE_UNITS))
    words.currencies.update(CURRENCY_SIGNS)
    units = {
        pattern.replace("{0}", "").strip()
        for widths in _load("en")["unit_patterns"].values()
        for pattern in widths.get("short", {}).values()
        if isinstance(pattern, str)
    }
    for language in languages:
        if not localedata.exists(language):
            continue
        data = _load(language)
        for name, number in _names(data["months"]):
            words.months.setdefault(plain_word(name), {})[language] = int(number)
        words.weekdays.update(plain_word(name) for name, _ in _names(data["days"]))
        for name, half in _names(data["day_periods"]):
            if half in ("am", "pm") and len(name) > 1:
                words.halves.setdefault(re.sub(r"[.\s]", "", plain_word(name)), half == "pm")
        for pattern in data["date_formats"].values():
            text = getattr(pattern, "pattern", "")
            words.fillers.update(plain_word(word) for quoted in _QUOTED.findall(text) for word in quoted.split())
        for code, sign in data["currency_symbols"].items():
            sign = sign.replace("\u202f", " ").replace("\u00a0", " ").strip("\u200e\u200f ")
            is_unit = sign.rstrip(".").lower() in units and (sign[-1] == "." or not sign.istitle())
            if not is_unit and (len(sign) > 1 or not sign.isalpha()):
                words.currencies.setdefault(sign, code)
        for formats in data["compact_decimal_formats"]["short"].values():
            _add_scales(words.scales, formats)
    words.fillers.discard("")
    return words


def _load(language: str) -> Mapping[str, Any]:
    data: Any = localedata.load(language)
    return localedata.LocaleDataDict(data)


def _names(contexts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for context in contexts.values():
        for width in ("wide", "abbreviated"):
            yield from ((str(name), key) for key, name in context.get(width, {}).items())


def _add_scales(scales: dict[str, float], formats: Mapping[str, Any]) -> None:
    for size, pattern in formats.items():
        text = str(getattr(pattern, "pattern", pattern)).replace("'", "").replace("\u200f", "").partition(";")[0]
        word = text.strip("0 \u00a0\u202f")
        # One or two letters are rather a unit, except those of English and of scripts without case.
        if word and "0" not in word and (len(word.rstrip(".")) > 2 or word.lower() == word.upper()):
            scales.setdefault(word, float(size) / 10 ** (text.count("0") - 1))

"""Read numbers written as text: separators of thousands, percentages, currencies, scales, footnotes.

A number is recognised by its shape, the text with each digit as 9, in Python; DuckDB converts the cells.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from babel import Locale
from babel.languages import get_official_languages
from babel.localedata import locale_identifiers
from babel.numbers import get_decimal_symbol

from datasphinx.agent.core.duckdb_text import literal
from datasphinx.agent.datasets.locale_words import currency_codes, english_words, locale_words
from datasphinx.agent.schema.currencies import CURRENCY_CODES

Mark = Literal[".", ","]

_CORE = re.compile(r"(?:(?:(?<![^\W_])[.,])?\d(?:[\d.,' _]*\d)?[.,]?|[.,]\d+)(?:[eE][-+]?\d+(?!\w))?")
_CORE_SQL = r"([0-9](?:[0-9.,'' _]*[0-9])?[.,]?(?:[eE][-+]?[0-9]+)?)"
_LEADING_SQL = r"([.,]?[0-9](?:[0-9.,'' _]*[0-9])?[.,]?(?:[eE][-+]?[0-9]+)?)"
_GRAMMAR: dict[Mark, re.Pattern[str]] = {
    ".": re.compile(
        r"(\d+|\d{1,3}([ ,'_]\d{3})+|\d{1,2}(,\d{2})+,\d{3})?"
        r"(?:(?<=\d)\.|\.(?=\d))?(?P<fraction>(?<=\.)\d*)?([eE][-+]?\d+)?"
    ),
    ",": re.compile(r"(\d+|\d{1,3}([ .'_]\d{3})+)?(?:(?<=\d),|,(?=\d))?(?P<fraction>(?<=,)\d*)?([eE][-+]?\d+)?"),
}
_FOOTNOTES = re.compile(r"(?:\s*(?:\*+|[†‡§¹²³⁴⁵⁶⁷⁸⁹⁰]+|\[[\da-z]{1,2}\]))+$")
_FLAG = re.compile(r"[a-z]{1,3}")
_UNIT = re.compile(r"[^\d\s,;:/()-]\D{0,11}")
_PHONE = re.compile(r"\+\d{10,}")
_EXPONENT_CODE = re.compile(r"\d+[eE]\d+")
_DASHES = {"−", "﹣", "－"}
_OTHERS = {
    "٫": ".", "٬": "'", "٪": "%", "，": ",", "．": ".", "％": "%", "＋": "+", "’": "'", "ʼ": "'", "′": "'", "＊": "*",
}  # fmt: skip
_MAX_DOUBLE = 15
"""Number of digits that a double always keeps."""


def ascii_of(char: str) -> str:
    """Return the ASCII character that a digit, a space, a dash or a mark of another script stands for; else itself."""
    if char.isascii():
        return char
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category == "Zs":
        return " "
    if category == "Pd" or char in _DASHES:
        return "-"
    return _OTHERS.get(char, char)


@dataclass(frozen=True)
class NumberForm:
    """What the shape of a number shows, by decimal mark where that matters."""

    core: str
    fits: frozenset[Mark]
    fractions: tuple[tuple[Mark, int], ...]
    """Number of digits behind the mark; marks without one are missing."""
    negative: bool = False
    percent: bool = False
    scale: str = ""
    currency: str = ""
    footnote: bool = False
    flag: str = ""
    unit: str = ""
    leading_mark: bool = False
    is_code: bool = False
    has_exponent: bool = False
    is_bare: bool = False
    """Whether nothing but a minus before and a percent sign behind stands beside the digits and marks."""

    @property
    def digits(self) -> int:
        """Number of digits."""
        return sum(char.isdigit() for char in self.core)

    def fraction(self, mark: Mark) -> int:
        """Return the number of digits behind the decimal mark."""
        return dict(self.fractions).get(mark, 0)

    def is_whole(self, mark: Mark) -> bool:
        """Return whether the number has no decimal mark and no exponent."""
        return mark not in dict(self.fractions) and not self.has_exponent

    def may_be_lossy(self, mark: Mark) -> bool:
        """Return whether a double may lose digits of the number."""
        return self.digits > _MAX_DOUBLE and not self.is_whole(mark)

    @property
    def is_ambiguous(self) -> bool:
        """Whether it is another number with the other decimal mark."""
        return len(self.fits) == 2 and self.is_whole(".") != self.is_whole(",")


@lru_cache(maxsize=20_000)
def read_number(shape: str) -> NumberForm | None:
    """Return what the shape of a number shows; None if it is no number. Unknown words become the `unit`."""
    text = "".join(map(ascii_of, shape)).strip()
    if not any(char.isdigit() for char in text) or len(text) > 60:
        return None
    if _EXPONENT_CODE.fullmatch(text) or _PHONE.fullmatch(text):
        return NumberForm(text, frozenset((".",)), (), is_code=True)
    stripped = _FOOTNOTES.sub("", text) if text[-1:] not in ")%" else text
    if not any(char.isdigit() for char in stripped):
        stripped = text
    match = _CORE.search(stripped)
    if not match:
        return None
    prefix, core, suffix = stripped[: match.start()], match[0], stripped[match.end() :]
    if core[-1:] in ".," and suffix.startswith("-"):
        # `1'000.-` is the Swiss notation of a whole amount.
        core, suffix = core[:-1], suffix.lstrip("-–—")
    # So is `500/-` in India.
    suffix = suffix.removeprefix("/-")
    marks: tuple[Mark, ...] = (".", ",")
    grammars = {mark: found for mark in marks if (found := _GRAMMAR[mark].fullmatch(core))}
    if not grammars:
        return None
    parts = _parts(prefix, suffix)
    if parts is None:
        return None
    return NumberForm(
        core,
        frozenset(grammars),
        tuple(
            (mark, len(found["fraction"] or ""))
            for mark, found in grammars.items()
            if mark in core and found["fraction"] is not None
        ),
        footnote=stripped != text,
        leading_mark=core[0] in ".,",
        has_exponent="e" in core.lower(),
        is_bare=shape.removeprefix("-").rstrip(" %") == core and "'" not in shape,
        **parts,
    )


def _parts(prefix: str, suffix: str) -> dict[str, Any] | None:
    """Return what stands before and behind the digits, as fields of `NumberForm`; None for anything unknown."""
    before = prefix.strip().lstrip("'").strip()
    behind = suffix.strip()
    negative = False
    if "(" in (before[:1], before[-1:]) and behind.endswith(")"):
        before, behind, negative = before.strip("( "), behind[:-1].strip(), True
    for sign in "-+":
        if before.startswith(sign) or before.endswith(sign):
            before, negative = before.strip(sign + " "), negative or sign == "-"
    if behind.endswith("-") and not prefix.strip():
        behind, negative = behind[:-1].strip(), True
    percent = "%" in (before, behind) or behind.endswith("%")
    before, behind = before.strip("% "), behind.strip("% ") if percent else behind
    currency = scale = unit = ""
    if before:
        currency = currency_of(before)
        if not currency:
            return None
    if behind:
        # Lower-case `m` is a unit or a flag except behind an amount: `$800m`.
        is_scale = bool(currency) and behind.upper() in english_words().scales
        scale, behind = (behind, "") if is_scale else _scale_of(behind)
        found = currency_of(behind)
        currency, behind = currency or found, "" if found else behind
    flag = behind if _FLAG.fullmatch(behind) else ""
    if behind:
        if not _UNIT.fullmatch(behind):
            return None
        unit = behind
    return {"negative": negative, "percent": percent, "scale": scale, "currency": currency, "flag": flag, "unit": unit}


def currency_of(text: str) -> str:
    """Return the ISO code of a sign, an abbreviation or a code of a currency; its sign if that has none; else empty."""
    text = text.strip()
    signs = english_words().currencies
    if not text:
        return ""
    code = signs.get(text) or signs.get(text.lower() if text.lower() in signs else text.rstrip("."))
    if code:
        return code
    upper = text.upper()
    if (text.isupper() and upper in currency_codes()) or upper in CURRENCY_CODES:
        return upper
    if not text.isascii() or len(text) < 5:
        code = locale_words().currencies.get(text) or locale_words().currencies.get(text.rstrip("."))
        if code:
            return code
    letters, sign = text[:-1], text[-1:]
    is_sign = bool(sign) and unicodedata.category(sign) == "Sc" and len(letters) <= 3
    return text if is_sign and (not letters or (letters.isalpha() and letters.isupper())) else ""


@lru_cache
def mark_of_currency(code: str) -> Mark | None:
    """Return the decimal mark of all languages of the country of a currency; None if they differ.

    The first two letters of an ISO 4217 code are its country.
    """
    languages = get_official_languages(code[:2], de_facto=True)
    locales = [Locale.negotiate([f"{name}_{code[:2]}", name], locale_identifiers()) for name in languages]
    marks = {get_decimal_symbol(each, numbering_system="latn") for each in locales if each}
    return marks.pop() if len(marks) == 1 and marks <= {".", ","} else None  # type: ignore[return-value]


def _scale_of(text: str) -> tuple[str, str]:
    """Return the word for a scale with which `text` begins, and what follows."""
    word = re.match(r"[^\s\d]+", text)
    if not word:
        return "", text
    scales = english_words().scales
    for end in range(len(word[0]), 0, -1):
        part = word[0][:end]
        if factor_of(part, scales) and (end == len(word[0]) or not part[-1].isascii() or currency_of(text[end:])):
            return part, text[end:].strip()
    return "", text


def factor_of(word: str, scales: dict[str, float] | None = None) -> float | None:
    """Return the factor of a word for a scale."""
    for each in (scales or english_words().scales, locale_words().scales):
        for name in (word, word.rstrip("."), f"{word}."):
            if name in each:
                return each[name]
    return None


def decimal_mark(forms: Iterable[tuple[NumberForm, int]]) -> Mark | None:
    """Return the decimal mark that more cells fit, of forms with their numbers of cells; None if both fit equally."""
    counts = {mark: sum(count for form, count in forms if mark in form.fits) for mark in (".", ",")}
    return None if counts["."] == counts[","] else "." if counts["."] > counts[","] else ","


def number_type(forms: Sequence[NumberForm], mark: Mark) -> str:
    """Return the DuckDB type of numbers, BIGINT or DOUBLE."""
    if any(form.percent or form.scale for form in forms):
        return "DOUBLE"
    is_whole = all(form.is_whole(mark if mark in form.fits else other_mark(mark)) for form in forms)
    return "BIGINT" if is_whole else "DOUBLE"


def other_mark(mark: Mark) -> Mark:
    """Return the decimal mark that separates thousands where `mark` is the decimal mark."""
    return "," if mark == "." else "."


def is_plain(forms: Sequence[NumberForm], mark: Mark) -> bool:
    """Return whether DuckDB casts all numbers directly, without their percent signs."""
    others = " ,'_" if mark == "." else " ,.'_"
    return all(form.is_bare and not any(char in form.core for char in others) for form in forms)


def digits_sql(text: str, forms: Sequence[NumberForm], mark: Mark) -> str:
    """Return SQL of the number in the cell `text` in DuckDB's notation; without its sign unless all are plain."""
    if is_plain(forms, mark):
        return f"rtrim({text}, ' %')" if any(form.percent for form in forms) else text
    core = f"regexp_extract({text}, '{_LEADING_SQL if any(form.leading_mark for form in forms) else _CORE_SQL}', 1)"
    number = _unmarked(core, mark)
    if any(mark not in form.fits for form in forms):
        other = other_mark(mark)
        number = f"CASE WHEN {_is_other(core, other)} THEN {_unmarked(core, other)} ELSE {number} END"
    return number


def number_sql(text: str, forms: Sequence[NumberForm], mark: Mark, type_name: str) -> str:
    """Return SQL of the number in the cell `text`, for cells of these forms; NULL for those without digits."""
    digits = digits_sql(text, forms, mark)
    has_percents, has_exponents = any(form.percent for form in forms), any(form.has_exponent for form in forms)
    if has_percents and not has_exponents:
        # A division would not always give the double nearest to the number.
        digits = f"concat({digits}, CASE WHEN contains({text}, '%') THEN 'e-2' END)"
    sql = f"TRY_CAST({digits} AS {type_name})"
    if any(form.negative for form in forms) and not is_plain(forms, mark):
        sql = rf"{sql} * CASE WHEN regexp_matches({text}, '^[^0-9]*[-(]|[0-9] ?-$') THEN -1 ELSE 1 END"
    if words := sorted({form.scale for form in forms if form.scale}, key=len, reverse=True):
        cases = " ".join(
            rf"WHEN regexp_matches({text}, {literal('[0-9] ?' + re.escape(word))}) "
            f"THEN {factor_of(word) or factor_of(word.upper()):.0f}"
            for word in words
        )
        sql = f"{sql} * CASE {cases} ELSE 1 END"
    if has_percents and has_exponents:
        sql = f"{sql} / CASE WHEN contains({text}, '%') THEN 100 ELSE 1 END"
    return sql


def _unmarked(core: str, mark: Mark) -> str:
    """Return SQL of the digits in DuckDB's notation."""
    return f"translate({core}, ' ,''_', '')" if mark == "." else f"translate({core}, ',. ''_', '.')"


def _is_other(core: str, other: Mark) -> str:
    """Return SQL that is true if the number fits only the decimal mark `other`."""
    mark = "." if other == "," else ","
    # A group of other than three digits, or the other mark last.
    return (
        rf"regexp_matches({core}, '\{other}[0-9]*$') AND NOT regexp_full_match({core}, "
        rf"'[0-9]{{1,3}}([ \{other}''][0-9]{{3}})+(\{mark}[0-9]*)?')"
    )


def currency_sql(text: str, forms: Iterable[tuple[str, NumberForm]]) -> str:
    """Return SQL of the currency's code in the cell `text`; `forms` are shapes with what they show."""
    signs: dict[str, str] = {}
    for shape, form in forms:
        if form.currency:
            letters = re.sub(r"[\d.,' _%+()-]*\d[\d.,' _%+()-]*", "\0", "".join(map(ascii_of, shape)))
            for sign in letters.split("\0"):
                if sign.strip() and currency_of(_without_scale(sign)) == form.currency:
                    signs[_without_scale(sign)] = form.currency
    cases = " ".join(
        f"WHEN contains({text}, {literal(sign)}) THEN {literal(signs[sign])}"
        for sign in sorted(signs, key=len, reverse=True)
    )
    return f"CASE {cases} END" if cases else "NULL"


def _without_scale(sign: str) -> str:
    return _scale_of(sign.strip())[1] or sign.strip()

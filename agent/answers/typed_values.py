"""Figures and names that a model typed into a text: they are allowed only if somebody said them before."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from babel.numbers import list_currencies

from datasphinx.agent.core.text import capitalised

REFERENCE = "\ufffc"
"""Stands for a reference in a text whose typed parts are checked."""

_SEPARATORS = ".,'\u2019\u00a0\u202f \u066b\u066c"
_FIGURE = re.compile(rf"0+(?:[{_SEPARATORS}]0+)*|n+|h{{2,}}")
"""A figure in the kinds of its characters; see `_kind`."""
_SEPARATOR = re.compile(r"\D")
_DIGITS = re.compile(r"\d+")
_SPACES = " \u00a0\u202f"
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_MONTH_OF_DATE = re.compile(r"\d{4}-(\d{2})")
_WORD = re.compile(r"[^\W\d_]+")
_CODE_AFTER, _CODE_BEFORE = re.compile(r"[ \u00a0\u202f]?([A-Z]{3})\b"), re.compile(r"\b([A-Z]{3})[ \u00a0\u202f]?$")
_POWERS = ("\u00b2", "\u00b3")
"""Signs that make an area or volume of the unit before them."""
_PER = "%\u2030\u066a"
_SENTENCE_START = re.compile(r"(?:^|[.!?:\u2026\u3002\uff01\uff1f\n])[\s\"'(\u00ab\u201c\u201e]*$")
_SHORT = 3
"""Names with fewer letters are compared with regard to case."""


class Figure(NamedTuple):
    """A figure in a text: the numbers or parts of a date that it may mean, and the sign or letters of its unit."""

    text: str
    meanings: frozenset[Any]
    unit: str
    start: int = 0
    end: int = 0
    """The place of its digits."""


class Shown(NamedTuple):
    """A value of the rows as a text shows it."""

    text: str
    is_label: bool = False
    """Whether its figures are no amounts, as those of years and codes, so that letters may stand at them."""
    may_be_percent: bool = False
    """Whether it is a percentage, as far as its expression tells."""


@dataclass(frozen=True)
class Said:
    """What a model may repeat in its own words: the user's question, other known texts, and values of the statement."""

    question: str
    texts: Sequence[str] = ()
    literals: Sequence[Any] = ()
    units: Sequence[str] = ()
    """Texts whose units it may use, but not their figures: those above the tables of files."""
    written: Sequence[str] = ()
    """Texts that the statement writes, whose names may be repeated, but not their figures."""

    @cached_property
    def text(self) -> str:
        """All of it as one text."""
        return "\n".join([self.question, *self.texts, *map(str, self.literals)])

    @cached_property
    def folded(self) -> str:
        """The text with what is written, for comparisons of names without regard to case."""
        return "\n".join([self.text, *self.written]).casefold()

    @cached_property
    def figures(self) -> frozenset[tuple[Any, str]]:
        """The meanings of its figures, with and without their units."""
        dates = {(_sorted_parts(match.groups()), "") for match in _DATE.finditer(self.text)}
        figures = list(figures_in(self.text))
        found = {(meaning, unit) for one in figures for meaning in one.meanings for unit in ("", one.unit)}
        return frozenset(found | dates)


def unsupported(text: str, said: Said, names: Collection[str] = ()) -> tuple[str, ...]:
    """Return the problems of a text of a model without rows: figures, and those of `names`, that nobody said."""
    if "{" in text or "}" in text:
        return ("there are no rows that {...} could refer to",)
    return typed_problems(text, said, names, "nobody gave it, so leave it out")


def typed_problems(text: str, said: Said, names: Collection[str], remedy: str = "refer to a column") -> tuple[str, ...]:
    """Return the figures of `text`, and those of `names` in it, that are not in `said`, as sentences with `remedy`."""
    figures = (one for one in figures_in(text) if said.figures.isdisjoint((each, one.unit) for each in one.meanings))
    return (
        *(f'the figure "{one.text}" is typed; {remedy}' for one in figures),
        *(f'the name "{name}" is typed; {remedy}' for name in _typed_names(text, said, names)),
    )


def composed_figures(text: str, typed: str, shown: Iterable[Shown], said: Said) -> Iterator[str]:
    """Yield a problem for each figure of `text` that is neither one of the values `shown` in it nor one of `typed`.

    What is typed at a value makes another figure of it: a sign, digits, a letter, a separator between two values, a
    currency or per cent. The unit of a value may be `said`.
    """
    known, labels = set(map(_whole, _placed(typed))), set[tuple[str, str]]()
    for value in shown:
        for whole in map(_whole, _placed(value.text)):
            known |= {whole, whole._replace(unit="%")} if value.may_be_percent and not whole.unit else {whole}
            labels |= {(whole.sign, whole.digits)} if value.is_label else set()
    for before, figure, after in _placed(text):
        whole = _whole((before, figure, after))
        is_label = (whole.sign, whole.digits) in labels and not (whole.unit and not whole.unit.isalpha())
        plain = whole._replace(unit="", code="")
        is_said = plain in known and all(_says_unit(said, unit) for unit in (whole.unit, whole.code) if unit)
        if whole not in known and not is_label and not is_said:
            yield f'"{figure.text}" is no figure of the rows: remove what is typed at it, or give its column a format'


class _Whole(NamedTuple):
    """A figure with what belongs to it: a minus sign, a letter before it, its unit, and the code of a currency."""

    sign: str
    letter: str
    digits: str
    unit: str
    code: str


def _placed(text: str) -> Iterator[tuple[str, Figure, str]]:
    """Yield each figure of a text, without characters that have no form, with what stands before and after it."""
    text = "".join(one for one in text if unicodedata.category(one) != "Cf")
    for figure in figures_in(text):
        yield text[: figure.start], figure, text[figure.end :]


def _whole(placed: tuple[str, Figure, str]) -> _Whole:
    before, figure, after = placed
    letter = before[-1:] if before[-1:].isalpha() and unicodedata.category(before[-1]) != "Lo" else ""
    ahead = before.rstrip(_SPACES)
    if ahead and unicodedata.category(ahead[-1]) == "Sc":
        before = ahead[:-1]
    sign, outside = before[-1:], before[-2:-1]
    is_minus = bool(sign) and (unicodedata.category(sign) == "Pd" or "MINUS" in unicodedata.name(sign, ""))
    codes = [_CODE_AFTER.match(after), _CODE_BEFORE.search(before)]
    code = next((found[1] for found in codes if found and found[1] in list_currencies()), "")
    digits = "".join(str(unicodedata.decimal(one, one)) for one in figure.text[: figure.end - figure.start])
    is_sign = is_minus and not is_one_word(outside, digits[0])
    return _Whole("-" if is_sign else "", letter, digits, "" if figure.unit.upper() == code else figure.unit, code)


def _says_unit(said: Said, unit: str) -> bool:
    """Return whether a unit other than per cent was said, as a word of its own and not of a number."""
    text, unit = "\n".join([said.folded, *said.units]).casefold(), unit.casefold()
    places = _mentions(text, unit) if unit not in _PER else ()
    return any(not text[:start].rstrip(_SPACES)[-1:].isdigit() for start in places)


def typed_periods(text: str, said: Said, periods: Iterable[tuple[Collection[int], Collection[str]]]) -> Iterator[str]:
    """Yield a problem for each of `periods`, with their months and names, that is in `text`, but not in `said`.

    A name is in the text as it is or capitalised; a date says its month.
    """
    dated = {int(month) for month in _MONTH_OF_DATE.findall(said.text)}
    for months, names in periods:
        forms = (form for name in names for form in (name, capitalised(name)))
        typed = next((form for form in forms if _is_in(text, form)), None)
        is_said = not dated.isdisjoint(months) or any(_is_in(said.folded, name.casefold()) for name in names)
        if typed and not is_said:
            yield f'the name "{typed}" is typed; refer to a column'


def says_more(name: str, said: Said, names: Collection[str]) -> bool:
    """Return whether the name of a column has digits, or one of `names` among other words, that nobody said.

    The digits may be part of those that were said, as in `winter_2024_25` for the days from 2024-12-01 on.
    """
    others = [one for one in names if one.casefold() != name.casefold()]
    is_typed = any(digits not in said.text for digits in _DIGITS.findall(name))
    return is_typed or bool(unsupported(_DIGITS.sub(" ", name.replace("_", " ")), said, others))


def without_figures(name: str, said: Said) -> str:
    """Return the name of a column without the digits that nobody said: `orders` for `orders_98765`."""
    kept = _DIGITS.sub(lambda digits: digits[0] if digits[0] in said.text else " ", name.replace("_", " "))
    return ("_" if "_" in name else " ").join(kept.split())


def figures_in(text: str) -> Iterator[Figure]:
    """Yield the figures of `text`: digits of any script, and Chinese numerals of at least two characters."""
    kinds, at = "".join(map(_kind, text)), 0
    while match := _FIGURE.search(kinds, at):
        start = match.start()
        written = "".join(str(unicodedata.decimal(one, one)) for one in text[start : match.end()])
        digits = _grouped(written) if match[0][0] == "0" else written
        at = start + len(digits)
        if digits in _POWERS and unicodedata.category(text[start - 1 : start] or " ") in {"Ll", "Lu"}:
            continue
        unit = _unit(text[:start], text[at:])
        yield Figure(text[start:at] + unit, _meanings(digits), unit, start, at)


def _kind(character: str) -> str:
    """Return "0" for a digit, "n" for another sign of a number, "h" for a letter that is a numeral."""
    if unicodedata.decimal(character, None) is not None:
        return "0"
    if unicodedata.normalize("NFKC", character)[0].isdecimal() or "KEYCAP" in unicodedata.name(character, ""):
        return "n"
    if unicodedata.numeric(character, None) is None:
        return character if character in _SEPARATORS else "_"
    return "n" if unicodedata.category(character).startswith("N") else "h"


def _grouped(digits: str) -> str:
    """Return `digits` up to the first space that does not separate groups of three."""
    for match in _SEPARATOR.finditer(digits):
        before = _SEPARATOR.split(digits[: match.start()])
        after = _SEPARATOR.split(digits[match.end() :])[0]
        if match[0] in _SPACES and (len(before[0]) > 3 or len(after) != 3):
            return digits[: match.start()]
    return digits


def _meanings(digits: str) -> frozenset[Any]:
    if not digits[0].isdecimal():
        return frozenset([digits])
    parts, separators = _SEPARATOR.split(digits), _SEPARATOR.findall(digits)
    meanings: set[Any] = set()
    if len(set(separators)) <= 1 and _are_groups(parts):
        meanings.add(Decimal("".join(parts)))
    if separators and separators.count(separators[-1]) == 1 and _are_groups(parts[:-1]):
        meanings.add(Decimal(f"{''.join(parts[:-1])}.{parts[-1]}"))
    return frozenset(meanings or [_sorted_parts(parts)])


def _are_groups(parts: Sequence[str]) -> bool:
    return len(parts) == 1 or (len(parts[0]) <= 3 and all(len(part) == 3 for part in parts[1:]))


def _sorted_parts(parts: Sequence[str]) -> tuple[int, ...]:
    return tuple(sorted(map(int, parts)))


def _unit(before: str, after: str) -> str:
    """Return the sign of a currency or per cent beside a figure, or the letters or numeral that follow it at once."""
    following = after.lstrip(_SPACES)[:1]
    for sign in (following, before.rstrip(_SPACES)[-1:]):
        plain = unicodedata.normalize("NFKC", sign)
        if plain and (unicodedata.category(plain[0]) == "Sc" or (sign is following and plain in _PER)):
            return plain
    is_numeral = bool(following) and unicodedata.numeric(following, None) is not None and not following.isdecimal()
    numeral = following if is_numeral else ""
    letters = _WORD.match(after)
    suffix = letters[0] if letters and unicodedata.category(letters[0][0]) != "Lo" else ""
    return (suffix or numeral).casefold()


def _typed_names(text: str, said: Said, names: Collection[str]) -> list[str]:
    """Return the names in `text`, whole or by a capitalised word of them, that are not in `said`."""
    # Characters without a form of their own do not make another name.
    text = "".join(one for one in unicodedata.normalize("NFKC", text) if unicodedata.category(one) != "Cf")
    folded = text.casefold()
    typed = [
        name
        for name in names
        if any(map(str.isalpha, name))
        and (_is_in(text, name) if len(name) < _SHORT else _is_in(folded, name.casefold()))
        and not _is_in(said.folded, name.casefold())
    ]
    words = {word for name in names for word in _WORD.findall(name) if len(word) >= _SHORT and word[0].isupper()}
    last_words = {found[-1] for name in names if (found := _WORD.findall(name))}
    cased = "".join(" " if unicodedata.category(one) == "Lo" else one for one in text)
    for match in _WORD.finditer(cased):
        known = last_words if _SENTENCE_START.search(text[: match.start()]) else words
        if match[0] in words & known and not _is_in(said.folded, match[0].casefold()):
            typed.append(match[0])
    return list(dict.fromkeys(typed))


def _is_in(text: str, name: str) -> bool:
    """Return whether `name` is in `text` as words of its own."""
    return next(_mentions(text, name), None) is not None


def _mentions(text: str, name: str) -> Iterator[int]:
    """Yield where `name` is in `text` as words of its own; letters of scripts without case need no spaces."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not is_one_word(text[at - 1 : at], name[0]) and not is_one_word(name[-1], text[end : end + 1]):
            yield at
        at = text.find(name, at + 1)


def is_one_word(left: str, right: str) -> bool:
    """Return whether two characters beside each other belong to one word or figure."""
    return left.isalnum() and right.isalnum() and "Lo" not in (unicodedata.category(left), unicodedata.category(right))

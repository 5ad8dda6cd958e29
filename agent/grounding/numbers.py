"""Figures of a text, in digits and in words: their readings, units and tolerance."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from math import isfinite, nan
from typing import Literal, NamedTuple, cast

from agent.grounding.vocabulary import NumberWord, all_vocabularies, vocabulary_of
from agent.messages import CONVENTIONS, Language, language_of

Kind = Literal["plain", "percent", "points", "times", "ordinal"]

_LETTERS = {"k": 1e3, "m": 1e6, "b": 1e9}
"""Scales only if they follow the digits directly; otherwise they may be units of measure."""

_GROUP = "[ ,.'’\u00a0\u2009\u202f]"
_FIGURE = re.compile(
    rf"(?P<sign>(?:(?<![\w.,])[-−]|(?i:\bminus|\bминус)\s|(?<!\d)(?:零下|负))\s?[$€£¥₽]?)?"
    rf"(?P<digits>\d{{1,3}}(?P<group>{_GROUP})\d{{3}}(?!\d)(?:(?P=group)\d{{3}}(?!\d))*(?:[.,]\d+)?|\d+(?:\.\d+){{2,}}|\d+(?:[.,]\d+)?)"
    rf"(?:[eE](?P<exponent>[-+]?\d{{1,3}})(?!\w))?"
)


class _Words(NamedTuple):
    """The words of all languages next to figures, since a text can have names and units of another one."""

    scales: dict[str, float]
    """By name in lower case; a name in Latin or Cyrillic letters may have one of a few endings."""
    scale: re.Pattern[str]
    units: tuple[tuple[re.Pattern[str], Kind], ...]
    ordinal_after: re.Pattern[str]
    ordinal_before: re.Pattern[str]


@cache
def _words() -> _Words:
    every = [vocabulary.figures for vocabulary in all_vocabularies()]

    def either(parts: Iterable[str]) -> str:
        return "|".join(filter(None, parts))

    scales = {name: factor for words in every for name, factor in words.scales.items()}
    names = "|".join(sorted(scales, key=len, reverse=True))
    endings = either(words.scale_endings for words in every)
    return _Words(
        scales,
        re.compile(
            rf"[\s\u00a0]*[多余]?(?:({names})(?:{endings})?(?![A-Za-zА-Яа-я])|(?<=\d)([kmbKMB])(?!\w))", re.IGNORECASE
        ),
        (
            (re.compile(rf"\s*(?:{either(words.points for words in every)})", re.IGNORECASE), "points"),
            (re.compile(rf"\s*(?:[%％]|{either(words.percent for words in every)})", re.IGNORECASE), "percent"),
            (re.compile(rf"\s*(?:{either(words.times for words in every)})", re.IGNORECASE), "times"),
        ),
        re.compile(either(words.ordinal_after for words in every), re.IGNORECASE),
        re.compile(rf"(?:№\s?|#|{either(words.ordinal_before for words in every)})$", re.IGNORECASE),
    )


_MARKER_AFTER = re.compile(r"[.)、](?:\s|\*)")


@dataclass(frozen=True)
class Figure:
    """A number in a text.

    `readings` are its possible values, each with its number of decimals; empty for a code such as 2.14.1. `factor` is
    its scale, such as 1e6 for "million". `is_word` is True for a number in words. `end` is the end of its unit.
    """

    text: str
    start: int
    end: int
    readings: tuple[tuple[float, int], ...]
    kind: Kind
    factor: float = 1.0
    is_word: bool = False

    @property
    def number_end(self) -> int:
        """The end of the number, before its unit."""
        return self.start + len(self.text)

    @property
    def value(self) -> float:
        """The value of the first reading, with its scale."""
        return self.readings[0][0] * self.factor if self.readings else nan

    @property
    def is_whole(self) -> bool:
        """Whether this is a plain whole number, which may be a count."""
        plain = self.kind == "plain" and self.factor == 1 and isfinite(self.value)
        return plain and self.value == int(self.value) and not self.readings[0][1]


def figures_of(text: str, with_words: bool = False, asked: Language | None = None) -> list[Figure]:
    """Return the figures of `text` in order, with `with_words` also numbers in words.

    Figures in digits may also be written as in the language `asked` of the question: the names in a short sentence do
    not tell its language.
    """
    language = language_of(text)
    languages = dict.fromkeys([language, asked or language])
    figures = [_figure(match, text, languages) for match in _FIGURE.finditer(text)]
    spans = [(figure.start, figure.end) for figure in figures]
    for word in vocabulary_of(language).number_words(text) if with_words else ():
        inside = [span for span in spans if span[0] < word.end and word.start < span[1]]
        if not inside:
            figures.append(_word_figure(word, text))
        elif word.kind != "plain":
            figures = [figure for figure in figures if (figure.start, figure.end) not in inside]
            figures.append(_word_figure(word, text))
    return sorted(figures, key=lambda figure: figure.start)


def _word_figure(word: NumberWord, text: str) -> Figure:
    kind, factor, end = cast(Kind, word.kind), 1.0, word.end
    if kind == "plain":
        for pattern, unit in _words().units:
            if match := pattern.match(text, end):
                kind, end = unit, match.end()
                break
        else:
            if match := _words().scale.match(text, end):
                factor, end = _words().scales.get((match[1] or "").lower(), 1.0), match.end()
    value = word.value
    scale = next((scale for scale in (1e9, 1e6, 1e3) if value >= scale), 1.0)
    if scale > 1 and kind == "plain" and factor == 1 and (10 * value / scale).is_integer():
        value, factor = value / scale, scale
    return Figure(
        text[word.start : word.end], word.start, end, ((value, 0 if value % 1 == 0 else 1),), kind, factor, True
    )


def spans_of(figure: Figure, text: str, falls: bool = False) -> list[tuple[float, float]]:
    """Return the intervals of values that `figure` may state, without its scale; with `falls`, of either sign."""
    spans = []
    for value, decimals in figure.readings:
        below, above = _room(figure, value, decimals, text)
        spans.append((value - below, value + above))
        if falls and value > 0:
            spans.append((-value - above, -value + below))
    return spans


def hedge_of(figure: Figure, text: str) -> str:
    """Return "over", "under", "at_least", "at_most" or "about" by the words around `figure`; empty if none applies."""
    # Names in the rest of the sentence may be in another language.
    words = vocabulary_of(language_of(text[max(0, figure.start - 30) : figure.end + 10]))
    before = text[max(0, figure.start - 30) : figure.start]
    starts = [before]
    if figure.is_word and figure.kind == "times":
        starts += [before[:-size] for size in range(1, 14)]
    for name in ("at_least", "at_most", "over", "under", "about"):
        if any(getattr(words, name).search(start) for start in starts):
            return name
    if words.at_least_after.match(text, figure.number_end) or words.at_least_after.match(text, figure.end):
        return "at_least"
    if words.over_after.match(text, figure.number_end) or words.over_after.match(text, figure.end):
        return "over"
    return "about" if words.about_after.match(text, figure.end) else ""


_HALF = 0.5 + 1e-9


def _room(figure: Figure, value: float, decimals: int, text: str) -> tuple[float, float]:
    """Return the tolerance below and above a stated value.

    It is half a unit of the last digit; after "about" half a unit of the last non-zero digit, up to 5 %; after "over"
    or "nearly" a whole unit of it on that side, up to 10 %. The tolerance of a fraction in words is 3 %, that of a
    multiple of 2 or more 5 %.
    """
    hedge = hedge_of(figure, text)
    if figure.is_word and figure.kind == "times":
        half = abs(value) * (0.03 if value < 2 else 0.05)
        about, aside = abs(value) * 0.12, abs(value) * (0.4 if value < 1 else 0.45)
    else:
        half = _HALF * 10**-decimals
        digits = re.sub(r"\D", "", figure.text if not figure.is_word else str(int(value)))
        unit = 10.0 ** (-decimals if decimals else len(digits) - len(digits.rstrip("0")))
        about, aside = max(half, min(unit / 2, abs(value) * 0.05)), max(half, min(unit, abs(value) * 0.1))
    limit = half if figure.kind == "times" else abs(value) * 0.005
    if hedge in {"over", "at_least"}:
        return min(half, limit), aside
    if hedge in {"under", "at_most"}:
        return aside, min(half, limit)
    return (about, about) if hedge == "about" else (half, half)


def factors_named(texts: Iterable[str]) -> set[float]:
    """Return the factors of separate scale words in `texts`, such as in a column `revenue_mln`.

    >>> factors_named(["revenue, mln"])
    {1000000.0}
    """
    contents, scales = list(texts), _words().scales
    words = {word for text in contents for word in re.findall(r"[^\W\d_]+", text.lower())}
    # Chinese has no spaces: a scale may end a longer run of characters.
    chinese = {
        name for name in scales if "\u4e00" <= name[0] <= "\u9fff" and any(word.endswith(name) for word in words)
    }
    factors = {factor for name, factor in scales.items() if words & {name, f"{name}s"} or name in chinese}
    return factors | {
        scales[scale] for text in contents for scale in re.findall(r"[（(_\s]\s*(千|万|百万|千万|亿)(?=[^\W\d_])", text)
    }


def _figure(match: re.Match[str], text: str, languages: Iterable[Language]) -> Figure:
    kind, factor, end = _unit(match, text)
    factor *= float(f"1e{match['exponent']}") if match["exponent"] else 1.0
    sign = -1.0 if match["sign"] else 1.0
    values = dict.fromkeys(value for language in languages for value in _readings(match["digits"], language))
    readings = tuple((sign * value, decimals) for value, decimals in values)
    return Figure(match.group().strip(), match.start(), end, readings, kind, factor)


def _unit(match: re.Match[str], text: str) -> tuple[Kind, float, int]:
    before, at = text[max(0, match.start() - 24) : match.start()], match.end()
    for pattern, kind in _words().units:
        if suffix := pattern.match(text, at):
            return kind, 1.0, suffix.end()
    if before.endswith("百分之"):
        return "percent", 1.0, at
    if _is_ordinal(match, text, before):
        return "ordinal", 1.0, at
    if suffix := _words().scale.match(text, at):
        word = (suffix[1] or suffix[2]).lower()
        return "plain", _words().scales.get(word) or _LETTERS[word], suffix.end()
    return "plain", 1.0, at


def _is_ordinal(match: re.Match[str], text: str, before: str) -> bool:
    if not match.group().isdecimal() or len(match.group()) > 4:
        return False
    starts_line = not text[: match.start()].rpartition("\n")[2].strip(" *-#|")
    marks_item = starts_line and _MARKER_AFTER.match(text, match.end())
    return bool(_words().ordinal_after.match(text, match.end()) or _words().ordinal_before.search(before) or marks_item)


def _readings(digits: str, language: Language) -> Iterator[tuple[float, int]]:
    """Yield value and number of decimals: a comma or point is either a decimal sign or groups thousands.

    Before three digits, the separator of thousands of the language is no decimal sign. In Russian it is neither: there
    a comma can be a decimal sign, except before three zeros, since a row with 12 does not support "12,000".
    """
    grouping = CONVENTIONS[language].grouping
    plain = re.sub("[ '’\u00a0\u2009\u202f]", "", digits)
    for group, decimal in ((",", "."), (".", ",")):
        whole, mark, fraction = plain.rpartition(decimal) if decimal in plain else (plain, "", "")
        groups = whole.split(group)
        if decimal in whole or group in fraction or any(len(part) != 3 for part in groups[1:]):
            continue
        may_group = len(fraction) == 3 and whole != "0" and len(groups) == 1
        if may_group and (decimal == grouping if grouping in ",." else fraction == "000"):
            continue
        yield float("".join(groups) + mark.replace(",", ".") + fraction), len(fraction)
        if not mark and len(groups) == 1:
            return

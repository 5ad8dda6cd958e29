"""Figures as they stand in a text: what they may be read as, and the words around them that say how they are meant."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from agent.messages import Language, language_of

Kind = Literal["plain", "percent", "points", "times", "ordinal"]

SCALES = {
    "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "mn": 1e6, "mln": 1e6, "bn": 1e9, "tn": 1e12,
    "тыс": 1e3, "тысяч": 1e3, "млн": 1e6, "миллион": 1e6, "млрд": 1e9, "миллиард": 1e9, "трлн": 1e12,
    "千": 1e3, "万": 1e4, "十万": 1e5, "百万": 1e6, "千万": 1e7, "亿": 1e8, "十亿": 1e9, "万亿": 1e12,
}  # fmt: skip
_LETTERS = {"k": 1e3, "m": 1e6, "b": 1e9}
"""These are scales only where they stand right at the digits: apart from them they may be a unit of measure."""

_GROUP = "[ ,.'’\u00a0\u2009\u202f]"
_FIGURE = re.compile(
    rf"(?P<sign>(?<![\w.,])[-−]\s?[$€£¥₽]?)?"
    rf"(?P<digits>\d{{1,3}}(?P<group>{_GROUP})\d{{3}}(?!\d)(?:(?P=group)\d{{3}}(?!\d))*(?:[.,]\d+)?|\d+(?:\.\d+){{2,}}|\d+(?:[.,]\d+)?)"
    rf"(?:[eE](?P<exponent>[-+]?\d{{1,3}})(?!\w))?"
)
_POINTS = re.compile(
    r"\s*(?:percentage[ -]points?|pp\b|p\.p\.|п\.\s?п\.?|проц\w*\s+пункт\w*|(?:个)?百分点)", re.IGNORECASE
)
_PERCENT = re.compile(r"\s*(?:[%％]|per\s?cent\b|процент\w*)", re.IGNORECASE)
_TIMES = re.compile(r"\s*(?:times\b|[x×х](?!\w)|-?fold\b|-?кратн\w*|раза?\b|倍)", re.IGNORECASE)
_WORD_OF_SCALE = re.compile(
    rf"[\s\u00a0]*[多余]?(?:({'|'.join(sorted(SCALES, key=len, reverse=True))})(?:s|а|ов|и|у|ам|ах)?(?![A-Za-zА-Яа-я])"
    rf"|(?<=\d)([kmbKMB])(?!\w))",
    re.IGNORECASE,
)
_ORDINAL_AFTER = re.compile(r"(?:st|nd|rd|th)\b|-(?:й|я|е|м|го|му|ой|ю|х)\b|\s+мест[оеа]\b", re.IGNORECASE)
_ORDINAL_BEFORE = re.compile(
    r"(?:第|№\s?|#|\bno\.\s?|\b(?:top|first|last|bottom|rank(?:ed|s)?)[\s-]|\bтоп[\s-]|\b(?:перв|последн)\w+\s"
    r"|[前后]|排名|\bplaces?\s|\bмест[оае]м?\s)$",
    re.IGNORECASE,
)
_MARKER_AFTER = re.compile(r"[.)、](?:\s|\*)")


@dataclass(frozen=True)
class Figure:
    """A number in a text.

    `readings` are the values that it may have, each with its number of decimals, none for a code such as 2.14.1;
    `factor` is that of its word of scale, such as 1e6 for "million".
    """

    text: str
    start: int
    end: int
    readings: tuple[tuple[float, int], ...]
    kind: Kind
    factor: float = 1.0


def figures_of(text: str) -> list[Figure]:
    """Return the figures of `text` in their order; numbers in words are none."""
    language = language_of(text)
    return [_figure(match, text, language) for match in _FIGURE.finditer(text)]


def factors_named(texts: Iterable[str]) -> set[float]:
    """Return the factors of the words of scale that stand by themselves in `texts`, as in a column `revenue_mln`."""
    words = {word for text in texts for word in re.findall(r"[^\W\d_]+", text.lower())}
    return {factor for name, factor in SCALES.items() if words & {name, f"{name}s"} or _in_chinese(name, words)}


def _in_chinese(name: str, words: set[str]) -> bool:
    return not name.isascii() and "\u4e00" <= name[0] <= "\u9fff" and any(word.endswith(name) for word in words)


def _figure(match: re.Match[str], text: str, language: Language) -> Figure:
    kind, factor, end = _unit(match, text)
    factor *= float(f"1e{match['exponent']}") if match["exponent"] else 1.0
    sign = -1.0 if match["sign"] else 1.0
    readings = tuple((sign * value, decimals) for value, decimals in _readings(match["digits"], language))
    return Figure(match.group().strip(), match.start(), end, readings, kind, factor)


def _unit(match: re.Match[str], text: str) -> tuple[Kind, float, int]:
    before, at = text[max(0, match.start() - 24) : match.start()], match.end()
    kinds: tuple[tuple[re.Pattern[str], Kind], ...] = ((_POINTS, "points"), (_PERCENT, "percent"), (_TIMES, "times"))
    for pattern, kind in kinds:
        if found := pattern.match(text, at):
            return kind, 1.0, found.end()
    if before.endswith("百分之"):
        return "percent", 1.0, at
    if _is_ordinal(match, text, before):
        return "ordinal", 1.0, at
    if found := _WORD_OF_SCALE.match(text, at):
        word = (found[1] or found[2]).lower()
        return "plain", SCALES.get(word) or _LETTERS[word], found.end()
    return "plain", 1.0, at


def _is_ordinal(match: re.Match[str], text: str, before: str) -> bool:
    if not match.group().isdecimal() or len(match.group()) > 4:
        return False
    starts_line = not text[: match.start()].rpartition("\n")[2].strip(" *-#|")
    marks_item = starts_line and _MARKER_AFTER.match(text, match.end())
    return bool(_ORDINAL_AFTER.match(text, match.end()) or _ORDINAL_BEFORE.search(before) or marks_item)


def _readings(digits: str, language: Language) -> Iterator[tuple[float, int]]:
    """Yield value and number of decimals: a comma or point is either a decimal sign or groups thousands.

    Only in Russian a comma before three digits can be a decimal sign, and never before three zeros: a row with 12
    must not vouch for "12,000".
    """
    plain = re.sub("[ '’\u00a0\u2009\u202f]", "", digits)
    for group, decimal in ((",", "."), (".", ",")):
        whole, mark, fraction = plain.rpartition(decimal) if decimal in plain else (plain, "", "")
        groups = whole.split(group)
        if decimal in whole or group in fraction or any(len(part) != 3 for part in groups[1:]):
            continue
        may_group = len(fraction) == 3 and whole != "0" and len(groups) == 1
        if may_group and (fraction == "000" if language == "ru" else decimal == ","):
            continue
        yield float("".join(groups) + mark.replace(",", ".") + fraction), len(fraction)
        if not mark and len(groups) == 1:
            return

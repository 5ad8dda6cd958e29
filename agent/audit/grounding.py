"""No invented numbers: which figures of a text cannot be found in the rows that it speaks of."""

import re
from collections.abc import Iterable
from typing import Any

from agent.messages import Language, language_of
from agent.sql.result import Result

_FIGURE = re.compile(
    r"(?:(?<![\w.,])[-−])?\d+(?:[ ,.\u00a0\u202f]\d{3}(?!\d))*(?:[.,]\d+)?(?:[eE][-+]?\d+)?",
)
_SCALES = {
    "thousand": 1e3, "million": 1e6, "billion": 1e9, "k": 1e3, "m": 1e6, "bn": 1e9,
    "тыс": 1e3, "млн": 1e6, "млрд": 1e9, "千": 1e3, "万": 1e4, "百万": 1e6, "亿": 1e8,
}  # fmt: skip
_LARGEST = 1e300
_UNIT = re.compile(r"\s*(%|百万|[千万亿]|[A-Za-zА-Яа-я]+)")


def ungrounded_figures(text: str, result: Result, question: str) -> list[str]:
    """Return the figures in `text` that are no value of `result`, also not rounded, scaled or as a percentage.

    The number of rows and columns, the figures of the question, and figures inside text values (dates, codes) count
    as found.
    """
    known, language = _numbers(result, question), language_of(text)
    missing = []
    for match in _FIGURE.finditer(text):
        unit = _UNIT.match(text, match.end())
        if not any(_is_near(stated, decimals, unit, known) for stated, decimals in _readings(match.group(), language)):
            missing.append(match.group().strip())
    return missing


def _numbers(result: Result, question: str) -> set[float]:
    values = [value for row in result["rows"] for value in row]
    numbers = (value for value in values if isinstance(value, int | float) and not isinstance(value, bool))
    found = {float(value) for value in numbers if abs(value) < _LARGEST}
    texts = [question, *result["columns"], *(value for value in values if isinstance(value, str))]
    found |= {float(number) for text in texts for number in re.findall(r"\d+(?:\.\d+)?", text)}
    return found | {float(len(result["rows"])), float(len(result["columns"]))}


def _readings(figure: str, language: Language) -> Iterable[tuple[float, int]]:
    """Yield value and number of decimals: a comma or point is either a decimal sign or groups thousands.

    Only in Russian a comma before three digits can be a decimal sign, and never before three zeros: a row with 12
    must not vouch for "12,000".
    """
    digits = figure.replace("−", "-").replace(" ", "").replace("\u00a0", "").replace("\u202f", "")
    for group, decimal in ((",", "."), (".", ",")):
        plain = digits.replace(group, "").replace(decimal, ".")
        fraction = plain.partition(".")[2]
        groups = len(fraction) == 3 and (fraction == "000" if language == "ru" else decimal == ",")
        if plain.count(".") <= 1 and not groups:
            yield float(plain), len(fraction)


def _is_near(stated: float, decimals: int, unit: Any, known: set[float]) -> bool:
    word = unit.group(1).lower().rstrip(".") if unit else ""
    scale = 0.01 if word == "%" else _SCALES.get(word, 1.0)
    half = 0.5 * 10**-decimals + 1e-9
    return any(abs(value / factor - stated) <= half for value in known for factor in {1.0, scale})

"""Dates and periods in questions."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from datasphinx.agent.embedded.date_words import DATES, MONTHS, NUMBERS

_DAY = r"(?P<day>\d{1,2})"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_CLOCK = r"(?:[T ]+(?P<clock>\d{1,2}:\d\d)(?::\d\d)?)?"
_BARE_YEAR = re.compile(r"(?<![\w.,$€£¥₽-])(?:19|20)\d\d(?![\d%]|[.,]\d|[ \u00a0]\d{3}\b)")


@dataclass(frozen=True)
class Period:
    """A date or a part of one; `clock` is a time of day. `start` and `end` are its position in the text."""

    year: int | None = None
    quarter: int | None = None
    month: int | None = None
    day: int | None = None
    clock: str | None = None
    half: int | None = None
    start: int = 0
    end: int = 0

    @property
    def is_year(self) -> bool:
        """Whether this is a whole year."""
        return bool(self.year) and not (self.quarter or self.month or self.half or self.day)


def periods_of(text: str) -> list[Period]:
    """Return the dates and periods in `text` in order, without bare years; they do not overlap."""
    periods: list[Period] = []
    for pattern in _patterns():
        for match in pattern.finditer(text):
            period = _period(match)
            is_separate = all(match.end() <= earlier.start or match.start() >= earlier.end for earlier in periods)
            if is_separate and (period.month or 1) <= 12 and (period.day or 1) <= 31:
                periods.append(period)
    return sorted(periods, key=lambda period: period.start)


def years_alone(text: str) -> list[Period]:
    """Return the bare figures of `text` that may be years."""
    return [
        Period(year=int(match.group()), start=match.start(), end=match.end()) for match in _BARE_YEAR.finditer(text)
    ]


def _period(match: re.Match[str]) -> Period:
    parts = {name: value for name, value in match.groupdict().items() if value is not None}
    clock, name = parts.pop("clock", None), parts.pop("name", None)
    numbers = {part: number_of(value) for part, value in parts.items()}
    if name:
        numbers["month"] = next(number for number, pattern in enumerate(MONTHS, 1) if re.fullmatch(pattern, name))
    if numbers.get("month", 0) > 12 and numbers.get("day", 13) <= 12:
        numbers["month"], numbers["day"] = numbers["day"], numbers["month"]
    return Period(**numbers, clock=clock and clock.zfill(5), start=match.start(), end=match.end())


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    name = "|".join(rf"(?:{month})(?![^\W\d_])" for month in MONTHS)
    patterns = (
        *(form.format(year=_YEAR) for form in DATES),
        rf"(?<!\d){_YEAR}[- ]?(?:Q|кв\.?\s?)(?P<quarter>[1-4])(?!\d)",
        rf"(?<![\w])Q(?P<quarter>[1-4])(?:[\s,’'-]+(?:of\s+)?{_YEAR})?(?!\d)",
        rf"(?<!\d)(?P<quarter>[1-4])(?:-?[йемго]+)?\s+кв(?:артал\w*|\.)(?:\s+{_YEAR})?",
        rf"(?<!\d)(?:{_YEAR}\s?年)?第?(?P<quarter>[1-4一二三四])季度",
        rf"(?<!\d){_YEAR}[-/](?P<month>\d{{1,2}})(?:[-/]{_DAY})?(?!\d){_CLOCK}",
        rf"(?<!\d){_YEAR}\.(?P<month>\d{{1,2}})\.{_DAY}(?!\d)",
        rf"(?<!\d){_DAY}[./](?P<month>\d{{1,2}})[./]{_YEAR}{_CLOCK}",
        rf"(?<!\d){_DAY}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<name>{name})(?:,?\s+{_YEAR})?",
        rf"(?<![^\W\d_])(?P<name>{name})\s+{_DAY}(?:st|nd|rd|th)?(?![\d.,]\d|\d|\s?%|,\d)(?:,?\s+{_YEAR})?(?!\s+(?:[^\W\d_]+\s+)?(?:19|20)\d\d)",
        rf"(?<![^\W\d_])(?P<name>{name})(?:\s+of)?,?\s+{_YEAR}",
        rf"(?<!\d)(?:{_YEAR}\s?年)?\s?(?P<month>\d{{1,2}})\s?月(?:\s?{_DAY}\s?[日号])?",
        rf"(?<!\d){_YEAR}\s?(?:年|год|г\.)",
        r"(?<![\d:])(?P<clock>\d{1,2}:\d\d)(?::\d\d)?(?![\d:])",
        rf"(?<![^\W\d_])(?P<name>{name})",
    )
    return tuple(map(re.compile, patterns))


def number_of(word: str) -> int:
    """Return the number that a word in a date means: digits, an ordinal, or a Chinese numeral below 100."""
    if word.isdecimal():
        return int(word)
    lower = word.lower()
    if lower[0].isdecimal():
        return int(lower[0])
    if unicodedata.numeric(lower[0], None) is not None:
        tens, is_ten, ones = lower.rpartition("十")
        return int(unicodedata.numeric(tens or "一") * 10 * bool(is_ten) + unicodedata.numeric(ones or "〇"))
    return NUMBERS[max((name for name in NUMBERS if lower.startswith(name)), key=len)]

"""Dates as they stand in a text, and whether what is known vouches for them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_MONTHS = (
    ("Jan(?:uary|\\.)?", "январ[ьяе]"), ("Feb(?:ruary|\\.)?", "феврал[ьяе]"), ("Mar(?:ch|\\.)?", "март[ае]?"),
    ("Apr(?:il|\\.)?", "апрел[ьяе]"), ("May", "ма[йяе]"), ("June?", "июн[ьяе]"), ("July?", "июл[ьяе]"),
    ("Aug(?:ust|\\.)?", "август[ае]?"), ("Sept?(?:ember|\\.)?", "сентябр[ьяе]"), ("Oct(?:ober|\\.)?", "октябр[ьяе]"),
    ("Nov(?:ember|\\.)?", "ноябр[ьяе]"), ("Dec(?:ember|\\.)?", "декабр[ьяе]"),
)  # fmt: skip
_NAME = "|".join(rf"(?:{english}|(?i:{russian}))(?![^\W\d_])" for english, russian in _MONTHS)
_MONTH_NAME = re.compile(rf"(?<![^\W\d_])(?:{_NAME})")
_DAY = r"(?P<day>\d{1,2})"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_CLOCK = r"(?:[T ]+(?P<clock>\d{1,2}:\d\d)(?::\d\d)?)?"
_CHINESE_DIGITS = {"一": 1, "二": 2, "三": 3, "四": 4}
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<!\d){_YEAR}-?(?:Q|кв\.?\s?)(?P<quarter>[1-4])(?!\d)",
        rf"(?<![\w])Q(?P<quarter>[1-4])(?:[\s,’'-]+(?:of\s+)?{_YEAR})?(?!\d)",
        rf"(?<!\d)(?P<quarter>[1-4])(?:-?[йемго]+)?\s+кв(?:артал\w*|\.)(?:\s+{_YEAR})?",
        rf"(?<!\d)(?:{_YEAR}\s?年)?第?(?P<quarter>[1-4一二三四])季度",
        rf"(?<!\d){_YEAR}[-/](?P<month>\d{{1,2}})(?:[-/]{_DAY})?(?!\d){_CLOCK}",
        rf"(?<!\d){_YEAR}\.(?P<month>\d{{1,2}})\.{_DAY}(?!\d)",
        rf"(?<!\d){_DAY}[./](?P<month>\d{{1,2}})[./]{_YEAR}{_CLOCK}",
        rf"(?<!\d){_DAY}(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<name>{_NAME})(?:,?\s+{_YEAR})?",
        rf"(?<![^\W\d_])(?P<name>{_NAME})\s+{_DAY}(?:st|nd|rd|th)?(?![\d.,]\d|\d|\s?%)(?:,?\s+{_YEAR})?",
        rf"(?<![^\W\d_])(?P<name>{_NAME})(?:\s+of)?,?\s+{_YEAR}",
        rf"(?<!\d)(?:{_YEAR}\s?年)?\s?(?P<month>\d{{1,2}})\s?月(?:\s?{_DAY}\s?[日号])?",
        rf"(?<!\d){_YEAR}\s?年",
        r"(?<![\d:])(?P<clock>\d{1,2}:\d\d)(?::\d\d)?(?![\d:])",
    )
)
_LAST_YEAR = 9999
_HINT = re.compile(rf"(?:19|20)\d\d|\d:\d\d|Q[1-4]|季度|月|кв\.|квартал|{_NAME}")
"""Without one of these a text has no date, which saves most cells from being searched for each form of one."""

_PARTS_OF_NAMES = {
    "year": re.compile(r"(?<![a-zа-я])(year|yr|год|года)(?![a-zа-я])|年"),
    "quarter": re.compile(r"(?<![a-zа-я])(quarter|qtr|квартал)(?![a-zа-я])|季度"),
    "month": re.compile(r"(?<![a-zа-я])(month|месяц)(?![a-zа-я])|月"),
    "day": re.compile(r"(?<![a-zа-я])(day|день|число)(?![a-zа-я])|日"),
}


@dataclass(frozen=True)
class Moment:
    """A date or a part of one; `clock` is a time of day. `start` and `end` are where it stands in its text."""

    year: int | None = None
    quarter: int | None = None
    month: int | None = None
    day: int | None = None
    clock: str | None = None
    start: int = 0
    end: int = 0

    def vouches_for(self, stated: "Moment", years: set[int]) -> bool:
        """Return whether all that `stated` says is so here; where no year is known here, one of `years` will do."""
        quarter = self.quarter or (self.month and (self.month - 1) // 3 + 1)
        known_years = {self.year} if self.year else years
        return (
            (stated.year is None or stated.year in known_years)
            and (stated.quarter is None or stated.quarter == quarter)
            and (stated.month is None or stated.month == self.month)
            and (stated.day is None or stated.day == self.day)
            and (stated.clock is None or stated.clock == self.clock)
        )


def moments_of(text: str) -> list[Moment]:
    """Return the dates in `text` that have a figure, in their order; each character counts for one of them only."""
    found: list[Moment] = []
    for pattern in _PATTERNS if _HINT.search(text) else ():
        for match in pattern.finditer(text):
            moment = _moment(match)
            apart = all(match.end() <= known.start or match.start() >= known.end for known in found)
            if apart and (moment.month or 1) <= 12 and (moment.day or 1) <= 31:
                found.append(moment)
    return sorted(found, key=lambda moment: moment.start)


def moments_of_row(row: Mapping[str, object]) -> Iterator[Moment]:
    """Yield the dates that the cells of a row say, and the one that its columns of years, months and days say."""
    parts: dict[str, int] = {}
    for name, value in row.items():
        if isinstance(value, str):
            yield from moments_of(value)
            named = month_named(value)
            parts |= {"month": named} if named else {}
        elif isinstance(value, int | float) and abs(value) <= _LAST_YEAR and value == int(value):
            parts |= {part: int(value) for part, names in _PARTS_OF_NAMES.items() if names.search(name.lower())}
    if parts:
        yield Moment(**parts, clock=None)


def month_named(text: str) -> int | None:
    """Return the month that `text` names in words, 1 to 12; None where it names none."""
    found = _MONTH_NAME.search(text.strip())
    return _month_of(found.group()) if found else None


def years_of(moments: Iterable[Moment]) -> set[int]:
    """Return the years that are said."""
    return {moment.year for moment in moments if moment.year}


def _moment(match: re.Match[str]) -> Moment:
    said = {name: value for name, value in match.groupdict().items() if value is not None}
    clock, name = said.pop("clock", None), said.pop("name", None)
    numbers = {part: _CHINESE_DIGITS.get(value) or int(value) for part, value in said.items()}
    if name:
        numbers["month"] = _month_of(name)
    if numbers.get("month", 0) > 12 and numbers.get("day", 13) <= 12:
        numbers["month"], numbers["day"] = numbers["day"], numbers["month"]
    return Moment(**numbers, clock=clock and clock.zfill(5), start=match.start(), end=match.end())


def _month_of(name: str) -> int:
    patterns = (rf"{english}|(?i:{russian})" for english, russian in _MONTHS)
    return next(number for number, pattern in enumerate(patterns, 1) if re.fullmatch(pattern, name))

"""Names of periods in headers: months, quarters, years, dates, days of a month."""

import re
from collections.abc import Sequence
from datetime import date

from datasphinx.agent.datasets.locale_words import months_of, plain_word

_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTH = r"(?P<month>1[0-2]|0?[1-9])"
_YEAR_NAME = re.compile(rf"(?i)(?:fy ?)?{_YEAR}(?:年|年度| ?г\.?| год[а]?)?")
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_MONTH}月",
        rf"{_YEAR}(?:[-/. ]|年){_MONTH}月?",
        rf"{_MONTH}[-/.]{_YEAR}",
        rf"{_YEAR}[-/.年]{_MONTH}[-/.月](?P<day>\d{{1,2}})日?(?:[ T]00:00(?::00)?)?",
        rf"(?P<day>\d{{1,2}})[-/.](?P<month>\d{{1,2}})[-/.]{_YEAR}",
    )
)
_WORD = re.compile(r"(?i)(?P<name>[^\W\d_]{2,12})\.?[ ,'’/-]*(?P<year>(?:19|20)?\d\d)?(?: ?г\.?| год[а]?)?")
_WORD_LAST = re.compile(r"(?i)(?P<year>(?:19|20)\d\d)[ /-]*(?P<name>[^\W\d_]{2,12})\.?")
_MONTH_FIRST = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.]((?:19|20)\d\d)")
_FULL_YEAR = re.compile(r"(?:19|20)\d\d")
_QUARTER = re.compile(
    r"(?i)(?:(?:19|20)\d\d[ /年-]*)?(?:q[1-4]|[1-4]q|[1-4] ?кв\.?|[1-4]-?й? квартал|(?:第?[一二三四1-4])季度?)"
    r"(?:[ /'-]*(?:19|20)?\d\d(?: ?г\.?| года?)?)?"
)


def is_year(text: str) -> bool:
    """Return whether the text names a year: `2024`, `2024年`, `2024 г.`, `2024*`."""
    return _YEAR_NAME.fullmatch(text.strip().rstrip("*")) is not None


def dates_of(names: Sequence[str]) -> list[date]:
    """Return the dates of names that are all months with a year or dates; empty if one is neither.

    Dates such as `1/31/2024` have the month first if that is the only order that all names allow.

    >>> dates_of(["Jan 2024"]), dates_of(["1/31/2024", "2/3/2024"]), dates_of(["Jan", "Feb"])
    ([datetime.date(2024, 1, 1)], [datetime.date(2024, 1, 31), datetime.date(2024, 2, 3)], [])
    """
    for texts in (names, [_MONTH_FIRST.sub(r"\2/\1/\3", name.strip()) for name in names]):
        dates = [date(found[0], *found[1:]) for text in texts if (found := month_of(text)) and found[0]]
        if len(dates) == len(names):
            return dates
    return []


def quarter_of(text: str) -> str | None:
    """Return a quarter with its year in the form of `by: quarter`; None for anything else.

    >>> quarter_of("Q1 2024"), quarter_of("2024 3 кв."), quarter_of("2024年第四季度"), quarter_of("Q1")
    ('2024-Q1', '2024-Q3', '2024-Q4', None)
    """
    text = text.strip()
    if not _QUARTER.fullmatch(text) or not (year := _FULL_YEAR.search(text)):
        return None
    number = re.search("[1-4一二三四]", text[: year.start()] + " " + text[year.end() :])
    return f"{year[0]}-Q{'一二三四'.find(number[0]) + 1 or number[0]}" if number else None


def month_of(text: str) -> tuple[int | None, int, int] | None:
    """Return year, month and day of a month or date; the year may be None, and the day of a month is 1.

    >>> month_of("1月"), month_of("2024-03"), month_of("Март 2024"), month_of("sales")
    ((None, 1, 1), (2024, 3, 1), (2024, 3, 1), None)
    """
    text = text.strip()
    for pattern in _PATTERNS:
        if match := pattern.fullmatch(text):
            parts = match.groupdict()
            return _checked(parts.get("year"), int(parts["month"]), int(parts.get("day") or 1))
    match = _WORD.fullmatch(text) or _WORD_LAST.fullmatch(text)
    if match and (name := plain_word(match["name"])) in (months := months_of({plain_word(match["name"])})):
        year = match["year"]
        full = None if year is None else int(year) if len(year) == 4 else 2000 + int(year)
        return full, months[name], 1
    return None


def _checked(year: str | None, month: int, day: int) -> tuple[int | None, int, int] | None:
    try:
        date(int(year or 2000), month, day)
    except ValueError:
        return None
    return int(year) if year else None, month, day


def is_period(text: str) -> bool:
    """Return whether the text names a month, quarter, year or date.

    >>> [is_period(text) for text in ("1月", "2024", "Q1 2024", "1 кв. 2024", "Jan", "2024-01-31", "sum", "12")]
    [True, True, True, True, True, True, False, False]
    """
    return (
        is_year(text)
        or month_of(text) is not None
        or month_of(_MONTH_FIRST.sub(r"\2/\1/\3", text.strip())) is not None
        or _QUARTER.fullmatch(text.strip()) is not None
    )

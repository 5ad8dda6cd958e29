"""Scales: the positions of numbers and periods along an axis, and the steps that are missing between them."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any, Literal

from agent.charts.cells import NUMERIC, Number, column, label, number, type_of_column
from agent.messages import CONVENTIONS, Language
from agent.types import Result

AxisKind = Literal["category", "value", "time"]
Unit = Literal["year", "quarter", "month", "week", "day", "time", "integer", "number"]

_MIN_COVERAGE = 0.5
"""Share of the steps that must have a row; with fewer, the axis is proportional instead."""

_YEAR_NAME = re.compile(r"(?<![a-zа-я])(years?|yr|год|годы|года)(?![a-zа-я])|年")
_MONTH_NAME = re.compile(r"month|месяц|月")
_QUARTER_NAME = re.compile(r"quarter|квартал|季")
_MICROSECOND = timedelta(microseconds=1)
_DAY = 86_400_000_000
"""Microseconds of a day."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Scale:
    """The places of the cells of one column; `ordinals` counts units, microseconds for times, or is None."""

    unit: Unit
    ordinals: tuple[Number | None, ...]
    form: str = ""
    """How a quarter or time is written: the separator of a quarter, the number of shown characters of a time."""

    @property
    def axis(self) -> AxisKind:
        """The kind of axis on which the cells have proportional positions."""
        return "value" if self.unit in {"integer", "number"} else "time"

    @property
    def is_calendar(self) -> bool:
        """Whether the cells are periods or times."""
        return self.axis == "time"

    def label(self, ordinal: Number | None) -> str:
        """Return the text of a place."""
        if ordinal is None:
            return "–"
        if self.unit in {"integer", "number"}:
            return str(ordinal)
        at = int(ordinal)
        if self.unit == "year":
            return f"{at:04}"
        if self.unit == "quarter":
            return f"{at // 4:04}{self.form}Q{at % 4 + 1}"
        if self.unit == "month":
            return f"{at // 12:04}-{at % 12 + 1:02}"
        if self.unit == "week":
            year, week, _ = date.fromordinal(7 * at + 1).isocalendar()
            return f"{year:04}-W{week:02}"
        if self.unit == "day":
            return date.fromordinal(at).isoformat()
        return (_EPOCH + at * _MICROSECOND).isoformat(sep=" ")[: int(self.form)]

    def position(self, ordinal: Number) -> Number:
        """Return the place on a proportional axis: the number, or the start of the period in milliseconds (UTC)."""
        if self.axis == "value":
            return ordinal
        at = int(ordinal)
        if self.unit == "time":
            return at / 1000 if at % 1000 else at // 1000
        if self.unit in {"week", "day"}:
            start = date.fromordinal(7 * at + 1 if self.unit == "week" else at)
        else:
            months = at * {"year": 12, "quarter": 3, "month": 1}[self.unit]
            start = date(months // 12, months % 12 + 1, 1)
        return (start - _EPOCH.date()) // timedelta(milliseconds=1)

    def steps(self, limit: int) -> list[int] | None:
        """Return every step from the first cell to the last, those without a row included.

        The step is the greatest common divisor of the distances, such as 7 for days that are all Mondays. None if
        there are more than `limit`, if most of them have no row, or if the scale has no steps.
        """
        known = sorted({int(ordinal) for ordinal in self.ordinals if ordinal is not None})
        if self.unit == "number" or len(known) < 2:
            return None
        step = math.gcd(*(later - earlier for earlier, later in zip(known, known[1:], strict=False)))
        count = (known[-1] - known[0]) // step + 1
        return list(range(known[0], known[-1] + 1, step)) if count <= min(limit, len(known) / _MIN_COVERAGE) else None


def scale_of(result: Result, name: str) -> Scale | None:
    """Return the scale of a column of numbers, periods (ISO 8601 or quarters) or times; None for other columns.

    Times that are all midnight are days, and days that are all the first of a month are months: databases truncate
    to a period in this form.
    """
    cells, kind = column(result, name), type_of_column(result, name)
    known = [cell for cell in cells if cell is not None]
    if not known:
        return None
    if is_year_column(name, cells, kind):
        return Scale("year", tuple(cells))
    if kind in NUMERIC:
        numbers = [number(cell) for cell in cells]
        if any(value is None and cell is not None for value, cell in zip(numbers, cells, strict=True)):
            return None
        whole = all(isinstance(value, int) or value is None for value in numbers)
        return Scale("integer" if whole else "number", tuple(numbers))
    return _calendar_scale(cells, kind, name.lower())


def is_year_column(name: str, cells: Sequence[Any], kind: str) -> bool:
    """Return whether a column holds years as integers: its name says so and every cell has four digits."""
    years = (cell is None or isinstance(cell, int) and 1000 <= cell <= 9999 for cell in cells)
    return kind == "integer" and _YEAR_NAME.search(name.lower()) is not None and all(years)


_YEAR = re.compile(r"(\d{4})")
_QUARTER = re.compile(r"(\d{4})-?Q([1-4])")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_WEEK = re.compile(r"(\d{4})-W(\d{2})")


def _period(pattern: re.Pattern[str], per_year: int, text: str) -> int | None:
    """Return the number of a year or of one of its `per_year` periods, counted from the year 0."""
    match = pattern.fullmatch(text)
    if match is None or match[1] == "0000":
        return None
    place = int(match[2]) if per_year > 1 else 1
    return per_year * int(match[1]) + place - 1 if 1 <= place <= per_year else None


def _week(text: str) -> int | None:
    match = _WEEK.fullmatch(text)
    try:
        return (date.fromisocalendar(int(match[1]), int(match[2]), 1).toordinal() - 1) // 7 if match else None
    except ValueError:
        return None


def _microsecond(text: str) -> int | None:
    if len(text) < 10 or text[4] != "-":
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


_READERS: tuple[tuple[Unit, Callable[[str], int | None]], ...] = (
    ("year", partial(_period, _YEAR, 1)),
    ("quarter", partial(_period, _QUARTER, 4)),
    ("month", partial(_period, _MONTH, 12)),
    ("week", _week),
    ("time", _microsecond),
)


def _calendar_scale(cells: Sequence[Any], kind: str, name: str) -> Scale | None:
    if not all(cell is None or isinstance(cell, str) for cell in cells):
        return None
    for unit, read in _READERS:
        ordinals = tuple(None if cell is None else read(cell) for cell in cells)
        if any(ordinal is None and cell is not None for ordinal, cell in zip(ordinals, cells, strict=True)):
            continue
        if unit == "time":
            return _shortened(ordinals, kind, name)
        return Scale(unit, ordinals, "-" if any(cell and "-Q" in cell for cell in cells) else "")
    return None


def _shortened(times: tuple[int | None, ...], kind: str, name: str) -> Scale:
    """Return the scale of times, in microseconds, in the largest unit that keeps their differences."""
    known = {time for time in times if time is not None}
    if any(time % _DAY for time in known):
        length = next(
            (length for unit, length in ((1_000_000, "26"), (60_000_000, "19")) if any(time % unit for time in known)),
            "16",
        )
        return Scale("time", times, length)
    first_day = _EPOCH.toordinal()
    days = tuple(None if time is None else time // _DAY + first_day for time in times)
    dates = {day: date.fromordinal(day) for day in days if day is not None}
    named = {unit for unit, words in _NAMES_OF_UNITS if words.search(name)}
    is_truncated = len(dates) > 1 and (kind == "datetime" or len(dates) > 2 or bool(named))
    if not is_truncated or any(day.day != 1 for day in dates.values()):
        return Scale("day", days)
    months = tuple(None if day is None else 12 * dates[day].year + dates[day].month - 1 for day in days)
    if all(day.month == 1 for day in dates.values()) and not named & {"month", "quarter"}:
        return Scale("year", tuple(None if month is None else month // 12 for month in months))
    if "quarter" in named and all(day.month % 3 == 1 for day in dates.values()):
        return Scale("quarter", tuple(None if month is None else month // 3 for month in months), "-")
    return Scale("month", months)


_NAMES_OF_UNITS = (("year", _YEAR_NAME), ("quarter", _QUARTER_NAME), ("month", _MONTH_NAME))


def time_format(positions: Sequence[Number]) -> str:
    """Return the `strftime` format of the ticks of a time axis; `positions` are its milliseconds.

    Digits only: names of months would be in one language.
    """
    days = (max(positions) - min(positions)) / 86_400_000 if positions else 0
    if days > 6 * 366:
        return "%Y"
    return "%Y-%m" if days > 400 else "%Y-%m-%d" if days > 2 else "%m-%d %H:%M"


def labels_of(result: Result, name: str, language: Language = "en") -> list[str]:
    """Return the text of each cell of a column as the chart shows it: periods in their shortest form.

    Numbers have the decimal separator of `language`, without grouping, since they may be codes.
    """
    scale = scale_of(result, name)
    cells = column(result, name)
    if scale is None or not scale.is_calendar:
        texts = [label(cell) for cell in cells]
        is_number = type_of_column(result, name) in NUMERIC
        return [text.replace(".", CONVENTIONS[language].decimal) for text in texts] if is_number else texts
    return [scale.label(ordinal) for ordinal in scale.ordinals]

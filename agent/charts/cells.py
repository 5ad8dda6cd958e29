"""Read the cells of a result for charts: numbers, labels, the natural order of a column, and its scale."""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any, Literal

from babel.dates import format_date

from datasphinx.agent.charts.calendar_names import calendar_places
from datasphinx.agent.core.text import valid_text
from datasphinx.agent.formatting.formats import ColumnFormat, column_format, format_value, in_unit, quantity_of
from datasphinx.agent.messages import CONVENTIONS, Language, render
from datasphinx.agent.types import Result

Number = int | float

NUMERIC = frozenset({"integer", "float", "decimal"})
_LARGEST = 1e100
"""Largest number that is drawn; sums and squares of larger ones could overflow."""

_TEMPORAL = frozenset({"date", "datetime", "time"})
_PERIOD = re.compile(r"\d{4}(-\d{2}(-\d{2}.*)?|-?Q[1-4]|-W\d{2})?$")
_AGGREGATE = re.compile(
    r"(sum|avg|count|min|max)\s*\(\s*(?:distinct\s+)?[\"`\[]?([\w .]+|\*)[\"`\]]?\s*\)", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"\w+")
_CAMEL = re.compile(r"(?<=[a-zа-я])(?=[A-ZА-Я])")
_BUCKET = re.compile(r"(.+)_(year|quarter|month|week|day|hour)")
_DATES = {"date", "time", "at", "on", "day", "datetime", "timestamp", "created", "updated"}
"""Words that end the name of a date, by which a title tells `created_month` from `net_sales_month`.

Titles alone depend on them: a title is made of a name, also where no statement is known, as for a table of a file.
"""
AxisKind = Literal["category", "value", "time"]
Unit = Literal["year", "quarter", "month", "week", "day", "time", "integer", "number"]
_MIN_COVERAGE = 0.5
"""Share of the steps that must have a row; with fewer, the axis is proportional instead."""
_MICROSECOND = timedelta(microseconds=1)
_DAY = 86_400_000_000
"""Microseconds of a day."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR = re.compile(r"(\d{4})")
_QUARTER = re.compile(r"(\d{4})-?Q([1-4])")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_WEEK = re.compile(r"(\d{4})-W(\d{2})")
_MONTHS: dict[Unit, int] = {"year": 12, "quarter": 3, "month": 1}
"""The number of months of a period."""


def column(result: Result, name: str) -> list[Any]:
    """Return the cells of the first column named `name`. Raise ValueError if there is no such column."""
    at = result["columns"].index(name)
    return [row[at] for row in result["rows"]]


def type_of_column(result: Result, name: str) -> str:
    """Return the type, of `sql.rows`, of the first column named `name`. Raise ValueError if there is none."""
    return result["types"][result["columns"].index(name)]


def is_text(value: Any) -> bool:
    """Return whether a cell is a text other than that of a number, infinity or NaN."""
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def number(value: Any) -> Number | None:
    """Return a cell as a number, or None if it is not one. Decimals arrive as text."""
    if is_text(value):
        return None
    if isinstance(value, str):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= _LARGEST else None


def total(values: Sequence[Number | None]) -> Number:
    """Return the exact decimal sum, without None.

    >>> total([0.1, 0.2, None])
    0.3
    """
    numbers = [value for value in values if value is not None]
    if all(isinstance(value, int) for value in numbers):
        return sum(numbers)
    return float(sum(Decimal(repr(value)) for value in numbers))


def percent(value: Number | None) -> Number | None:
    """Return a fraction in percent, calculated in decimal.

    >>> percent(0.07)
    7.0
    """
    return None if value is None else value * 100 if isinstance(value, int) else float(Decimal(repr(value)) * 100)


def format_of(result: Result, name: str) -> ColumnFormat:
    """Return the format of the first column named `name`: that of `result`, or that of its values."""
    at, known = result["columns"].index(name), result.get("formats", [])
    if at < len(known):
        return ColumnFormat(**known[at])
    return column_format("", result["types"][at], [row[at] for row in result["rows"] if row[at] is not None])


def with_durations(result: Result) -> Result:
    """Return `result` with its intervals, unless they have months, as numbers of a unit that suits all of them."""
    drawn = result
    for at, kind in enumerate(result["types"]):
        if kind != "interval":
            continue
        cells = [row[at] for row in result["rows"]]
        shown = column_format("", kind, [cell for cell in cells if cell is not None])
        seconds = [quantity_of(cell, shown) for cell in cells]
        if not _are_read(cells, seconds):
            continue
        unit, values = in_unit(shown.kind, seconds)
        formats = [asdict(format_of(drawn, name)) for name in drawn["columns"]]
        formats[at] = asdict(column_format(f"duration {unit}", "float", [one for one in values if one is not None]))
        types = [*drawn["types"][:at], "float", *drawn["types"][at + 1 :]]
        rows = [[*row[:at], value, *row[at + 1 :]] for row, value in zip(drawn["rows"], values, strict=True)]
        drawn = {**drawn, "types": types, "formats": formats, "rows": rows}
    return drawn


def _are_read(cells: Sequence[Any], values: Sequence[Any]) -> bool:
    """Return whether all cells but NULL have a value."""
    return all(value is not None or cell is None for cell, value in zip(cells, values, strict=True))


def label(value: Any) -> str:
    """Return the text of a cell in a chart; a dash for NULL."""
    if value is None:
        return "–"
    return valid_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True))


def axis_title(name: str, language: Language) -> str:
    """Return the name of a column in words.

    Identifiers are split at underscores and capitals; a period at the end and an aggregate become an addition. Names
    that are words already, such as the headings of a spreadsheet, are returned as they are.

    >>> axis_title("order_date_month", "en"), axis_title("SUM(amount)", "en"), axis_title("Unit price, €", "en")
    ('Order date, month', 'Amount, total', 'Unit price, €')
    >>> axis_title("Anteil_am_Umsatz", "de"), axis_title("TOTAL_AMOUNT", "en"), axis_title("unitPrice", "en")
    ('Anteil am Umsatz', 'Total amount', 'Unit price')
    """
    text = valid_text(name).strip()
    call = _AGGREGATE.fullmatch(text)
    if call:
        of = "" if call[2] == "*" else axis_title(call[2], language)
        kind = "count_rows" if not of else call[1].lower()
        return render(f"axis_{kind}", language, column=of)
    bucket = _BUCKET.fullmatch(text)
    if bucket and (not bucket[1].isascii() or _words(bucket[1])[-1].lower() in _DATES):
        return render(f"axis_{bucket[2]}", language, column=axis_title(bucket[1], language))
    if len(text) < 2 or not _IDENTIFIER.fullmatch(text):
        return text
    words = _words(text)
    spelt = [word if _keeps_case(word, text) and len(words) > 1 else word.lower() for word in words]
    return " ".join([spelt[0][:1].upper() + spelt[0][1:], *spelt[1:]])


def _keeps_case(word: str, name: str) -> bool:
    """Return whether a word of a name is shown as it is: an abbreviation, or one of several not in capitals."""
    return len(word) < 4 if word.isupper() else "_" in name


def _words(name: str) -> list[str]:
    return _CAMEL.sub(" ", name.replace("_", " ")).split() or [""]


def are_periods(values: Sequence[Any]) -> bool:
    """Return whether every cell is text of an ISO 8601 year, month, week, date or date-time, or of a quarter."""
    return all(isinstance(value, str) and _PERIOD.match(value) for value in values)


def sort_keys(values: Sequence[Any], kind: str) -> list[tuple[bool, Any]] | None:
    """Return a sort key per cell, NULL last; None if cells of type `kind` have no natural order."""
    cells = [value for value in values if value is not None]
    if kind in NUMERIC and all(number(value) is not None for value in cells):
        return [(value is None, number(value) or 0) for value in values]
    if kind in _TEMPORAL and all(isinstance(value, str) for value in cells) or are_periods(cells):
        return [(value is None, value or "") for value in values]
    places = places_in_cycle(cells)
    return [(value is None, "" if value is None else places[value]) for value in values] if places else None


def places_in_cycle(cells: Sequence[Any]) -> dict[Any, int] | None:
    """Return the place of each cell if all are names of months, weekdays or quarters; None for other cells."""
    return calendar_places(cells) if all(isinstance(cell, str) for cell in cells) else None


def order_of(values: Sequence[Any], kind: str) -> Sequence[int]:
    """Return the indices of the cells in natural order, or in the given order if there is none."""
    keys = sort_keys(values, kind)
    return sorted(range(len(values)), key=keys.__getitem__) if keys else range(len(values))


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
            months = at * _MONTHS[self.unit]
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
        step = math.gcd(*(later - earlier for earlier, later in pairwise(known)))
        count = (known[-1] - known[0]) // step + 1
        return list(range(known[0], known[-1] + 1, step)) if count <= min(limit, len(known) / _MIN_COVERAGE) else None


def scale_of(result: Result, name: str) -> Scale | None:
    """Return the scale of a column of numbers, periods (ISO 8601 or quarters) or times; None for other columns.

    Times that are all midnight are days, and of a column in the format of a period these periods: databases truncate
    to the first day of one.
    """
    cells, kind = column(result, name), type_of_column(result, name)
    known = [cell for cell in cells if cell is not None]
    if not known:
        return None
    if is_year_column(result, name):
        return Scale("year", tuple(cells))
    if kind in NUMERIC:
        numbers = [number(cell) for cell in cells]
        if not _are_read(cells, numbers):
            return None
        whole = all(isinstance(value, int) or value is None for value in numbers)
        return Scale("integer" if whole else "number", tuple(numbers))
    return _calendar_scale(cells, format_of(result, name).kind)


def is_year_column(result: Result, name: str) -> bool:
    """Return whether a column has years as integers, as its format tells."""
    return type_of_column(result, name) == "integer" and format_of(result, name).kind == "year"


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


def _calendar_scale(cells: Sequence[Any], unit_of_format: str) -> Scale | None:
    if not all(cell is None or isinstance(cell, str) for cell in cells):
        return None
    for unit, read in _READERS:
        ordinals = tuple(None if cell is None else read(cell) for cell in cells)
        if not _are_read(cells, ordinals):
            continue
        if unit == "time":
            return _shortened(ordinals, unit_of_format)
        return Scale(unit, ordinals, "-" if any(cell and "-Q" in cell for cell in cells) else "")
    return None


def _shortened(times: tuple[int | None, ...], unit: str) -> Scale:
    """Return the scale of times, in microseconds: periods `unit` if all are first days of one, else days or times."""
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
    period = next((period for period in _MONTHS if period == unit), None)
    if period is None or any(day.day != 1 or (day.month - 1) % _MONTHS[period] for day in dates.values()):
        return Scale("day", days)
    months = (None if day is None else 12 * dates[day].year + dates[day].month - 1 for day in days)
    return Scale(period, tuple(None if month is None else month // _MONTHS[period] for month in months), "-")


def time_format(positions: Sequence[Number]) -> str:
    """Return the `strftime` format of the ticks of a time axis; `positions` are its milliseconds.

    Digits only: names of months would be in one language.
    """
    days = (max(positions) - min(positions)) / 86_400_000 if positions else 0
    if days > 6 * 366:
        return "%Y"
    return "%Y-%m" if days > 400 else "%Y-%m-%d" if days > 2 else "%m-%d %H:%M"


def labels_of(result: Result, name: str, language: Language = "en") -> list[str]:
    """Return the text of each cell of a column in its format; of cells that it would make equal, all digits."""
    scale, cells, fmt = scale_of(result, name), column(result, name), format_of(result, name)
    if scale and scale.is_calendar:
        texts = [scale.label(ordinal) for ordinal in scale.ordinals]
        formatted = [period_label(scale, ordinal, fmt, language) for ordinal in scale.ordinals]
    else:
        texts = [label(cell) for cell in cells]
        formatted = texts if fmt.kind == "text" else [format_value(cell, fmt, language) for cell in cells]
    return formatted if len(set(formatted)) == len(set(texts)) else texts


def period_label(scale: Scale, ordinal: Number | None, fmt: ColumnFormat, language: Language) -> str:
    """Return the text of a place on a scale of periods or times, in the format of their column, months shortened."""
    if ordinal is not None and fmt.kind == scale.unit == "month":
        year, month = divmod(int(ordinal), 12)
        return format_date(date(year, month + 1, 1), CONVENTIONS[language].short_month, language)
    return format_value(None if ordinal is None else scale.label(ordinal), fmt, language)

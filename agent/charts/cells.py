"""Read the cells of a result for charts: numbers, labels, and the natural order of a column."""

import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from agent.messages import CONVENTIONS, Language, render
from agent.types import Result

Number = int | float

NUMERIC = frozenset({"integer", "float", "decimal"})
_LARGEST = 1e100
"""Largest number that is drawn; sums and squares of larger ones could overflow."""

_TEMPORAL = frozenset({"date", "datetime", "time"})
_CYCLES = (
    """january february march april may june july august september october november december""",
    """jan feb mar apr may jun jul aug sep oct nov dec""",
    """январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь""",
    """янв фев мар апр май июн июл авг сен окт ноя дек""",
    """1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月""",
    """一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月""",
    """monday tuesday wednesday thursday friday saturday sunday""",
    """mon tue wed thu fri sat sun""",
    """понедельник вторник среда четверг пятница суббота воскресенье""",
    """пн вт ср чт пт сб вс""",
    """周一 周二 周三 周四 周五 周六 周日""",
    """星期一 星期二 星期三 星期四 星期五 星期六 星期日""",
    """q1 q2 q3 q4""",
)
_PLACES_IN_CYCLES = [{name: at for at, name in enumerate(names.split())} for names in _CYCLES]
_PERIOD = re.compile(r"\d{4}(-\d{2}(-\d{2}.*)?|-?Q[1-4]|-W\d{2})?$")
_SURROGATE = re.compile("[\ud800-\udfff]")


def column(result: Result, name: str) -> list[Any]:
    """Return the cells of the first column named `name`.

    Raises:
        ValueError: there is no such column.
    """
    at = result["columns"].index(name)
    return [row[at] for row in result["rows"]]


def type_of_column(result: Result, name: str) -> str:
    """Return the type of the first column named `name`, one of those of `agent.sql.rows`.

    Raises:
        ValueError: there is no such column.
    """
    return result["types"][result["columns"].index(name)]


def number(value: Any) -> Number | None:
    """Return a cell as a number, or None if it is not one. Decimals arrive as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
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


def number_text(value: Number, language: Language, *, may_be_year: bool = False) -> str:
    """Return `value` with at most ten digits, grouped as in `language`; four digits are not if they may be a year.

    >>> number_text(12500.5, "en"), number_text(0.5, "ru"), number_text(1990, "en", may_be_year=True)
    ('12,500.5', '0,5', '1990')
    """
    text = f"{value:.10g}" if may_be_year and abs(value) < 10_000 else f"{value:,.10g}"
    return CONVENTIONS[language].separated(text)


def label(value: Any) -> str:
    """Return the text of a cell in a chart; a dash for NULL."""
    if value is None:
        return "–"
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True))


def axis_title(name: str, language: Language) -> str:
    """Return the name of a column in words.

    Identifiers are split at underscores and capitals; a period at the end and an aggregate become an addition. Names
    that are words already, such as the headings of a spreadsheet, are returned as they are.

    >>> axis_title("order_date_month", "en"), axis_title("SUM(amount)", "en"), axis_title("Unit price, €", "en")
    ('Order date, month', 'Amount, total', 'Unit price, €')
    """
    text = clean(name).strip()
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
    spelt = [word if word.isupper() and len(words) > 1 and len(word) < 4 else word.lower() for word in words]
    return " ".join([spelt[0][:1].upper() + spelt[0][1:], *spelt[1:]]) if spelt else text


def _words(name: str) -> list[str]:
    return _CAMEL.sub(" ", name.replace("_", " ")).split() or [""]


_AGGREGATE = re.compile(
    r"(sum|avg|count|min|max)\s*\(\s*(?:distinct\s+)?[\"`\[]?([\w .]+|\*)[\"`\]]?\s*\)", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"\w+")
_CAMEL = re.compile(r"(?<=[a-zа-я])(?=[A-ZА-Я])")
_BUCKET = re.compile(r"(.+)_(year|quarter|month|week|day|hour)")
_DATES = {"date", "time", "at", "on", "day", "datetime", "timestamp", "created", "updated"}


def clean(text: str) -> str:
    """Return `text` with unpaired surrogates replaced by U+FFFD, so that it can be encoded as UTF-8."""
    return _SURROGATE.sub("\ufffd", text)


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
    """Return the place of each cell if all are names of months or weekdays in one form; None for other cells.

    >>> places_in_cycle(["Mar", "Jan"])
    {'Mar': 2, 'Jan': 0}
    """
    if not cells or not all(isinstance(cell, str) for cell in cells):
        return None
    names = {cell: cell.strip().lower() for cell in cells}
    places = next((places for places in _PLACES_IN_CYCLES if places.keys() >= set(names.values())), None)
    return places and {cell: places[name] for cell, name in names.items()}


def order_of(values: Sequence[Any], kind: str) -> Sequence[int]:
    """Return the indices of the cells in natural order, or in the given order if there is none."""
    keys = sort_keys(values, kind)
    return sorted(range(len(values)), key=keys.__getitem__) if keys else range(len(values))


def quantile(ordered: Sequence[Number], share: float) -> Number:
    """Return the quantile at `share` of sorted values by linear interpolation (type 7 of Hyndman and Fan, 1996)."""
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)

"""Read the cells of a result for charts: numbers, labels, and the natural order of a column."""

import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from agent.types import Result

Number = int | float

NUMERIC = frozenset({"integer", "float", "decimal"})
_LARGEST = 1e100
"""Largest number that is drawn; sums and squares of larger ones could overflow."""

_TEMPORAL = frozenset({"date", "datetime", "time"})
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


def label(value: Any) -> str:
    """Return the text of a cell in a chart; a dash for NULL."""
    if value is None:
        return "–"
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True))


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
    return None


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

"""The cells of a result as charts take them: numbers, labels, and what has an order of its own."""

import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from agent.sql.result import Result

Number = int | float

NUMERIC = frozenset({"integer", "float", "decimal"})
_LARGEST = 1e100
"""Sums and squares of numbers up to this one stay finite, which larger ones would not."""

_TEMPORAL = frozenset({"date", "datetime", "time"})
_PERIOD = re.compile(r"\d{4}(-\d{2}(-\d{2}.*)?|-?Q[1-4]|-W\d{2})?$")
_SURROGATE = re.compile("[\ud800-\udfff]")


def column(result: Result, name: str) -> list[Any]:
    """Return the cells of the first column of that name.

    Raises:
        ValueError: there is no such column.
    """
    at = result["columns"].index(name)
    return [row[at] for row in result["rows"]]


def type_of_column(result: Result, name: str) -> str:
    """Return the type of the first column of that name, as `agent.sql.rows` names types.

    Raises:
        ValueError: there is no such column.
    """
    return result["types"][result["columns"].index(name)]


def number(value: Any) -> Number | None:
    """Return a cell as a number, also one that came as text for its digits; None where it cannot be drawn as one."""
    if isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= _LARGEST else None


def _parsed(digits: str) -> float | None:
    try:
        return float(digits)
    except ValueError:
        return None


def total(values: Sequence[Number | None]) -> Number:
    """Return the sum as a reader of the decimal digits would find it; None counts as nothing."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, int) for value in known):
        return sum(known)
    return float(sum(Decimal(repr(value)) for value in known))


def percent(value: Number | None) -> Number | None:
    """Return a fraction in percent, without the digits that binary multiplication would add."""
    return None if value is None else value * 100 if isinstance(value, int) else float(Decimal(repr(value)) * 100)


def label(value: Any) -> str:
    """Return a cell as the text that stands for it in a chart; NULL as a dash."""
    if value is None:
        return "–"
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True))


def clean(text: str) -> str:
    """Return `text` as UTF-8 can hold it."""
    return _SURROGATE.sub("\ufffd", text)


def are_periods(values: Sequence[Any]) -> bool:
    """True where every cell is text that says a year, quarter, month, week, day or moment in ISO 8601's order."""
    return all(isinstance(value, str) and _PERIOD.match(value) for value in values)


def ranks(values: Sequence[Any], kind: str) -> list[tuple[bool, Any]] | None:
    """Return a key to sort each cell by, NULL last; None where cells of type `kind` have no order of their own."""
    known = [value for value in values if value is not None]
    if kind in NUMERIC and all(number(value) is not None for value in known):
        return [(value is None, number(value) or 0) for value in values]
    if kind in _TEMPORAL and all(isinstance(value, str) for value in known) or are_periods(known):
        return [(value is None, value or "") for value in values]
    return None


def order_of(values: Sequence[Any], kind: str) -> Sequence[int]:
    """Return where the cells stand in their own order, as `ranks` has it; as they come where they have none."""
    keys = ranks(values, kind)
    return sorted(range(len(values)), key=keys.__getitem__) if keys else range(len(values))


def quantile(ordered: Sequence[Number], share: float) -> Number:
    """Return the quantile at `share` of ordered values by linear interpolation (type 7 of Hyndman and Fan, 1996)."""
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)

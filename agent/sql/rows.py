"""Conversion of rows from a driver: JSON-safe values, column types and size limits."""

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from datasphinx.agent.core.text import valid_text
from datasphinx.agent.engines.intervals import interval_of
from datasphinx.agent.types import AnswerTable, Interval, Result

_SAFE_INTEGER = 2**53 - 1
"""Largest integer that every JSON reader represents exactly (RFC 8259, section 6)."""

_BATCH_ROWS = 256
_BYTES_PER_SCALAR = 16

Conversion = Callable[[Any], Any]

_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "float"),
    (Decimal, "decimal"),
    (datetime, "datetime"),
    (date, "date"),
    (time, "time"),
    ((timedelta, Interval), "interval"),
    (str, "string"),
    ((bytes, bytearray, memoryview), "bytes"),
    (UUID, "uuid"),
    ((list, tuple, set, frozenset), "array"),
    (dict, "json"),
)


@dataclass
class RowReader:
    """Reader of rows in batches, up to a row and a byte limit.

    `types` holds the column types, `null` for columns without values; `truncated` is True if rows were left out. Sizes
    are those of the values as text, approximately their memory use.
    """

    width: int
    row_limit: int
    byte_limit: int
    truncated: bool = False
    conversions: Mapping[int, Conversion] = field(default_factory=dict)
    """Functions for the values of a column, by its position; see `conversions_of`."""
    types: list[str] = field(init=False)

    def __post_init__(self) -> None:
        """Initialise all column types to `null`."""
        self.types = ["null"] * self.width

    def read(self, fetch: Callable[[int], Sequence[Sequence[Any]]]) -> Iterator[list[list[Any]]]:
        """Yield chunks of JSON-safe rows from `fetch`, which returns at most the requested number of rows.

        Batches grow from one row, so that a few large rows are not fetched at once.
        """
        left, budget, batch = self.row_limit, self.byte_limit, 1
        while not self.truncated:
            size = min(batch, left + 1)
            raw = fetch(size)
            chunk: list[list[Any]] = []
            for row in map(self._converted, raw) if self.conversions else raw:
                values = [json_safe(value) for value in row]
                budget -= sum(map(_size, values))
                if not left or budget < 0:
                    self.truncated = True
                    break
                for index, name in enumerate(self.types):
                    if name == "null" and row[index] is not None:
                        self.types[index] = type_of(row[index])
                chunk.append(values)
                left -= 1
            yield chunk
            if len(raw) < size:
                return
            batch = min(batch * 2, _BATCH_ROWS)

    def _converted(self, row: Sequence[Any]) -> list[Any]:
        values = list(row)
        for at, convert in self.conversions.items():
            if values[at] is not None:
                values[at] = convert(values[at])
        return values


def conversions_of(kinds: Mapping[Any, str], description: Sequence[Any]) -> dict[int, Conversion]:
    """Return the functions for columns whose values the driver returns in a form that is not theirs.

    `kinds` names the form by the driver's code, or name, of the type: `bits`, which arrive as bytes or digits, `clock`,
    a time that arrives as a duration, `single`, a number of single precision with the digits of a double, and
    `interval`, which is read as text, since a duration counts a month as 30 days.
    `description` is that of the cursor: the name, type and size of each column.
    """
    conversions: dict[int, Conversion] = {}
    for at, (_, kind, _, size, *_) in enumerate(description) if kinds else ():
        form = kinds.get(kind if isinstance(kind, int) else str(kind))
        if form == "bits":
            conversions[at] = _bit if size == 1 else _bits
        elif form:
            conversions[at] = {"clock": _clock, "single": _single, "interval": interval_of}[form]
    return conversions


def _bits(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    # Functions, such as MAX, return the number in digits.
    return int(value) if value.isdigit() else int.from_bytes(value)


def _bit(value: Any) -> Any:
    return bool(_bits(value)) if isinstance(value, bytes) else value


def _clock(value: Any) -> Any:
    """Return a time of MySQL, which may be negative or longer than a day, as hours, minutes and seconds."""
    if not isinstance(value, timedelta):
        return value
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    minutes, seconds = divmod(value.days * 86400 + value.seconds, 60)
    fraction = f".{value.microseconds:06}" if value.microseconds else ""
    return f"{sign}{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{fraction}"


def _single(value: Any) -> Any:
    """Return the shortest number of double precision that is `value` in single precision.

    >>> _single(0.8999999761581421)
    0.9
    """
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    shortest = (float(f"{value:.{digits}g}") for digits in range(6, 10))
    return next((number for number in shortest if struct.pack("f", number) == struct.pack("f", value)), value)


def type_of(value: Any) -> str:
    """Return the type name of a value that is not None."""
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "other")


def result_of(table: AnswerTable) -> Result:
    """Return the rows of an answer as a result; a column has the type of its first value."""
    columns = [[row[at] for row in table["rows"] if row[at] is not None] for at in range(len(table["columns"]))]
    types = [type_of(cells[0]) if cells else "null" for cells in columns]
    return Result(columns=table["columns"], types=types, rows=table["rows"], truncated=False)


def json_safe(value: Any) -> Any:
    """Convert `value` to a form that every JSON reader represents without loss.

    Numbers that a double represents exactly stay numbers; larger integers and longer decimals become strings with all
    digits; infinities and NaN become "Infinity", "-Infinity" and "NaN". Dates and times are in ISO 8601, intervals as
    ISO 8601 durations, bytes in hexadecimal; arrays and objects keep their structure.
    """
    if value is None or isinstance(value, str):
        return valid_text(value) if value else value
    if isinstance(value, int):
        return value if abs(value) <= _SAFE_INTEGER else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else _not_finite(value)
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, list | tuple | set | frozenset):
        return [json_safe(item) for item in value]
    if isinstance(value, dict):
        return {valid_text(str(key)): json_safe(item) for key, item in value.items()}
    return valid_text(str(value))


def _not_finite(value: float | Decimal) -> str:
    is_nan = value.is_nan() if isinstance(value, Decimal) else math.isnan(value)
    return "NaN" if is_nan else "Infinity" if value > 0 else "-Infinity"


def _decimal(value: Decimal) -> int | float | str:
    if not value.is_finite():
        return _not_finite(value)
    if value == value.to_integral_value():
        return json_safe(int(value)) if value.adjusted() < 40 else str(value)
    number = float(value)
    return number if Decimal(repr(number)) == value else str(value)


def _duration(value: timedelta) -> str:
    """Return `value` as an ISO 8601 duration such as P3DT4H5M6.5S."""
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours}H" if hours else "", f"{minutes}M" if minutes else ""]
    fraction = f"{seconds + value.microseconds / 1_000_000:g}S" if seconds or value.microseconds else ""
    clock = "".join([*parts, fraction])
    days = f"{value.days}D" if value.days or not clock else ""
    return f"{sign}P{days}{'T' if clock else ''}{clock}"


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, list):
        return _BYTES_PER_SCALAR + sum(map(_size, value))
    if isinstance(value, dict):
        return _BYTES_PER_SCALAR + sum(len(key) + _size(item) for key, item in value.items())
    return _BYTES_PER_SCALAR

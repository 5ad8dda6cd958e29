"""Values of PostgreSQL that Python's types cannot hold: they arrive as text, with all that they say."""

import json
import re
from decimal import Decimal
from functools import partial
from typing import Any

from psycopg import DataError
from psycopg.adapt import Buffer, Loader
from psycopg.types.datetime import DateLoader, TimeLoader, TimestampLoader, TimestamptzLoader, TimetzLoader
from psycopg.types.json import set_json_loads

from datasphinx.agent.types import Interval

_INTERVAL = re.compile(
    r"(?:(-?\d+) years?)? ?(?:(-?\d+) mons?)? ?(?:(-?\d+) days?)? ?(?:([-+]?)(\d+):(\d+):(\d+(?:\.\d+)?))?"
)


def register(connection: Any, record: object) -> None:
    """Make a psycopg connection return infinite and far dates as text, intervals with their months, and JSON exactly.

    psycopg fails on dates before year 1 and after 9999, on 24:00, and counts a month of an interval as 30 days.
    """
    for name, loader in _LOADERS.items():
        connection.adapters.register_loader(name, loader)
    set_json_loads(partial(json.loads, parse_float=_exact), connection)


def _exact(digits: str) -> float | Decimal:
    number = float(digits)
    return number if Decimal(repr(number)) == Decimal(digits) else Decimal(digits)


def _or_text(base: type[Loader]) -> type[Loader]:
    """Return a loader as `base` that returns the text of a value which `base` cannot represent."""

    class Tolerant(base):  # type: ignore[valid-type, misc]
        def load(self, data: Buffer) -> Any:
            try:
                return super().load(data)
            except DataError:
                return bytes(data).decode()

    return Tolerant


class _IntervalLoader(Loader):
    def load(self, data: Buffer) -> Interval:
        """Return the interval as an ISO 8601 duration such as P1M3DT4H; in another style than PostgreSQL's, as it is.

        Its parts keep their signs: a month has no fixed number of days.
        """
        text = bytes(data).decode()
        match = _INTERVAL.fullmatch(text)
        if not match:
            return Interval(text)
        years, months, days, sign, hours, minutes, seconds = match.groups()
        dated = [(years, "Y"), (months, "M"), (days, "D")]
        timed = [(hours, "H"), (minutes, "M"), (seconds, "S")]
        sign = "-" if sign == "-" else ""
        date = "".join(f"{int(number)}{unit}" for number, unit in dated if number)
        time = "".join(f"{sign}{_plain(number)}{unit}" for number, unit in timed if number and float(number))
        return Interval(f"P{date}{'T' if time else ''}{time}" if date or time else "P0D")


def _plain(number: str) -> str:
    whole, point, fraction = number.partition(".")
    return f"{int(whole)}{point}{fraction}"


_LOADERS: dict[str, type[Loader]] = {
    "date": _or_text(DateLoader),
    "time": _or_text(TimeLoader),
    "timetz": _or_text(TimetzLoader),
    "timestamp": _or_text(TimestampLoader),
    "timestamptz": _or_text(TimestamptzLoader),
    "interval": _IntervalLoader,
}

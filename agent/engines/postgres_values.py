"""Values of PostgreSQL that Python's types cannot hold arrive as text, with all that they say; MONEY as a number."""

import json
import re
from decimal import Decimal
from functools import partial
from typing import Any

from psycopg import DataError
from psycopg.adapt import Buffer, Loader
from psycopg.types.datetime import DateLoader, TimeLoader, TimestampLoader, TimestamptzLoader, TimetzLoader
from psycopg.types.json import set_json_loads

from datasphinx.agent.engines.intervals import interval_of
from datasphinx.agent.types import Interval


def register(connection: Any, record: object) -> None:
    """Make a psycopg connection return infinite and far dates as text, intervals with months, JSON and MONEY exactly.

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
        """Return the interval as an ISO 8601 duration; in another style than PostgreSQL's, as it is."""
        return interval_of(bytes(data).decode())


class _MoneyLoader(Loader):
    def load(self, data: Buffer) -> Decimal | str:
        return money_of(bytes(data).decode())


def money_of(text: str) -> Decimal | str:
    """Return the number of a value of MONEY, written in the locale of the server; `text` if it may be two numbers.

    >>> money_of("-$8,610.00"), money_of("1.234.567,50 €"), money_of("￥1,234,567"), money_of("￥1,234")
    (Decimal('-8610.00'), Decimal('1234567.50'), Decimal('1234567'), '￥1,234')
    """
    groups, marks = re.findall("[0-9]+", text), re.findall("(?<=[0-9])[^0-9]+(?=[0-9])", text)
    places = len(groups[-1]) if marks else 0
    if places == 3 and len(set(marks)) == 1 and groups[0] != "0":
        # The mark separates thousands if it is there twice; alone, it may also stand before three decimal places.
        if len(marks) == 1:
            return text
        places = 0
    number = Decimal("".join(groups)).scaleb(-places)
    return -number if "-" in text or "(" in text else number


_LOADERS: dict[str, type[Loader]] = {
    "date": _or_text(DateLoader),
    "time": _or_text(TimeLoader),
    "timetz": _or_text(TimetzLoader),
    "timestamp": _or_text(TimestampLoader),
    "timestamptz": _or_text(TimestamptzLoader),
    "interval": _IntervalLoader,
    "money": _MoneyLoader,
}

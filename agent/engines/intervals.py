"""Intervals as PostgreSQL and DuckDB write them."""

import re

from datasphinx.agent.types import Interval

_INTERVAL = re.compile(
    r"(?:(-?\d+) years?)? ?(?:(-?\d+) mon(?:th)?s?)? ?(?:(-?\d+) days?)? ?(?:([-+]?)(\d+):(\d+):(\d+(?:\.\d+)?))?"
)


def interval_of(text: str) -> Interval:
    """Return an interval as PostgreSQL and DuckDB write it as an ISO 8601 duration; another text as it is.

    Its parts keep their signs: a month has no fixed number of days.

    >>> interval_of("2 months 3 days -04:00:00")
    'P2M3DT-4H'
    """
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

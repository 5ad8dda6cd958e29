"""Read dates and times of specs: ISO 8601 text without a time zone."""

import re
from calendar import monthrange
from datetime import date, datetime, timedelta
from typing import NamedTuple

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATETIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?")


_CLOCK = re.compile(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d(?:\.\d{1,6})?))?")
_DURATION = re.compile(r"PT(?=\d)(?:(\d{1,4})H)?(?:(\d{1,5})M)?(?:(\d{1,8}(?:\.\d{1,6})?)S)?")
"""A duration as results show it."""
_PERIOD = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2]))?")


def read_clock(text: str) -> float:
    """Return a time of day or a duration in seconds. Raise ValueError if `text` is not a time."""
    match = _CLOCK.fullmatch(text) or _DURATION.fullmatch(text)
    if not match:
        raise ValueError("a time such as 13:30 or a duration such as 37:30:00 or PT37H30M is expected")
    return int(match[1] or 0) * 3600 + int(match[2] or 0) * 60 + float(match[3] or 0)


class Span(NamedTuple):
    """A period from `start` up to but excluding `end`; a single point in time if `end` is None."""

    start: datetime
    end: datetime | None = None


def read_date(text: str) -> date:
    """Return the date in `text`. Raise ValueError if `text` is not a date."""
    if not _DATE.fullmatch(text):
        raise ValueError(f"a date such as 2024-03-31 is expected{_days_of(text)}")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"there is no date {text}") from None


def read_span(text: str) -> Span:
    """Return the time in `text`; a date without a time is the whole day.

    Raises:
        ValueError: `text` is neither a date nor a time.
    """
    if _DATETIME.fullmatch(text):
        try:
            return Span(datetime.fromisoformat(text))
        except ValueError:
            raise ValueError(f"there is no time {text}") from None
    if not _DATE.fullmatch(text):
        expected = "a date such as 2024-03-31 or a time such as 2024-03-31T13:30:00, without a zone, is expected"
        raise ValueError(f"{expected}{_days_of(text)}")
    day = read_date(text)
    if day == date.max:
        raise ValueError(f"no day follows {text}")
    start = datetime(day.year, day.month, day.day)
    return Span(start, start + timedelta(days=1))


def _days_of(text: str) -> str:
    """Return how to select the days of the month or year in `text`; "" if it is neither."""
    match = _PERIOD.fullmatch(text)
    if not match or int(match[1]) < 1:
        return ""
    first, last = int(match[2] or 1), int(match[2] or 12)
    days = monthrange(int(match[1]), last)[1]
    return f': for all of {text} use between with ["{match[1]}-{first:02}-01", "{match[1]}-{last:02}-{days}"]'

"""The range of dates to which a question limits its rows: "in March 2025", "since last week", "the past 30 days"."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from datasphinx.agent.embedded.date_words import DateWords, date_words_of
from datasphinx.agent.embedded.periods import Period, number_of, periods_of, years_alone
from datasphinx.agent.messages import Language, language_of

_MARK = "\ue000"
"""Stands for a date or period in the text that the forms are searched in."""

_UNITS = ("day", "week", "month", "quarter", "year")
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


class Days(NamedTuple):
    """Days from `start` up to but excluding `end`; None if the range is open on this side."""

    start: date | None
    end: date | None


@dataclass(frozen=True)
class DateRange:
    """The days to which a question limits its rows, and the question with the year instead of the exact range."""

    days: Days
    question: str
    """The question with the year instead of the range: "in March 2025" becomes "in 2025". Ranges of whole years stay,
    since columns may contain years as numbers."""
    year: str = ""
    """The year that `question` has in place of the range; empty if the question is unchanged."""

    @property
    def is_period(self) -> bool:
        """Whether the range is longer than a day, in contrast to "today"."""
        start, end = self.days
        return start is None or end is None or (end - start).days > 1


class _Named(NamedTuple):
    """A period in a question, from character `start` to `end`; `days` is None for one without a year.

    `period` is None for one that is relative to today.
    """

    start: int
    end: int
    days: Days | None
    period: Period | None = None
    is_year: bool = False


def date_range_of(question: str, today: date) -> DateRange | None:
    """Return the only range of dates in `question`; None if there is none, or the wording does not determine it.

    A whole year, several periods that are no range ("in March and in May"), a month without a year, and parts of
    periods ("early March", "the first week of March") are None. "Last month" is the calendar month before `today`;
    "the last 3 months" are those up to and including today.

    >>> date_range_of("How many orders since March 2025?", date(2026, 5, 4)).days.start.isoformat()
    '2025-03-01'
    """
    language = language_of(question)
    words = date_words_of(language)
    named = _with_years(list(_named(question, language, today)), question, words)
    text, ends = "", 0
    for one in named:
        text += question[ends : one.start] + _MARK
        ends = one.end
    text += question[ends:]
    matches = ((kind, form.search(text)) for kind, form in _forms(language))
    kind, match = next(
        ((kind, match) for kind, match in matches if match and match.group().count(_MARK) == len(named)), ("", None)
    )
    if match is None:
        return None
    before, after = text[: match.start()], text[match.end() :]
    is_changed = re.search(f"(?:{words.changed_before})$", before, re.I) or re.match(words.changed_after, after, re.I)
    if is_changed:
        return None
    days = _range(kind, named)
    has_only_years = all(one.is_year and one.period for one in named)
    if days is None or (kind == "within" and has_only_years):
        return None
    if has_only_years:
        return DateRange(days, question)
    year = days.start.year if days.start else (days.end - timedelta(days=1)).year if days.end else today.year
    gap = " " if before and not before[-1].isspace() and before[-1].isascii() else ""
    return DateRange(days, f"{before}{gap}{words.in_year.format(year=year)}{after}", str(year))


def _named(question: str, language: Language, today: date) -> Iterator[_Named]:
    """Yield the periods in `question` in order; they do not overlap."""
    periods = [*periods_of(question), *years_alone(question)]
    dated = [_Named(period.start, period.end, _days_of(period), period, period.is_year) for period in periods]
    complete = [one for one in dated if one.days]
    partial = [one for one in dated if not one.days]
    found: list[_Named] = []
    for one in (*complete, *_relative(question, date_words_of(language), today), *partial):
        if all(one.end <= other.start or other.end <= one.start for other in found):
            found.append(one)
    yield from sorted(found)


def _relative(question: str, words: DateWords, today: date) -> Iterator[_Named]:
    """Yield the periods that `question` names relative to `today`, the longest first."""
    tomorrow = today + timedelta(days=1)
    found: list[_Named] = []
    for unit in _UNITS:
        for match in re.finditer(words.to_date.get(unit, "(?!)"), question, re.IGNORECASE):
            found.append(_Named(*match.span(), Days(_unit_of(today, unit).start, tomorrow)))
        for match in re.finditer(words.trailing[unit], question, re.IGNORECASE):
            start = _moved(today, unit, -number_of(match["n"] or "1"))
            found += [_Named(*match.span(), Days(start, tomorrow))] if start else []
        for which, steps in (("last", -1), ("this", 0), ("next", 1)):
            for match in (
                re.finditer(words.relative[f"{which} {unit}"], question, re.IGNORECASE) if unit != "day" else ()
            ):
                days = _unit_of(_moved(today, unit, steps) or today, unit)
                found.append(_Named(*match.span(), days, is_year=unit == "year"))
    for name, steps in (("yesterday", -1), ("today", 0), ("tomorrow", 1)):
        for match in re.finditer(words.relative[name], question, re.IGNORECASE):
            day = today + timedelta(days=steps)
            found.append(_Named(*match.span(), Days(day, day + timedelta(days=1))))
    yield from sorted(found, key=lambda one: one.start - one.end)


def _with_years(named: list[_Named], question: str, words: DateWords) -> list[_Named]:
    """Return `named` with the year that a period lacks: of "March last year", "March to May 2025", "2025年3月到5月"."""
    if len(named) != 2 or sum(one.days is None for one in named) != 1:
        return named
    first, last = named
    period, other = (first.period, last) if first.days is None else (last.period, first)
    between = question[first.end : last.start]
    if period is None or other.days is None or not other.days.start:
        return named
    year = other.days.start.year
    if other.is_year and re.fullmatch(words.of_year, between, re.IGNORECASE):
        return [_Named(first.start, last.end, _days_of(period, year))]
    if other.is_year:
        return named
    days = _days_of(period, year)
    if days and days.start and (first.days is None) == (days.start > other.days.start):
        days = _days_of(period, year + (1 if first.days else -1))
    return [first._replace(days=days), last] if first.days is None else [first, last._replace(days=days)]


def _days_of(period: Period, year: int | None = None) -> Days | None:
    """Return the days of `period`, in `year` if it names none; None if it has no year, a time, or no such day."""
    year = period.year or year
    if not year or period.clock:
        return None
    try:
        if period.day:
            day = date(year, period.month or 0, period.day)
            return Days(day, day + timedelta(days=1))
    except ValueError:
        return None
    unit = next((unit for unit in ("month", "quarter") if getattr(period, unit)), "year")
    if period.half:
        return Days(date(year, period.half * 6 - 5, 1), _moved(date(year, period.half * 6 - 5, 1), "month", 6))
    month = period.month or (period.quarter or 1) * 3 - 2
    return _unit_of(date(year, month, 1), unit)


def _unit_of(day: date, unit: str) -> Days:
    """Return the calendar unit that contains `day`; weeks begin on Monday."""
    if unit == "week":
        start = day - timedelta(days=day.weekday())
    else:
        months = _MONTHS[unit]
        start = date(day.year, (day.month - 1) // months * months + 1, 1)
    return Days(start, _moved(start, unit, 1))


def _moved(day: date, unit: str, steps: int) -> date | None:
    """Return `day` moved by `steps` units, on the last day of a shorter month; None beyond the calendar."""
    try:
        if unit in ("day", "week"):
            return day + timedelta(days=steps * (7 if unit == "week" else 1))
        years, month = divmod(day.year * 12 + day.month - 1 + steps * _MONTHS[unit], 12)
        last = (date(years + month // 11, (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
        return date(years, month + 1, min(day.day, last))
    except (ValueError, OverflowError):
        return None


_RANGES: dict[str, Callable[[Days, Days], Days]] = {
    "between": lambda first, last: Days(first.start, last.end),
    "before": lambda first, _: Days(None, first.start),
    "since": lambda first, _: Days(first.start, None),
    "after": lambda first, _: Days(first.end, None),
    "through": lambda first, _: Days(None, first.end),
    "within": lambda first, _: first,
}


def _range(kind: str, named: list[_Named]) -> Days | None:
    first, last = named[0].days, named[-1].days
    if first is None or last is None:
        return None
    days = _RANGES[kind](first, last)
    is_empty = days.start is not None and days.end is not None and days.start >= days.end
    return None if is_empty else days


@cache
def _forms(language: Language) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the patterns of the kinds of ranges; the more specific ones come first."""
    words = date_words_of(language)
    return tuple((kind, re.compile(getattr(words, kind).replace("@", _MARK), re.IGNORECASE)) for kind in _RANGES)

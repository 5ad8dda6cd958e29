"""Periods without rows: the SQL that adds them to the groups of a query.

Days are counted from the first one, in steps that are at most as long as the shortest period, so that every period has
one of them. The numbers are made from ten digits, because engines differ in functions that generate rows.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import reduce
from typing import NamedTuple

from sqlglot import exp

from datasphinx.agent.queryspec.dates import read_span
from datasphinx.agent.queryspec.spec import Between, Compared, Condition, Period
from datasphinx.agent.queryspec.statement import StatementParts, row_number, unused_name

ZERO_IF_EMPTY = ("sum", "count", "nunique")
"""Aggregations that are 0 over no rows; all others are NULL."""

_STEPS: dict[Period, int] = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}
"""The number of days of the shortest period."""
_BLOCK = 1_000

MAX_ADDED_PERIODS = 1_000
"""Maximum number of periods between the data and a bound of the filters; with a farther bound the data are the end."""


class Bounds(NamedTuple):
    """The first and the last day that filters admit; None: no bound. Both are ends of periods."""

    first: date | None = None
    last: date | None = None


def bounds_of(conditions: Iterable[Condition], by: Period) -> Bounds:
    """Return the bounds of `conditions` on one column, extended to whole periods; contradictory ones are none."""
    lows: list[date] = []
    highs: list[date] = []
    for condition in conditions:
        if isinstance(condition, Between):
            low, high = condition.value
            lows.append(read_span(str(low)).start.date())
            highs.append(read_span(str(high)).start.date())
        elif isinstance(condition, Compared) and condition.op != "!=":
            start, end = read_span(str(condition.value))
            if condition.op in (">=", ">", "="):
                lows.append((end if end and condition.op == ">" else start).date())
            if condition.op in ("<=", "="):
                highs.append(start.date())
            elif condition.op == "<":
                last = start - timedelta(microseconds=1) if start > datetime.min else start
                highs.append(last.date())
    if lows and highs and max(lows) > min(highs):
        return Bounds()
    return Bounds(_first_day(max(lows), by) if lows else None, _last_day(min(highs), by) if highs else None)


def _first_day(day: date, by: Period) -> date:
    """Return the first day of the period that contains `day`."""
    if by == "day":
        return day
    if by == "week":
        return day - timedelta(days=day.weekday())
    months: dict[Period, int] = {"month": 1, "quarter": 3, "year": 12}
    return date(day.year, day.month - (day.month - 1) % months[by], 1)


def _last_day(day: date, by: Period) -> date:
    """Return the last day of the period that contains `day`."""
    if day.year == date.max.year:
        # Python has no day after that year.
        return day
    next_day = day
    while _first_day(next_day, by) == _first_day(day, by):
        next_day += timedelta(days=1)
    return next_day - timedelta(days=1)


@dataclass(frozen=True)
class Gaps:
    """The gaps to fill: in `period_name`, one of the columns `groups`, in periods of length `by`.

    `ends` names the columns with the first and the last day of each group, `zeros` the aggregations that are 0, and
    `bounds` has the days to which filters extend the periods.
    """

    groups: Sequence[str]
    period_name: str
    by: Period
    ends: tuple[str, str]
    zeros: Collection[str]
    bounds: Bounds = Bounds()


def filled_groups(gaps: Gaps, columns: Sequence[str], groups: exp.Table, parts: StatementParts) -> exp.Select:
    """Return the query for `columns` of the query `groups`, with a row for each period and combination of the rest."""
    is_added = unused_name("is_added", columns)
    others = [name for name in gaps.groups if name != gaps.period_name]
    existing = exp.select(*map(_column, columns), exp.alias_(_number(0), is_added, quoted=True))
    periods = parts.add("periods", _periods(gaps, groups, parts))
    fillers = [
        _column(name, "p" if name == gaps.period_name else "g")
        if name in gaps.groups
        else exp.alias_(_number(0) if name in gaps.zeros else exp.Null(), name, quoted=True)
        for name in columns
    ]
    added = exp.select(*fillers, exp.alias_(_number(1), is_added, quoted=True))
    added = added.from_(exp.alias_(periods, "p", table=True, quoted=True), copy=False)
    if others:
        combinations = exp.select(*(_column(name) for name in others)).distinct(copy=False).from_(groups.copy())
        added = added.join(combinations.subquery(_quoted("g")), join_type="cross", copy=False)
    both = exp.union(existing.from_(groups.copy(), copy=False), added, distinct=False, copy=False)
    place = unused_name("place", [*columns, is_added])
    order = [exp.Ordered(this=_column(is_added), desc=False, nulls_first=False)]
    numbered = row_number([_column(name) for name in gaps.groups], order)
    inner = exp.select(*map(_column, columns), exp.alias_(numbered, place, quoted=True))
    inner = inner.from_(both.subquery(_quoted("b")), copy=False)
    first = exp.EQ(this=_column(place), expression=_number(1))
    return exp.select(*map(_column, columns)).from_(inner.subquery(_quoted("n")), copy=False).where(first, copy=False)


def _periods(gaps: Gaps, groups: exp.Table, parts: StatementParts) -> exp.Query:
    """Return the query for all periods from the first to the last day, in a column named as in the groups."""
    spelling, step = parts.spelling, _STEPS[gaps.by]
    ends = _ends(gaps, groups, parts)
    numbers = parts.add("numbers", _numbers(parts))
    block = _product(_column("n", "a"), step * _BLOCK)
    blocks = exp.select(_column("start_day", "e"), _column("days", "e"), exp.alias_(block, "start", quoted=True)).from_(
        ends.subquery(_quoted("e")), copy=False
    )
    blocks = blocks.join(exp.alias_(numbers, "a", table=True, quoted=True), join_type="cross", copy=False)
    blocks = blocks.where(exp.LTE(this=block.copy(), expression=_column("days", "e")), copy=False)
    offset = exp.Paren(this=exp.Add(this=_column("start", "s"), expression=_product(_column("n", "b"), step)))
    day = spelling.add_days(_column("start_day", "s"), offset)
    generated = exp.select(
        exp.alias_(spelling.period(spelling.period_key(day, gaps.by), gaps.by), gaps.period_name, quoted=True)
    )
    generated = generated.from_(blocks.subquery(_quoted("s")), copy=False)
    generated = generated.join(exp.alias_(numbers.copy(), "b", table=True, quoted=True), join_type="cross", copy=False)
    generated = generated.where(exp.LTE(this=offset.copy(), expression=_column("days", "s")), copy=False)
    known = exp.Not(this=exp.Is(this=_column(gaps.period_name), expression=exp.Null()))
    existing = exp.select(_column(gaps.period_name)).from_(groups.copy(), copy=False).where(known, copy=False)
    return exp.union(existing, generated, distinct=True, copy=False)


def _ends(gaps: Gaps, groups: exp.Table, parts: StatementParts) -> exp.Select:
    """Return the query for the first day and the number of days up to the last one."""
    most_days = MAX_ADDED_PERIODS * _STEPS[gaps.by]
    low, high = gaps.bounds
    is_span = low is not None and high is not None and (high - low).days <= most_days

    def end(bound: date | None, data: exp.Expr, *, is_first: bool) -> exp.Expr:
        if bound is None:
            return data
        if is_span:
            return parts.bound.date(bound.isoformat())
        pair = (parts.bound.date(bound.isoformat()), data) if is_first else (data, parts.bound.date(bound.isoformat()))
        is_near = exp.LTE(this=parts.spelling.days_of_periods(*pair), expression=_number(most_days))
        return exp.Case(ifs=[exp.If(this=is_near, true=parts.bound.date(bound.isoformat()))], default=data.copy())

    first = end(low, exp.Min(this=_column(gaps.ends[0])), is_first=True)
    last = end(high, exp.Max(this=_column(gaps.ends[1])), is_first=False)
    ends = exp.select(
        exp.alias_(first, "start_day", quoted=True),
        exp.alias_(parts.spelling.days_of_periods(first.copy(), last), "days", quoted=True),
    )
    # With two bounds, there may be no group.
    return ends if is_span else ends.from_(groups.copy(), copy=False)


def _numbers(parts: StatementParts) -> exp.Select:
    """Return the query for the numbers from 0 to 999, in the column `n`."""
    selects: list[exp.Query] = [exp.select(exp.alias_(_number(digit), "n", quoted=True)) for digit in range(10)]
    digits = parts.add("digits", reduce(lambda a, b: exp.union(a, b, distinct=False, copy=False), selects))
    terms = [_product(_column("n", alias), factor) for alias, factor in (("a", 100), ("b", 10))]
    total = exp.Add(this=exp.Add(this=terms[0], expression=terms[1]), expression=_column("n", "c"))
    query = exp.select(exp.alias_(total, "n", quoted=True))
    query = query.from_(exp.alias_(digits, "a", table=True, quoted=True), copy=False)
    for alias in ("b", "c"):
        query = query.join(exp.alias_(digits.copy(), alias, table=True, quoted=True), join_type="cross", copy=False)
    return query


def _column(name: str, table: str | None = None) -> exp.Column:
    return exp.column(name, table=table, quoted=True)


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _product(node: exp.Expr, factor: int) -> exp.Expr:
    return exp.Mul(this=node, expression=_number(factor))

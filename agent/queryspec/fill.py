"""Periods without rows: the SQL that adds them to the groups of a query.

Days are counted from the first one, in steps that are at most as long as the shortest period, so that every period has
one of them. The numbers are made from ten digits, because engines differ in functions that generate rows.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple

from sqlglot import exp

from datasphinx.agent.engines.spelling import formula
from datasphinx.agent.queryspec.dates import read_span
from datasphinx.agent.queryspec.spec import Between, Compared, Condition, Period
from datasphinx.agent.queryspec.statement import StatementParts, unused_name

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


def filled_groups(gaps: Gaps, columns: Sequence[str], groups: exp.Table, parts: StatementParts) -> exp.Query:
    """Return the query for `columns` of the query `groups`, with a row for each period and combination of the rest."""
    added, place = (unused_name(name, columns) for name in ("is_added", "place"))
    periods, rows = parts.add("periods", _periods(gaps, groups, parts)).sql("duckdb"), groups.sql("duckdb")
    others = _names(name for name in gaps.groups if name != gaps.period_name)
    combinations = f'CROSS JOIN (SELECT DISTINCT {others} FROM {rows}) AS "g"' if others else ""

    def filler(name: str) -> str:
        if name in gaps.groups:
            return f'"{"p" if name == gaps.period_name else "g"}".{_names([name])}'
        return f"{0 if name in gaps.zeros else 'NULL'} AS {_names([name])}"

    return _query(f"""
        SELECT {_names(columns)} FROM (
            SELECT {_names(columns)},
                ROW_NUMBER() OVER (PARTITION BY {_names(gaps.groups)} ORDER BY "{added}" ASC NULLS LAST) AS "{place}"
            FROM (
                SELECT {_names(columns)}, 0 AS "{added}" FROM {rows}
                UNION ALL
                SELECT {", ".join(map(filler, columns))}, 1 AS "{added}" FROM {periods} AS "p" {combinations}
            ) AS "b"
        ) AS "n" WHERE "{place}" = 1""")


def _periods(gaps: Gaps, groups: exp.Table, parts: StatementParts) -> exp.Query:
    """Return the query for all periods from the first to the last day, in a column named as in the groups."""
    spelling, step, name = parts.spelling, _STEPS[gaps.by], _names([gaps.period_name])
    ends, numbers = _ends(gaps, groups, parts), parts.add("numbers", _numbers(parts)).sql("duckdb")
    days = formula(f'("s"."start" + "b"."n" * {step})')
    day = spelling.write("add_days", x=exp.column("start_day", table="s", quoted=True), days=days)
    return _query(
        f"""
        SELECT {name} FROM {groups.sql("duckdb")} WHERE NOT {name} IS NULL
        UNION
        SELECT period AS {name} FROM (
            SELECT "e"."start_day", "e"."days", "a"."n" * {step * _BLOCK} AS "start"
            FROM ends AS "e" CROSS JOIN {numbers} AS "a" WHERE "a"."n" * {step * _BLOCK} <= "e"."days"
        ) AS "s" CROSS JOIN {numbers} AS "b" WHERE days <= "s"."days"
        """,
        ends=ends,
        days=days,
        period=spelling.period(spelling.period_key(day, gaps.by), gaps.by),
    )


def _ends(gaps: Gaps, groups: exp.Table, parts: StatementParts) -> exp.Query:
    """Return the query for the first day and the number of days up to the last one."""
    most_days = MAX_ADDED_PERIODS * _STEPS[gaps.by]
    low, high = gaps.bounds
    is_span = low is not None and high is not None and (high - low).days <= most_days

    def end(bound: date | None, data: exp.Expr, *, is_first: bool) -> exp.Expr:
        if bound is None:
            return data
        day = parts.bound.date(bound.isoformat())
        if is_span:
            return day
        start, stop = (day, data) if is_first else (data, day)
        days = parts.spelling.write("days_between", start=start, stop=stop)
        nearest = parts.bound.date(bound.isoformat())
        return formula(f"CASE WHEN days <= {most_days} THEN bound ELSE data END", days=days, bound=nearest, data=data)

    first = end(low, formula(f"MIN({_names(gaps.ends[:1])})"), is_first=True)
    last = end(high, formula(f"MAX({_names(gaps.ends[1:])})"), is_first=False)
    days = parts.spelling.write("days_between", start=first, stop=last)
    # With two bounds, there may be no group.
    source = "" if is_span else f"FROM {groups.sql('duckdb')}"
    return _query(f'SELECT first AS "start_day", number AS "days" {source}', first=first, number=days)


def _numbers(parts: StatementParts) -> exp.Query:
    """Return the query for the numbers from 0 to 999, in the column `n`."""
    digits = parts.add("digits", _query(" UNION ALL ".join(f'SELECT {digit} AS "n"' for digit in range(10))))
    name = digits.sql("duckdb")
    return _query(
        'SELECT "a"."n" * 100 + "b"."n" * 10 + "c"."n" AS "n" '
        f'FROM {name} AS "a" CROSS JOIN {name} AS "b" CROSS JOIN {name} AS "c"'
    )


def _query(sql: str, **parts: exp.Expr) -> exp.Query:
    query = formula(sql, **parts)
    assert isinstance(query, exp.Query)
    return query


def _names(names: Iterable[str]) -> str:
    """Return column names in the SQL of DuckDB, quoted, with commas between."""
    return ", ".join(exp.to_identifier(name, quoted=True).sql("duckdb") for name in names)

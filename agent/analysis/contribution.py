"""Contribution analysis: which members of which dimensions a change of a metric between two periods consists of.

It answers "why did it rise?" by arithmetic. It names no cause, since rows do not show one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

from datasphinx.agent.knowledge.entries import MetricEntry
from datasphinx.agent.knowledge.metric_rows import MetricRows, Period
from datasphinx.agent.knowledge.references import Unresolved, definition_of
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.types import Result

Number = int | float | Decimal | str
"""A number as the rows of a result have it: a text has the digits of a decimal."""

_PLACES = 9
"""Decimals of the returned values."""
_UNIT = 10**_PLACES
_COLUMNS_OF_RATIO = 4


class Values(NamedTuple):
    """The value of a metric for one member of a dimension in both periods; None if the member does not occur.

    For a ratio these are its numerators, beside its denominators.
    """

    member: Any
    before: Number | None
    after: Number | None
    denominator_before: Number | None = None
    denominator_after: Number | None = None


@dataclass(frozen=True)
class Part:
    """What one member contributes to a change, in the unit of the metric."""

    member: Any
    before: Decimal | None
    """The value of the metric for the member in the first period; None if it has none."""
    after: Decimal | None
    contribution: Decimal
    mix: Decimal | None = None
    """Of a ratio, the part of the contribution that follows from the member's share of the denominator."""
    rate: Decimal | None = None
    """Of a ratio, the part that follows from the member's own ratio; `mix + rate` is the contribution."""
    is_new: bool = False
    """Whether the member occurs in the second period only."""
    is_lost: bool = False
    """Whether the member occurs in the first period only."""


@dataclass(frozen=True)
class Breakdown:
    """The change by the members of one dimension; the contributions sum to it exactly."""

    dimension: str
    before: Decimal
    after: Decimal
    parts: tuple[Part, ...]
    """The members, the largest contribution in either direction first."""
    concentration: float
    """From 0, where each member changed in proportion to its size, to 1, where one member changed alone."""
    sql: str = ""
    """The statement whose rows it was computed from; empty for given rows."""

    @property
    def change(self) -> Decimal:
        """The value of the second period minus that of the first."""
        return self.after - self.before


def explain_change(
    source: Source,
    metric: str | MetricEntry,
    first: Period,
    second: Period,
    *,
    dimensions: Sequence[str] = (),
    filters: Sequence[str] = (),
) -> tuple[Breakdown, ...]:
    """Return the change of a metric from the first to the second period by each dimension, the best explanation first.

    `metric` is the name of a declared one, or an entry for a measure of the catalog, such as
    `MetricEntry(expression="SUM(orders.total_amount)", date_column="orders.ordered_on")`. It must be a sum or a count,
    or a ratio of them. `dimensions` are columns as `table.column` of the table of the metric, or of tables that its
    rows refer to; by default those of the metric. `filters` are SQL conditions on such columns.

    One statement per dimension is executed. A dimension with more members than the row limit, or with secret ones, is
    left out.

    Raises:
        Unresolved: the metric, a dimension or a filter does not fit the source; no dimension is left; a ratio has no
            denominator in one of the periods; the periods overlap.
        DatasphinxError: errors of `Source.execute`.
    """
    catalog = source.shown_catalog
    definition = definition_of(metric, catalog) if isinstance(metric, MetricEntry) else source.knowledge.metric(metric)
    assert definition is not None, "a metric has SQL"
    found, problem = [], Unresolved("there is no dimension by which the change can be broken down")
    for dimension in dimensions or MetricRows.of(definition, catalog).candidates():
        try:
            query = MetricRows.of(definition, catalog).of_periods({"member": dimension}, (first, second), filters)
        except Unresolved as error:
            if dimensions:
                raise
            problem = error
            continue
        sql = print_statement(query, catalog.dialect)
        result = source.execute(sql)
        if result["truncated"] or 0 in result.get("secret", ()):
            continue
        is_ratio = len(result["columns"]) == _COLUMNS_OF_RATIO
        try:
            breakdown = break_down(dimension, _values(result), is_ratio=is_ratio)
        except ValueError as error:
            raise Unresolved(str(error)) from None
        found.append(replace(breakdown, sql=sql))
    if not found:
        raise problem
    return ranked(found)


def _values(result: Result) -> list[Values]:
    """Return the rows of `MetricRows.of_periods` with both periods of a member in one row."""
    members: dict[Any, list[list[Any]]] = {}
    for member, period, *parts in result["rows"]:
        members.setdefault(member, [[None, None], [None, None]])[period][: len(parts)] = parts
    return [
        Values(member, *values, *denominators)
        for member, pair in members.items()
        for values, denominators in [tuple(zip(*pair, strict=True))]
    ]


def break_down(dimension: str, rows: Iterable[Values], *, is_ratio: bool = False) -> Breakdown:
    """Return what each member of `dimension` contributes to the change of a sum, or with `is_ratio` of a ratio of sums.

    A member occurs in one row. In a sum it contributes its own difference. In a ratio R, with the share w of the member
    in the denominator and its own ratio r, it contributes by Bennet's decomposition, the mean of weighting by the first
    and by the second period (Bennet, "The Theory of Measurement of Changes in Cost of Living", 1920):

        rate = (w1 + w0) / 2 * (r1 - r0)
        mix  = (w1 - w0) * ((r1 + r0) / 2 - (R1 + R0) / 2)

    Shares sum to 1, so that measuring mix against the ratio of both periods changes no sum; a member that gains share
    raises R if its ratio is above it. A member without a ratio in a period, new and lost ones included, contributes by
    mix alone, n1 / D1 - n0 / D0 - (w1 - w0) * (R1 + R0) / 2 with its numerators n and all denominators D.

    Values are computed as fractions and rounded to nine decimals so that their sums stay exact.

    Raises:
        ValueError: a ratio has no denominator in one of the periods, or a value is no number.
    """
    members = [_Member.of(row) for row in rows]
    before, after = (sum((_or_zero(each.numerators[at]) for each in members), Fraction()) for at in (0, 1))
    if not is_ratio:
        effects = [(Fraction(), _or_zero(each.numerators[1]) - _or_zero(each.numerators[0])) for each in members]
    else:
        totals = [sum((_or_zero(each.denominators[at]) for each in members), Fraction()) for at in (0, 1)]
        if 0 in totals:
            raise ValueError("the ratio has no denominator in one of the periods")
        before, after = before / totals[0], after / totals[1]
        effects = [each.effects(totals, (before + after) / 2) for each in members]
    first, change = round(before * _UNIT), round((after - before) * _UNIT)
    rounded = _rounded_to(change, [effect for pair in effects for effect in pair])
    parts = [
        each.part(mix, rate, is_ratio=is_ratio)
        for each, mix, rate in zip(members, rounded[::2], rounded[1::2], strict=True)
    ]
    return Breakdown(
        dimension,
        _decimal(first),
        _decimal(first + change),
        tuple(sorted(parts, key=lambda part: -abs(part.contribution))),
        _concentration([mix + rate for mix, rate in effects], [each.size(is_ratio=is_ratio) for each in members]),
    )


def ranked(breakdowns: Iterable[Breakdown]) -> tuple[Breakdown, ...]:
    """Return breakdowns of the same change, the one in which fewest members stand out first."""
    return tuple(sorted(breakdowns, key=lambda each: -each.concentration))


@dataclass(frozen=True)
class _Member:
    """The values of a member in both periods as fractions."""

    member: Any
    numerators: tuple[Fraction | None, Fraction | None]
    denominators: tuple[Fraction | None, Fraction | None]

    @classmethod
    def of(cls, row: Values) -> "_Member":
        denominators = _fraction(row.denominator_before), _fraction(row.denominator_after)
        return cls(row.member, (_fraction(row.before), _fraction(row.after)), denominators)

    def effects(self, totals: Sequence[Fraction], mean: Fraction) -> tuple[Fraction, Fraction]:
        """Return the effects of mix and rate on a ratio with the denominators `totals` and the mean of both periods."""
        w0, w1 = (_or_zero(self.denominators[at]) / totals[at] for at in (0, 1))
        s0, s1 = (_or_zero(self.numerators[at]) / totals[at] for at in (0, 1))
        r0, r1 = self.ratios
        rate = Fraction() if r0 is None or r1 is None else (w1 + w0) / 2 * (r1 - r0)
        return s1 - s0 - (w1 - w0) * mean - rate, rate

    @property
    def ratios(self) -> tuple[Fraction | None, ...]:
        """The ratio of each period; None without a denominator."""
        pairs = zip(self.numerators, self.denominators, strict=True)
        return tuple(_or_zero(above) / below if below else None for above, below in pairs)

    def part(self, mix: int, rate: int, *, is_ratio: bool) -> Part:
        """Return the contribution of the member, which is made of two effects in units of the last decimal."""
        values = self.ratios if is_ratio else self.numerators
        before, after = (None if value is None else _decimal(round(value * _UNIT)) for value in values)
        occurs = [
            above is not None or below is not None
            for above, below in zip(self.numerators, self.denominators, strict=True)
        ]
        return Part(
            self.member,
            before,
            after,
            contribution=_decimal(mix + rate),
            mix=_decimal(mix) if is_ratio else None,
            rate=_decimal(rate) if is_ratio else None,
            is_new=not occurs[0],
            is_lost=not occurs[1],
        )

    def size(self, *, is_ratio: bool) -> Fraction:
        """Return how much of both periods belongs to the member, as a weight."""
        weights = self.denominators if is_ratio else self.numerators
        return sum((abs(_or_zero(weight)) for weight in weights), Fraction())


def _concentration(contributions: Sequence[Fraction], sizes: Sequence[Fraction]) -> float:
    """Return how much likelier two units of change lie in one member than a unit of change and one of size, 0 to 1.

    As Cohen's kappa, it is scaled so that agreement by chance is 0.
    """
    change, size = sum(map(abs, contributions), Fraction()), sum(sizes, Fraction())
    if not change or not size:
        return 0.0
    changes = [abs(each) / change for each in contributions]
    together = sum(each**2 for each in changes)
    by_chance = sum(each * own / size for each, own in zip(changes, sizes, strict=True))
    return max(0.0, float((together - by_chance) / (1 - by_chance))) if by_chance < 1 else 0.0


def _rounded_to(total: int, values: Sequence[Fraction]) -> list[int]:
    """Return `values` in units of the last decimal, the largest remainders rounded up.

    Their sum is `total`, the rounded sum of the values.
    """
    scaled = [value * _UNIT for value in values]
    rounded = [floor(value) for value in scaled]
    by_remainder = sorted(range(len(scaled)), key=lambda index: rounded[index] - scaled[index])
    for index in by_remainder[: total - sum(rounded)]:
        rounded[index] += 1
    return rounded


def _decimal(units: int) -> Decimal:
    """Return a number of units of the last decimal, without zeros at its end."""
    places = _PLACES
    while places and units % 10 == 0:
        units, places = units // 10, places - 1
    return Decimal(f"{units}E-{places}")


def _fraction(value: Number | None) -> Fraction | None:
    """Return a number with its digits; of a floating-point number twelve, as the others depend on the order of sums."""
    return None if value is None else Fraction(f"{value:.12g}" if isinstance(value, float) else str(value))


def _or_zero(value: Fraction | None) -> Fraction:
    return Fraction() if value is None else value

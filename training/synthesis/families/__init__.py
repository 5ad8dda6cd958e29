"""Families of questions: functions that return a draft for a random part of the schema, or raise NoFit."""

from collections.abc import Callable

from training.synthesis.draft import Draft
from training.synthesis.families import absence, counting, linked, listing, rankings, shares, totals, trends, years
from training.synthesis.view import Reader

Family = Callable[[Reader], Draft]

FAMILIES: dict[str, Family] = {
    "count": counting.rows_counted,
    "count in a period": counting.in_period,
    "count with a value": counting.with_value,
    "missing values": counting.missing,
    "distinct values": counting.distinct,
    "duplicates": counting.duplicates,
    "aggregate": totals.overall,
    "computed amount": totals.computed,
    "by group": totals.by_group,
    "by name of a parent": totals.by_label,
    "rounded average": totals.rounded,
    "ratio": totals.ratio,
    "trend": trends.trend,
    "running total": trends.running,
    "moving average": trends.moving,
    "year against year": years.versus,
    "growth": years.growth,
    "step before": trends.with_the_one_before,
    "share of rows": shares.of_rows,
    "share of a total": shares.of_sum,
    "share with a condition": shares.of_condition,
    "share within groups": shares.within_groups,
    "top rows": rankings.top_rows,
    "top groups": rankings.top_groups,
    "top per group": rankings.top_per_group,
    "never happened": absence.never,
    "at least": absence.at_least,
    "list": listing.plain_list,
    "ordered list": listing.ordered_list,
    "of a parent": linked.of_parent,
    "over a bridge": linked.over_bridge,
    "beyond the average": listing.beyond_average,
}

COMMON = frozenset({
    "count in a period", "count with a value", "aggregate", "by group", "by name of a parent", "trend", "share of rows",
    "top groups", "of a parent", "over a bridge", "never happened",
})  # fmt: skip
"""The most common questions; drafted several times as often, so that training reflects their frequency."""

"""Contribution analysis: hand-computed cases, and sums that are those of the metric."""

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from datasphinx.agent.analysis.contribution import Breakdown, explain_change
from datasphinx.agent.knowledge.entries import MetricEntry
from datasphinx.agent.knowledge.folder import read_folder
from datasphinx.agent.knowledge.metric_rows import Period
from datasphinx.agent.knowledge.references import Unresolved
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import Limits

METRICS = Path(__file__).parents[2] / "fixtures" / "metric_questions"


def year(number: int) -> Period:
    """Return the days of a calendar year."""
    return Period(date(number, 1, 1), date(number + 1, 1, 1))


YEARS = year(2023), year(2024)
SUM = "SUM(facts.n)"
RATIO = "SUM(facts.n) / SUM(facts.d)"


def explained(folder: Path, expression: str, rows: Sequence[tuple[Any, ...]], *columns: str) -> tuple[Breakdown, ...]:
    """Return the change of `expression` over rows of member, numerators and denominators of both years."""
    path = folder / "facts.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE facts (member TEXT, other TEXT, day DATE, n INTEGER, d INTEGER)")
        for member, other, *values in rows:
            for day, n, d in zip(("2023-05-01", "2024-05-01"), values[:2], values[2:] or (None, None), strict=True):
                if (n, d) != (None, None):
                    connection.execute("INSERT INTO facts VALUES (?, ?, ?, ?, ?)", [member, other, day, n, d])
    connection.close()
    source = open_source(SourceSettings(url=SecretStr(f"sqlite:///{path}")), Limits(60, 100))
    try:
        metric = MetricEntry(expression=expression, date_column="facts.day")
        return explain_change(source, metric, *YEARS, dimensions=columns or ("facts.member",))
    finally:
        source.close()


CASES = {
    "differences of a sum": (
        SUM,
        [("web", "", 100, 40), ("store", "", 50, 60), ("app", "", None, 25), ("fax", "", 7, None)],
        (157, 125),
        [("web", 100, 40, -60), ("app", None, 25, 25), ("store", 50, 60, 10), ("fax", 7, None, -7)],
    ),
    # Hats: R0 = 15 / 100, R1 = 20 / 100, mean 0.175; mix -0.25 * (0.15 - 0.175), rate (0.5 + 0.25) / 2 * 0.1.
    "shares and ratios of members": (
        RATIO,
        [("shoes", "", 10, 15, 50, 75), ("hats", "", 5, 5, 50, 25)],
        (0.15, 0.2),
        [("hats", 0.1, 0.2, 0.04375, 0.00625, 0.0375), ("shoes", 0.2, 0.2, 0.00625, 0.00625, 0)],
    ),
    # Simpson's paradox: both rates rise by 0.1, and the member with the low one grows from 10 % to 90 %.
    "a ratio that falls although each one rises": (
        RATIO,
        [("a", "", 81, 10, 90, 10), ("b", "", 1, 18, 10, 90)],
        (0.82, 0.28),
        [("a", 0.9, 1, -0.27, -0.32, 0.05), ("b", 0.1, 0.2, -0.27, -0.32, 0.05)],
    ),
    # R0 = 30 / 100, R1 = 60 / 100, mean 0.45. New: 0.5 * (0.8 - 0.45). Lost: -0.5 * (0.2 - 0.45).
    "members that are new or lost contribute by mix alone": (
        RATIO,
        [("old", "", 10, None, 50, None), ("new", "", None, 40, None, 50), ("kept", "", 20, 20, 50, 50)],
        (0.3, 0.6),
        [("new", None, 0.8, 0.175, 0.175, 0), ("old", 0.2, None, 0.125, 0.125, 0), ("kept", 0.4, 0.4, 0, 0, 0)],
    ),
    "a member with a numerator alone counts": (
        RATIO,
        [("a", "", 1, 2, 10, 10), ("b", "", 1, 3, 10, 0)],
        (0.1, 0.5),
        [("b", 0.1, None, 0.4, 0.4, 0), ("a", 0.1, 0.2, 0, -0.075, 0.075)],
    ),
}


@pytest.mark.parametrize(("expression", "rows", "totals", "expected"), CASES.values(), ids=CASES)
def test_what_members_contribute_sums_to_the_change(
    tmp_path: Path, expression: str, rows: list[Any], totals: tuple[float, float], expected: list[tuple[Any, ...]]
) -> None:
    (found,) = explained(tmp_path, expression, rows)

    assert (found.before, found.after) == pytest.approx(totals)
    assert sum(row[3] for row in found.rows) == pytest.approx(totals[1] - totals[0])
    for row, wanted in zip(sorted(found.rows), sorted(expected), strict=True):
        assert row == (wanted[0], *(None if cell is None else pytest.approx(cell) for cell in wanted[1:]))
    sizes = [abs(row[3]) for row in found.rows]
    assert sizes == pytest.approx(sorted(sizes, reverse=True))


def test_the_parts_of_a_ratio_are_summed_over_their_own_rows(tmp_path: Path) -> None:
    """The shares and ratios of members above; a join would count the sales with two refunds twice."""
    path = tmp_path / "sales.db"
    with sqlite3.connect(path) as connection:
        connection.executescript("""
            CREATE TABLE sales (id INTEGER PRIMARY KEY, item TEXT, day DATE, amount INTEGER);
            CREATE TABLE refunds (sale_id INTEGER NOT NULL REFERENCES sales (id), amount INTEGER);
            INSERT INTO sales VALUES (1, 'shoes', '2023-05-01', 50), (2, 'shoes', '2024-05-01', 75),
                (3, 'hats', '2023-05-01', 50), (4, 'hats', '2024-05-01', 25);
            INSERT INTO refunds VALUES (1, 4), (1, 6), (2, 15), (3, 5), (4, 2), (4, 3);
        """)
    connection.close()
    source = open_source(SourceSettings(url=SecretStr(f"sqlite:///{path}")), Limits(60, 100))
    metric = MetricEntry(expression="SUM(refunds.amount) / SUM(sales.amount)", date_column="sales.day")

    (found,) = explain_change(source, metric, *YEARS)

    source.close()
    assert (found.dimension, found.before, found.after) == ("sales.item", 0.15, 0.2)
    expected = CASES["shares and ratios of members"][3]
    assert [row[0] for row in found.rows] == [row[0] for row in expected]
    assert [row[1:] for row in found.rows] == [pytest.approx(row[1:]) for row in expected]


def test_a_ratio_needs_a_denominator_in_both_periods(tmp_path: Path) -> None:
    with pytest.raises(Unresolved, match="no denominator"):
        explained(tmp_path, RATIO, [("a", "", 1, None, 10, None)])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", "", 80, 88), ("b", "", 20, 22)], 0.0),
        ([("a", "", 80, 90), ("b", "", 20, 20)], 1.0),
        ([("a", "", 80, 80), ("b", "", 20, 20)], 0.0),
        ([("a", "", 10, 40)], 0.0),
        ([("a", "", 50, 60), ("b", "", 50, 40)], 0.0),
    ],
)
def test_concentration_is_one_where_a_member_changes_alone_and_zero_in_proportion(
    tmp_path: Path, rows: list[Any], expected: float
) -> None:
    (found,) = explained(tmp_path, SUM, rows)
    assert found.concentration == pytest.approx(expected, abs=1e-9)


def test_the_dimension_with_fewest_members_that_stand_out_is_first(tmp_path: Path) -> None:
    """Sales of the web halve in both regions, more or less."""
    rows = [("web", "north", 50, 24), ("web", "south", 50, 26), ("store", "north", 50, 51), ("store", "south", 50, 50)]
    first, _ = explained(tmp_path, SUM, rows, "facts.other", "facts.member")
    assert first.dimension == "facts.member"


@pytest.fixture
def shop(cache_dir: Path) -> Iterator[Source]:
    """The sample shop with metrics."""
    settings = SourceSettings(url=SecretStr(shop_url(cache_dir)))
    source = open_source(settings, Limits(60, 100), cache_dir=cache_dir, knowledge=read_folder(METRICS, "metrics"))
    yield source
    source.close()


def test_the_change_of_a_declared_metric_is_broken_down_by_its_dimensions(shop: Source) -> None:
    found = explain_change(shop, "net sales", *YEARS)

    total = "SELECT SUM(total_amount) FROM orders WHERE status <> 'cancelled' AND ordered_on LIKE '{}%'"
    totals = [shop.execute(total.format(year))["rows"][0][0] for year in (2023, 2024)]
    assert {each.dimension for each in found} == {
        "orders.channel", "customers.segment", "customers.country", "regions.name",
    }, "all but the one that its condition is about"  # fmt: skip
    assert all([each.before, each.after] == pytest.approx(totals) for each in found)
    assert all(sum(row[3] for row in each.rows) == pytest.approx(each.after - each.before) for each in found)
    assert (found[0].dimension, found[0].rows[0][0]) == ("orders.channel", "W")
    assert all(shop.check(each.sql) for each in found)


def test_a_measure_of_the_catalog_is_broken_down_by_texts_of_few_values(shop: Source) -> None:
    average = MetricEntry(expression="AVG(orders.total_amount)", date_column="orders.ordered_on")

    found = explain_change(shop, average, *YEARS, filters=["customers.segment = 'Consumer'"])

    dimensions = [each.dimension for each in found]
    assert {"channels.name", "customers.country", "regions.name"} <= set(dimensions)
    assert not {"customers.name", "customers.segment"} & set(dimensions)
    assert all(mix + rate == pytest.approx(total) for each in found for *_, total, mix, rate in each.rows)


def test_dimensions_with_more_members_than_rows_may_be_returned_are_left_out(shop: Source) -> None:
    with pytest.raises(Unresolved, match="no dimension"):
        explain_change(shop, "order count", *YEARS, dimensions=["customers.name"])


@pytest.mark.parametrize(
    ("metric", "periods", "dimensions"),
    [
        ("fame", (2023, 2024), []),
        ("net sales", (2023, 2023), []),
        ("net sales", (2023, 2024), ["products.name"]),
        ("cancellation rate", (1999, 2024), ["channels.name"]),
        (MetricEntry(expression="MAX(orders.total_amount)", date_column="orders.ordered_on"), (2023, 2024), []),
    ],
)
def test_what_cannot_be_broken_down_is_an_error(
    shop: Source, metric: str | MetricEntry, periods: tuple[int, int], dimensions: list[str]
) -> None:
    with pytest.raises(Unresolved):
        explain_change(shop, metric, *map(year, periods), dimensions=dimensions)

"""Contribution analysis: hand-computed cases, and sums that are exact for any rows."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from datasphinx.agent.analysis.contribution import Breakdown, Part, Values, break_down, explain_change, ranked
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


def part_of(breakdown: Breakdown, member: str | None) -> Part:
    """Return the part of one member."""
    return next(part for part in breakdown.parts if part.member == member)


def test_members_contribute_their_differences_to_the_change_of_a_sum() -> None:
    rows = [Values("web", 100, 40), Values("store", 50, 60), Values("app", None, 25), Values("fax", "7.50", None)]

    found = break_down("channel", rows)

    assert (found.before, found.after, found.change) == (Decimal("157.5"), Decimal(125), Decimal("-32.5"))
    assert [(part.member, part.contribution) for part in found.parts] == [
        ("web", Decimal(-60)),
        ("app", Decimal(25)),
        ("store", Decimal(10)),
        ("fax", Decimal("-7.5")),
    ]
    assert [part.member for part in found.parts if part.is_new] == ["app"]
    assert [part.member for part in found.parts if part.is_lost] == ["fax"]
    assert part_of(found, "app").before is None
    assert all(part.mix is None and part.rate is None for part in found.parts)


def test_a_ratio_changes_by_the_shares_and_by_the_ratios_of_its_members() -> None:
    """Return rates: shoes 20 % of 50 sold, hats 10 % of 50; then shoes 20 % of 75, hats 20 % of 25.

    R0 = 15 / 100, R1 = 20 / 100, their mean 0.175. Shoes: mix 0.25 * (0.2 - 0.175), rate 0.
    Hats: mix -0.25 * (0.15 - 0.175), rate (0.5 + 0.25) / 2 * 0.1.
    """
    found = break_down("category", [Values("shoes", 10, 15, 50, 75), Values("hats", 5, 5, 50, 25)], is_ratio=True)

    assert (found.before, found.after) == (Decimal("0.15"), Decimal("0.2"))
    assert part_of(found, "shoes") == Part(
        "shoes", Decimal("0.2"), Decimal("0.2"), Decimal("0.00625"), mix=Decimal("0.00625"), rate=Decimal(0)
    )
    assert part_of(found, "hats") == Part(
        "hats", Decimal("0.1"), Decimal("0.2"), Decimal("0.04375"), mix=Decimal("0.00625"), rate=Decimal("0.0375")
    )


def test_a_ratio_may_fall_although_that_of_each_member_rises() -> None:
    """Simpson's paradox: both rates rise by 0.1, and the member with the low one grows from 10 % to 90 %."""
    found = break_down("clinic", [Values("a", 81, 10, 90, 10), Values("b", 1, 18, 10, 90)], is_ratio=True)

    assert found.change == Decimal("0.28") - Decimal("0.82")
    assert all(part.rate is not None and part.rate > 0 for part in found.parts)
    assert sum(part.mix or 0 for part in found.parts) == Decimal("-0.64")


def test_members_of_a_ratio_that_are_new_or_lost_contribute_by_mix_alone() -> None:
    """R0 = 30 / 100, R1 = 60 / 100, mean 0.45. New: 0.5 * (0.8 - 0.45). Lost: -0.5 * (0.2 - 0.45)."""
    rows = [Values("old", 10, None, 50, None), Values("new", None, 40, None, 50), Values("kept", 20, 20, 50, 50)]

    found = break_down("plan", rows, is_ratio=True)

    assert [(part.member, part.mix, part.rate) for part in found.parts] == [
        ("new", Decimal("0.175"), Decimal(0)),
        ("old", Decimal("0.125"), Decimal(0)),
        ("kept", Decimal(0), Decimal(0)),
    ]
    assert (part_of(found, "new").is_new, part_of(found, "old").is_lost) == (True, True)
    assert part_of(found, "old").after is None


def test_a_member_with_a_numerator_alone_still_counts() -> None:
    """Returns of a product that is not sold in the second period: it occurs, but has no rate."""
    found = break_down("product", [Values("a", 1, 2, 10, 10), Values("b", 1, 3, 10, 0)], is_ratio=True)

    assert found.change == sum(part.contribution for part in found.parts) == Decimal("0.4")
    assert (part_of(found, "b").after, part_of(found, "b").is_lost) == (None, False)


def test_a_ratio_needs_a_denominator_in_both_periods() -> None:
    with pytest.raises(ValueError, match="no denominator"):
        break_down("product", [Values("a", 1, None, 10, None)], is_ratio=True)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([Values("a", 80, 88), Values("b", 20, 22)], 0.0),
        ([Values("a", 80, 90), Values("b", 20, 20)], 1.0),
        ([Values("a", 80, 80), Values("b", 20, 20)], 0.0),
        ([Values("a", 10, 40)], 0.0),
        ([Values("a", 50, 60), Values("b", 50, 40)], 0.0),
    ],
)  # fmt: skip
def test_concentration_is_one_where_a_member_changes_alone_and_zero_in_proportion(
    rows: list[Values], expected: float
) -> None:
    assert break_down("any", rows).concentration == pytest.approx(expected, abs=1e-9)


def test_the_dimension_with_fewest_members_that_stand_out_is_first() -> None:
    """Web sales halve in every region and for all products, more or less."""
    by_channel = break_down("channel", [Values("web", 100, 50), Values("store", 100, 102)])
    by_region = break_down("region", [Values("north", 100, 80), Values("south", 100, 72)])
    by_product = break_down("product", [Values(number, 10, 10 - number % 5) for number in range(24)])

    assert ranked([by_product, by_region, by_channel])[0] is by_channel


MEMBERS = st.lists(
    st.tuples(*(st.one_of(st.none(), st.decimals(-(10**12), 10**12, places=2, allow_nan=False)) for _ in range(2))),
    max_size=30,
)
SHARES = st.lists(
    st.tuples(
        *(st.one_of(st.none(), st.integers(0, 10**9)) for _ in range(2)),
        *(st.one_of(st.none(), st.integers(0, 10**9)) for _ in range(2)),
    ),
    max_size=30,
)


@given(MEMBERS)
def test_contributions_sum_to_the_change_of_any_sum(rows: list[tuple[Decimal | None, Decimal | None]]) -> None:
    found = break_down("any", [Values(index, *pair) for index, pair in enumerate(rows)])

    assert sum(part.contribution for part in found.parts) == found.change
    assert found.change == sum((after or 0) - (before or 0) for before, after in rows)
    assert 0 <= found.concentration <= 1


@given(SHARES)
def test_contributions_sum_to_the_change_of_any_ratio(rows: list[tuple[int | None, ...]]) -> None:
    totals = [sum(row[at] or 0 for row in rows) for at in range(4)]
    if not (totals[2] and totals[3]):
        return

    found = break_down("any", [Values(index, *row) for index, row in enumerate(rows)], is_ratio=True)

    assert sum(part.contribution for part in found.parts) == found.change
    assert all(part.mix is not None and part.rate is not None for part in found.parts)
    assert all(part.contribution == (part.mix or 0) + (part.rate or 0) for part in found.parts)
    change = Fraction(totals[1], totals[3]) - Fraction(totals[0], totals[2])
    assert abs(Fraction(found.change) - change) <= Fraction(1, 10**9)


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
    totals = [Decimal(f"{shop.execute(total.format(year))['rows'][0][0]:.2f}") for year in (2023, 2024)]
    assert {each.dimension for each in found} == {
        "orders.channel", "orders.status", "customers.segment", "customers.country", "regions.name",
    }  # fmt: skip
    assert all((each.before, each.after) == tuple(totals) for each in found)
    assert all(sum(part.contribution for part in each.parts) == each.change for each in found)
    assert (found[0].dimension, found[0].parts[0].member) == ("orders.channel", "W")
    assert all(shop.check(each.sql) for each in found)


def test_a_measure_of_the_catalog_is_broken_down_by_texts_of_few_values(shop: Source) -> None:
    average = MetricEntry(expression="AVG(orders.total_amount)", date_column="orders.ordered_on")

    found = explain_change(shop, average, *YEARS, filters=["customers.segment = 'Consumer'"])

    dimensions = [each.dimension for each in found]
    assert {"channels.name", "customers.country"} <= set(dimensions)
    assert "customers.name" not in dimensions
    assert all(part.contribution == (part.mix or 0) + (part.rate or 0) for each in found for part in each.parts)


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

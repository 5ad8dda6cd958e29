"""Statements made of declared metrics: what they return, and what is left to free SQL."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from pydantic import SecretStr

from datasphinx.agent.engines import engines
from datasphinx.agent.knowledge.entries import MetricEntry
from datasphinx.agent.knowledge.folder import read_folder, read_text
from datasphinx.agent.knowledge.metric_query import metric_statement
from datasphinx.agent.knowledge.metric_rows import MetricRows, Period, ratio_parts
from datasphinx.agent.knowledge.references import Definition, Unresolved, definition_of
from datasphinx.agent.knowledge.source_knowledge import SourceKnowledge
from datasphinx.agent.llm.schemas import PERIODS, MetricQuery
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.sql.validation import find_problem
from datasphinx.agent.types import Limits
from tests.support.heavy import heavy

METRICS = Path(__file__).parents[2] / "fixtures" / "metric_questions"


@pytest.fixture(scope="module")
def shop(cache_dir: Path) -> Iterator[Source]:
    """The sample shop with seven metrics."""
    settings = SourceSettings(url=SecretStr(shop_url(cache_dir)))
    source = open_source(settings, Limits(60, 1000), cache_dir=cache_dir, knowledge=read_folder(METRICS, "metrics"))
    yield source
    source.close()


def rows_of(shop: Source, **query: Any) -> list[list[Any]]:
    """Return the rows of a query of metrics, numbers rounded to cents."""
    rows = shop.execute(metric_statement(MetricQuery(**query), shop.knowledge))["rows"]
    return [[round(cell, 2) if isinstance(cell, float) else cell for cell in row] for row in rows]


def expected(shop: Source, sql: str) -> list[list[Any]]:
    """Return the rows of a reference statement, numbers rounded to cents."""
    return [[round(cell, 2) if isinstance(cell, float) else cell for cell in row] for row in shop.execute(sql)["rows"]]


def test_a_metric_is_computed_with_its_conditions(shop: Source) -> None:
    reference = "SELECT SUM(total_amount) FROM orders WHERE status <> 'cancelled'"

    assert rows_of(shop, metrics=["turnover"]) == expected(shop, reference)


def test_periods_are_those_of_the_date_of_the_metric_and_ascend(shop: Source) -> None:
    found = rows_of(
        shop, metrics=["refunds AS Erstattungen"], dimensions=["month"], since="2024-01-01", before="2025-01-01"
    )

    assert found == expected(
        shop,
        "SELECT strftime('%Y-%m', returned_on), SUM(refund_amount) FROM returns "
        "WHERE returned_on LIKE '2024%' GROUP BY 1 ORDER BY 1",
    )


def test_metrics_of_other_rows_are_aggregated_on_their_own(shop: Source) -> None:
    """Joined with items and returns, the totals of orders would be counted several times."""
    metrics = ["net sales", "units sold", "refunds"]

    found = rows_of(shop, metrics=metrics, dimensions=["customers.segment"])

    for number, metric in enumerate(metrics, 1):
        alone = rows_of(shop, metrics=[metric], dimensions=["customers.segment"])
        assert [[row[0], row[number]] for row in found] == alone


def test_groups_that_one_metric_lacks_and_those_of_null_are_kept_once(shop: Source) -> None:
    found = rows_of(shop, metrics=["refunds", "order count"], dimensions=["employees.name"])
    orders = expected(shop, "SELECT e.name, COUNT(*) FROM orders LEFT JOIN employees e USING (employee_id) GROUP BY 1")

    assert sorted([str(row[0]), row[2]] for row in found) == sorted([str(row[0]), row[1]] for row in orders)
    assert [row[0] for row in found].count(None) == 1


def test_a_limit_is_one_of_the_first_metric_descending_unless_an_order_is_given(shop: Source) -> None:
    channels = expected(
        shop,
        "SELECT c.name, SUM(total_amount) FROM orders JOIN channels c ON c.code = channel "
        "WHERE status <> 'cancelled' GROUP BY 1 ORDER BY 2 DESC",
    )

    query: dict[str, Any] = {"metrics": ["net sales AS total"], "dimensions": ["channels.name AS channel"], "limit": 1}
    assert rows_of(shop, **query) == channels[:1]
    assert rows_of(shop, **query, order=["total"]) == channels[-1:]
    assert rows_of(shop, **{**query, "limit": None}, order=["total DESC"]) == channels


def test_the_way_whose_keys_every_row_has_is_followed_unless_another_table_is_named(shop: Source) -> None:
    """Orders refer to regions past customers, and past employees, whom web orders lack."""
    total = rows_of(shop, metrics=["order count"])[0][0]
    by_customer = rows_of(shop, metrics=["order count"], dimensions=["regions.name"])
    by_employee = rows_of(shop, metrics=["order count"], dimensions=["employees.regions.name"])

    assert by_customer == expected(
        shop,
        "SELECT r.name, COUNT(*) FROM orders JOIN customers c USING (customer_id) "
        "JOIN regions r ON r.region_id = c.region_id GROUP BY 1 ORDER BY 1",
    )
    assert by_employee != by_customer
    assert sum(row[1] for row in by_employee) == sum(row[1] for row in by_customer) == total


def test_conditions_may_be_on_what_rows_refer_to(shop: Source) -> None:
    found = rows_of(shop, metrics=["units sold"], filters=["products.price > 100", "regions.name = 'North America'"])

    assert found == expected(
        shop,
        "SELECT SUM(quantity) FROM order_items JOIN orders USING (order_id) JOIN products USING (product_id) "
        "WHERE status <> 'cancelled' AND price > 100 AND customer_id IN (SELECT customer_id FROM customers "
        "JOIN regions USING (region_id) WHERE regions.name = 'North America')",
    )


CHANGE = {
    "since": "2024-01-01",
    "before": "2025-01-01",
    "compared_since": "2023-01-01",
    "compared_before": "2024-01-01",
}
"""The change from 2023 to 2024."""


@pytest.mark.parametrize("metric", ["net sales", "average order value"])
def test_a_change_is_broken_down_by_contributions_that_sum_to_it(shop: Source, metric: str) -> None:
    query = MetricQuery(metrics=[metric], dimensions=["customers.segment AS period"], **CHANGE)
    result = shop.execute(metric_statement(query, shop.knowledge))

    totals = [rows_of(shop, metrics=[metric], **{"since": f"{year}-01-01", "before": f"{year + 1}-01-01"})[0][0]
              for year in (2023, 2024)]  # fmt: skip
    is_ratio = metric == "average order value"
    assert result["columns"] == ["period", "2023", "2024", "Δ", *(["Δ mix", "Δ rate"] if is_ratio else [])]
    assert sum(row[3] for row in result["rows"]) == pytest.approx(totals[1] - totals[0], abs=0.02)
    assert all(not is_ratio or row[4] + row[5] == pytest.approx(row[3]) for row in result["rows"])


def test_periods_of_a_change_are_named_after_the_calendar() -> None:
    days = [date(2023, 1, 1), date(2023, 4, 1), date(2023, 5, 1), date(2023, 8, 1), date(2024, 8, 1)]

    assert [str(Period(*pair)) for pair in pairwise(days)] == [
        "2023-Q1", "2023-04", "2023-05-01/2023-07-31", "2023-08-01/2024-07-31",
    ]  # fmt: skip


def test_conditions_may_have_subqueries(shop: Source) -> None:
    spent = "SELECT customer_id FROM orders GROUP BY customer_id HAVING SUM(total_amount) > 20000"
    top = f"customers.customer_id IN ({spent})"

    found = rows_of(shop, metrics=["order count"], filters=[top])

    reference = f"SELECT COUNT(*) FROM orders WHERE {top.removeprefix('customers.')}"
    assert found == expected(shop, reference) != rows_of(shop, metrics=["order count"])


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"metrics": ["profit of the gods"]}, "no metric"),
        ({"metrics": []}, "no metric"),
        ({"metrics": ["net sales"], "dimensions": ["products.name"]}, "no foreign keys"),
        ({"metrics": ["net sales"], "dimensions": ["customers.city"]}, "may not be grouped"),
        ({"metrics": ["net sales"], "dimensions": ["customers.citty"]}, "no column"),
        ({"metrics": ["net sales", "turnover AS net sales"]}, "names"),
        ({"metrics": ["order count"], "filters": ["EXISTS (SELECT 1 WHERE products.price > 1)"]}, "no foreign keys"),
        ({"metrics": ["order count"], "filters": ["COUNT(*) > 1"]}, "row"),
        ({"metrics": ["order count"], "filters": ["1 = 1; DROP TABLE orders"]}, "condition"),
        ({"metrics": ["order count"], "order": ["total"]}, "no output"),
        ({"metrics": ["order count"], "compared_since": "2024-01-01"}, "both periods"),
        ({"metrics": ["order count", "net sales"], "compared_since": "2024-01-01"}, "several statements"),
        ({"metrics": ["order count"], **CHANGE, "compared_before": "2024-01-02"}, "overlap"),
        (
            {"metrics": ["order count"], "dimensions": ["regions.name", "employees.regions.name AS other"]},
            "in two ways",
        ),
    ],
)
def test_what_is_not_exactly_metrics_by_dimensions_is_not_compiled(
    shop: Source, query: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Unresolved, match=reason):
        metric_statement(MetricQuery(**query), shop.knowledge)


def bank(*further: ForeignKey) -> Catalog:
    """Return the catalog of a bank with balances and payments of accounts."""
    account = ForeignKey(("account_id",), "accounts", ("account_id",))
    branch = ForeignKey(("branch_id",), "branches", ("branch_id",))
    tables = [
        Table(
            "branches", (Column("branch_id", "INTEGER", nullable=False), Column("city", "TEXT")), None, ("branch_id",)
        ),
        Table(
            "accounts",
            (
                Column("account_id", "INTEGER", nullable=False),
                Column("branch_id", "INTEGER", nullable=False),
                Column("moved_from_id", "INTEGER", nullable=False),
                Column("opened_on", "DATE"),
                Column("credit", "DECIMAL(9, 2)"),
            ),
            None,
            ("account_id",),
            (branch, *further),
        ),
        Table(
            "payments",
            (
                Column("account_id", "INTEGER", nullable=False),
                Column("paid_at", "TIMESTAMP"),
                Column("amount", "DECIMAL(9, 2)"),
            ),
            None,
            (),
            (account,),
        ),
    ]
    return Catalog("postgres", {table.name: table for table in tables})


def definition(catalog: Catalog, expression: str, **entry: Any) -> Definition:
    """Return the definition of a metric."""
    found = definition_of(MetricEntry(expression=expression, **entry), catalog)
    assert found
    return found


def rows_in(catalog: Catalog, expression: str, **entry: Any) -> MetricRows:
    """Return the rows of a metric."""
    return MetricRows.of(definition(catalog, expression, **entry), catalog)


def test_an_aggregate_over_rows_that_a_join_repeats_is_refused() -> None:
    with pytest.raises(Unresolved, match="several times"):
        rows_in(bank(), expression="SUM(payments.amount) / SUM(accounts.credit)")


def test_rows_are_those_of_the_first_table_if_all_are_counted() -> None:
    """Without rows of its own, a share of the accounts with payments would be that of the payments themselves."""
    counted = "1.0 * COUNT(DISTINCT payments.account_id) / COUNT(*)"

    assert rows_in(bank(), expression=counted).table == "payments"
    with pytest.raises(Unresolved, match="several times"):
        rows_in(bank(), expression=counted, tables=["accounts"])


def test_extremes_and_distinct_values_of_repeated_rows_are_not_refused() -> None:
    assert rows_in(bank(), expression="SUM(payments.amount) / COUNT(DISTINCT accounts.account_id)").table == "payments"
    assert rows_in(bank(), expression="SUM(payments.amount) / MAX(accounts.credit)").table == "payments"


def test_columns_may_be_quoted() -> None:
    quoted = definition(bank(), 'SUM("payments"."amount")', date_column='"payments"."paid_at"')

    assert quoted.date_column == "payments.paid_at"


def test_two_equally_short_ways_are_refused() -> None:
    catalog = bank(ForeignKey(("moved_from_id",), "branches", ("branch_id",)))

    with pytest.raises(Unresolved, match="several ways"):
        rows_in(catalog, expression="SUM(payments.amount)").groups(["branches.city"])


def test_values_of_stocks_are_added_within_a_day_alone() -> None:
    rows = rows_in(
        bank(), expression="SUM(accounts.credit)", date_column="accounts.opened_on", additivity="semi-additive"
    )

    assert len(rows.groups(["branches.city", "day"])) == 2
    with pytest.raises(Unresolved, match="over time"):
        rows.groups(["branches.city"])


def test_a_metric_without_a_date_has_no_periods() -> None:
    with pytest.raises(Unresolved, match="no date"):
        rows_in(bank(), expression="SUM(accounts.credit)").groups(["month"])


@pytest.mark.parametrize(
    "dialect", ["postgres", *heavy(*sorted({engine.dialect for engine in engines().values()} - {"postgres"}))]
)
def test_statements_pass_the_checks_of_every_engine(dialect: str) -> None:
    text = """
        metrics:
          paid: {expression: SUM(payments.amount), date_column: payments.paid_at}
          credit: {expression: SUM(accounts.credit), date_column: accounts.opened_on}
          mean: {expression: AVG(payments.amount), date_column: payments.paid_at}
          share: {expression: SUM(payments.amount) / SUM(accounts.credit), date_column: accounts.opened_on}
    """
    catalog = replace(bank(), dialect=dialect)
    knowledge = SourceKnowledge.of(read_text(dedent(text), "bank.yml"), catalog)

    for period in PERIODS:
        query = MetricQuery(
            metrics=["paid", "share"], dimensions=[period, "branches.city"], since="2024-01-01", limit=3
        )
        assert find_problem(metric_statement(query, knowledge), catalog) is None
    for ratio in ("mean", "share"):
        assert find_problem(metric_statement(MetricQuery(metrics=[ratio], **CHANGE), knowledge), catalog) is None


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("SUM(payments.amount)", ["SUM(payments.amount)"]),
        ("ROUND(2 * (SUM(payments.amount) - COUNT(*)) / 3, 2)", ["2 * (SUM(payments.amount) - COUNT(*)) / 3"]),
        ("AVG(payments.amount)", ["SUM(payments.amount)", "COUNT(payments.amount)"]),
        ("1.0 * SUM(payments.amount) / NULLIF(COUNT(*), 0)", ["1.0 * SUM(payments.amount)", "COUNT(*)"]),
    ],
)  # fmt: skip
def test_sums_and_ratios_of_sums_can_be_broken_down(expression: str, parts: list[str]) -> None:
    assert [part.sql("postgres") for part in ratio_parts(definition(bank(), expression), bank())] == parts


@pytest.mark.parametrize(
    "expression",
    [
        "COUNT(DISTINCT payments.account_id)",
        "MAX(payments.amount)",
        "SUM(payments.amount) * COUNT(*)",
        "SUM(payments.amount) + 1",
        "COALESCE(SUM(payments.amount), 100)",
        "COALESCE(SUM(payments.amount), 100) / COUNT(*)",
    ],
)
def test_other_values_cannot_be_broken_down(expression: str) -> None:
    with pytest.raises(Unresolved, match="cannot be added"):
        ratio_parts(definition(bank(), expression), bank())

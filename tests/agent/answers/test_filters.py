"""The filters of a statement in words."""

from collections.abc import Callable
from typing import Any

import pytest

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import StatementCancelled
from datasphinx.agent.formatting.filters import condition_words, short_words
from datasphinx.agent.generation.computed_bounds import with_computed_bounds
from datasphinx.agent.messages import Language
from datasphinx.agent.record.step import Step, new_audit, recorded_on
from datasphinx.agent.types import QueryCondition

pytestmark = pytest.mark.integration

PAID = QueryCondition(column="status", operator="=", values=["paid"])
YEAR = QueryCondition(column="ordered on", operator="during", values=["2024-01-01", "2024-12-31"])
LARGE = QueryCondition(column="total amount", operator=">", values=[1000])
SHIPPED = QueryCondition(column="shipped on", operator="present", values=[])
Scripted = Callable[..., Any]


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ["status = paid", "ordered on = 2024", "total amount > 1,000", "shipped on is not empty"]),
        ("ru", ["status = paid", "ordered on = 2024", "total amount > 1\xa0000", "shipped on: есть значение"]),
        ("zh", ["status = paid", "ordered on = 2024", "total amount > 1,000", "shipped on 不为空"]),
    ],
)
def test_filters_are_in_words(language: Language, texts: list[str]) -> None:
    assert condition_words([PAID, YEAR, LARGE, SHIPPED], language) == texts


def condition(column: str, operator: str, *values: Any) -> QueryCondition:
    return QueryCondition(column=column, operator=operator, values=[*values])


@pytest.mark.parametrize(
    ("conditions", "texts"),
    [
        ([PAID, YEAR, LARGE], ["paid", "2024", "total amount > 1,000"]),
        ([condition("status", "≠", "cancelled", "returned")], ["without cancelled or returned"]),
        ([{**condition("low cost", "=", "yes"), "are_meanings": True}], ["low cost = yes"]),
        ([condition("status", "=", "X"), condition("shop", "=", "17")], ["status = X", "shop = 17"]),
        ([condition("is open", "=", True), condition("stars", "=", 5)], ["is open = yes", "stars = 5"]),
        (
            [condition("day", "during", "2025-10-01", "2025-10-31", "2026-10-01", "2026-10-31")],
            ["October 2025 or October 2026"],
        ),  # noqa: E501
        ([YEAR, {**YEAR, "column": "shipped on"}], ["ordered on = 2024", "shipped on = 2024"]),
        ([condition("seller", "=", "Spain"), condition("buyer", "=", "Spain")], ["seller = Spain", "buyer = Spain"]),
        ([{**condition("orders", "without"), "values": [PAID, YEAR]}], ["without orders (paid, 2024)"]),
    ],
)
def test_a_column_is_left_out_where_the_values_say_what_it_is(
    conditions: list[QueryCondition], texts: list[str]
) -> None:
    assert short_words(conditions, "en") == texts


def test_an_output_has_the_filters_of_its_statement(scripted: Scripted) -> None:
    sql = (
        "SELECT COUNT(*) AS n FROM orders AS o JOIN customers AS c ON c.customer_id = o.customer_id "
        "WHERE o.status <> 'cancelled' AND c.country = 'Spain' AND o.ordered_on BETWEEN '2024-03-01' AND '2024-03-31'"
    )
    output = scripted({"GeneratedSQL": [{"sql": sql}]}).ask("How many orders did Spain place in March 2024?")

    assert output["filters"] == ["without cancelled", "Spain", "March 2024"]


def test_secret_columns_are_in_no_filter(scripted: Scripted, cache_dir: Any) -> None:
    sql = "SELECT COUNT(*) AS n FROM customers WHERE email LIKE 'a%' AND country = 'Spain'"
    from datasphinx.agent.sample.shop import shop_url

    sources = {"shop": {"url": shop_url(cache_dir), "secret_columns": ["customers.email"]}}
    output = scripted({"GeneratedSQL": [{"sql": sql}]}, sources=sources).ask("How many customers in Spain?")

    assert output["filters"] == ["Spain", "further conditions"]
    # Alone, these words would say nothing.
    assert short_words([], "en", has_more=True) == []


def test_dates_that_the_database_computes_are_filters(scripted: Scripted) -> None:
    sql = (
        "SELECT COUNT(*) AS n FROM orders "
        "WHERE ordered_on >= date('2025-03-31', '-12 months') AND ordered_on < date('2025-03-01', '+1 month')"
    )
    output = scripted({"GeneratedSQL": [{"sql": sql}]}).ask("How many orders in the last 12 months?")

    assert output["filters"] == ["Mar 31, 2024 – Mar 31, 2025"] and "+1 month" in output["sql"]


@pytest.mark.parametrize(
    ("condition", "filters"),
    [
        ("total_amount > ABS(RANDOM()) % 3000", ["with a condition on total amount"]),
        ("ordered_on < date('now') AND ordered_on >= date('2025-01-01', '+1 day')", ["Jan 2, 2025 – "]),
        ("strftime('%Y', ordered_on) = strftime('%Y', '2025-03-01', '-1 year')", ["2024"]),
        ("CAST(strftime('%Y', ordered_on) AS INTEGER) = CAST(strftime('%Y', '2025-03-01') AS INTEGER) - 1", ["2024"]),
    ],
)
def test_only_dates_that_the_database_computes_are_filters(
    scripted: Scripted, condition: str, filters: list[str]
) -> None:
    sql = f"SELECT COUNT(*) AS n FROM orders WHERE {condition}"
    output = scripted({"GeneratedSQL": [{"sql": sql}]}).ask("How many orders?")

    assert [shown[: len(each)] for shown, each in zip(output["filters"], filters, strict=True)] == filters


def test_a_cancelled_run_computes_no_dates(scripted: Scripted) -> None:
    source, cancellation = scripted().services.source(), Cancellation()
    cancellation.cancel()
    step = Step("answer", new_audit("t"), cancellation=cancellation)
    with recorded_on(step), pytest.raises(StatementCancelled):
        with_computed_bounds("SELECT 1 FROM orders WHERE ordered_on < date('now')", source)


@pytest.mark.parametrize("bound", ["date('2034-01-31', 'start of month')", "(SELECT date('2034-01-31', '-7 days'))"])
def test_a_period_after_the_data_says_where_they_end(scripted: Scripted, bound: str) -> None:
    sql = f"SELECT COUNT(*) AS n FROM orders WHERE ordered_on >= {bound}"
    # It is no mistake either, which the model would have to check.
    agent = scripted({"GeneratedSQL": [{"sql": sql}]}, enable_sql_validation=None)
    answer = agent.ask("How many orders since 31 January 2034, minus 7 days?")["answer"]

    assert "The data end earlier: the last date of “Ordered on” is" in answer
    assert [call.schema_name for call in agent.model.calls] == ["GeneratedSQL"]


def test_an_error_has_no_filters(scripted: Scripted) -> None:
    output = scripted({"GeneratedSQL": [{"sql": "SELECT nothing FROM orders WHERE status = 'paid'"}] * 4}).ask("Paid?")

    assert output["error"] and output["filters"] == []

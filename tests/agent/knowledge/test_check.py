"""Checks of entries against the schema and the data of the sample shop."""

import pytest

from datasphinx.agent.sources.source import Source
from tests.agent.knowledge.conftest import Open


def problems(source: Source) -> list[str]:
    return [str(problem) for problem in source.check_knowledge()]


def test_correct_knowledge_has_no_problem(shop: Open) -> None:
    source = shop("""\
        tables:
          orders:
            description: One row for each order
            columns:
              channel: {labels: {W: web, S: store, P: phone}}
        joins:
          - {from: orders.customer_id, to: customers.customer_id}
          - {from: customers.customer_id, to: orders.customer_id, cardinality: one-to-many}
          - {from: returns.order_item_id, to: order_items.order_item_id, cardinality: one-to-one}
          - {from: customers.region_id, to: employees.region_id, cardinality: many-to-many}
        forbidden_joins:
          - {from: customers, to: employees, reason: regions are different}
        terms:
          active customer:
            definition: Ordered within 90 days
            condition: customers.customer_id IN (SELECT o.customer_id FROM orders AS o WHERE ordered_on > '2025-01-01')
          customer name: {definition: First names, expression: "SUBSTR(customers.name, 1, 3)"}
        metrics:
          revenue by region:
            expression: SUM(order_items.line_total)
            filters: [regions.name <> 'Asia Pacific', "orders.status <> 'cancelled'"]
            date_column: orders.ordered_on
            dimensions: [customers.country]
          items per order: {expression: COUNT(*) * 1.0 / COUNT(DISTINCT order_id), tables: order_items}
        verified:
          - question: How many orders above 10 dollars were there in Germany?
            sql: >
              SELECT COUNT(*) FROM orders JOIN customers USING (customer_id)
              WHERE country = :country AND total_amount > :n
            parameters: {country: {example: Germany}, n: {type: number, example: 10}}
            author: Ann
            date: 2026-01-31
        """)

    assert problems(source) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tables:\n  order: {}", "2: table `order`: there is no table `order`. Did you mean `orders`?"),
        (
            "tables:\n  orders:\n    columns:\n      chanel: {}",
            "4: column `orders.chanel`: the table `orders` has no column `chanel`. Did you mean `channel`?",
        ),
        (
            "tables:\n  orders:\n    columns:\n      channel: {labels: {X: post}}",
            "4: warning: column `orders.channel`: no row has the code `X`",
        ),
        (
            "metrics:\n  paid: {expression: COUNT(orders.order_id), filters: [\"orders.status <> 'canceled'\"]}",
            "2: warning: metric `paid`: no row of orders has 'canceled' in status; nearest: 'cancelled'",
        ),
        (
            "terms:\n  remote: {definition: d, condition: \"orders.channel IN ('W', 'X')\"}",
            "2: warning: term `remote`: no row of orders has 'X' in channel",
        ),
        (
            "metrics:\n  a: {expression: SUM(orders.amount)}",
            "2: metric `a`: The statement uses names that the database does not have: there is no column orders.amount "
            "(nearest: orders.total_amount",
        ),
        (
            "metrics:\n  a: {expression: total_amount}",
            "2: metric `a`: the expression `total_amount` has no aggregate function. Write `SUM(...)`, for example.",
        ),
        (
            "metrics:\n  a: {expression: SUM(total_amount)}",
            "2: metric `a`: its SQL names no table. Write columns as `table.column`, or list the `tables`.",
        ),
        (
            "metrics:\n  a: {expression: SUM(orders.total_amount), filters: ['COUNT(*) > 1']}",
            "2: metric `a`: the condition `COUNT(*) > 1` has an aggregate function",
        ),
        (
            "metrics:\n  a: {expression: 'SUM(orders.total_amount) FROM orders'}",
            "2: metric `a`: `SUM(orders.total_amount) FROM orders` is not a single expression",
        ),
        (
            "metrics:\n  a: {expression: SUM(orders.total_amount), date_column: orders.day}",
            "2: metric `a`: the table `orders` has no column `day`",
        ),
        (
            "terms:\n  a: {definition: d, condition: \"orders.status = 'x'; DROP TABLE orders\"}",
            "2: term `a`: `orders.status = 'x'; DROP TABLE orders` is not a single condition",
        ),
        (
            "terms:\n  a: {definition: d, tables: order}",
            "2: term `a`: there is no table `order`. Did you mean `orders`?",
        ),
        (
            "terms:\n  a: {definition: d, condition: orders.order_id > randomblob(9)}",
            "2: term `a`: The statement was refused before it reached the database: harmless_functions",
        ),
        (
            "joins:\n  - {from: customers.region_id, to: employees.region_id}",
            "2: join `customers.region_id = employees.region_id`: it is declared many-to-one, but ",
        ),
        (
            "joins:\n  - {from: orders.status, to: customers.customer_id}",
            "2: join `orders.status = customers.customer_id`: `orders.status` and `customers.customer_id` have the ",
        ),
        (
            "verified:\n  - {question: q, sql: DELETE FROM orders}",
            "2: verified `q`: its SQL is not a single query",
        ),
        (
            "verified:\n  - {question: q, sql: 'SELECT 1 FROM orders WHERE status = :status'}",
            "2: verified `q`:",
        ),
        (
            "terms:\n  the: {definition: d}",
            "2: warning: term `the`: no question can name `the`: it has only function words",
        ),
    ],
)  # fmt: skip
def test_mistake_is_reported_with_a_suggestion(shop: Open, text: str, problem: str) -> None:
    (found,) = problems(shop(text))

    assert found.startswith(f"knowledge/shop.yml:{problem}")


def test_names_of_two_metrics_are_a_warning(shop: Open) -> None:
    source = shop("""\
        metrics:
          gross sales: {expression: SUM(orders.total_amount), synonyms: sales}
          net sales: {expression: SUM(order_items.line_total), synonyms: sales}
        """)

    assert problems(source) == [
        "knowledge/shop.yml:3: warning: `sales` names the metric `gross sales`, the metric `net sales`. "
        "Questions that use this name lead to a clarifying question."
    ]


def test_wrong_entry_is_not_used(shop: Open) -> None:
    source = shop("""\
        metrics:
          wrong: {expression: SUM(orders.amount)}
          revenue: {expression: SUM(orders.total_amount)}
        """)

    relevant = source.knowledge.relevant("wrong revenue")

    assert [named.item.name for named in relevant.definitions] == ["revenue"]


def test_problems_are_found_within_a_budget(shop: Open) -> None:
    source = shop("metrics:\n  a: {expression: SUM(orders.amount)}\n  b: {expression: SUM(orders.total_amount)}")

    assert source.knowledge.problems(0) == ([], 2)
    found, unchecked = source.knowledge.problems(60)
    assert (len(found), unchecked) == (1, 0)

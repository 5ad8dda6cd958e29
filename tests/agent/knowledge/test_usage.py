"""Comparison of statements with definitions."""

import pytest

from datasphinx.agent.knowledge.usage import StatementForms, Usage, joins_among
from datasphinx.agent.sources.source import Source
from tests.agent.knowledge.conftest import Open

TEXT = """\
metrics:
  revenue: {expression: SUM(orders.total_amount), filters: [orders.status <> 'cancelled']}
  share: {expression: SUM(orders.total_amount) / COUNT(orders.order_id)}
terms:
  large order: {definition: d, condition: "total_amount > 100 AND channel IN ('W', 'S')", tables: orders}
  buyer: {definition: d, condition: customers.customer_id IN (SELECT customer_id FROM orders WHERE status = 'shipped')}
  regular:
    definition: d
    condition: "EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = customers.customer_id AND o.status = 'shipped'
      GROUP BY o.customer_id HAVING COUNT(*) >= 3)"
  first order:
    definition: d
    expression: (SELECT MIN(o.ordered_on) FROM orders o WHERE o.customer_id = customers.customer_id)
  size: {definition: d, expression: "CASE WHEN orders.total_amount < 100 THEN 'small' ELSE 'large' END"}
"""


def usage(source: Source, name: str, sql: str) -> Usage:
    item = next(item for item in source.knowledge.knowledge.items if item.name == name)
    definition = source.knowledge.named_definition(item).definition
    assert definition is not None
    return StatementForms(sql, source.catalog).usage(definition)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(total_amount) FROM orders WHERE status <> 'cancelled'",
        "SELECT ROUND(SUM(o.total_amount), 2) AS r FROM orders AS o WHERE o.status != 'cancelled' AND channel = 'W'",
        "SELECT SUM(total_amount) FROM orders WHERE NOT status = 'cancelled'",
        "SELECT SUM(total_amount) FROM orders WHERE status NOT IN ('cancelled')",
        "SELECT SUM(total_amount) FROM orders WHERE 'cancelled' <> status",
        "SELECT CAST(SUM(total_amount) AS INTEGER) FROM orders GROUP BY 1 HAVING status <> 'cancelled'",
        "SELECT SUM(CASE WHEN status <> 'cancelled' THEN total_amount ELSE 0 END) FROM orders",
        "SELECT SUM(total_amount) FILTER (WHERE status <> 'cancelled') FROM orders",
        "SELECT SUM(s.total_amount) FROM (SELECT * FROM orders WHERE status <> 'cancelled') AS s",
        "WITH kept AS (SELECT total_amount AS n FROM orders WHERE status <> 'cancelled') SELECT SUM(n) FROM kept",
        "SELECT c.name, SUM(o.total_amount) FROM customers c JOIN orders o ON o.customer_id = c.customer_id "
        "AND o.status <> 'cancelled' GROUP BY c.name ORDER BY 2",
        "WITH m AS (SELECT ordered_on, SUM(total_amount) AS r FROM orders WHERE status <> 'cancelled' GROUP BY 1) "
        "SELECT AVG(r) FROM m",
    ],
)
def test_statement_follows_the_definition(shop: Open, sql: str) -> None:
    assert usage(shop(TEXT), "revenue", sql) == Usage(True, ())


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT SUM(total_amount) FROM orders", Usage(True, ("orders.status <> 'cancelled'",))),
        (
            "SELECT SUM(total_amount) FROM orders WHERE status = 'cancelled'",
            Usage(True, ("orders.status <> 'cancelled'",)),
        ),
        (
            "SELECT SUM(total_amount) FROM orders WHERE status <> 'cancelled' OR channel = 'W'",
            Usage(True, ("orders.status <> 'cancelled'",)),
        ),
        ("SELECT AVG(total_amount) FROM orders WHERE status <> 'cancelled'", Usage(False, ())),
        (
            "SELECT SUM(line_total) FROM order_items JOIN orders USING (order_id) WHERE status <> 'cancelled'",
            Usage(False, ()),
        ),
        ("SELECT COUNT(*) FROM customers", Usage(False, ("orders.status <> 'cancelled'",))),
    ],
)
def test_what_a_statement_lacks(shop: Open, sql: str, expected: Usage) -> None:
    assert usage(shop(TEXT), "revenue", sql) == expected


def test_rows_of_a_condition_may_be_counted(shop: Open) -> None:
    source = shop(TEXT)
    for sql in (
        "SELECT 100.0 * SUM(total_amount > 100 AND channel IN ('W', 'S')) / COUNT(*) FROM orders",
        "SELECT AVG(((o.total_amount > 100) AND o.channel IN ('S', 'W'))) FROM orders AS o",
        "SELECT COUNT_IF(total_amount > 100 AND channel IN ('W', 'S')) FROM orders",
    ):
        assert usage(source, "large order", sql) == Usage(True, ())
    either = "SELECT SUM(total_amount > 100 OR channel IN ('W', 'S')) FROM orders"
    assert len(usage(source, "large order", either).missing) == 2


def test_aggregates_of_an_expression_may_be_apart(shop: Open) -> None:
    apart = "WITH t AS (SELECT SUM(total_amount) AS s, COUNT(order_id) AS n FROM orders) SELECT s * 1.0 / n FROM t"
    source = shop(TEXT)

    assert usage(source, "share", apart).is_complete
    assert not usage(source, "share", "SELECT SUM(total_amount) FROM orders").is_complete


@pytest.mark.parametrize(
    ("name", "sql", "is_complete"),
    [
        ("large order", "SELECT 1 FROM orders o WHERE 100 < o.total_amount AND o.channel IN ('S', 'W')", True),
        ("large order", "SELECT 1 FROM orders o WHERE o.total_amount >= 100 AND o.channel IN ('S', 'W')", False),
        (
            "buyer",
            "SELECT name FROM customers AS c WHERE c.customer_id IN "
            "(SELECT o.customer_id FROM orders o WHERE o.status = 'shipped')",
            True,
        ),
        (
            "buyer",
            "SELECT name FROM customers AS c WHERE c.customer_id IN "
            "(SELECT o.customer_id FROM orders o WHERE o.status = 'pending')",
            False,
        ),
        ("buyer", "SELECT DISTINCT name FROM customers JOIN orders USING (customer_id) WHERE status = 'shipped'", True),
        ("buyer", "SELECT DISTINCT name FROM customers JOIN orders USING (customer_id) WHERE channel = 'W'", False),
        ("regular", "SELECT 1 FROM orders WHERE status = 'shipped' GROUP BY customer_id HAVING COUNT(*) >= 3", True),
        ("regular", "SELECT 1 FROM orders GROUP BY customer_id HAVING COUNT(*) >= 3", False),
        ("regular", "SELECT 1 FROM orders WHERE status = 'shipped' GROUP BY customer_id HAVING COUNT(*) > 3", False),
        (
            "buyer",
            "SELECT name FROM customers AS c WHERE NOT (c.customer_id IN "
            "(SELECT o.customer_id FROM orders o WHERE o.status = 'shipped'))",
            True,
        ),
    ],
)
def test_conditions_of_terms(shop: Open, name: str, sql: str, is_complete: bool) -> None:
    assert usage(shop(TEXT), name, sql).is_complete is is_complete


METRICS = """\
metrics:
  revenue:
    expression: SUM(orders.total_amount)
    date_column: orders.ordered_on
    dimensions: [orders.channel, customers.segment, regions.name]
  average: {expression: AVG(orders.total_amount), additivity: non-additive}
  share: {expression: SUM(orders.total_amount) / COUNT(orders.order_id), additivity: non-additive}
  open: {expression: COUNT(orders.order_id), date_column: orders.ordered_on, additivity: semi-additive}
"""
TO_REGIONS = "FROM orders o JOIN customers c USING (customer_id) JOIN regions r ON r.region_id = c.region_id"


def test_grouping_of_a_metric_by_other_columns_is_found(shop: Open) -> None:
    source = shop(METRICS)
    cases = {
        "SELECT SUM(total_amount) FROM orders": (),
        "SELECT channel, SUM(total_amount) FROM orders GROUP BY 1": (),
        "SELECT channel AS c, SUM(total_amount) FROM orders GROUP BY c": (),
        "SELECT strftime('%Y', ordered_on) AS y, SUM(total_amount) FROM orders GROUP BY y": (),
        f"SELECT r.region_id, r.name, SUM(o.total_amount) {TO_REGIONS} GROUP BY r.region_id, r.name": (),
        f"SELECT c.region_id, r.name, SUM(o.total_amount) {TO_REGIONS} GROUP BY c.region_id, r.name": (),
        "SELECT status, COUNT(*) FROM orders GROUP BY status": (),
        "SELECT status, SUM(total_amount) FROM orders GROUP BY 1": ("orders.status",),
        "SELECT status AS s, channel, SUM(total_amount) FROM orders GROUP BY s, channel": ("orders.status",),
        "SELECT status, SUM(CASE WHEN channel = 'W' THEN total_amount END) FROM orders GROUP BY 1": ("orders.status",),
        f"SELECT r.region_id, SUM(o.total_amount) {TO_REGIONS} GROUP BY r.region_id": ("regions.region_id",),
        "WITH t AS (SELECT status AS s, total_amount AS a FROM orders) SELECT s, SUM(a) FROM t GROUP BY s": (
            "orders.status",
        ),
        "WITH t AS (SELECT customer_id, SUM(total_amount) AS a FROM orders GROUP BY 1) SELECT MAX(a) FROM t": (
            "orders.customer_id",
        ),
    }
    assert {sql: usage(source, "revenue", sql).groups for sql in cases} == cases
    assert not usage(source, "revenue", "SELECT status, SUM(total_amount) FROM orders GROUP BY 1").is_complete


def test_addition_of_values_of_a_metric_is_found(shop: Open) -> None:
    source = shop(METRICS)
    by_month = "SELECT strftime('%Y-%m', ordered_on) AS m, {0} AS v FROM orders GROUP BY 1"
    by_month_and_channel = "SELECT ordered_on AS m, channel AS c, {0} AS v FROM orders GROUP BY 1, 2"
    average, count = "AVG(total_amount)", "COUNT(order_id)"
    cases: dict[tuple[str, str], bool] = {
        ("average", f"WITH t AS ({by_month.format(average)}) SELECT SUM(v) FROM t"): True,
        ("average", f"SELECT SUM(t.v) FROM ({by_month.format(f'ROUND({average}, 2)')}) AS t"): True,
        ("average", f"SELECT channel, SUM({average}) OVER () FROM orders GROUP BY channel"): True,
        ("average", f"WITH t AS ({by_month.format(average)}) SELECT MAX(v) FROM t"): False,
        ("average", f"WITH t AS ({by_month.format(average)}) SELECT m, v FROM t"): False,
        ("average", "SELECT AVG(total_amount), SUM(total_amount) FROM orders"): False,
        ("share", "WITH t AS (SELECT channel, SUM(total_amount) AS s, COUNT(order_id) AS n FROM orders GROUP BY 1) "
                  "SELECT SUM(s) / SUM(n) FROM t"): False,
        ("open", f"WITH t AS ({by_month.format(count)}) SELECT SUM(v) FROM t"): True,
        ("open", f"WITH t AS ({by_month_and_channel.format(count)}) SELECT m, SUM(v) FROM t GROUP BY m"): False,
        ("open", f"WITH t AS ({by_month_and_channel.format(count)}) SELECT c, SUM(v) FROM t GROUP BY c"): True,
        ("revenue", f"WITH t AS ({by_month.format('SUM(total_amount)')}) SELECT SUM(v) FROM t"): False,
    }  # fmt: skip
    assert {case: usage(source, *case).is_added for case in cases} == cases


@pytest.mark.parametrize(
    ("name", "sql", "is_complete"),
    [
        (
            "first order",
            "SELECT COUNT(*) FROM customers WHERE (SELECT MIN(x.ordered_on) FROM orders x "
            "WHERE x.customer_id = customers.customer_id) >= '2025-01-01'",
            True,
        ),
        (
            "first order",
            "WITH f AS (SELECT customer_id, MIN(ordered_on) AS d FROM orders GROUP BY 1) SELECT COUNT(*) FROM f",
            True,
        ),
        ("first order", "SELECT COUNT(*) FROM customers WHERE signed_up_on >= '2025-01-01'", False),
        ("size", "SELECT IIF(total_amount < 100, 'small', 'large'), COUNT(*) FROM orders GROUP BY 1", True),
        ("size", "SELECT COUNT(*) FROM orders WHERE total_amount >= 100", True),
        ("size", "SELECT COUNT(*) FROM orders WHERE status = 'large'", False),
    ],
)
def test_expressions_of_terms(shop: Open, name: str, sql: str, is_complete: bool) -> None:
    assert usage(shop(TEXT), name, sql).is_complete is is_complete


def test_forbidden_joins_are_found(shop: Open) -> None:
    source = shop("forbidden_joins: [{from: customers.region_id, to: employees}]")
    forbidden = source.knowledge.forbidden_joins
    sql = "SELECT 1 FROM customers c JOIN employees e ON e.region_id = c.region_id"

    assert joins_among(sql, source.catalog, forbidden) == ["employees.region_id = customers.region_id"]
    allowed = "SELECT 1 FROM customers c JOIN regions r ON r.region_id = c.region_id"
    assert joins_among(allowed, source.catalog, forbidden) == []


def test_comparisons_with_codes_are_found(shop: Open) -> None:
    forms = StatementForms("SELECT 1 FROM orders AS o WHERE o.channel IN ('W', 'P')", shop("").catalog)

    assert forms.compares("orders", "channel", "P")
    assert not forms.compares("orders", "channel", "S")


def test_statement_that_cannot_be_resolved_is_not_judged(shop: Open) -> None:
    source = shop(TEXT)

    assert usage(source, "revenue", "SELECT FROM WHERE").is_complete

import sqlite3
from typing import Any

import pytest

TABLES = {
    "regions": 5,
    "employees": 43,
    "customers": 1184,
    "categories": 19,
    "products": 90,
    "channels": 3,
    "orders": 10127,
    "order_items": 23105,
    "returns": 750,
}


def one(connection: sqlite3.Connection, sql: str) -> Any:
    return connection.execute(sql).fetchone()[0]


def test_row_counts(connection: sqlite3.Connection) -> None:
    assert {table: one(connection, f"SELECT COUNT(*) FROM {table}") for table in TABLES} == TABLES


def test_the_schema_is_small_enough_for_a_prompt(connection: sqlite3.Connection) -> None:
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = [column for name in names for column in connection.execute(f"PRAGMA table_info({name})")]
    assert set(names) == set(TABLES)
    assert len(columns) <= 55


def test_every_table_has_a_primary_key_and_no_reference_dangles(connection: sqlite3.Connection) -> None:
    for table in TABLES:
        assert any(column[5] for column in connection.execute(f"PRAGMA table_info({table})")), table
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert one(connection, "PRAGMA integrity_check") == "ok"


def test_orders_fill_exactly_three_calendar_years(connection: sqlite3.Connection) -> None:
    days = connection.execute("SELECT MIN(ordered_on), MAX(ordered_on) FROM orders").fetchone()
    months = one(connection, "SELECT COUNT(DISTINCT strftime('%Y-%m', ordered_on)) FROM orders")
    assert days == ("2023-01-01", "2025-12-31")
    assert months == 36


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("employees", "hired_on"),
        ("customers", "signed_up_on"),
        ("orders", "ordered_on"),
        ("orders", "shipped_on"),
        ("returns", "returned_on"),
    ],
)
def test_dates_are_iso_and_none_is_after_the_last_day(connection: sqlite3.Connection, table: str, column: str) -> None:
    wrong = f"SELECT COUNT(*) FROM {table} WHERE {column} <> date({column}) OR {column} > '2025-12-31'"
    assert one(connection, wrong) == 0


def test_each_year_sells_more_and_december_most(connection: sqlite3.Connection) -> None:
    years = connection.execute(
        "SELECT strftime('%Y', ordered_on), SUM(total_amount) FROM orders GROUP BY 1 ORDER BY 2"
    ).fetchall()
    best = connection.execute("SELECT strftime('%m', ordered_on) FROM orders GROUP BY 1 ORDER BY COUNT(*) DESC")
    assert [year for year, _ in years] == ["2023", "2024", "2025"]
    assert best.fetchone() == ("12",)


def test_a_tenth_of_the_products_makes_more_than_a_third_of_the_units(connection: sqlite3.Connection) -> None:
    units = [
        total
        for (total,) in connection.execute("SELECT SUM(quantity) FROM order_items GROUP BY product_id ORDER BY 1 DESC")
    ]
    assert sum(units[:9]) > sum(units) / 3


def test_the_state_of_an_order_and_its_shipping_date_agree(connection: sqlite3.Connection) -> None:
    states = dict(connection.execute("SELECT status, COUNT(*) FROM orders GROUP BY status").fetchall())
    wrong = "SELECT COUNT(*) FROM orders WHERE (shipped_on IS NULL) <> (status IN ('pending', 'cancelled'))"
    assert set(states) == {"delivered", "shipped", "pending", "cancelled"}
    assert 400 < states["cancelled"] < 700
    assert one(connection, wrong) == 0
    assert one(connection, "SELECT COUNT(*) FROM orders WHERE shipped_on < ordered_on") == 0


def test_cancelled_orders_keep_their_total(connection: sqlite3.Connection) -> None:
    assert one(connection, "SELECT MIN(total_amount) FROM orders WHERE status = 'cancelled'") > 0


def test_nobody_sold_a_web_order_and_somebody_sold_each_other(connection: sqlite3.Connection) -> None:
    assert one(connection, "SELECT COUNT(*) FROM orders WHERE (channel = 'W') <> (employee_id IS NULL)") == 0
    late = "SELECT COUNT(*) FROM orders JOIN employees USING (employee_id) WHERE hired_on > ordered_on"
    assert one(connection, late) == 0


def test_nobody_orders_before_signing_up(connection: sqlite3.Connection) -> None:
    early = "SELECT COUNT(*) FROM orders JOIN customers USING (customer_id) WHERE signed_up_on > ordered_on"
    assert one(connection, early) == 0


@pytest.mark.parametrize(
    "never",
    [
        "SELECT COUNT(*) FROM customers WHERE phone IS NULL",
        "SELECT COUNT(*) FROM employees WHERE manager_id IS NULL",
        "SELECT COUNT(*) FROM employees WHERE region_id IS NULL",
        "SELECT COUNT(*) FROM categories WHERE parent_id IS NULL",
        "SELECT COUNT(*) FROM returns WHERE reason IS NULL",
        "SELECT COUNT(*) FROM products WHERE discontinued = 1",
        "SELECT COUNT(*) FROM customers WHERE customer_id NOT IN (SELECT customer_id FROM orders)",
        "SELECT COUNT(*) FROM products WHERE product_id NOT IN (SELECT product_id FROM order_items)",
    ],
)
def test_what_is_missing_in_life_is_missing_here(connection: sqlite3.Connection, never: str) -> None:
    assert one(connection, never) > 0


def test_an_order_total_is_the_sum_of_its_items(connection: sqlite3.Connection) -> None:
    wrong = connection.execute(
        """
        SELECT order_id FROM orders LEFT JOIN order_items USING (order_id) GROUP BY order_id
        HAVING total_amount <> ROUND(SUM(line_total), 2)
            OR total_amount <> ROUND(SUM(quantity * unit_price * (1 - discount)), 2)
            OR COUNT(order_item_id) = 0
        """
    )
    assert wrong.fetchall() == []


def test_a_line_total_is_what_its_columns_give(connection: sqlite3.Connection) -> None:
    wrong = "SELECT COUNT(*) FROM order_items WHERE line_total <> ROUND(quantity * unit_price * (1 - discount), 2)"
    assert one(connection, wrong) == 0


def test_only_delivered_items_come_back_and_for_no_more_than_was_paid(connection: sqlite3.Connection) -> None:
    wrong = """
        SELECT COUNT(*) FROM returns JOIN order_items USING (order_item_id) JOIN orders USING (order_id)
        WHERE status <> 'delivered' OR returned_on <= shipped_on OR refund_amount <= 0 OR refund_amount > line_total
    """
    assert one(connection, wrong) == 0


def test_products_earn_something_and_discontinued_ones_are_not_sold_any_more(connection: sqlite3.Connection) -> None:
    sold = """
        SELECT COUNT(*) FROM order_items JOIN orders USING (order_id) JOIN products USING (product_id)
        WHERE discontinued = 1 AND ordered_on >= '2025-01-01'
    """
    assert one(connection, "SELECT COUNT(*) FROM products WHERE cost >= price") == 0
    assert one(connection, sold) == 0


def test_every_region_has_staff_and_customers(connection: sqlite3.Connection) -> None:
    empty = """
        SELECT COUNT(*) FROM regions
        WHERE region_id NOT IN (SELECT region_id FROM customers)
            OR region_id NOT IN (SELECT region_id FROM employees WHERE region_id IS NOT NULL)
    """
    assert one(connection, empty) == 0


def test_the_meaning_of_the_channel_codes_is_in_the_database(connection: sqlite3.Connection) -> None:
    ddl = one(connection, "SELECT sql FROM sqlite_master WHERE name = 'orders'")
    assert "W = web, S = store, P = phone" in ddl
    assert dict(connection.execute("SELECT code, name FROM channels").fetchall()) == {
        "W": "web",
        "S": "store",
        "P": "phone",
    }


def test_mail_addresses_reach_nobody(connection: sqlite3.Connection) -> None:
    reachable = "SELECT COUNT(*) FROM customers WHERE email NOT LIKE '%@example.com' AND email NOT LIKE '%@%.example'"
    assert one(connection, reachable) == 0

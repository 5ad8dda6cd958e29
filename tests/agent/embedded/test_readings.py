"""Titles of statements that answer the same question in different ways."""

import re
from pathlib import Path

import pytest

from datasphinx.agent.embedded.readings import options_of
from datasphinx.agent.messages import LANGUAGES, Language
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings

COUNT = "SELECT COUNT(*) FROM orders"
BY_COUNTRY = "FROM orders AS o JOIN customers AS c ON c.customer_id = o.customer_id GROUP BY c.country"
SQL = re.compile(r"[*()_]|COUNT|SUM|AVG|CASE|DESC|SELECT|\bIN\b|NULL")


@pytest.fixture(scope="module")
def catalog(cache_dir: Path) -> Catalog:
    return Services(load_settings(cache_dir=cache_dir, source=shop_url(cache_dir))).source().catalog


@pytest.mark.parametrize(
    ("statements", "labels"),
    [
        (
            [COUNT, "SELECT SUM(total_amount) FROM orders", "SELECT COUNT(DISTINCT customer_id) FROM orders"],
            [
                "Number of orders",
                "Sum of total amount in orders",
                "Number of different values of customer id in orders",
            ],
        ),
        (
            [
                f"SELECT c.country, COUNT(*) {BY_COUNTRY}",
                f"SELECT c.country, ROUND(AVG(o.total_amount), 2) {BY_COUNTRY}",
            ],
            ["Number of orders", "Average total amount in orders"],
        ),
        (
            [COUNT, f"{COUNT} WHERE status = 'delivered'", f"{COUNT} WHERE shipped_on IS NULL"],
            ["Number of orders", "Status = delivered", "Shipped on is empty"],
        ),
        (
            ["SELECT COUNT(*) FROM orders GROUP BY status", "SELECT COUNT(*) FROM orders GROUP BY channel"],
            ["For each status", "For each channel"],
        ),
        (["SELECT name FROM customers", "SELECT name FROM employees"], ["Customer", "Employee"]),
        (
            [
                "SELECT COUNT(*) FROM orders GROUP BY strftime('%Y', ordered_on)",
                "SELECT COUNT(*) FROM orders GROUP BY strftime('%Y-%m', ordered_on)",
            ],
            ["For each year of ordered on", "For each month of ordered on"],
        ),
        (
            [
                "SELECT name FROM products ORDER BY price DESC LIMIT 1",
                "SELECT name FROM products ORDER BY price DESC",
                "SELECT name FROM products ORDER BY cost",
            ],
            ["Sorted by price (descending); only the first", "Sorted by price (descending)", "Sorted by cost"],
        ),
        (
            [
                "SELECT name FROM products WHERE price > (SELECT AVG(price) FROM products)",
                "SELECT name FROM products WHERE price > 2 * cost",
            ],
            ["Price > average price in products", "Price > 2 × cost"],
        ),
        (
            [
                "SELECT SUM(quantity * unit_price) FROM order_items",
                "SELECT SUM(quantity) / COUNT(*) FROM order_items",
            ],
            ["Sum of quantity × unit price in order items", "Sum of quantity in order items / number of order items"],
        ),
        (
            [
                "SELECT COUNT(*) FROM customers c JOIN orders o ON c.customer_id = o.customer_id GROUP BY c.name",
                "SELECT COUNT(*) FROM customers c LEFT JOIN orders o ON c.customer_id = o.customer_id GROUP BY c.name",
            ],
            ["Number of orders", "Also without orders"],
        ),
        (
            [
                "SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY customer_id) AS t",
                "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY customer_id) AS t",
            ],
            ["Average number of orders", "Highest number of orders"],
        ),
        (
            [
                "SELECT name, SUM(salary) AS total FROM employees GROUP BY employee_id, name ORDER BY total DESC",
                "SELECT name, MAX(salary) AS highest FROM employees GROUP BY employee_id, name ORDER BY 2 DESC",
            ],
            ["Sum of salary in employees", "Highest salary in employees"],
        ),
        (
            [
                f"SELECT g.name FROM orders o JOIN {by} p USING ({by[:-1]}_id) JOIN regions g USING (region_id) "
                "GROUP BY g.name ORDER BY SUM(o.total_amount) DESC LIMIT 1"
                for by in ("customers", "employees")
            ],
            ["By way of customers", "By way of employees"],
        ),
        (
            [f"{COUNT} WHERE {day} BETWEEN '2025-01-01' AND '2025-12-31'" for day in ("ordered_on", "shipped_on")],
            ["Ordered on = 2025", "Shipped on = 2025"],
        ),
        (["SELECT DISTINCT city FROM customers", "SELECT city FROM customers"], ["City, each once", "City"]),
        (
            ["SELECT COUNT(*) FROM orders UNION ALL SELECT COUNT(*) FROM returns", COUNT],
            ["Number of returns", "Number of orders"],
        ),
    ],
)
def test_a_label_says_what_differs(catalog: Catalog, statements: list[str], labels: list[str]) -> None:
    assert [option.label for option in options_of(statements, catalog, "en")] == labels


def test_a_label_has_the_meaning_of_a_code(catalog: Catalog) -> None:
    statements = [f"{COUNT} AS o WHERE o.channel = 'P'", f"{COUNT} WHERE channel IN ('W', 'S')"]
    options = options_of(statements, catalog, "en", {("orders", "channel"): {"P": "phone", "W": "web"}})

    assert [option.label for option in options] == ["Channel = phone", "Channel = web or store"]
    assert [option.sql for option in options] == statements


def test_a_reading_names_what_is_returned_once(catalog: Catalog) -> None:
    sql = f"SELECT c.country {BY_COUNTRY} ORDER BY SUM(o.total_amount) DESC LIMIT 1"
    first, _ = options_of([sql, COUNT], catalog, "en")

    assert first.reading == "Country; sorted by sum of total amount in orders (descending); only the first"


def test_a_reading_has_all_parts(catalog: Catalog) -> None:
    in_2025 = "WHERE o.ordered_on >= '2025-01-01' AND o.ordered_on < '2026-01-01' AND o.status <> 'cancelled' GROUP"
    grouped = BY_COUNTRY.replace("GROUP", in_2025)
    sql = f"SELECT c.country, SUM(o.total_amount) AS revenue {grouped} ORDER BY revenue DESC LIMIT 5"
    first, _ = options_of([sql, COUNT], catalog, "en")

    assert first.reading == (
        "Sum of total amount in orders; 2025; without cancelled; for each country; highest first; only the first 5"
    )
    assert first.sql == sql


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_label_contains_sql_and_all_differ(catalog: Catalog, language: Language) -> None:
    hard = (
        "SELECT SUM(CASE WHEN status IN ({0}) THEN 1 ELSE 0 END) * 1.0 / COUNT(*) FROM orders "
        "WHERE EXISTS (SELECT 1 FROM returns)"
    )
    groups = [
        [hard.format("'delivered'"), hard.format("'shipped'"), hard.format("'pending'")],
        [COUNT, "SELECT RANK() OVER (ORDER BY total_amount) FROM orders", "SELECT * FROM orders"],
        [
            "SELECT COUNT(shipped_on), MIN(price) FROM orders, products",
            "SELECT MAX(price) FROM orders, products",
            "SELECT COUNT(*) FROM orders HAVING COUNT(*) > 5",
        ],
    ]
    for statements in groups:
        options = options_of(statements, catalog, language)
        labels = [option.label for option in options]

        assert len({label.casefold() for label in labels}) == 3
        assert not any(SQL.search(label.replace("(2)", "").replace("(3)", "")) for label in labels), labels
        assert all(len(label) <= 120 for label in labels)


@pytest.mark.parametrize(
    ("language", "labels"),
    [
        ("ru", ["Количество записей в таблице «orders»", "Суммарное значение «total amount» в таблице «orders»"]),
        ("zh", ["“orders”的记录数", "“orders”的“total amount”总和"]),
        ("de", ["Die Anzahl der Zeilen in „orders“", "Die Summe von „total amount“ in „orders“"]),
    ],
)
def test_labels_are_in_the_language_of_the_question(catalog: Catalog, language: Language, labels: list[str]) -> None:
    options = options_of([COUNT, "SELECT SUM(total_amount) FROM orders"], catalog, language)

    assert [option.label for option in options] == labels

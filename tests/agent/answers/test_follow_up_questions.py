"""Follow-up questions on an answer: which are offered, and which statements verify them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.answers.follow_up_questions import follow_up_questions
from agent.conversation.follow_ups import is_follow_up
from agent.core.cancellation import Cancellation
from agent.errors import StatementCancelled
from agent.messages import Language
from agent.sample.shop import shop_url
from agent.services import Services
from agent.settings import load_settings
from agent.sources.source import Source
from tests.databases import make_database, open_url, url

COUNT = "SELECT COUNT(*) AS orders FROM orders"
DELIVERED = (
    "SELECT COUNT(*) AS n FROM orders WHERE status = 'delivered' AND ordered_on >= '2024-01-01' "
    "AND ordered_on < '2025-01-01'"
)


@pytest.fixture(scope="module")
def shop(cache_dir: Path) -> Source:
    return Services(load_settings(cache_dir=cache_dir, source=shop_url(cache_dir))).source()


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The statements that are executed."""
    statements: list[str] = []
    execute = Source.execute

    def recorded(self: Source, sql: str, *arguments: Any, **options: Any) -> Any:
        statements.append(sql)
        return execute(self, sql, *arguments, **options)

    monkeypatch.setattr(Source, "execute", recorded)
    yield statements


@pytest.mark.parametrize(
    ("sql", "questions"),
    [
        (
            COUNT,
            [
                "What is the number of orders by status?",
                "How did the number of orders develop by month of ordered on?",
                "What are the top 5 employees by number of orders?",
            ],
        ),
        (
            DELIVERED,
            [
                # The filter of the status is removed to compare with the others.
                "What is the number of orders by status where ordered on = 2024?",
                "How did the number of orders develop by month of ordered on where status = delivered and "
                "ordered on = 2024?",
                "How does the number of orders with ordered on = 2024 compare with ordered on = 2023 where "
                "status = delivered?",
            ],
        ),
        (
            "SELECT c.country, ROUND(SUM(o.total_amount), 2) AS spent FROM orders AS o JOIN customers AS c "
            "ON c.customer_id = o.customer_id GROUP BY 1 ORDER BY 2 DESC",
            [
                "What is the sum of total amount in orders by status?",
                "How did the sum of total amount in orders develop by month of ordered on?",
                "What are the top 5 customers by sum of total amount in orders?",
            ],
        ),
        (
            "SELECT strftime('%Y-%m', ordered_on) AS month, AVG(total_amount) FROM orders "
            "WHERE ordered_on BETWEEN '2025-03-01' AND '2025-03-31' AND status <> 'cancelled' GROUP BY month",
            [
                # All other orders of this month are delivered.
                "How did the average total amount in orders develop by month of shipped on where "
                "ordered on = March 2025 and status ≠ cancelled?",
                "How does the average total amount in orders with ordered on = March 2025 compare with "
                "ordered on = March 2024 where status ≠ cancelled?",
                "What are the top 5 employees by average total amount in orders where ordered on = March 2025 and "
                "status ≠ cancelled?",
            ],
        ),
        (
            "SELECT name, price FROM products WHERE price > 100",
            ["What is the number of products by category where price > 100?"],
        ),
    ],
)  # fmt: skip
def test_questions_follow_the_statement(shop: Source, sql: str, questions: list[str]) -> None:
    assert follow_up_questions(sql, shop, "en") == questions
    assert not any(map(is_follow_up, questions))


@pytest.mark.parametrize(
    ("language", "questions"),
    [
        (
            "ru",
            [
                "Покажи количество записей в таблице «orders» по полю «status», где ordered on = 2024",
                "Покажи количество записей в таблице «orders» по месяцам поля «ordered on», "
                "где status = delivered и ordered on = 2024",
                "Сравни количество записей в таблице «orders» за два периода: ordered on = 2024 и ordered on = 2023, "
                "где status = delivered",
            ],
        ),
        (
            "zh",
            [
                "当 ordered on = 2024 时，按“status”统计，“orders”的记录数各是多少？",
                "当 status = delivered、ordered on = 2024 时，按“ordered on”的月份统计，“orders”的记录数如何变化？",
                "当 status = delivered 时，ordered on = 2024 与 ordered on = 2023 相比，“orders”的记录数有什么变化？",
            ],
        ),
    ],
)
def test_questions_are_in_the_language(shop: Source, language: Language, questions: list[str]) -> None:
    assert follow_up_questions(DELIVERED, shop, language) == questions
    # Each is understood without the conversation, and needs no call of the model that rewrites it.
    assert not any(map(is_follow_up, questions))


def test_each_question_is_verified_by_its_statement(shop: Source, executed: list[str]) -> None:
    sql = f"{DELIVERED} AND total_amount > 5"
    assert len(follow_up_questions(sql, shop, "en")) == 3
    by_status, by_month, by_year = executed

    assert "status" not in by_status.partition("WHERE")[2].partition("GROUP BY")[0]
    assert "'delivered'" in by_month and "'2024-01-01'" in by_month and "%Y-%m" in by_month
    assert "'delivered'" in by_year and all(f"'{year}-01-01'" in by_year for year in (2023, 2024, 2025))
    assert all("total_amount > 5" in each for each in executed)

    follow_up_questions(sql, shop, "en")
    assert len(executed) == 3


def test_questions_without_rows_are_not_offered(shop: Source, executed: list[str]) -> None:
    sql = "SELECT COUNT(*) FROM orders WHERE ordered_on >= '1999-01-01' AND ordered_on < '2000-01-01'"
    assert follow_up_questions(sql, shop, "en") == []
    assert 0 < len(executed) <= 8


def test_the_year_before_needs_rows_too(shop: Source) -> None:
    first = shop.execute("SELECT MIN(ordered_on) FROM orders")["rows"][0][0][:4]
    sql = f"SELECT COUNT(*) FROM orders WHERE strftime('%Y', ordered_on) = '{first}'"
    questions = follow_up_questions(sql, shop, "en")
    assert len(questions) == 3 and not [each for each in questions if "compare" in each]


def test_questions_of_the_conversation_are_not_repeated(shop: Source) -> None:
    first, *others = follow_up_questions(COUNT, shop, "en")
    again = follow_up_questions(COUNT, shop, "en", [first.upper().rstrip("?")])
    assert len(again) == 3 and first not in again and set(others) < set(again)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH late AS (SELECT * FROM orders WHERE shipped_on > '2024-01-01') SELECT COUNT(*) FROM late",
        "SELECT COUNT(*) FROM orders WHERE LENGTH(status) > 6",
        "SELECT COUNT(*) FROM orders WHERE order_id IN (1, 2, 3, 4, 5, 6, 7)",
        f"SELECT COUNT(*) FROM orders WHERE status <> '{'x' * 41}'",
        "SELECT COUNT(*) FROM orders WHERE total_amount > (SELECT AVG(total_amount) FROM orders)",
        "SELECT order_id FROM orders UNION SELECT order_id FROM order_items",
    ],
)
def test_filters_that_no_words_express_are_left_out_altogether(shop: Source, sql: str) -> None:
    assert follow_up_questions(sql, shop, "en") == follow_up_questions(COUNT, shop, "en")


def test_rows_that_a_join_repeats_are_not_added_up(shop: Source) -> None:
    sql = "SELECT SUM(o.total_amount) FROM orders AS o JOIN order_items AS i ON i.order_id = o.order_id"
    assert follow_up_questions(sql, shop, "en")[0] == "What is the number of order items by status?"
    joined = "SELECT COUNT(*) FROM customers AS c JOIN orders AS o ON o.customer_id = c.customer_id"
    assert follow_up_questions(joined, shop, "en")[0] == "What is the number of orders by status?"
    # Customers without orders are rows of this join.
    outer = joined.replace("JOIN", "LEFT JOIN")
    assert follow_up_questions(outer, shop, "en")[0] == "What is the number of customers by country?"


def test_secret_hidden_and_personal_columns_are_in_no_question(cache_dir: Path, tmp_path: Path) -> None:
    knowledge = "tables: {customers: {columns: {country: {personal: true}, segment: {hidden: true}}}}"
    (tmp_path / "shop.yml").write_text(knowledge, encoding="utf-8")
    shop = {"url": shop_url(cache_dir), "knowledge": str(tmp_path), "secret_columns": ["orders.status"]}
    source = Services(load_settings(cache_dir=cache_dir, sources={"shop": shop})).source("shop")

    for sql in ("SELECT COUNT(*) FROM customers WHERE country = 'Spain'", COUNT, DELIVERED):
        questions = follow_up_questions(sql, source, "en")
        assert questions
        assert not [each for each in questions for word in ("segment", "by country", "status") if word in each]


def test_cancelled_statements_are_not_taken_for_an_answer(cache_dir: Path) -> None:
    source = Services(load_settings(cache_dir=cache_dir, source=shop_url(cache_dir))).source()
    stop = Cancellation()
    stop.cancel()
    with pytest.raises(StatementCancelled):
        follow_up_questions(COUNT, source, "en", stop=stop)
    assert len(follow_up_questions(COUNT, source, "en")) == 3


def test_names_and_values_of_the_data_stay_texts(tmp_path: Path) -> None:
    path = make_database(
        tmp_path,
        'CREATE TABLE "a; DROP" (id INTEGER PRIMARY KEY, "kind ""x" TEXT, "select" DATE)',
        """INSERT INTO "a; DROP" VALUES (1, 'O''Neill', '2024-01-05'), (2, 'b"c', '2024-02-05'),
        (3, 'b"c', '2024-02-06')""",
    )
    source = open_url(url(path))
    sql = """SELECT COUNT(*) FROM "a; DROP" WHERE "kind ""x" = 'O''Neill'"""

    assert follow_up_questions(sql, source, "en") == ['What is the number of a; DROP by kind "x?']
    assert follow_up_questions('SELECT COUNT(*) FROM "a; DROP"', source, "en") == [
        'What is the number of a; DROP by kind "x?',
        "How did the number of a; DROP develop by month of select?",
    ]


def test_an_empty_source_has_no_questions(tmp_path: Path) -> None:
    source = open_url(url(make_database(tmp_path, "CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, visitor TEXT)")))
    assert follow_up_questions("SELECT COUNT(*) FROM visits", source, "en") == []
    assert follow_up_questions("SELECT 1", source, "en") == []
    assert follow_up_questions("not SQL (", source, "en") == []

"""Follow-up questions on an answer: which are offered without a model, and which statements verify them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.answers.follow_up_questions import follow_up_questions
from datasphinx.agent.answers.form_text import proposed_questions
from datasphinx.agent.answers.references import Said
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import StatementCancelled
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Result
from tests.databases import make_database, open_url, url

COUNT = "SELECT COUNT(*) AS orders FROM orders"
OF_2024 = f"{COUNT} WHERE ordered_on >= '2024-01-01' AND ordered_on < '2025-01-01'"
HOW_MANY = "How many orders are there?"


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


def test_questions_of_the_model_type_only_what_was_said() -> None:
    result: Result = {"columns": ["city", "n"], "types": [], "rows": [["Berlin", 5]], "truncated": False}
    proposed = ["Orders of 2024 by month?", "Orders of 2023?", "And in Berlin?", "Orders of {1.city}?", " "]
    said = Said("How many orders were there in 2024 by city?", literals=["2024-01-01"])
    assert proposed_questions(proposed, said, result) == ["Orders of 2024 by month?"]
    assert len(proposed_questions(proposed, Said("Berlin, 2023 and 2024"), result)) == 3


def test_questions_of_the_model_are_shown_as_a_whole() -> None:
    result: Result = {"columns": ["n"], "types": [], "rows": [[5]], "truncated": False}
    question = "How many orders were placed per month by customers in the region with the highest revenue?"
    assert proposed_questions([question], Said("How many orders?"), result) == [question]


@pytest.mark.parametrize(
    ("question", "questions"),
    [
        (
            "How many orders were placed in 2024?",
            ["How many orders were placed in 2024, by status?", "How many orders were placed in 2024, by month?"],
        ),
        ("Count the orders of 2024.", ["Count the orders of 2024, by status.", "Count the orders of 2024, by month."]),
        (
            "Wie viele Bestellungen gab es 2024?",
            ["Wie viele Bestellungen gab es 2024, nach „status“?", "Wie viele Bestellungen gab es 2024, nach Monaten?"],
        ),
        ("Заказы за 2024 год", ["Заказы за 2024 год, по полю «status»", "Заказы за 2024 год, по месяцам"]),
        ("2024年有多少订单？", ["2024年有多少订单，按“status”分组？", "2024年有多少订单，按月份？"]),
    ],
)
def test_the_question_is_broken_down_in_its_words(shop: Source, question: str, questions: list[str]) -> None:
    assert follow_up_questions(question, OF_2024, shop) == questions


@pytest.mark.parametrize(
    ("sql", "groups"),
    [
        # Which of several dates is meant is known only from a filter, and a column of a filter is no group.
        (COUNT, ["status"]),
        (f"{OF_2024} AND status = 'delivered'", ["month"]),
        (
            "SELECT ROUND(SUM(o.total_amount), 2) FROM orders AS o JOIN customers AS c "
            "ON c.customer_id = o.customer_id WHERE c.country = 'Spain'",
            ["status", "segment"],
        ),
        ("SELECT country, COUNT(*) FROM customers GROUP BY country", []),
        ("SELECT name, price FROM products WHERE price > 100", []),
        ("SELECT MIN(ordered_on), MAX(ordered_on) FROM orders", []),
        ("WITH late AS (SELECT * FROM orders) SELECT COUNT(*) FROM late", []),
        ("SELECT COUNT(*) FROM orders WHERE total_amount > (SELECT AVG(total_amount) FROM orders)", []),
        ("SELECT COUNT(*) FROM orders UNION SELECT COUNT(*) FROM order_items", []),
        ("SELECT 1", []),
        ("not SQL (", []),
    ],
)
def test_only_a_single_figure_is_broken_down(shop: Source, sql: str, groups: list[str]) -> None:
    assert follow_up_questions("How many?", sql, shop) == [f"How many, by {group}?" for group in groups]


def test_each_question_is_verified_by_a_statement_with_the_filters_of_its_answer(
    shop: Source, executed: list[str]
) -> None:
    sql = f"{OF_2024} AND total_amount > 5"
    assert len(follow_up_questions("Orders above 5", sql, shop)) == len(executed) == 2
    assert all("total_amount" in each and "'2024-01-01'" in each for each in executed)
    assert "status" in executed[0] and "%Y-%m" in executed[1]

    follow_up_questions("Orders above 5", sql, shop)
    assert len(executed) == 2


def test_questions_with_fewer_than_two_rows_are_not_offered(shop: Source) -> None:
    assert follow_up_questions(HOW_MANY, OF_2024.replace("2024", "1999").replace("2025", "2000"), shop) == []
    assert follow_up_questions(HOW_MANY, OF_2024.replace("2025-01", "2024-02"), shop) == [
        "How many orders are there, by status?"
    ]


def test_questions_of_the_conversation_are_not_repeated(shop: Source) -> None:
    first, second = follow_up_questions(HOW_MANY, OF_2024, shop)
    assert follow_up_questions(HOW_MANY, OF_2024, shop, [first.upper().rstrip("?")]) == [second]


def test_secret_hidden_personal_and_unique_columns_are_in_no_question(cache_dir: Path, tmp_path: Path) -> None:
    knowledge = "tables: {customers: {columns: {country: {personal: true}, segment: {hidden: true}}}}"
    (tmp_path / "shop.yml").write_text(knowledge, encoding="utf-8")
    shop = {"url": shop_url(cache_dir), "knowledge": str(tmp_path), "secret_columns": ["orders.status"]}
    source = Services(load_settings(cache_dir=cache_dir, sources={"shop": shop})).source("shop")
    for sql in (COUNT, "SELECT COUNT(*) FROM customers"):
        found = " ".join(follow_up_questions("How many", sql, source))
        assert not [word for word in ("segment", "country", "status") if word in found]

    path = make_database(
        tmp_path,
        "CREATE TABLE cafes (id INTEGER PRIMARY KEY, cafe TEXT, town TEXT)",
        "INSERT INTO cafes VALUES (1, 'Ada', 'York'), (2, 'Bo', 'York'), (3, 'Cy', 'Hull'), (4, 'Di', 'Hull')",
    )
    assert follow_up_questions("How many?", "SELECT COUNT(*) FROM cafes", open_url(url(path))) == ["How many, by town?"]


def test_cancelled_statements_are_not_taken_for_an_answer(cache_dir: Path) -> None:
    source = Services(load_settings(cache_dir=cache_dir, source=shop_url(cache_dir))).source()
    stop = Cancellation()
    stop.cancel()
    with pytest.raises(StatementCancelled):
        follow_up_questions(HOW_MANY, COUNT, source, stop=stop)
    assert len(follow_up_questions(HOW_MANY, COUNT, source)) == 1


def test_names_and_values_of_the_data_stay_texts(tmp_path: Path) -> None:
    path = make_database(
        tmp_path,
        'CREATE TABLE "a; DROP" (id INTEGER PRIMARY KEY, "kind ""x" TEXT, "select" DATE)',
        """INSERT INTO "a; DROP" VALUES (1, 'O''Neill', '2024-01-05'), (2, 'b"c', '2024-02-05'),
        (3, 'b"c', '2024-02-06'), (4, 'O''Neill', '2024-02-06')""",
    )
    assert follow_up_questions("{group}?", 'SELECT COUNT(*) FROM "a; DROP"', open_url(url(path))) == [
        '{group}, by kind "x?',
        "{group}, by month?",
    ]

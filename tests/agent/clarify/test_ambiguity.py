"""Evidence of ambiguities, from the catalog and stored values of a shop's database alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.clarify.ambiguity import ambiguous_columns, assumptions_of, find_ambiguities
from agent.sample.shop import shop_path
from agent.schema.catalog import Catalog, Column, Table
from agent.sources.source import Source
from agent.types import Ambiguity, Clarification, Limits
from tests.benchmarks import ambiguity
from tests.databases import open_url, url


@pytest.fixture(scope="module")
def shop(cache_dir: Path) -> Iterator[Source]:
    source = open_url(url(shop_path(cache_dir)), Limits(30, 10_000))
    yield source
    source.close()


def found(question: str, source: Source) -> list[tuple[str, str]]:
    ambiguities = find_ambiguities(question, source, source.catalog.selection())
    return [(each["type"], each["phrase"]) for each in ambiguities]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which customers are the best?", ("AmbQuestion", "best")),
        ("Кто наши лучшие клиенты?", ("AmbQuestion", "лучшие")),
        ("最好的客户是谁？", ("AmbQuestion", "最好")),
        ("How many orders came in 2023 and 2024?", ("AmbQuestion", "2023 and 2024")),
        ("Сколько заказов было в 2023 и 2024?", ("AmbQuestion", "2023 и 2024")),
        ("2023年和2024年一共有多少订单？", ("AmbQuestion", "2023年和2024")),
        ("Who sold laptops or phones to schools?", ("AmbQuestion", "laptops or phones to")),
        ("Orders by channel, sorted please", ("AmbOutput", "the order")),
        ("How many items do orders have?", ("AmbOutput", "the count")),
        ("Give me the customers and their orders.", ("AmbOutput", "what to show")),
    ],
)
def test_what_may_be_read_in_several_ways(shop: Source, question: str, expected: tuple[str, str]) -> None:
    assert expected in found(question, shop)


@pytest.mark.parametrize(
    "question",
    [
        "How many orders are there?",
        "Which region had the largest total order amount in 2024?",
        "What is the average order amount for each customer segment?",
        "List the names of all regions, sorted from A to Z.",
        "How many customers do we have?",
        "Which products have never been ordered?",
        "Who are our 10 best customers by total order amount, cancelled orders left out?",
        "How many employees are there in each region, largest number first?",
    ],
)
def test_clear_questions(shop: Source, question: str) -> None:
    assert found(question, shop) == []


def test_a_name_that_several_values_hold(shop: Source) -> None:
    names = shop.execute("SELECT name FROM customers WHERE name LIKE 'Anna %' LIMIT 3")["rows"]
    assert len(names) > 1
    ambiguities = find_ambiguities("What did Anna order?", shop, shop.catalog.selection())

    (one,) = [each for each in ambiguities if each["type"] == "AmbValue"]
    assert one["phrase"] == "Anna" and len(one["candidates"]) > 1
    assert all(
        each.startswith("customers.name = 'Anna ") or each.startswith("employees.name") for each in one["candidates"]
    )


def test_a_value_of_two_columns_counts_unless_one_is_named(shop: Source) -> None:
    cities = {row[0] for row in shop.execute("SELECT DISTINCT city FROM customers")["rows"]}
    both = cities & {row[0] for row in shop.execute("SELECT DISTINCT country FROM customers")["rows"]}
    (name, *_) = sorted(both)

    assert ("AmbValue", name) in found(f"How many customers are in {name}?", shop)
    assert ("AmbValue", name) not in found(f"How many customers are in the city {name}?", shop)


def test_a_word_that_fits_several_columns_and_none_of_them_better() -> None:
    columns = tuple(Column(name, "REAL") for name in ("requested_price", "offered_price", "rooms"))
    catalog = Catalog("sqlite", {"house": Table("house", columns)})
    (one,) = ambiguous_columns("What is the price of avalon?", catalog, catalog.selection())

    assert (one["phrase"], one["candidates"]) == ("price", ["house.requested_price", "house.offered_price"])
    assert list(ambiguous_columns("What is the offered price of avalon?", catalog, catalog.selection())) == []


def test_columns_of_different_kinds_are_no_rivals() -> None:
    table = Table("house", (Column("asking_price", "REAL"), Column("price_note", "TEXT")))
    catalog = Catalog("sqlite", {"house": table})

    assert list(ambiguous_columns("What is the price?", catalog, catalog.selection())) == []


PRICE = Ambiguity(type="AmbTableColumn", phrase="price", candidates=["order_items.unit_price", "products.price"])


def assumed(shop: Source, sql: str, *, stated: tuple[str, ...] = (), said: tuple[Clarification, ...] = ()) -> list[str]:
    return assumptions_of(stated, [PRICE], said, sql, shop.catalog, "en")


def test_what_a_statement_took_is_said(shop: Source) -> None:
    assert assumed(shop, "SELECT MAX(p.price) FROM products AS p") == [
        "“price” was read as products.price, not order_items.unit_price"
    ]
    assert (
        assumed(
            shop, "SELECT MAX(p.price), MAX(i.unit_price) FROM products AS p JOIN order_items AS i USING (product_id)"
        )
        == []
    )
    assert assumed(shop, "SELECT COUNT(*) FROM orders") == []


def test_a_word_with_several_readings_is_named_where_nothing_else_is_stated(shop: Source) -> None:
    best = Ambiguity(type="AmbQuestion", phrase="best", candidates=["several measures or orders may be meant by it"])
    sql = "SELECT name FROM customers LIMIT 1"

    (said,) = assumptions_of((), [best], (), sql, shop.catalog, "en")
    assert said.startswith("“best” can be read in several ways")
    assert assumptions_of(["by orders"], [best], (), sql, shop.catalog, "en") == ["by orders"]


def test_nothing_is_assumed_that_the_user_has_said(shop: Source) -> None:
    said = Clarification(question="Which price?", answer="today's")

    assert assumed(shop, "SELECT MAX(price) FROM products", said=(said,)) == []


def test_a_stated_assumption_brings_no_figure_of_its_own(shop: Source) -> None:
    sql = "SELECT COUNT(*) FROM orders WHERE ordered_on >= '2024-01-01'"
    stated = ("the year 2024 is meant", "about 500 orders are returned", "cancelled ones count")

    assert assumed(shop, sql, stated=stated) == ["the year 2024 is meant", "cancelled ones count"]


@pytest.mark.integration
@pytest.mark.skipif(not ambiguity.DEV.is_dir(), reason="shared/benchmarks/spider_dev is not beside the project")
def test_evidence_meets_ambiguous_questions_and_hardly_a_clear_one() -> None:
    measured = ambiguity.measure()
    clear = measured.pop("clear")

    assert (sum(each.questions for each in measured.values()), clear.questions) == (60, 60)
    assert sum(each.shown for each in measured.values()) >= 15
    assert clear.shown <= 3

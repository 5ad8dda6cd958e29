"""Evidence of ambiguities, from the catalog and stored values of a shop's database alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from datasphinx.agent.embedded.ambiguities import first_ambiguity
from datasphinx.agent.sample.shop import shop_path
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.support.databases import open_url, url


@pytest.fixture(scope="module")
def shop(cache_dir: Path) -> Iterator[Source]:
    source = open_url(url(shop_path(cache_dir)), Limits(30, 10_000))
    yield source
    source.close()


def found(question: str, source: Source) -> str | None:
    ambiguity = first_ambiguity(question, source, source.catalog.selection())
    return ambiguity.phrase if ambiguity else None


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
    assert found(question, shop) is None


def test_a_name_that_several_values_hold(shop: Source) -> None:
    names = shop.execute("SELECT name FROM customers WHERE name LIKE 'Anna %' LIMIT 3")["rows"]
    assert len(names) > 1
    one = first_ambiguity("What did Anna order?", shop, shop.catalog.selection())

    assert one is not None and one.phrase == "Anna" and len(one.candidates) > 1
    assert all(
        each.startswith("customers.name = 'Anna ") or each.startswith("employees.name") for each in one.candidates
    )


def test_a_value_of_two_columns_counts_unless_one_is_named(shop: Source) -> None:
    cities = {row[0] for row in shop.execute("SELECT DISTINCT city FROM customers")["rows"]}
    both = cities & {row[0] for row in shop.execute("SELECT DISTINCT country FROM customers")["rows"]}
    (name, *_) = sorted(both)

    assert found(f"How many customers are in {name}?", shop) == name
    assert found(f"How many customers are in the city {name}?", shop) is None

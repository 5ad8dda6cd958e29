"""Evidence of ambiguities, from the catalog and stored values of a shop's database alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from datasphinx.agent.embedded.ambiguities import ambiguous_columns, find_ambiguities
from datasphinx.agent.sample.shop import shop_path
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.databases import open_url, url


@pytest.fixture(scope="module")
def shop(cache_dir: Path) -> Iterator[Source]:
    source = open_url(url(shop_path(cache_dir)), Limits(30, 10_000))
    yield source
    source.close()


def found(question: str, source: Source) -> list[tuple[str, str]]:
    ambiguities = find_ambiguities(question, source, source.catalog.selection())
    return [(each.type, each.phrase) for each in ambiguities]


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

    (one,) = [each for each in ambiguities if each.type == "AmbValue"]
    assert one.phrase == "Anna" and len(one.candidates) > 1
    assert all(
        each.startswith("customers.name = 'Anna ") or each.startswith("employees.name") for each in one.candidates
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

    assert (one.phrase, one.candidates) == ("price", ("house.requested_price", "house.offered_price"))
    assert list(ambiguous_columns("What is the offered price of avalon?", catalog, catalog.selection())) == []


def test_columns_of_different_kinds_are_no_rivals() -> None:
    table = Table("house", (Column("asking_price", "REAL"), Column("price_note", "TEXT")))
    catalog = Catalog("sqlite", {"house": table})

    assert list(ambiguous_columns("What is the price?", catalog, catalog.selection())) == []

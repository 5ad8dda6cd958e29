"""Schema linking by words."""

import pytest

from agent.catalog.index import SchemaIndex
from agent.catalog.schema import Catalog, Column, ForeignKey, Table


def table(name: str, *columns: str, comment: str | None = None, references: str | None = None) -> Table:
    keys = (ForeignKey((columns[0],), references, ("id",)),) if references else ()
    return Table(name, tuple(Column(column, "TEXT") for column in columns), foreign_keys=keys, comment=comment)


TABLES = (
    table("customers", "id", "full_name", "city"),
    table("orders", "customer_id", "amount", references="customers"),
    table("t_417", "id", "x", comment="parking tickets"),
    table("leather_goods", "id", "price"),
)
CATALOG = Catalog("sqlite", {each.key: each for each in TABLES}, values={("customers", "city"): ("Paris", "New York")})


@pytest.fixture
def index() -> SchemaIndex:
    return SchemaIndex(CATALOG)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("the amount of each order", "orders"),
        ("customers by city", "customers"),
        ("who lives in Paris", "customers"),
        ("parking tickets per day", "t_417"),
    ],
)
def test_names_comments_and_values_are_met(index: SchemaIndex, question: str, first: str) -> None:
    assert index.rank(question)[0] == first


def test_a_name_that_is_cut_short_is_met_when_asked_for() -> None:
    catalog = Catalog("sqlite", {"inst": table("inst", "id")})
    assert SchemaIndex(catalog).rank("Which institution is it?") == []
    assert SchemaIndex(catalog).rank("Which institution is it?", fuzzy=True) == ["inst"]


def test_a_near_miss_is_met_only_when_asked_for_and_only_in_names(index: SchemaIndex) -> None:
    assert index.rank("custmer adresses") == []
    assert index.rank("custmer adresses", fuzzy=True)[0] == "customers"
    assert index.rank("weather in Pariz", fuzzy=True) == []


@pytest.mark.parametrize(
    ("question", "may"),
    [
        ("What is the weather like?", False),
        ("How many clients are there?", True),
        ("Кто купил больше всех?", True),
        ("谁买得最多？", True),
        ("Which customers?", True),
    ],
)
def test_what_the_catalog_can_rule_out(index: SchemaIndex, question: str, may: bool) -> None:
    assert index.may_concern(question) is may


def test_joined_tables_come_along(index: SchemaIndex) -> None:
    assert index.with_neighbours(["orders"]) == ["orders", "customers"]

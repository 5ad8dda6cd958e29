"""Schema linking by words."""

import pytest

from datasphinx.agent.retrieval import index as retrieval
from datasphinx.agent.retrieval.index import SchemaIndex
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table
from datasphinx.agent.schema.words import german_stem


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


def test_german_words_are_met_in_the_singular_and_plural() -> None:
    tables = (table("kunde", "id", "stadt"), table("bestellung", "id"), table("vertraege", "id"))
    german = SchemaIndex(Catalog("sqlite", {each.key: each for each in tables}))
    assert german.rank("Wie viele Bestellungen gibt es in jedem Monat?") == ["bestellung"]
    assert german.rank("Aus welchen Städten kommen unsere Kunden?") == ["kunde"]
    assert german.rank("How does one kunden the städte?") == [], "only German questions have German endings"


def test_only_names_that_begin_like_a_word_are_stemmed_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stemmed = list[str]()
    monkeypatch.setattr(retrieval, "german_stem", lambda word: stemmed.append(word) or german_stem(word))
    names = [f"{first}{second}ing" for first in "bdfgk" for second in "abcdefghijklm"]
    large = SchemaIndex(Catalog("sqlite", {name: table(name, "id") for name in [*names, "vertraege"]}))

    assert large.rank("Wie viele Verträge gibt es?") == ["vertraege"]
    assert set(stemmed).isdisjoint(names)


def test_a_name_that_is_cut_short_is_met_when_asked_for() -> None:
    catalog = Catalog("sqlite", {"inst": table("inst", "id")})
    assert SchemaIndex(catalog).rank("Which institution is it?") == []
    assert SchemaIndex(catalog).rank("Which institution is it?", fuzzy=True) == ["inst"]


def test_a_near_miss_is_met_only_when_asked_for_and_only_in_names(index: SchemaIndex) -> None:
    assert index.rank("custmer adresses") == []
    assert index.rank("custmer adresses", fuzzy=True)[0] == "customers"
    assert index.rank("weather in Pariz", fuzzy=True) == []


@pytest.mark.parametrize(
    ("question", "is_one"),
    [
        ("What is the weather like?", False),
        ("What is the weather like in Paris?", False),
        ("Кто купил больше всех?", False),
        ("Which customers?", True),
        ("custmer adresses", True),
    ],
)
def test_names_are_mentioned_and_values_are_not(index: SchemaIndex, question: str, is_one: bool) -> None:
    assert index.mentions(question) is is_one


def test_joined_tables_come_along(index: SchemaIndex) -> None:
    assert index.with_neighbours(["orders"]) == ["orders", "customers"]


def test_a_smaller_likeness_is_met_by_the_third_attempt(index: SchemaIndex) -> None:
    assert index.rank("the kustomerz", fuzzy=1) == []
    assert index.rank("cistomar", fuzzy=1) == []
    assert index.rank("cistomar", fuzzy=2)[0] == "customers"


def test_words_without_a_gap_meet_words_with_one() -> None:
    tables = [
        table("shipments", "shipdate", "id"),
        table("parts", "ship_mode"),
        table("calendar", "date"),
        table("x", "y"),
    ]
    index = SchemaIndex(Catalog("sqlite", {each.key: each for each in tables}))

    assert index.rank("What was shipped on which date?")[0] == "shipments"
    assert index.rank("the shipmode")[0] == "parts"


def test_a_turn_that_only_orders_meets_no_orders() -> None:
    catalog = Catalog("sqlite", {each.key: each for each in (table("orders", "id"), table("people", "name"))})

    assert SchemaIndex(catalog).rank("List the names of people in alphabetical order") == ["people"]


def chain(*names: str) -> dict[str, Table]:
    """Tables each of which refers to the next."""
    following = [*names[1:], None]
    return {name: table(name, "ref", "id", references=other) for name, other in zip(names, following, strict=True)}


def test_the_bridge_between_two_tables_is_found_before_what_only_hangs_on_one() -> None:
    tables = chain("student", "has_allergy", "allergy_type") | {
        "advisors": table("advisors", "s", references="student")
    }
    unrelated = {f"t{number}": table(f"t{number}", "a") for number in range(20)}
    found = SchemaIndex(Catalog("sqlite", tables | unrelated)).rank("students by type")

    assert set(found[:3]) == {"student", "has_allergy", "allergy_type"}


def test_what_it_takes_to_join_comes_before_what_is_only_near() -> None:
    tables = chain("a", "b", "c", "d") | {"near": table("near", "x", references="a")}
    index = SchemaIndex(Catalog("sqlite", tables))

    assert index.connected(["a", "d"]) == ["a", "d", "b", "c"]
    assert index.with_neighbours(["a", "d"]) == ["a", "d", "b", "c", "near"]


def test_limit_and_order_of_equals() -> None:
    tables = {name: table(name, "price") for name in ("zeta", "alpha", "mu")}
    index = SchemaIndex(Catalog("sqlite", tables))

    assert index.rank("prices") == ["alpha", "mu", "zeta"]
    assert index.rank("prices", limit=2) == ["alpha", "mu"]


def test_chinese_and_russian_names_are_met_by_their_own_script() -> None:
    tables = {
        "订单数量": table("订单数量", "日期"),
        "заказы": table("заказы", "сумма"),
        "orders": table("orders", "id"),
    }
    index = SchemaIndex(Catalog("sqlite", tables))

    assert index.rank("每天的订单有多少") == ["订单数量"]
    assert index.rank("сумма заказа") == ["заказы"]


@pytest.mark.parametrize("tables", [{}, {"t": Table("t", ())}])
def test_a_catalog_with_nothing_to_meet(tables: dict[str, Table]) -> None:
    index = SchemaIndex(Catalog("sqlite", tables))

    assert index.rank("customers", fuzzy=2) == []
    assert index.scores("customers") == {}
    assert not index.mentions("Tell me a joke")

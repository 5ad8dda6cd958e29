"""Terms of identifiers."""

import pytest

from datasphinx.agent.retrieval.postings import Identifiers
from datasphinx.agent.schema.words import stem

NAMES = ["customer", "ship_mode", "order_date", "student"]


@pytest.mark.parametrize("name", ["ship_date", "ShipDate", "shipDate", "SHIP DATE", "shipdate", "SHIPDATE"])
def test_a_name_has_the_same_terms_however_it_is_written(name: str) -> None:
    assert set(Identifiers(NAMES).terms(name)) == {"ship", "date", "shipdat"}


@pytest.mark.parametrize(
    "name, words",
    [
        ("custname", {"cust", "name"}),
        ("customerid", {"custom", "id"}),
        ("StudentsAddresses", {"student", "address"}),
        ("HTTPServer2Port", {"http", "server", "2", "port"}),
        ("country", {"countri"}),
        ("t_417", {"t", "417"}),
        ("订单", {"订单"}),
    ],
)
def test_words_of_a_name(name: str, words: set[str]) -> None:
    assert Identifiers(NAMES).words(name) == words


def test_a_word_is_only_split_into_words_that_are_known() -> None:
    assert Identifiers([]).words("voyagerank") == {"voyagerank"}
    assert Identifiers(["voyage", "rank"]).words("voyagerank") == {"voyag", "rank"}


COMPOUNDS = [
    "sbcustomer",
    "sborder",
    "sbprice",
    "sbdailyprice",
    "daily",
    "customers",
    "order",
    "items",
    "teacher",
    "sid",
]


@pytest.mark.parametrize(
    "name, words",
    [
        ("orderitem", {"order", "item"}),
        ("orderitems", {"order", "item"}),
        ("customerorderitems", {"custom", "order", "item"}),
        ("sbcustomer", {"sb", "custom"}),
        ("sbdailyprice", {"sb", "daili", "price"}),
        ("sborderitems", {"sb", "order", "item"}),
        ("teacherid", {"teacher", "id"}),
        ("customersid", {"custom", "id"}),
        ("addressid", {"address", "id"}),
    ],
)
def test_compounds_without_separators_are_split(name: str, words: set[str]) -> None:
    assert Identifiers([*COMPOUNDS, name]).words(name) == words


@pytest.mark.parametrize(
    "name", ["customer", "subscription", "statement", "department", "candidate", "review", "result", "sbjct"]
)
def test_a_word_is_not_split(name: str) -> None:
    names = [*COMPOUNDS, "custom", "er", "state", "view", "port", "lease", "cord", "name", name]

    assert Identifiers(names).words(name) == {stem(name)}


def test_a_prefix_of_english_words_is_no_prefix_of_the_schema() -> None:
    names = ["reorder", "rename", "review", "order", "name", "view"]

    assert Identifiers(names).words("review") == {"review"}


def test_words_of_comments_split_names() -> None:
    assert Identifiers(["wareledger"]).words("wareledger") == {"wareledg"}
    assert Identifiers(["wareledger"], ["The ledger of each ware"]).words("wareledger") == {"ware", "ledger"}

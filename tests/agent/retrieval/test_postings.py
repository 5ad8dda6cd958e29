"""Terms of identifiers."""

import pytest

from agent.retrieval.postings import Identifiers

NAMES = ["customer", "ship_mode", "order_date", "student"]


@pytest.mark.parametrize("name", ["ship_date", "ShipDate", "shipDate", "SHIP DATE", "shipdate", "SHIPDATE"])
def test_a_name_has_the_same_terms_however_it_is_written(name: str) -> None:
    assert set(Identifiers(NAMES).terms(name)) == {"ship", "date", "shipdat"}


@pytest.mark.parametrize(
    ("name", "words"),
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

"""Search terms of a question."""

import pytest

from datasphinx.agent.retrieval.query import parse_question


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("List the names of all customers in alphabetical order.", {"name", "custom"}),
        ("How many different statuses are there?", {"status"}),
        ("Show the first 5 orders, sorted by price", {"order", "price"}),
        ("Сколько заказов у клиента?", {"скольк", "заказ", "клиент"}),
        ("订单数量", {"订单", "单数", "数量"}),
        ("In order", {"order"}),
        ("", set()),
    ],
)
def test_words_that_can_name_something(question: str, words: set[str]) -> None:
    assert set(parse_question(question).words) == words


def test_words_of_summarising_weigh_less() -> None:
    words = parse_question("average salary").words

    assert words["averag"] < words["salari"] == 1.0


def test_phrases_are_neighbours_that_say_something() -> None:
    assert parse_question("the home town of each head coach").phrases == ("hometown", "headcoach")


def test_spellings_are_those_of_the_question() -> None:
    assert parse_question("Cities and countries").spellings == {"citi": "cities", "countri": "countries"}

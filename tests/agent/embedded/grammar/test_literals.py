"""A question gives reason for the numbers, years and texts that it says, and for few others."""

import pytest

from datasphinx.agent.embedded.grammar.literals import may_mention, mentions_months, numbers_in, texts_in, years_in
from datasphinx.agent.schema.words import words

ALWAYS = {"0", "1", "1.0", "100", "100.0"}
SCHEMA = words("customer_name") | words("orders")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How many orders are there?", set()),
        ("orders above 1,250.50 placed in 2024", {"1250.50", "2024"}),
        ("the top three customers with at least twelve orders", {"3", "12"}),
        ("a discount of 15%", {"15", "0.15"}),
        ("those below -5 degrees", {"5", "-5"}),
        ("покажи три заказа больше 40", {"3", "40"}),
        ("销量最高的三个产品", {"3"}),
    ],
)
def test_the_numbers_of_a_question_are_said(question: str, said: set[str]) -> None:
    assert said <= set(numbers_in(question) or ())
    assert {number.lstrip("-") for number in numbers_in(question) or ()} - ALWAYS - said <= {"1", "0"}


@pytest.mark.parametrize("question", ["more than 20k", "two million inhabitants", "свыше 3 тысяч", "超过三万"])
def test_words_that_scale_numbers_allow_any(question: str) -> None:
    assert numbers_in(question) is None


def test_years_are_those_of_the_question_with_their_neighbours() -> None:
    assert years_in("orders of 2024") == ["2023", "2024", "2025"]
    assert years_in("orders over 500") == []
    assert years_in("orders of last month") is None


@pytest.mark.parametrize(
    ("question", "months"), [("sales in March", True), ("выручка за май", True), ("all names", False)]
)
def test_months_are_heard(question: str, months: bool) -> None:
    assert mentions_months(question) is months


def test_texts_neither_begin_nor_end_with_words_that_name_no_value() -> None:
    said = set(texts_in('Which customers bought the "The red one" in New York or Oslo?', SCHEMA))
    assert {"The red one", "New York", "Oslo", "oslo", "York"} <= said
    assert said.isdisjoint({"customers", "the", "in New York", "Which customers", "New York or"})


def test_a_word_of_the_schema_that_is_written_as_a_name_may_be_a_text() -> None:
    assert "Orders" in set(texts_in("songs called Orders", SCHEMA))


@pytest.mark.parametrize(
    ("value", "question", "said"),
    [
        ("F", "female singers", True),
        ("cancelled", "how many cancellations?", True),
        ("Seoul", "flights by origin", False),
    ],
)
def test_a_stored_value_is_said_by_how_it_begins(value: str, question: str, said: bool) -> None:
    assert may_mention(value, question) is said

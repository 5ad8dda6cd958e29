"""Tests of the wording that asks for an amount of money."""

import pytest

from datasphinx.agent.embedded.grammar.literals import asks_for_money


@pytest.mark.parametrize(
    "question",
    [
        "What was the revenue in May?",
        "sales by region",
        "How much did we sell?",
        "Какая выручка в мае?",
        "5月的营收是多少？",
    ],
)
def test_amount_of_money(question: str) -> None:
    assert asks_for_money(question)


@pytest.mark.parametrize(
    "question",
    [
        "How many sales were there?",
        "the number of sales by region",
        "Who is the oldest sales representative?",
        "List orders",
    ],
)
def test_no_amount_of_money(question: str) -> None:
    assert not asks_for_money(question)

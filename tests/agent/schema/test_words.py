"""Normalisation of the words of questions and identifiers."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from datasphinx.agent.schema.words import content_words, stem, words
from tests.support.heavy import sample


@pytest.mark.parametrize(
    ("question", "identifier"),
    [
        ("Which customers ordered?", "CustomerID"),
        ("average unit prices", "unit_price"),
        ("shipped orders", "order_items"),
        ("HTTP servers", "HTTPServer"),
        ("Сколько заказов отменили?", "заказы"),
        ("退货数量是多少", "退货数量"),
    ],
)
def test_a_question_meets_an_identifier(question: str, identifier: str) -> None:
    assert words(question) & words(identifier)


def test_articles_and_words_of_counting_name_nothing() -> None:
    assert content_words("How many of the orders are there?") == words("orders")


def test_threads_stem_at_once_what_one_stems_alone() -> None:
    several = [f"{start}{end}" for start in ("nation", "happi", "gener", "sensib") for end in ("", "ly", "alizations")]
    given = [
        f"{word}{number}" if number % 2 else f"{number}{word}" for number in range(sample(300, 60)) for word in several
    ]
    alone = [stem.__wrapped__(word) for word in given]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: [stem.__wrapped__(word) for word in given], range(8)))
    finally:
        sys.setswitchinterval(before)

    assert found == [alone] * 8

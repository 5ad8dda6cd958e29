"""The entries that the words of a question name."""

from collections.abc import Callable

import pytest

from datasphinx.agent.knowledge.knowledge import Knowledge

Read = Callable[[str], Knowledge]

TEXT = """\
metrics:
  revenue: {expression: SUM(orders.total_amount), synonyms: [выручка, 销售收入]}
  net revenue: {expression: SUM(orders.net)}
  return rate: {expression: AVG(orders.returned)}
  channel count: {expression: COUNT(DISTINCT orders.channel), synonyms: канал продаж}
terms:
  active customer: {definition: d, synonyms: активный клиент}
  book year: {definition: d, synonyms: [BY, ISO9]}
  estate: {definition: d, synonyms: универсал}
  Stornierung: {definition: d}
  Großkunde: {definition: d}
  Haus: {definition: d}
  corn order: {definition: d}
tables:
  orders:
    synonyms: purchases
    columns:
      channel: {labels: {P: [phone, out of shop], S: S order}}
"""


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What was the Revenue last year?", ["revenue"]),
        ("revenues by month", ["revenue"]),
        ("net revenue by month", ["net revenue"]),
        ("revenue net of tax", ["net revenue"]),
        ("Какой была выручка по активным клиентам?", ["revenue", "active customer"]),
        ("Выручка по каналам продаж", ["revenue", "channel count"]),
        ("продажи каналов", ["channel count"]),
        ("канал продаж продаж", ["channel count"]),
        ("去年的销售收入是多少", ["revenue"]),
        ("销售额", []),
        ("customers who are active", ["active customer"]),
        ("active products and customers", []),
        ("the rate of return", ["return rate"]),
        ("How many purchases by phone?", ["orders", "orders.channel"]),
        ("purchases out of the shop", ["orders", "orders.channel"]),
        ("How many orders are there?", []),
        ("Orders of BY1976", ["book year"]),
        ("orders of by1976", ["book year"]),
        ("Orders in BY 1976", ["book year"]),
        ("orders by 1976", []),
        ("ORDERS BY YEAR", []),
        ("iso9 orders", ["book year"]),
        ("How many S orders?", ["orders.channel"]),
        ("the customer's orders", []),
        ("Сколько универсалов?", ["estate"]),
        ("Цена универсала", ["estate"]),
        ("Wie viele Stornierungen gab es?", ["Stornierung"]),
        ("Wie viele Großkunden haben wir?", ["Großkunde"]),
        ("Welche Häuser gibt es?", ["Haus"]),
        ("Wie hoch ist der Umsatz des Großkunden?", ["Großkunde"]),
        ("Orders of corners", []),
        ("Which corner orders are late?", []),
    ],
)
def test_words_name_entries(read: Read, question: str, named: list[str]) -> None:
    assert [item.name for match in read(TEXT).matches(question) for item in match.items] == named


def test_match_has_the_words_of_the_question(read: Read) -> None:
    question = "Total revenue of active customers"
    (revenue, customers) = read(TEXT).matches(question)

    assert (revenue.phrase, question[customers.start : customers.end]) == ("revenue", "active customers")


def test_names_of_codes_have_the_code(read: Read) -> None:
    (match,) = read(TEXT).matches("by phone")

    assert [name.code for name in match.names] == ["P"]


def test_names_of_several_entries_are_listed(read: Read) -> None:
    knowledge = read("""\
        metrics:
          gross sales: {expression: SUM(a.b), synonyms: [sales]}
          net sales: {expression: SUM(a.c), synonyms: [Sales]}
        """)

    assert [(name, [item.name for item in items]) for name, items in knowledge.shared_names()] == [
        ("sales", ["gross sales", "net sales"])
    ]


def test_the_language_is_recognised_only_for_words_that_are_one_in_german(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recognise(text: str) -> str:
        raise AssertionError(f"the language of {text!r} was recognised")

    monkeypatch.setattr("datasphinx.agent.knowledge.knowledge.language_of", recognise)
    assert [match.phrase for match in read(TEXT).matches("net revenue of active customers")] == [
        "net revenue", "active customers",
    ]  # fmt: skip

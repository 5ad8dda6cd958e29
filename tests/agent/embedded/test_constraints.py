"""What a question says that its statement has to hold."""

import pytest

from datasphinx.agent.embedded.constraints import QuestionConstraints, constraints_of
from datasphinx.agent.retrieval.linked_values import LinkedValue


def link(value: str, phrase: str | None = None) -> LinkedValue:
    """Return a stored value that the question refers to, by default with the same words."""
    return LinkedValue("things", "name", value, value if phrase is None else phrase)


@pytest.mark.parametrize(
    "question",
    [
        "Which products have never been ordered?",
        "How many orders that are not cancelled came in 2024?",
        "clients without an email",
        "Revenue by region, returns left out",
        "Which rooms don't have a window?",
        "invoices still unpaid",
        "unassigned tickets per team",
        "turnover by month, ignoring refunds",
        "Kunden? No: which employee has no manager",
        "Сколько заказов без скидки?",
        "哪些书从来没有被借过?",
    ],
)
def test_a_negation_is_heard(question: str) -> None:
    said = constraints_of(question, [])
    assert said.negates
    assert said.count_violations("FROM books SELECT title WHERE state = 'not lent'") > said.count_violations(
        "FROM books SELECT title WHERE book_id NOT IN (FROM loans SELECT book_id)"
    )


@pytest.mark.parametrize(
    "question",
    [
        "How many notes are there?",
        "Show order no. 17",
        "all items, whether or not they were sold",
        "sales in the United States",
        "不同的城市有多少?",
    ],
)
def test_what_only_looks_like_a_negation_is_none(question: str) -> None:
    assert not constraints_of(question, []).negates


def test_a_negation_in_the_name_of_something_is_none() -> None:
    assert not constraints_of("How many Rooms Without A View were lent?", [link("Rooms Without A View")]).negates


def test_numbers_and_values_that_a_statement_leaves_out_are_counted() -> None:
    said = constraints_of("the 3 oldest dogs of Rex O'Hara", [link("dog"), link("Rex O'Hara")])
    assert said.count_violations("FROM pets SELECT name ORDER BY age DESC LIMIT 3") == 2
    assert said.count_violations("FROM pets SELECT name WHERE owner = 'Rex O''Hara' ORDER BY age DESC LIMIT 3") == 1
    assert said.count_violations("FROM pets SELECT name WHERE kind = 'dog' AND owner = 'Rex O''Hara' LIMIT 3") == 0
    assert said.count_violations("FROM pets SELECT name") == 3


def test_one_of_the_values_that_a_phrase_may_mean_is_enough() -> None:
    said = constraints_of("books in French", [link("French", "French"), link("Français", "French")])
    assert said.count_violations("FROM books SELECT title WHERE language = 'Français'") == 0
    assert said.count_violations("FROM books SELECT title") == 1


@pytest.mark.parametrize(
    ("condition", "made_up"),
    [
        ("state = 'Made'", 1),
        ("state LIKE '%made%'", 1),
        ("state = 'lost' AND city = 'Bad Ems'", 0),
        ("city LIKE '%Ems%' OR kind = 'B'", 0),
        ("title = 'the red book'", 0),
        ("strftime('%Y-%m', lent_on) = '2024-03' AND lent_on < '2024-03-09'", 0),
    ],
)
def test_a_word_of_the_question_that_is_no_name_and_is_stored_nowhere_is_made_up(condition: str, made_up: int) -> None:
    said = constraints_of('How many loans of "The Red Book" were made in Bad Ems?', [], ["lost", "returned"])
    assert said.count_violations(f"FROM loans SELECT COUNT(*) WHERE {condition}") == made_up


def test_definitions_of_the_question_have_to_be_used() -> None:
    constraints = QuestionConstraints(definitions=("net_sales", "'late order'"))

    assert constraints.count_violations("FROM orders SELECT SUM(net_sales) WHERE term = 'late order'") == 0
    assert constraints.count_violations("FROM orders SELECT SUM(net_sales)") == 1
    assert constraints.count_violations("FROM orders SELECT COUNT(*)") == 2


@pytest.mark.parametrize(
    "question",
    [
        "What share of the orders is express?",
        "Какова доля срочных заказов?",
        "加急订单的占比是多少?",
        "Welcher Anteil der Bestellungen ist express?",
    ],
)
def test_a_share_is_computed_or_read(question: str) -> None:
    said = constraints_of(question, [])
    fulfilled = {
        "FROM orders SELECT 100.0 * SUM(express) / COUNT(*)",
        "FROM orders SELECT 100 * AVG(express)",
        "FROM orders SELECT express_share",
    }
    assert not any(map(said.count_violations, fulfilled))
    assert said.count_violations("FROM orders SELECT COUNT(*) WHERE kind = '1/2'") == 1 == said.lacks_share("FROM x")
    assert not constraints_of("How many orders are express?", []).asks_for_share

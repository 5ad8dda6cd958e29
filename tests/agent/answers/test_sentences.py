"""Sentences built from a result and its statement are true, in the language of the question, and name the filters."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.answers.sentences import restated, sentence_of
from agent.messages import LANGUAGES, Language, language_of
from agent.schema.catalog import Catalog, Column, Table
from agent.sql.summary import summarize_query
from agent.types import Result
from tests.cases import all_cases
from tests.heavy import sample

FIXTURES = Path(__file__).parents[2] / "fixtures"


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


CASES = read_lines(FIXTURES / "answers" / "sentences.jsonl")
SHOP = read_lines(FIXTURES / "shop_questions.jsonl")


def table(name: str, columns: str, secret: Sequence[str] = ()) -> Table:
    return Table(name, tuple(Column(column, "TEXT", secret=column in secret) for column in columns.split()))


TABLES = (
    table("customers", "customer_id name city country email phone signed_up_on active", secret=["email"]),
    table("orders", "order_id customer_id status channel ordered_on shipped_on amount"),
    table("products", "product_id name category_id price discontinued"),
    table("categories", "category_id name parent_id"),
)
CATALOG = Catalog("sqlite", {each.key: each for each in TABLES}, default_schema="main")


def result_of(columns: list[str], rows: list[list[Any]], *, truncated: bool = False) -> Result:
    """Return a result whose columns named `email` are secret."""
    types = []
    for at in range(len(columns)):
        kinds = {type(row[at]) for row in rows if row[at] is not None}
        types.append("text" if str in kinds else "float" if float in kinds else "integer")
    result = Result(columns=columns, types=types, rows=rows, truncated=truncated)
    secret = [at for at, name in enumerate(columns) if name == "email"]
    return {**result, "secret": secret} if secret else result


@all_cases("case", CASES, ids=lambda case: f"{case['question']} {case['sql']}")
def test_sentences(case: dict[str, Any]) -> None:
    question, language = case["question"], language_of(case["question"])
    result, summary = result_of(case["columns"], case["rows"]), summarize_query(case["sql"], CATALOG)
    sentence = sentence_of(question, result, summary, language)

    assert sentence == case["sentence"]


QUESTIONS = {
    "en": "Which of them has the most?",
    "ru": "У кого больше всего?",
    "zh": "哪个最多？",
    "de": "Wer von ihnen hat am meisten?",
}
STATEMENTS = {
    "ranking": "SELECT status, SUM(amount) AS {metric} FROM orders GROUP BY status ORDER BY 2 DESC LIMIT 9",
    "group": "SELECT status, SUM(amount) AS {metric} FROM orders WHERE amount > 17 GROUP BY status",
    "period": "SELECT month, SUM(amount) AS {metric} FROM orders WHERE ordered_on LIKE '2024%' GROUP BY month",
    "list": "SELECT status, amount AS {metric} FROM orders",
}
NAMES = st.lists(
    st.sampled_from("Berlin Paris Rome Oslo Lima Kyiv Tokyo Cairo Bonn Quito Москва Казань 北京 上海".split()),
    min_size=1,
    max_size=9,
    unique=True,
)
VALUES = st.one_of(
    st.integers(-100_000, 10_000_000),
    st.decimals(0, 1_000_000, places=2).map(float),
    st.floats(0.001, 1000).map(lambda value: round(value, 7)),
)


@settings(max_examples=sample(600, 60), deadline=None)
@given(st.data())
def test_the_check_accepts_every_sentence(data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from(sorted(STATEMENTS)))
    metric = data.draw(st.sampled_from(["orders", "revenue", "average_price", "percent"]))
    language: Language = data.draw(st.sampled_from(LANGUAGES))
    names = data.draw(NAMES)
    if shape == "period":
        names = [f"2024-{month:02}" for month in range(1, len(names) + 1)]
    values = data.draw(st.lists(VALUES, min_size=len(names), max_size=len(names)))
    if shape == "ranking":
        values.sort(reverse=True)
    if len(values) > 1 and data.draw(st.booleans()):
        values[1] = values[0]
    columns = ["month" if shape == "period" else "status", metric]
    result = result_of(columns, [list(pair) for pair in zip(names, values, strict=True)])
    summary = summarize_query(STATEMENTS[shape].format(metric=metric), CATALOG)
    sentence = sentence_of(QUESTIONS[language], result, summary, language)

    assert "\n" not in sentence and (sentence or not values)


def test_secret_columns_are_left_out() -> None:
    statements = (
        "SELECT name, email FROM customers",
        "SELECT email, COUNT(*) AS customers FROM customers GROUP BY email",
        "SELECT email, name FROM customers WHERE email = 'zq1' ORDER BY email",
        "SELECT name, email FROM customers LIMIT 1",
    )
    failures = []
    for sql in statements:
        columns = ["email", "name"] if "email, name" in sql else ["name", "email"]
        columns = ["email", "customers"] if "COUNT" in sql else columns
        rows = [[f"zq{at}" if name == "email" else at for name in columns] for at in range(1 if "LIMIT" in sql else 3)]
        for language in LANGUAGES:
            sentence = sentence_of("Who?", result_of(columns, rows), summarize_query(sql, CATALOG), language)
            if "zq" in sentence or not sentence:
                failures.append((sql, sentence))
    assert not failures


def test_a_truncated_result_has_no_count_and_no_extremes() -> None:
    rows: list[list[Any]] = [["Berlin", 5], ["Paris", 9], ["Rome", 1], ["Oslo", 2]]
    summary = summarize_query("SELECT city, COUNT(*) AS orders FROM customers GROUP BY city", CATALOG)
    result = result_of(["city", "orders"], rows, truncated=True)

    assert sentence_of("Orders by city", result, summary, "en") == "City: Berlin, Paris, Rome, Oslo and others."


UNKNOWN = [
    # An auxiliary verb before its subject, a second question, a plural, several sentences, a name not in the statement.
    ("How many orders did we ship?", "5", True),
    ("How many orders were there and who placed them?", "5", True),
    ("How many orders were placed?", "1", True),
    ("How many orders were placed in 2023?", "5", True),
    ("How many orders were placed in Oslo?", "5", True),
    ("What is the price of it and what is the cost?", "5", True),
    ("Which city do most of our customers live in?", "Berlin", False),
    ("Which town has the most customers?", "Berlin", False),
    ("Who did it?", "Ann", False),
    ("How many orders? List them.", "5", True),
    ("How many `orders` were placed?", "5", True),
    ("Кто продал больше всех?", "Ann", False),
    ("Сколько стоит самый дорогой товар и какой это товар?", "5", True),
    ("为什么有多少个订单？", "5", True),
]


@all_cases("question, value, is_number", UNKNOWN)
def test_questions_that_are_not_restated(question: str, value: str, is_number: bool) -> None:
    language = language_of(question)
    known = " ".join(["2024 Berlin Ann", *filter(str.islower, question.split())])
    text = restated(
        question, value, is_number=is_number, nouns=["city"], known_text=known, conditions=9, language=language
    )
    assert text is None

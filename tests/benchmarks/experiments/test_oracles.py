"""The oracles choose the intended option and reveal no SQL."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.experiments.options import MatchRule
from benchmarks.experiments.oracles import (
    NONE_OF_THESE,
    Feedback,
    ModelOracle,
    RuleOracle,
    option_statements,
    reveals_sql,
)
from datasphinx.agent.evals.datasets import Question
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.scripted import Scripted, ScriptedModel
from datasphinx.agent.record.events import Event
from datasphinx.agent.settings import Settings
from datasphinx.agent.sources.source import Source


def call(schema: str, output: str) -> Event:
    body = {"schema": schema, "output": output, "messages": []}
    return Event("trace", "2025-01-01T00:00:00", "llm", body)


Ask = Callable[..., Question]
GOLD = "SELECT name FROM product WHERE price > 2.9"


def asked(*options: str | tuple[str, str]) -> Any:
    pairs = [option if isinstance(option, tuple) else (option, option) for option in options]
    made = [{"label": label, "reading": reading, "preview": None} for label, reading in pairs]
    return {"question": "What do you mean?", "ambiguity_type": "AmbTableColumn", "options": made}


def by_rule(question: Question, given: Any, shop: Source, *statements: str | None) -> str:
    known = statements or [None] * len(given["options"])
    return RuleOracle(MatchRule.PROJECT).answer(question, given, known, shop).answer


# The rule


def test_the_option_whose_statement_gives_the_result_is_chosen(question: Ask, shop: Source) -> None:
    statements = ("SELECT name FROM product", "SELECT p.name FROM product AS p WHERE p.price >= 3")

    assert by_rule(question(GOLD), asked("all of them", "some"), shop, *statements) == "2"


def test_a_statement_that_cannot_run_is_passed_over(question: Ask, shop: Source) -> None:
    assert by_rule(question(GOLD), asked("a", "b", "c"), shop, "SELECT colour FROM x", None, GOLD) == "3"


def test_without_a_statement_the_words_decide(question: Ask, shop: Source) -> None:
    given = asked("by what is in stock", "by the price of it", "by how long it is sold")

    assert by_rule(question(GOLD), given, shop) == "2"


def test_statements_of_options_come_out_of_the_review() -> None:
    options = [
        {"label": "b", "reading": "two", "sql": "SELECT 2"},
        {"label": "a", "reading": "one", "sql": "SELECT 1"},
        {"label": "c", "reading": "three"},
    ]
    review = json.dumps({"summary": "", "no_ambiguity": False, "question": "?", "options": options})
    given = asked(("a", "one"), ("b", "another reading"), ("c", "three"), ("d", "four"))

    assert option_statements(given, [call("AmbiguityReview", review)]) == ["SELECT 1", "SELECT 2", None, None]
    generated = json.dumps({"sql": "", "question": "?", "alternatives": options})
    assert option_statements(given, [call("GeneratedSQL", generated)]) == ["SELECT 1", "SELECT 2", None, None]
    assert option_statements(given, [call("AmbiguityReview", "no JSON")]) == [None] * 4
    assert option_statements(given, []) == [None] * 4


# The model


def by_model(question: Question, given: Any, shop: Source, settings: Settings, *said: Scripted) -> tuple[Feedback, Any]:
    model = ScriptedModel({"OracleAnswer": said})
    oracle = ModelOracle(ModelClient(model, settings, name="scripted"))
    return oracle.answer(question, given, [None] * len(given["options"]), shop), model.calls


def test_the_model_sees_question_reference_and_options(question: Ask, shop: Source, settings: Settings) -> None:
    feedback, calls = by_model(question(GOLD), asked("stock", "price"), shop, settings, {"option": 2, "words": ""})

    assert feedback.answer == "2"
    assert all(text in calls[0].prompt for text in (GOLD, "Which product is best?", "1) stock\n2) price"))
    assert feedback.exchange.prompt == "\n\n".join(str(message.content) for message in calls[0].messages)
    assert (feedback.usage.calls, feedback.usage.tokens > 0) == (1, True)


def test_words_with_sql_are_asked_for_once_more(question: Ask, shop: Source, settings: Settings) -> None:
    said = [{"option": 0, "words": GOLD}, {"option": 0, "words": "those that cost more"}]
    feedback, calls = by_model(question(GOLD), asked("a", "b"), shop, settings, *said)

    assert (feedback.answer, len(calls), feedback.usage.calls) == ("those that cost more", 2, 2)
    assert "without any SQL" in calls[1].prompt
    assert GOLD not in feedback.exchange.output


@pytest.mark.parametrize(
    "said",
    [
        [{"option": 0, "words": GOLD}] * 2,
        [{"option": 9, "words": ""}] * 2,
        [{"option": 0, "words": " "}],
        ["no JSON", "no JSON"],
    ],
    ids=["SQL twice", "no such option twice", "no words", "unreadable"],
)
def test_what_cannot_be_used_is_none_of_these(question: Ask, shop: Source, settings: Settings, said: list[Any]) -> None:
    assert by_model(question(GOLD), asked("a", "b"), shop, settings, *said)[0].answer == NONE_OF_THESE


@pytest.mark.parametrize(
    "words",
    [
        "SELECT name FROM product",
        "please select name from product",
        "```name```",
        "use product.price",
        "group by the maker",
        "price > 2.9",
        "COUNT(name)",
        "name from product where price",
        "those where price <> 3",
        "join product on price",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "product.name is what I mean",
    ],
)
def test_sql_is_seen(words: str) -> None:
    assert reveals_sql(words, "SELECT product.name FROM product WHERE price > 2.9 ORDER BY price")


@pytest.mark.parametrize(
    "words",
    [
        "the second one",
        "I mean the name of each product that costs more than 2.9 euros.",
        "from the most expensive to the cheapest",
        "each name once, please",
        "those in the year 2014, not in 2015",
        "Ich meine den Preis",
        "按价格排序",
        "the average (not the sum)",
    ],
)
def test_plain_words_are_none(words: str) -> None:
    assert not reveals_sql(words, "SELECT product.name FROM product WHERE price > 2.9 ORDER BY price")

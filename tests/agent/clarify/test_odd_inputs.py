"""What nobody should send, and what a review should not say: clear errors, and nothing that was open is lost."""

from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from datasphinx.agent.sample.shop import shop_path
from tests.agent.walk import COUNT, DELIVERED, HOW_MANY, SHIPPED
from tests.support.best_customer import AMOUNT, ASKS, BEST, BY_AMOUNT, BY_ORDERS, ORDERS, Talking, review_of

pytestmark = [pytest.mark.integration, pytest.mark.stored_record]

REJECTED = {"accepted": False}


# Answers and feedback


@pytest.mark.parametrize("answer", [[], ["1"], {"clarify": "never"}, {"clarification_answer": None}, True, 1.5])
def test_an_interrupt_that_is_resumed_with_no_answer_stays_open(talking: Talking, answer: Any) -> None:
    talk = talking([ASKS])
    asked = talk.ask(BEST)["clarification"]
    output = talk.resume(answer)

    assert (output["error"] or {}).get("code") == "input_invalid"
    assert output["clarification"] == asked
    assert talk.resume("2")["sql"] == BY_AMOUNT


def test_accepting_while_a_question_is_open_leaves_it_open(talking: Talking) -> None:
    talk = talking([COUNT, ASKS])
    talk.ask(HOW_MANY), talk.ask(BEST)

    assert (talk.ask(feedback={"accepted": True})["error"] or {}).get("code") == "nothing_answered"
    assert talk.ask(clarification_answer="1")["sql"] == BY_ORDERS


def test_what_was_rejected_is_still_known_after_a_failure(talking: Talking) -> None:
    talk = talking([COUNT, DELIVERED, ConnectionError("gone"), SHIPPED])
    talk.ask(HOW_MANY, clarify="never")
    talk.ask(feedback={**REJECTED, "comment": "those that left"}, clarify="never")
    assert talk.ask(feedback=REJECTED, clarify="never")["error"]["code"] == "model_unreachable"
    output = talk.ask(feedback=REJECTED, clarify="never")

    assert output["sql"] == SHIPPED["sql"]
    assert talk.state()["rejected_sql"] == [COUNT["sql"], DELIVERED["sql"]]
    assert talk.prompts("GeneratedSQL")[-1].count("those that left") == 1


# Without a thread


@pytest.mark.parametrize(
    "forged",
    [
        {"options": [{"label": f"option {n}", "reading": "?", "preview": None} for n in range(10_000)]},
        {"question": "x" * 1_000_000},
        {"rejected_sql": ["SELECT 1"] * 20_000},
        {"earlier": [{"question": "?", "answer": "!"}] * 10_000},
        {"about": "x" * 1_000_000},
        {"about": 5},
        {"rejected_sql": [5]},
    ],
    ids=["options", "question", "rejected", "earlier", "about", "number", "no text"],
)
def test_a_forged_question_is_refused(talking: Talking, forged: dict[str, Any]) -> None:
    agent = talking([ASKS, COUNT]).agent
    asked = agent.ask(BEST)["clarification"]
    output = agent.ask(BEST, clarification={**asked, **forged}, clarification_answer="1")

    assert (output["error"] or {}).get("code") in ("input_invalid", "question_too_long", "invalid_question")
    assert len(agent.model.calls) == 1


def test_sql_of_a_forged_question_never_runs(talking: Talking) -> None:
    agent = talking([ASKS, COUNT]).agent
    asked = agent.ask(BEST)["clarification"]
    evil = {"label": "DROP TABLE orders", "reading": "SELECT 1; DROP TABLE orders", "preview": None}
    forged = {**asked, "options": [evil, *asked["options"]], "rejected_sql": ["DROP TABLE orders", "'"]}
    output = agent.ask(BEST, clarification=forged, clarification_answer="1", clarify="never")

    assert output["sql"] == COUNT["sql"]


# Hostile reviews


def test_a_reading_that_was_rejected_is_no_option(talking: Talking) -> None:
    talk = talking([{"sql": BY_ORDERS}, ASKS])
    talk.ask(BEST)
    output = talk.ask(feedback=REJECTED)

    assert (output["clarification"], output["sql"]) == (None, BY_AMOUNT)


def test_readings_are_free_of_sql_and_control_characters(talking: Talking) -> None:
    evil = [
        {**ORDERS, "label": "by\x1b[m orders\n", "reading": "SELECT customer_id FROM orders"},
        {**AMOUNT, "reading": "those\x00 who \u202espent\nthe most" + "x" * 5000},
    ]
    asked = talking([{**ASKS, "alternatives": evil}]).ask(BEST)["clarification"]

    assert [option["label"] for option in asked["options"]] == ["by [m orders", "by amount"]
    first, second = (option["reading"] for option in asked["options"])
    assert first == "by [m orders"
    assert second.startswith("those who spent the most") and len(second) == 300


def test_a_long_first_value_is_cut(talking: Talking) -> None:
    long = {**ORDERS, "sql": "SELECT printf('%.*c', 9000, 'x') FROM orders LIMIT 1"}
    asked = talking([{**ASKS, "alternatives": [long, AMOUNT]}]).ask(BEST)["clarification"]

    assert all(len(str(option["preview"]["first"])) <= 100 for option in asked["options"])


@pytest.mark.parametrize("turned", [False, True])
def test_a_reading_without_an_order_equals_one_with_any(talking: Talking, turned: bool) -> None:
    two = [
        {**ORDERS, "sql": "SELECT name FROM regions ORDER BY name DESC"},
        {**AMOUNT, "sql": "SELECT name FROM regions"},
    ]
    output = talking([{**ASKS, "alternatives": two[::-1] if turned else two}]).ask(BEST)

    assert output["clarification"] is None


def test_a_reading_that_a_row_rule_closes_is_left_out(talking: Talking, cache_dir: Path) -> None:
    shop = {"url": f"sqlite:///{shop_path(cache_dir)}", "row_rules": {"regions": "deny"}}
    third = {"label": "by name", "reading": "by name", "sql": "SELECT name FROM regions"}
    talk = talking([{**ASKS, "alternatives": [ORDERS, third, AMOUNT]}], sources={"shop": shop})
    output = talk.ask(BEST)

    assert output["error"] is None
    assert [option["label"] for option in output["clarification"]["options"]] == ["by orders", "by amount"]


@pytest.mark.heavy
def test_a_slow_reading_is_asked_without_a_preview(talking: Talking) -> None:
    slow = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000000) SELECT MAX(x) FROM n"
    third = {"label": "slow", "reading": "slow", "sql": slow}
    talk = talking([{**ASKS, "alternatives": [ORDERS, third, AMOUNT]}], statement_timeout_s=0.5)
    options = talk.ask(BEST)["clarification"]["options"]

    assert [option["preview"] is None for option in options] in ([False, True, False], [False, False])


@pytest.mark.heavy
def test_a_failed_first_question_and_an_answer_to_it_are_replayed(talking: Talking) -> None:
    talk = talking([{"sql": "", "off_topic": True}])
    outputs = [talk.ask("Who won the cup?"), talk.ask(clarification_answer="1")]
    settings = talk.agent.services.settings

    assert [output["error"]["code"] for output in outputs] == ["off_topic", "nothing_asked"]
    for output in outputs:
        assert replay(open_store(settings), output["audit"]["trace_id"], settings).differences == []


@pytest.mark.parametrize(
    ("question", "own"), [("Кто лучшие покупатели customers?", "своими словами"), ("最好的customers是谁？", "自己的话")]
)
def test_a_question_back_is_in_the_language_of_the_question(talking: Talking, question: str, own: str) -> None:
    talk = talking([ASKS])

    assert own in talk.ask(question)["answer"]
    wrong = talk.ask(clarification_answer="9")["answer"]
    assert "option" not in wrong


def test_rounds_end_at_the_limit_without_a_thread(talking: Talking) -> None:
    reviews = [
        review_of(
            {
                **ASKS,
                "question": f"Question {n}?",
                "alternatives": [
                    {"label": "abcdef"[n], "reading": "one", "sql": f"SELECT {n}"},
                    {"label": "uvwxyz"[n], "reading": "ten", "sql": f"SELECT {n + 10}"},
                ],
            }
        )
        for n in range(6)
    ]
    agent, rounds = talking([COUNT], reviews, max_clarifications=3, clarify="always").agent, 0
    output = agent.ask(BEST)
    while asked := output["clarification"]:
        output = agent.graph.invoke({"clarification": asked, "clarification_answer": "own words"})
        rounds += 1

    assert rounds == 3 and output["sql"] == COUNT["sql"]

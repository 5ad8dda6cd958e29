"""What the user says of an answer, through the graph."""

from typing import Any

import pytest

from datasphinx.agent.sql.layout import in_lines
from tests.agent.walk import COUNT, DELIVERED, HOW_MANY, SHIPPED, calls
from tests.conftest import NO_AMBIGUITY
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT, BY_ORDERS, Talking

pytestmark = pytest.mark.integration

REJECTED = {"accepted": False}


def test_a_rejected_answer_is_written_anew(talking: Talking) -> None:
    talk = talking([COUNT, DELIVERED])
    talk.ask(HOW_MANY)
    output = talk.ask(feedback={**REJECTED, "comment": "only those that arrived"})

    assert (output["sql"], output["error"]) == (DELIVERED["sql"], None)
    assert calls(talk.agent) == {"GeneratedSQL": 2}
    prompt = talk.prompts("GeneratedSQL")[1]
    assert f"Rejected by the user, no alternative either: {COUNT['sql']}" in prompt
    assert "only those that arrived" in prompt
    assert f"Question: {HOW_MANY}" in prompt


@pytest.mark.parametrize("said", [{"feedback": {"accepted": True}}, {"question": "a number", "output_type": "number"}])
def test_a_long_statement_is_in_lines_however_the_answer_is_taken(talking: Talking, said: dict[str, Any]) -> None:
    long = "SELECT customer_id, COUNT(*) AS n FROM orders WHERE status <> 'cancelled' GROUP BY customer_id ORDER BY n"
    talk = talking([{"sql": long}, {"sql": "", "output_type": "number"}])
    talk.ask("Which customers ordered?")

    assert talk.ask(**said)["sql"] == in_lines(long, "sqlite") != long


def test_a_rejected_answer_is_reviewed_if_every_question_is(talking: Talking) -> None:
    talk = talking([COUNT, DELIVERED], [NO_AMBIGUITY] * 2, clarify="always")
    talk.ask(HOW_MANY)
    talk.ask(feedback={**REJECTED, "comment": "only those that arrived"})

    prompt = talk.prompts("AmbiguityReview")[1]
    assert f"Rejected by the user, no alternative either: {COUNT['sql']}" in prompt
    assert "only those that arrived" in prompt


def test_a_rejected_answer_can_lead_to_a_question(talking: Talking) -> None:
    by_reviews = {"label": "by reviews", "reading": "by reviews", "sql": "SELECT customer_id FROM customers LIMIT 3"}
    talk = talking([{"sql": BY_ORDERS}, {**ASKS, "alternatives": [*ASKS["alternatives"], by_reviews]}])
    talk.ask(BEST)
    asked = talk.ask(feedback=REJECTED)["clarification"]

    assert asked["rejected_sql"] == [BY_ORDERS]
    assert [option["label"] for option in asked["options"]] == ["by amount", "by reviews"]
    assert talk.ask(clarification_answer="by amount")["sql"] == BY_AMOUNT


def test_every_rejected_statement_is_known_to_the_next_try(talking: Talking) -> None:
    talk = talking([COUNT, DELIVERED, SHIPPED])
    talk.ask(HOW_MANY, clarify="never"), talk.ask(feedback=REJECTED, clarify="never")
    output = talk.ask(feedback=REJECTED, clarify="never")

    assert output["sql"] == SHIPPED["sql"]
    assert talk.state()["rejected_sql"] == [COUNT["sql"], DELIVERED["sql"]]
    last = talk.prompts("GeneratedSQL")[-1]
    assert all(f"Rejected by the user, no alternative either: {each['sql']}" in last for each in (COUNT, DELIVERED))


def test_the_rejected_statement_again_is_no_answer(talking: Talking) -> None:
    again = {"sql": "select count(*) as orders from orders"}
    talk = talking([COUNT, again])
    talk.ask(HOW_MANY, clarify="never")
    output = talk.ask(feedback=REJECTED, clarify="never")

    assert output["error"]["code"] == "sql_not_generated"
    assert "the rejected one" in output["answer"]
    assert all(not step["statements"] for step in output["audit"]["steps"])


def test_feedback_is_on_the_last_answer_although_a_question_failed_since(talking: Talking) -> None:
    talk = talking([COUNT, {"sql": "", "off_topic": True}, DELIVERED])
    talk.ask(HOW_MANY)
    assert talk.ask("Who won the cup?")["error"]["code"] == "off_topic"

    assert talk.ask(feedback=REJECTED)["sql"] == DELIVERED["sql"]
    assert f"Question: {HOW_MANY}" in talk.prompts("GeneratedSQL")[-1]


def test_a_new_question_forgets_what_was_rejected(talking: Talking) -> None:
    talk = talking([COUNT, DELIVERED, COUNT])
    talk.ask(HOW_MANY, clarify="never"), talk.ask(feedback=REJECTED, clarify="never")
    talk.ask("How many orders were placed in all the years?")

    assert "The user rejected" not in talk.prompts("GeneratedSQL")[-1]


@pytest.mark.parametrize(
    "feedback",
    [
        *({"accepted": accepted} for accepted in ("yes", 1, "true")),
        {},
        {"accepted": False, "comment": 5},
        {"accepted": False, "stars": 5},
        "bad",
    ],
)
def test_feedback_in_another_form_is_an_error(talking: Talking, feedback: Any) -> None:
    talk = talking([COUNT])
    talk.ask(HOW_MANY)

    assert talk.ask(feedback=feedback)["error"]["code"] == "input_invalid"


@pytest.mark.parametrize("accepted", [True, False])
def test_feedback_before_any_answer_is_an_error(talking: Talking, accepted: bool) -> None:
    assert talking().ask(feedback={"accepted": accepted})["error"]["code"] == "nothing_answered"

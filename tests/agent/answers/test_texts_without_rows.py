"""Texts of a model that a user sees before there are rows, or about a statement, have no figure that nobody gave."""

from typing import Any

import pytest

from tests.agent.walk import HOW_MANY, OFF_TOPIC
from tests.conftest import MakeAgent
from tests.support.best_customer import AMOUNT, ASKS, BEST, ORDERS, review_of


@pytest.mark.parametrize("reason", ["Revenue was 98765.", "Revenue was ９８７６５.", "{sum.revenue} is missing"])
def test_a_reason_with_a_figure_is_the_general_one(scripted: MakeAgent, reason: str) -> None:
    output = scripted({"GeneratedSQL": [{**OFF_TOPIC, "reason": reason}]}).ask(HOW_MANY)

    assert output["error"]["code"] == "off_topic" and reason.rstrip(".") not in output["answer"]


def test_a_reason_may_repeat_the_question(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [{**OFF_TOPIC, "reason": "No table has the orders of Mars in 2031"}]})

    assert "the orders of Mars in 2031" in agent.ask("How many orders came from Mars in 2031?")["answer"]


@pytest.mark.parametrize("mode", ["auto", "always"])
def test_a_question_with_figures_is_the_general_one(scripted: MakeAgent, mode: str) -> None:
    asks = {**ASKS, "question": "All 512 or the best?"}
    output = scripted({"GeneratedSQL": [asks], "AmbiguityReview": [review_of(asks)]}).ask(BEST, clarify=mode)

    asked: Any = output["clarification"]
    assert asked["question"] == "I am not sure how to compute this. Which one is meant?"
    assert [option["label"] for option in asked["options"]] == [each["label"] for each in ASKS["alternatives"]]


def test_an_option_may_name_the_figures_of_its_statement(scripted: MakeAgent) -> None:
    labels = ["the 3 with the most orders", "the 3 who paid most"]
    options = [{**option, "label": label} for option, label in zip((ORDERS, AMOUNT), labels, strict=True)]
    output = scripted({"GeneratedSQL": [{**ASKS, "alternatives": options}]}).ask(BEST)

    assert [option["label"] for option in output["clarification"]["options"]] == labels


@pytest.mark.parametrize("option", [{"label": "47 of them", "reading": "some"}, {**ORDERS, "label": "the 47 loyal"}])
def test_options_with_figures_are_not_offered(scripted: MakeAgent, option: dict[str, Any]) -> None:
    output = scripted({"GeneratedSQL": [{**ASKS, "alternatives": [option, AMOUNT]}]}).ask(BEST)

    assert output["clarification"] is None and output["sql"] == option.get("sql", AMOUNT["sql"])
    assert "47" not in output["answer"]


def test_options_with_names_of_their_rows_are_not_offered(scripted: MakeAgent) -> None:
    best = scripted({"GeneratedSQL": [{"sql": ORDERS["sql"]}]}).ask(BEST)["tables"][0]["rows"][0][0]
    option = {**ORDERS, "label": f"{best} first"}
    output = scripted({"GeneratedSQL": [{**ASKS, "alternatives": [option, AMOUNT]}]}).ask(BEST)

    assert output["clarification"] is None and f"{best} first" not in output["answer"]


BY_STATUS = {"sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY status"}


@pytest.mark.parametrize("part", ["the revenue, which was 98,765", "the delivered ones", "{sum.orders} of them"])
@pytest.mark.parametrize("field", ["assumptions", "not_answered"])
def test_a_remark_with_a_figure_or_name_that_nobody_said_is_left_out_with_a_note(
    scripted: MakeAgent, field: str, part: str
) -> None:
    output = scripted({"GeneratedSQL": [{**BY_STATUS, field: [part, "returns"]}]}).ask("Orders by status and revenue?")

    assert part not in output["answer"] and output["answer"].endswith("returns")
    assert any(note.startswith("wording refused: ") for note in output["audit"]["notes"])


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("the year is not 2031", "a check of the query was not satisfied: the year is not 2031."),
        ("the year is wrong; it is 1,234,567", "a check of the query was not satisfied."),
        ("most orders are delivered", "a check of the query was not satisfied."),
    ],
)
def test_an_objection_has_no_figure_or_name_that_nobody_said(scripted: MakeAgent, reason: str, told: str) -> None:
    wrong = {"is_valid": False, "reason": reason, "issues": ["98765"], "corrected_sql": "SELECT nothing FROM orders"}
    agent = scripted({"GeneratedSQL": [BY_STATUS], "SQLValidation": [wrong]}, max_sql_generations=0)

    assert agent.ask("Orders by status in 2031?")["answer"].startswith(f"Please note: {told}\n\n|")

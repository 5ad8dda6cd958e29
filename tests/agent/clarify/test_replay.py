"""Runs of a conversation on the record: each is run again from what it found on its thread."""

from typing import Any

import pytest

from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from tests.agent.walk import DELIVERED, HOW_MANY
from tests.conftest import MakeAgent
from tests.support.best_customer import BEST, BY_AMOUNT, Talk, asks_about_best

pytestmark = [pytest.mark.integration, pytest.mark.stored_record]

ALONE = "How many orders were delivered?"
BY_STATUS = {"sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY status"}


@pytest.fixture
def talk(scripted: MakeAgent) -> Talk:
    delivered, drawn = {**DELIVERED, "standalone": ALONE}, {"sql": "", "output_type": "plot"}
    fewer = {"sql": f"{BY_STATUS['sql']} LIMIT 2", "standalone": "How many orders have the top two statuses?"}
    answers = {"GeneratedSQL": [asks_about_best, delivered, BY_STATUS, drawn, fewer]}
    return Talk(scripted(answers, enable_sql_validation=False))


def is_the_same(talk: Talk, output: dict[str, Any]) -> bool:
    settings = talk.agent.services.settings
    done = replay(open_store(settings), output["audit"]["trace_id"], settings)
    assert done.differences == []
    return done.output["answer"] == output["answer"] and done.output["clarification"] == output["clarification"]


@pytest.mark.heavy
def test_question_answer_and_wrong_answers(talk: Talk) -> None:
    outputs = [talk.ask(BEST), talk.ask(clarification_answer="7"), talk.ask(clarification_answer="2")]
    outputs.append(talk.ask(clarification_answer="1"))

    assert outputs[2]["sql"] == BY_AMOUNT and outputs[3]["error"]["code"] == "nothing_asked"
    assert all(is_the_same(talk, output) for output in outputs)


def test_an_interrupt_that_was_resumed(talk: Talk) -> None:
    talk.ask(BEST)

    assert is_the_same(talk, talk.resume("2"))


@pytest.mark.heavy
def test_follow_up_form_and_feedback(talk: Talk) -> None:
    outputs = [talk.ask(HOW_MANY), talk.ask("and of those, delivered?"), talk.ask("How many orders by status?")]
    outputs += [talk.ask("as a chart"), talk.ask("only the top two")]
    outputs.append(talk.ask(feedback={"accepted": True}))

    assert [output["error"] for output in outputs] == [None] * 6
    assert outputs[3]["output_type"] == "plot" and len(outputs[4]["tables"][0]["rows"]) == 2
    assert all(is_the_same(talk, output) for output in outputs)


def test_an_answer_that_was_rejected(talk: Talk) -> None:
    talk.ask(HOW_MANY)

    assert is_the_same(talk, talk.ask(feedback={"accepted": False, "comment": "the delivered ones"}))

"""Questions about something else: recognised by what they mention and by how the model begins its answer."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from pydantic import SecretStr

from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import SourceSettings, load_settings
from datasphinx.agent.types import EmbeddedOptions
from tests.databases import make_database, url

COUNT = "FROM services SELECT COUNT(*)"
WEATHER = "Какая погода в Москве?"


def begins(probability: float, text: str = "FROM") -> AIMessage:
    """A reply whose first token, with which it begins as a statement, has this probability."""
    token, other = ({"token": name, "logprob": math.log(p)} for name, p in ((text[:4], probability), ("It", 0.003)))
    rest = {"token": text[4:], "logprob": -0.1}
    return AIMessage(
        text, response_metadata={"logprobs": {"content": [{**token, "top_logprobs": [token, other]}, rest]}}
    )


Ask = Callable[..., tuple[dict[str, Any], ScriptedModel]]


@pytest.fixture
def ask(tmp_path: Path, cache_dir: Path) -> Ask:
    """A function that asks over three services, with the texts that the model writes in order."""
    path = make_database(
        tmp_path,
        "CREATE TABLE services (service_id INTEGER PRIMARY KEY, name TEXT, client TEXT, started_on DATE)",
        "INSERT INTO services VALUES (1, 'mail', 'Rome', '2020-01-01'), (2, 'web', 'Oslo', '2021-02-03')",
    )

    def make(question: str, *texts: Any, **inputs: Any) -> tuple[dict[str, Any], ScriptedModel]:
        source = SourceSettings(url=SecretStr(url(path)))
        settings = load_settings(source="main", sources={"main": source}, cache_dir=cache_dir)
        model = ScriptedModel({"text": texts})
        graph = build_graph(Services(settings, model=model, embedded=EmbeddedOptions()))
        return graph.invoke({"question": question, **inputs}), model

    return make


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (WEATHER, "Вопрос не по теме"),
        ("法国总统是谁?", "问题与这些数据无关"),
        ("Who is the mayor of Lima?", "The question is not about this data"),
        ("Wie wird das Wetter heute?", "Die Frage betrifft diese Daten nicht"),
    ],
)
def test_a_question_about_something_else_is_off_topic_after_two_texts(ask: Ask, question: str, answer: str) -> None:
    output, model = ask(question, begins(0.999, COUNT), begins(0.8))

    assert output["error"]["code"] == "off_topic"
    assert output["answer"].startswith(answer) and "services" in output["answer"]
    assert (output["clarification"], output["tables"], len(model.calls)) == (None, [], 2)


@pytest.mark.parametrize(
    "question",
    ["Delete all services", "please remove the cancelled ones", "Could you update all prices?", "Lösche alle Kunden",
     "Alle Kunden löschen!", "Удали все заказы", "请删除所有客户", "把已取消的订单删除"],
)  # fmt: skip
def test_a_request_to_change_data_gets_no_rows(ask: Ask, question: str) -> None:
    output, model = ask(question)

    assert output["error"]["code"] == "off_topic"
    assert (output["tables"], model.calls) == ([], [])


def test_so_is_one_that_mentions_a_name(ask: Ask) -> None:
    output, _ = ask("Write a poem about services", begins(0.9, COUNT), begins(0.1))

    assert (output["error"]["code"], output["tables"]) == ("off_topic", [])


@pytest.mark.parametrize("question", ["How many services are there?", "Сколько клиентов?"])
def test_the_model_is_not_asked_twice_if_its_answer_begins_as_a_statement(ask: Ask, question: str) -> None:
    output, model = ask(question, begins(0.99999, COUNT))

    assert (output["error"], output["value"], len(model.calls)) == (None, 2, 1)


@pytest.mark.parametrize("second", [begins(0.995), "FROM"], ids=["likely with half of the adapter", "unknown"])
def test_a_question_is_answered_unless_both_texts_tell_against_it(ask: Ask, second: Any) -> None:
    output, model = ask("Und insgesamt?", begins(0.999, COUNT), second)

    assert (output["error"], output["value"], len(model.calls)) == (None, 2, 2)


def test_without_probabilities_it_is_answered(ask: Ask) -> None:
    output, _ = ask(WEATHER, *[COUNT] * 6)

    assert (output["error"], output["value"]) == (None, 2)

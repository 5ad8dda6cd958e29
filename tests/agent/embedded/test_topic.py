"""Questions about something else: recognised by what they mention and by how likely their statement is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import SourceSettings, load_settings
from datasphinx.agent.types import EmbeddedOptions
from tests.support.databases import make_database, url
from tests.support.likely import likely

GUESS = likely("FROM services SELECT COUNT(*)", 1e-4)
WEATHER = "Какая погода в Москве?"

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
def test_a_question_about_something_else_is_off_topic_after_one_text(ask: Ask, question: str, answer: str) -> None:
    output, model = ask(question, GUESS)

    assert output["error"]["code"] == "off_topic"
    assert output["answer"].startswith(answer) and "services" in output["answer"]
    assert (output["clarification"], output["tables"], len(model.calls)) == (None, [], 1)


@pytest.mark.parametrize(
    "question",
    ["Delete all services", "please remove the cancelled ones", "Could you update all prices?", "Lösche alle Kunden",
     "Alle Kunden löschen!", "Удали все заказы", "请删除所有客户", "把已取消的订单删除"],
)  # fmt: skip
def test_a_request_to_change_data_gets_no_rows(ask: Ask, question: str) -> None:
    output, model = ask(question)

    assert output["error"]["code"] == "off_topic"
    assert (output["tables"], model.calls) == ([], [])


def test_so_is_one_whose_likely_statement_looks_for_what_nobody_stored(ask: Ask) -> None:
    output, _ = ask("How tall is Mount Everest?", likely("FROM services SELECT name WHERE name = 'Everest'", 0.5))

    assert output["error"]["code"] == "off_topic"


@pytest.mark.parametrize(
    "question",
    [
        "How many services are there?",
        "how many servces",
        "Сколько клиентов?",
    ],
)
def test_an_unlikely_statement_is_a_draft_if_the_question_mentions_a_name(ask: Ask, question: str) -> None:
    output, _ = ask(question, *[GUESS] * 6)

    assert (output["error"], output["status"], output["value"]) == (None, "unsure", 2)


@pytest.mark.parametrize("question", ["Was there anything after 17?", "Was lief im letzten Quartal?", "谁在 Oslo?"])
def test_so_it_is_if_the_question_has_a_figure_a_period_or_a_stored_value(ask: Ask, question: str) -> None:
    output, _ = ask(question, *[GUESS] * 6)

    assert (output["error"], output["status"]) == (None, "unsure")


def test_a_likely_statement_answers_a_question_in_other_words(ask: Ask) -> None:
    output, _ = ask("Сколько всего?", *[likely("FROM services SELECT COUNT(*)", 0.9)] * 3)

    assert (output["status"], output["value"]) == ("ok", 2)

"""Codes that nothing explains: the user is asked which one is meant, and an accepted answer becomes knowledge."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from datasphinx.agent.graph import Graph, build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.proposals import accept, all_proposals
from datasphinx.agent.services import Services
from datasphinx.agent.settings import SourceSettings, load_settings
from datasphinx.agent.types import EmbeddedOptions
from tests.support.databases import make_database, url
from tests.support.likely import likely

QUESTION = "How many no-shows did we have?"
THREAD: Any = {"configurable": {"thread_id": "one"}}


def count(code: str, probability: float = 0.2) -> Any:
    return likely(f"FROM appointments SELECT COUNT(*) WHERE status = '{code}'", probability)


Connect = Callable[..., tuple[Graph, Services]]


@pytest.fixture
def connect(tmp_path: Path, cache_dir: Path) -> Connect:
    """A maker of graphs over appointments with four states, that get the texts which the model writes."""
    rows = ", ".join(f"({at}, '{status}', 'room {at}')" for at, status in enumerate("CNNXXXBBBB", 1))
    path = make_database(
        tmp_path,
        "CREATE TABLE appointments (appointment_id INTEGER PRIMARY KEY, status TEXT, place TEXT)",
        f"INSERT INTO appointments VALUES {rows}",
    )
    knowledge = tmp_path / "knowledge"
    knowledge.mkdir()

    def make(*texts: Any) -> tuple[Graph, Services]:
        source = SourceSettings(url=SecretStr(url(path)), knowledge=knowledge)
        settings = load_settings(source="main", sources={"main": source}, cache_dir=cache_dir)
        services = Services(settings, model=ScriptedModel({"text": texts}), embedded=EmbeddedOptions())
        services.source(None).complete_values()
        return build_graph(services, InMemorySaver()), services

    return make


def test_an_unsure_answer_asks_which_code_is_meant(connect: Connect) -> None:
    graph, _ = connect(count("X"), *[count("C", 0.1)] * 5)

    asked = graph.invoke({"question": QUESTION}, THREAD)["clarification"]

    assert asked["question"] == (
        "“appointments: status” has the codes B, C, N, X, which nothing explains. Which one does “no-shows” mean?"
    )
    labels = {option["label"]: option["preview"]["first"] for option in asked["options"]}
    assert len(labels) == 3 and labels["X"] == 3
    assert all(labels[code] == "CNNXXXBBBB".count(code) for code in labels)


def test_the_accepted_answer_becomes_a_term_that_later_questions_use(connect: Connect) -> None:
    graph, services = connect(count("X"), *[count("C", 0.1)] * 5)
    graph.invoke({"question": QUESTION}, THREAD)

    output = graph.invoke({"clarification_answer": "C"}, THREAD)
    assert (output["value"], output["error"]) == (1, None)
    graph.invoke({"feedback": {"accepted": True}}, THREAD)
    term = next(proposal for proposal in all_proposals(services) if proposal.choice)
    assert (term.choice or {})["word"] == "no-shows"
    accept(services, term.id, "Ann")

    again, _ = connect(*[likely("FROM appointments SELECT COUNT(*) WHERE term = 'no-shows'", 0.2)] * 6)
    answer = again.invoke({"question": "How many no-shows?"}, THREAD)
    assert (answer["clarification"], answer["value"]) == (None, 1)


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("How many appointments with the status X?", [count("X"), *[count("C", 0.1)] * 5]),
        (QUESTION, [count("X", 0.99)]),
        (QUESTION, [likely("FROM appointments SELECT COUNT(*) WHERE place = 'room 1'", 0.2)] * 6),
    ],
    ids=["the question names the code", "likely", "no code"],
)
def test_it_is_not_asked_otherwise(connect: Connect, question: str, texts: list[Any]) -> None:
    graph, _ = connect(*texts)

    asked = graph.invoke({"question": question}, THREAD)["clarification"]
    assert asked is None or "explains" not in asked["question"]

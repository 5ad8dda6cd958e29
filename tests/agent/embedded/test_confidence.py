"""The confidence in answers of the embedded model, through the graph and the calibration."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from datasphinx.agent.embedded.calibration import (
    Calibration,
    Task,
    calibration_path,
    shipped_calibration,
    write_calibrations,
)
from datasphinx.agent.errors import exit_code
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import SourceSettings, load_settings
from datasphinx.agent.types import EmbeddedOptions, Evidence
from tests.support.databases import make_database, url
from tests.support.likely import likely

QUESTION = "How many services are there?"
COUNT = "FROM services SELECT COUNT(*)"
NAMES = "FROM services SELECT name"
STATES = "FROM services SELECT COUNT(DISTINCT state)"
THREAD: Any = {"configurable": {"thread_id": "one"}}

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(tmp_path: Path, cache_dir: Path) -> Ask:
    """A function that asks over three services, with the texts that the model writes in order."""
    path = make_database(
        tmp_path,
        "CREATE TABLE services (service_id INTEGER PRIMARY KEY, name TEXT, state TEXT)",
        "INSERT INTO services VALUES (1, 'mail', 'U'), (2, 'web', 'D'), (3, 'shop', 'U')",
    )

    def make(*texts: Any, question: str = QUESTION, answer: str | None = None, **inputs: Any) -> dict[str, Any]:
        settings = {name: inputs.pop(name) for name in ("min_confidence",) if name in inputs}
        source = SourceSettings(url=SecretStr(url(path)), knowledge=inputs.pop("knowledge", None))
        services = Services(
            load_settings(source="main", sources={"main": source}, cache_dir=cache_dir, **settings),
            model=ScriptedModel({"text": texts}),
            embedded=EmbeddedOptions(),
        )
        graph = build_graph(services, InMemorySaver())
        output = graph.invoke({"question": question, **inputs}, THREAD)
        return graph.invoke({"clarification_answer": answer}, THREAD) if answer else output

    return make


def test_a_likely_statement_is_confident(ask: Ask) -> None:
    output = ask(likely(COUNT, 0.99))

    assert output["confidence"]["value"] > 0.7
    assert output["status"] == "ok" and exit_code(output) == 0
    assert output["confidence"]["reason"] == "no problem was found in the query"
    assert "Not sure" not in output["answer"]
    assert not any("often wrong" in note for note in output["audit"]["notes"])


@pytest.mark.parametrize(
    ("statement", "question"),
    [("FROM services SELECT name LIMIT 2", QUESTION), (COUNT, "What share of the services is up?")],
)
def test_a_likely_statement_with_a_finding_is_a_draft(ask: Ask, statement: str, question: str) -> None:
    output = ask(*[likely(statement, 0.99)] * 6, question=question)

    assert output["status"] == "unsure"
    assert output["tables"] and "Not sure" in output["answer"]


@pytest.mark.parametrize(
    ("question", "word"),
    [(QUESTION, "Not sure: "), ("Сколько всего services?", "Не уверен: "), ("一共有多少services?", "没有把握：")],
)
def test_an_unlikely_statement_alone_is_a_draft_in_the_language_of_the_question(
    ask: Ask, question: str, word: str
) -> None:
    output = ask(*[likely(COUNT, 1e-6)] * 3, question=question)

    assert (output["status"], output["value"], output["clarification"]) == ("unsure", 3, None)
    assert output["confidence"]["value"] < 0.2
    assert exit_code(output) == 4
    assert output["confidence"]["word"] == word.rstrip(":： ")
    assert f"{word}{output['confidence']['reason']}" in output["answer"]


def test_unlikely_statements_with_different_results_become_a_question_with_previews(ask: Ask) -> None:
    output = ask(likely(COUNT, 1e-4), likely(STATES, 1e-5), likely(NAMES, 1e-6))

    assert output["status"] == "clarification" and exit_code(output) == 4
    options = output["clarification"]["options"]
    assert [option["label"] for option in options] == [
        "Number of services",
        "Number of different values of state in services",
        "Service",
    ]
    assert [option["preview"]["first"] for option in options] == [3, 2, "mail"]


def test_calculations_that_no_words_can_tell_are_not_offered(ask: Ask) -> None:
    guess = likely("FROM services SELECT SUM(1 * (1 * 1) / 100)", 1e-5)
    asked = ask(likely(COUNT, 1e-4), guess, likely(STATES, 1e-6))
    draft = ask(likely(COUNT, 1e-4), guess, likely(COUNT, 1e-6))

    assert len(asked["clarification"]["options"]) == 2
    assert (draft["clarification"], draft["status"], draft["value"]) == (None, "unsure", 3)


def test_statements_that_depart_from_a_definition_are_not_offered(ask: Ask, tmp_path: Path) -> None:
    knowledge = tmp_path / "knowledge"
    knowledge.mkdir()
    terms = "terms:\n  live: {definition: up, condition: \"services.state = 'U'\"}\n"
    knowledge.joinpath("terms.yml").write_text(terms, encoding="utf-8")
    live = likely("FROM services SELECT COUNT(*) WHERE term = 'live'", 1e-5)
    texts = likely(COUNT, 1e-4), live, likely(STATES, 1e-6)
    names = likely("FROM services SELECT name WHERE term = 'live'", 1e-6)
    question = "How many live services are there?"

    draft = ask(*texts, question=question, knowledge=knowledge)
    asked = ask(*texts[:2], names, question=question, knowledge=knowledge)

    assert (draft["status"], draft["value"]) == ("unsure", 2)
    assert [option["label"] for option in asked["clarification"]["options"]] == ["Number of services", "Service"]


def test_equal_results_are_not_asked_about(ask: Ask) -> None:
    output = ask(likely(COUNT, 1e-4), likely("FROM services SELECT COUNT(name)", 1e-5), likely(COUNT, 1e-4))

    assert (output["status"], output["value"]) == ("unsure", 3)


def test_the_chosen_reading_is_the_answer(ask: Ask) -> None:
    output = ask(likely(COUNT, 1e-4), likely(STATES, 1e-5), likely(COUNT, 1e-4), answer="2")

    assert (output["value"], output["status"], output["chosen"]) == (2, "ok", True)


def test_after_an_answer_in_other_words_a_draft_is_returned(ask: Ask) -> None:
    texts = likely(COUNT, 1e-4), likely(STATES, 1e-5), likely(COUNT, 1e-4)
    output = ask(*texts, *texts, answer="all of them")

    assert (output["value"], output["status"], output["clarification"]) == (3, "unsure", None)
    assert not output["chosen"]


def test_without_clarification_a_draft_is_returned(ask: Ask) -> None:
    output = ask(likely(COUNT, 1e-4), likely(STATES, 1e-5), likely(COUNT, 1e-4), clarify="never")

    assert (output["value"], output["status"]) == (3, "unsure")
    assert "other queries" not in output["confidence"]["reason"]


def test_the_reason_says_what_a_rival_query_has(ask: Ask) -> None:
    output = ask(likely(COUNT, 1e-4), likely(STATES, 5e-5), likely(COUNT, 1e-4), clarify="never")

    assert "with “number of different values of state in services”, returns other" in output["confidence"]["reason"]


def test_the_setting_decides_what_a_draft_is(ask: Ask) -> None:
    texts = likely(COUNT, 0.3), likely(STATES, 0.2), likely(COUNT, 0.3)

    assert ask(*texts, min_confidence=0.0)["status"] == "ok"
    assert ask(*texts, min_confidence=1.0)["status"] == "clarification"


def test_without_probabilities_nothing_is_claimed(ask: Ask) -> None:
    output = ask(COUNT, COUNT, COUNT)

    assert (output["confidence"], output["status"]) == (None, "ok")


def test_a_stored_value_of_the_question_that_is_not_used_is_the_reason(ask: Ask) -> None:
    output = ask(*[likely(COUNT, 0.3)] * 6, question="How many services are called mail?")

    assert output["confidence"]["reason"].startswith("the query does not use “mail” of the question")


FULL = Evidence(logprob=-1.0, violations=0, unused_values=[], agreement=1.0, gives_rows=True)


@pytest.mark.parametrize("task", ["statement", "query_spec"])
@pytest.mark.parametrize("worse", [{"logprob": -4.0}, {"violations": 2}, {"agreement": 0.3}, {"gives_rows": False}])
def test_what_speaks_against_a_statement_never_raises_the_confidence(task: Task, worse: dict[str, Any]) -> None:
    calibration = shipped_calibration("base", task)
    assert calibration
    before, after = calibration.estimate(FULL), calibration.estimate(Evidence({**FULL, **worse}))  # type: ignore[typeddict-item]

    assert before is not None and after is not None
    assert 0 <= after <= before <= 1
    assert 0 < calibration.threshold < 1


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calibration = Calibration(0.5, {"uncertainty": -1.0, "no_rows": -2.0}, 0.6)
    monkeypatch.setattr("datasphinx.agent.embedded.calibration._FOLDER", tmp_path)
    write_calibrations({"statement": calibration}, calibration_path("large"))
    shipped_calibration.cache_clear()
    read = shipped_calibration("large", "statement")
    others = [shipped_calibration("large", "query_spec"), shipped_calibration("base", "statement")]
    shipped_calibration.cache_clear()

    assert read == calibration
    assert others == [None, None]
    assert read.estimate(Evidence(logprob=1 - math.exp(0.5))) == pytest.approx(0.5)
    assert read.estimate(Evidence(violations=1)) is None

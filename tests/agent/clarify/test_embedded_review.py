"""Asking back with the embedded model, which writes a statement for each reading that the evidence names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.types import EmbeddedOptions
from tests.support.databases import make_database, url

pytestmark = pytest.mark.integration

QUESTION = "What does Deloor teach?"
JOHN = "FROM teacher SELECT course WHERE name = 'John Deloor'"
GUSTAAF = "FROM teacher SELECT course WHERE name = 'Gustaaf Deloor'"
THREAD: Any = {"configurable": {"thread_id": "one"}}


class Embedded:
    """A graph on a thread over what the embedded model writes."""

    def __init__(self, source: str, cache_dir: Path, *texts: Any, **overrides: Any) -> None:
        self.model = ScriptedModel({"text": texts})
        settings = load_settings(source=source, cache_dir=cache_dir, **overrides)
        services = Services(settings, model=self.model, embedded=EmbeddedOptions(candidates=1))
        services.source(None).complete_values()
        self.graph = build_graph(services, InMemorySaver())

    def ask(self, **given: Any) -> dict[str, Any]:
        return self.graph.invoke(given, THREAD)


@pytest.fixture
def embedded(tmp_path: Path, cache_dir: Path) -> Callable[..., Embedded]:
    """A maker of graphs over a school with two teachers called Deloor, who teach different things."""
    school = make_database(
        tmp_path,
        "CREATE TABLE teacher (teacher_id INTEGER PRIMARY KEY, name TEXT, course TEXT)",
        "INSERT INTO teacher VALUES (1, 'John Deloor', 'Maths'), (2, 'Gustaaf Deloor', 'Art'), (3, 'Ann Bell', 'Art')",
    )
    return lambda *texts, **overrides: Embedded(url(school), cache_dir, *texts, **overrides)


def test_it_asks_which_value_is_meant(embedded: Callable[..., Embedded]) -> None:
    agent = embedded(JOHN, GUSTAAF)
    asked = agent.ask(question=QUESTION)["clarification"]

    assert (asked["question"], asked["ambiguity_type"]) == ("Which one do you mean by “Deloor”?", "AmbValue")
    assert {option["label"] for option in asked["options"]} == {
        "John Deloor (teacher: name)",
        "Gustaaf Deloor (teacher: name)",
    }
    assert sorted(option["preview"]["first"] for option in asked["options"]) == ["Art", "Maths"]
    prompts = [call.prompt for call in agent.model.calls]
    assert sorted("John Deloor teach?" in prompt for prompt in prompts) == [False, True]


def test_the_chosen_reading_is_answered(embedded: Callable[..., Embedded]) -> None:
    agent = embedded(JOHN, GUSTAAF)
    labels = [option["label"] for option in agent.ask(question=QUESTION)["clarification"]["options"]]
    output = agent.ask(clarification_answer=str(labels.index("Gustaaf Deloor (teacher: name)") + 1))

    assert (output["error"], len(agent.model.calls)) == (None, 2)
    first, second = output["sql"], output["value"]
    assert first and second in ("Art", "Maths")


@pytest.mark.parametrize(
    ("texts", "given"),
    [
        ((JOHN, JOHN, JOHN), {}),
        ((JOHN, "no statement", JOHN), {}),
        ((JOHN,), {"clarify": "never"}),
    ],
    ids=["equal results", "no statement for a reading", "never"],
)
def test_nobody_is_asked(embedded: Callable[..., Embedded], texts: tuple[str, ...], given: dict[str, Any]) -> None:
    output = embedded(*texts).ask(question=QUESTION, **given)

    assert (output["clarification"], output["error"]) == (None, None)


def test_a_clear_question_costs_nothing_more(embedded: Callable[..., Embedded]) -> None:
    agent = embedded(JOHN)
    agent.ask(question="What does John Deloor teach?")

    assert len(agent.model.calls) == 1


def test_feedback_without_evidence_has_another_statement_written(embedded: Callable[..., Embedded]) -> None:
    agent = embedded("FROM teacher SELECT COUNT(*)", "FROM teacher SELECT COUNT(DISTINCT course)")
    agent.ask(question="How many courses are there?")
    output = agent.ask(feedback={"accepted": False})

    assert (output["clarification"], output["value"]) == (None, 2)


def test_the_words_that_are_open_are_replaced_where_they_stand_alone(embedded: Callable[..., Embedded]) -> None:
    agent = embedded(JOHN, GUSTAAF)
    agent.ask(question="After preDeloor days, what does Deloor teach?")
    prompts = "".join(call.prompt for call in agent.model.calls)

    assert all(
        f"After preDeloor days, what does {name} teach?" in prompts for name in ("John Deloor", "Gustaaf Deloor")
    )


def test_a_rejected_statement_is_no_reading(embedded: Callable[..., Embedded]) -> None:
    agent = embedded(JOHN, GUSTAAF, JOHN, GUSTAAF, GUSTAAF)
    agent.ask(question=QUESTION, clarify="never")
    output = agent.ask(feedback={"accepted": False}, clarify="auto")

    assert output["clarification"] is None

"""The graph over a scripted model that writes compact statements, as the embedded one does."""

from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import Scripted, ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.types import EmbeddedOptions
from tests.agent.walk import updates_of, walk
from tests.conftest import MakeAgent, ScriptedAgent
from tests.support.likely import likely

pytestmark = pytest.mark.integration

COUNT = "FROM orders SELECT COUNT(*)"
IN_2025 = "FROM orders SELECT COUNT(*) WHERE strftime('%Y', ordered_on) = '2025'"
CUSTOMERS = "FROM customers SELECT COUNT(*)"
GERMANS = "FROM customers SELECT COUNT(*) WHERE country = 'Germany'"
FAILS = "FROM orders SELECT no_such_thing_at_all"
UNREADABLE = "FROM orders JOIN regions SELECT COUNT(*)"
"""No key links the two tables."""

WHOLE = EmbeddedOptions()


@pytest.fixture
def embedded(cache_dir: Path) -> MakeAgent:
    def make(*texts: Scripted, options: EmbeddedOptions = WHOLE, **overrides: Any) -> ScriptedAgent:
        model = ScriptedModel({"text": texts})
        services = Services(load_settings(cache_dir=cache_dir, **overrides), model=model, embedded=options)
        return ScriptedAgent(build_graph(services), model, services)

    return make


def audited(agent: ScriptedAgent, question: str = "How many orders are there?") -> tuple[dict[str, Any], list[str]]:
    output = agent.ask(question)
    return output, output["audit"]["notes"]


def test_the_first_answers_alone_if_no_other_can_be_more_likely(embedded: MakeAgent) -> None:
    agent = embedded(likely(COUNT, 0.6))
    output, notes = audited(agent)

    assert output["value"] == 10127
    assert not any("different results" in note for note in notes)
    assert [call["schema"] for step in output["audit"]["steps"] for call in step["calls"]] == ["GeneratedSQL"]


def test_a_validation_that_is_requested_is_noted_as_impossible(embedded: MakeAgent) -> None:
    asked = embedded(likely(COUNT, 0.6)).ask("How many orders are there?", enable_sql_validation=True)
    not_asked = embedded(likely(COUNT, 0.6)).ask("How many orders are there?")

    note = "the model cannot check statements: the automatic checks of the query stand in for the validation"
    assert (asked["error"], asked["audit"]["notes"].count(note), not_asked["audit"]["notes"].count(note)) == (
        None,
        1,
        0,
    )


def test_the_most_likely_statement_answers(embedded: MakeAgent) -> None:
    agent = embedded(likely(CUSTOMERS, 0.2), likely(COUNT, 0.3), likely(CUSTOMERS, 0.2))

    assert agent.ask("How many orders are there?", clarify="never")["value"] == 10127


def test_dates_of_the_question_are_applied_to_the_statement(embedded: MakeAgent) -> None:
    agent = embedded(likely(IN_2025, 0.9))
    output = agent.ask("How many orders were placed on 5 May 2025?")

    assert "ordered_on >= '2025-05-05' AND ordered_on < '2025-05-06'" in output["sql"]
    assert "How many orders were placed in 2025?" in agent.model.calls[0].prompt


def test_statement_without_the_dates_of_the_question_loses_or_is_unsure(embedded: MakeAgent) -> None:
    question, undated = "How many orders in May 2025?", "FROM regions SELECT COUNT(*)"
    dated = embedded(likely(undated, 0.6), likely(IN_2025, 0.3), likely(undated, 0.6))

    assert "ordered_on >= '2025-05-01'" in dated.ask(question, clarify="never")["sql"]
    assert embedded(*[likely(undated, 0.5)] * 6).ask(question, clarify="never")["status"] == "unsure"


def test_one_candidate_is_not_run_before_it_is_executed(embedded: MakeAgent) -> None:
    agent = embedded(COUNT, options=EmbeddedOptions(candidates=1))
    steps = agent.ask("How many orders are there?")["audit"]["steps"]

    assert [(step["node"], len(step["statements"])) for step in steps if step["statements"]] == [("execute_sql", 1)]


def test_the_prompt_has_the_stored_values_that_the_question_means(embedded: MakeAgent) -> None:
    agent = embedded(likely(GERMANS, 0.6))
    output, _ = audited(agent, "Сколько клиентов в Германии?")
    prompt = agent.model.calls[0].prompt

    assert prompt.startswith("SQL\n")
    assert "values: customers.country = 'Germany'" in prompt.splitlines()
    assert output["value"] > 0


@pytest.mark.parametrize(("text", "calls"), [(UNREADABLE, 1), (FAILS, 2)])
def test_the_same_failure_again_ends_the_question(embedded: MakeAgent, text: str, calls: int) -> None:
    agent = embedded(*[text] * 2, options=EmbeddedOptions(candidates=1), max_sql_generations=5)
    output = agent.ask("How many orders are there?")

    assert output["error"]["code"] == "sql_not_generated"
    assert len(agent.model.calls) == calls


def test_no_more_generations_than_the_settings_allow(embedded: MakeAgent) -> None:
    texts = [f"FROM orders SELECT missing_{number}" for number in range(12)]
    agent = embedded(*texts)

    assert agent.ask("How many orders are there?")["error"]["code"] == "sql_not_generated"
    assert len(agent.model.calls) == 12


def test_a_budget_that_ends_leaves_the_candidates_so_far(embedded: MakeAgent) -> None:
    assert embedded(COUNT, max_llm_calls=1).ask("How many orders are there?")["value"] == 10127


def test_a_grammar_goes_along(embedded: MakeAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    real = ScriptedModel._generate

    def generate(self: ScriptedModel, *given: Any, **options: Any) -> Any:
        asked.append(options)
        return real(self, *given, **options)

    monkeypatch.setattr(ScriptedModel, "_generate", generate)
    embedded(COUNT, CUSTOMERS, COUNT).ask("How many orders are there?")

    assert [(options["temperature"] > 0, options["seed"]) for options in asked[:3]] == [
        (False, 0),
        (True, 1),
        (True, 2),
    ]
    assert all("root ::=" in options["extra_body"]["grammar"] for options in asked[:3])


def test_a_statement_that_reads_the_engines_catalog_is_refused(embedded: MakeAgent) -> None:
    text = "FROM sqlite_master SELECT sql"
    output = embedded(*[text] * 9).ask("How many orders are there?")

    assert output["error"]["code"] == "system_catalog_refused"
    assert updates_of(walk(embedded(*[text] * 9)), "execute_sql") == []

"""Verified answers: to a question equal to a verified one, without a model call, or with its statement by a model."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.graph import build_graph
from datasphinx.agent.replay import replay
from datasphinx.agent.responses import response_of
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.knowledge.conftest import Write
from tests.agent.walk import calls, no_call, nodes, prompts, walk
from tests.conftest import MakeAgent, ScriptedAgent

pytestmark = pytest.mark.integration

TEXT = """\
metrics:
  net sales:
    synonyms: [чистые продажи, 净销售额]
    expression: SUM(orders.total_amount)
    filters: [orders.status <> 'cancelled']
verified:
  - question: What were the net sales in 2024?
    sql: >
      SELECT SUM(total_amount) AS net_sales FROM orders
      WHERE status <> 'cancelled' AND strftime('%Y', ordered_on) = :year
    parameters: {year: {example: 2024}}
    author: Ann
    date: 2026-01-15
  - question: How many customers are there in Germany?
    sql: SELECT COUNT(*) AS customers FROM customers WHERE country = :country
    parameters: {country: {example: Germany}}
"""
NET_2024 = (
    "SELECT SUM(total_amount) AS net_sales FROM orders WHERE status <> 'cancelled' "
    "AND strftime('%Y', ordered_on) = '2024'"
)
COUNT = {"sql": "SELECT COUNT(*) AS customers FROM customers"}


@pytest.fixture
def asked(scripted: MakeAgent, write: Write, cache_dir: Path) -> MakeAgent:
    """Make an agent whose sample shop has the knowledge of `TEXT`; by default, its model must not be called."""

    def make(answers: dict[str, Any] | None = None, text: str = TEXT, **settings: Any) -> ScriptedAgent:
        source = {"url": shop_url(cache_dir), "knowledge": write(text), **settings.pop("source_settings", {})}
        return scripted(answers or {"GeneratedSQL": [no_call]}, sources={"shop": source}, **settings)

    return make


def test_an_equal_question_is_answered_without_a_model(asked: MakeAgent) -> None:
    agent = asked()
    steps = walk(agent, " what were the NET SALES in 2024")
    output = steps[-1][1]

    assert nodes(steps) == ["retrieve_tables", "check_stop_words", "execute_sql", "answer"]
    assert (output["sql"], output["status"], output["confidence"], output["error"]) == (NET_2024, "ok", None, None)
    assert output["answer"].endswith("\n\nVerified by Ann on 2026-01-15.")
    assert "<p>Verified by Ann on 2026-01-15.</p>" in response_of(output)._repr_html_()
    assert output["verified"] == {
        "question": "What were the net sales in 2024?",
        "parameters": {"year": "2024"},
        "author": "Ann",
        "date": "2026-01-15",
        "note": None,
        "place": "knowledge/shop.yml:7",
    }
    assert [each["name"] for each in output["definitions"]] == ["net sales"]
    assert output["filters"] == ["2024"]
    assert calls(agent) == {}


def test_no_model_has_to_be_configured(write: Write, cache_dir: Path) -> None:
    sources = {"shop": {"url": shop_url(cache_dir), "knowledge": write(TEXT)}}
    # Without the name of a model, any call of the endpoint is a configuration error.
    settings = load_settings(cache_dir=cache_dir, sources=sources, llm_base_url="http://127.0.0.1:9/v1")
    output = build_graph(Services(settings)).invoke({"question": "What were the net sales in 2024?"})

    assert (output["error"], output["sql"]) == (None, NET_2024)


def test_mark_is_in_the_language_of_the_question(asked: MakeAgent) -> None:
    for question, mark in (
        ("Какими были чистые продажи?", "Проверено: Ann, 2026-01-15."),
        ("净销售额是多少？", "由 Ann 于 2026-01-15 核实。"),
        ("How high were they?", "Verified by Ann on 2026-01-15."),
    ):
        agent = asked(text=TEXT.replace("What were the net sales in 2024?", question))
        assert agent.ask(question)["answer"].endswith(f"\n\n{mark}")
    output = asked().ask("How many customers are there in Germany?")
    assert output["answer"].endswith("\n\nAnswered with a verified query.")


def test_a_statement_that_the_model_repeats_is_verified(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [{"sql": f"{NET_2024.replace('SELECT', 'select')};"}]})
    steps = walk(agent, "Net sales of 2024, please")
    output = steps[-1][1]

    assert "validate_sql" not in nodes(steps)
    assert (output["verified"]["question"], output["verified"]["parameters"]) == (
        "What were the net sales in 2024?",
        {"year": "2024"},
    )
    assert output["answer"].endswith("\n\nVerified by Ann on 2026-01-15.")

    other = {"sql": NET_2024.replace("2024", "2023")}
    agent = asked({"GeneratedSQL": [other] * 2})
    assert agent.ask("What were the net sales in 2023?")["verified"] is None
    # It was no example for a question that shares no word with it.
    agent = asked({"GeneratedSQL": [{"sql": NET_2024}]})
    assert agent.ask("Revenue?")["verified"] is None


def test_other_questions_are_generated_with_verified_ones_as_examples(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [COUNT] * 4}, enable_sql_validation=False)
    for question in ("How many customers are not in Germany?", "How many customers are there in Atlantis?"):
        output = agent.ask(question)
        assert output["verified"] is None and "erified" not in output["answer"]

    (first, _) = prompts(agent, "GeneratedSQL")
    assert (
        '{"question": "How many customers are there in Germany?", '
        '"sql": "SELECT COUNT(*) AS customers FROM customers WHERE country = \'Germany\'"}' in first
    )


def test_query_that_fails_is_reported_and_not_used_again(asked: MakeAgent, caplog: pytest.LogCaptureFixture) -> None:
    text = (
        "verified:\n  - question: How many customers are there?\n"
        "    sql: SELECT COUNT(*) / ABS(-9223372036854775807 - 1) FROM customers\n"
    )
    agent = asked({"GeneratedSQL": [COUNT] * 2}, text, enable_sql_validation=False)
    steps = walk(agent, "How many customers are there?")
    again = walk(agent, "How many customers are there?")

    assert nodes(steps)[:5] == [
        "retrieve_tables", "check_stop_words", "execute_sql", "retrieve_tables", "select_columns",
    ]  # fmt: skip
    assert (steps[-1][1]["sql"], steps[-1][1]["verified"]) == (COUNT["sql"], None)
    assert "execute_sql" not in nodes(again)[:3]
    (problem,) = agent.services.source("shop").knowledge.problems(1)[0]
    assert str(problem).startswith(
        "knowledge/shop.yml:2: verified `How many customers are there?`: its statement failed"
    )
    assert "[KNOWLEDGE] the verified query at knowledge/shop.yml:2 failed" in caplog.text
    assert asked(text=text).services.source("shop").check_knowledge() != []


def test_query_that_does_not_fit_the_schema_is_not_used(asked: MakeAgent, caplog: pytest.LogCaptureFixture) -> None:
    text = "verified:\n  - {question: How many customers are there?, sql: SELECT COUNT(nickname) FROM customers}\n"
    agent = asked({"GeneratedSQL": [COUNT]}, text, enable_sql_validation=False)
    output = agent.ask("How many customers are there?")

    assert (output["sql"], output["verified"]) == (COUNT["sql"], None)
    assert "a verified query is not used: knowledge/shop.yml:2" in caplog.text


def test_query_that_does_not_fit_the_output_type_is_not_used(asked: MakeAgent) -> None:
    text = "verified:\n  - {question: Who are the customers?, sql: SELECT name FROM customers}\n"
    agent = asked({"GeneratedSQL": [COUNT]}, text, enable_sql_validation=False)

    assert agent.ask("Who are the customers?", output_type="number")["sql"] == COUNT["sql"]
    assert agent.services.source("shop").knowledge.problems(1)[0] == []


def test_a_rejected_verified_answer_is_not_given_again(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [{"sql": "SELECT SUM(total_amount) AS sales FROM orders"}]})
    graph = build_graph(agent.services, InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    assert graph.invoke({"question": "What were the net sales in 2024?"}, thread)["verified"]
    output = graph.invoke({"feedback": {"accepted": False, "comment": "with cancelled orders"}}, thread)

    assert (output["sql"], output["verified"]) == ("SELECT SUM(total_amount) AS sales FROM orders", None)
    (prompt,) = prompts(agent, "GeneratedSQL")
    assert f"Rejected by the user, no alternative either: {NET_2024}" in prompt and "with cancelled orders" in prompt


def test_row_rules_apply(asked: MakeAgent) -> None:
    rules = {"row_rules": {"customers": "country <> 'Germany'"}}
    denied = {"row_rules": {"customers": "1 = 0", "*": "deny"}}

    assert asked(source_settings=rules).ask("How many customers are there in Germany?")["value"] == 0
    output = asked({"GeneratedSQL": [COUNT]}, source_settings=denied).ask("What were the net sales in 2024?")
    assert output["verified"] is None and output["error"]


@pytest.mark.heavy
@pytest.mark.parametrize("stored_record", [True])
@pytest.mark.parametrize("question", ["What were the net sales in 2024?", "Net sales of 2024, please"])
def test_record_and_replay_have_the_query(asked: MakeAgent, write: Write, question: str) -> None:
    agent = asked({"GeneratedSQL": [{"sql": NET_2024}]})
    # Statements that look up values are executed only until their index is complete.
    agent.services.source("shop").complete_values()
    output = agent.ask(question)
    store = agent.services.store
    assert store is not None
    agent.services.recorder.flush(output["audit"]["trace_id"])
    events = store.run(output["audit"]["trace_id"])
    (found,) = [event.content for event in events if event.kind == "verified"]
    # The verified query is taken from the record, also after the files have changed.
    write(TEXT.replace("author: Ann", "author: Bob").replace("net sales in", "gross sales in"))
    repeated = replay(store, output["audit"]["trace_id"], agent.services.settings)

    assert output["verified"] and found["verified"] == output["verified"]
    assert repeated.differences == []
    assert repeated.output["verified"] == output["verified"]

"""Verified answers: a question equivalent to a verified one is answered with its statement, without a model call."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.errors import ModelUnreachable
from agent.generation.verified import KnowledgeQueries
from agent.replay import replay
from agent.responses import response_of
from agent.retrieval.semantic import Vectors
from agent.sample.shop import shop_url
from agent.services import Services
from agent.settings import load_settings
from agent.sources.source import check_knowledge
from tests.agent.walk import calls, no_call, nodes, prompts, walk
from tests.benchmarks.verified import FOLDERS, measure
from tests.conftest import ScriptedAgent

Scripted = Callable[..., ScriptedAgent]
Write = Callable[..., Path]

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
NET_2023 = (
    "SELECT SUM(total_amount) AS net_sales FROM orders WHERE status <> 'cancelled' "
    "AND strftime('%Y', ordered_on) = '2023'"
)
COUNT = {"sql": "SELECT COUNT(*) AS customers FROM customers"}


@pytest.fixture
def asked(scripted: Scripted, write: Write, cache_dir: Path) -> Scripted:
    """Make an agent whose sample shop has the knowledge of `TEXT`; by default, its model must not be called."""

    def make(answers: dict[str, Any] | None = None, text: str = TEXT, **settings: Any) -> ScriptedAgent:
        source = {"url": shop_url(cache_dir), "knowledge": write(text), **settings.pop("source_settings", {})}
        return scripted(answers or {"GeneratedSQL": [no_call]}, sources={"shop": source}, **settings)

    return make


def test_strictness(cache_dir: Path) -> None:
    results = [measure(folder, cache_dir) for folder in FOLDERS]

    assert [result.wrong for result in results] == [[], []]
    assert [(result.equivalents, result.near_misses) for result in results] == [(73, 125), (30, 67)]
    assert len(results[0].missed) <= 0.2 * results[0].equivalents


def test_equivalent_question_is_answered_without_a_model(asked: Scripted) -> None:
    agent = asked()
    steps = walk(agent, "Show me the net sales for 2023")
    output = steps[-1][1]

    assert nodes(steps) == ["retrieve_tables", "check_stop_words", "execute_sql", "answer"]
    assert (output["sql"], output["status"], output["confidence"], output["error"]) == (NET_2023, "ok", None, None)
    assert output["answer"].endswith("\n\nVerified by Ann on 2026-01-15.")
    assert "<p>Verified by Ann on 2026-01-15.</p>" in response_of(output)._repr_html_()
    assert output["verified"] == {
        "question": "What were the net sales in 2024?",
        "parameters": {"year": "2023"},
        "author": "Ann",
        "date": "2026-01-15",
        "note": None,
        "place": "knowledge/shop.yml:7",
    }
    assert [each["name"] for each in output["definitions"]] == ["net sales"]
    assert output["filters"] == []
    assert calls(agent) == {}


def test_no_model_has_to_be_configured(write: Write, cache_dir: Path) -> None:
    from agent.graph import build_graph

    sources = {"shop": {"url": shop_url(cache_dir), "knowledge": write(TEXT)}}
    # Without the name of a model, any call of the endpoint is a configuration error.
    settings = load_settings(cache_dir=cache_dir, sources=sources, llm_base_url="http://127.0.0.1:9/v1")
    output = build_graph(Services(settings)).invoke({"question": "Net sales in 2023?"})

    assert (output["error"], output["sql"]) == (None, NET_2023)


def test_mark_is_in_the_language_of_the_question(asked: Scripted) -> None:
    agent = asked()
    agent.services.source().complete_values()

    assert agent.ask("чистые продажи 2023")["answer"].endswith("Проверено: Ann, 2026-01-15.")
    assert agent.ask("2023 净销售额")["answer"].endswith("由 Ann 于 2026-01-15 核实。")
    assert agent.ask("How many customers are there in Spain?")["answer"].endswith("\n\nAnswered with a verified query.")


def test_other_questions_are_generated_with_verified_ones_as_examples(asked: Scripted) -> None:
    agent = asked({"GeneratedSQL": [COUNT] * 4}, enable_sql_validation=False)
    for question in ("How many customers are not in Germany?", "How many customers are there in Atlantis?"):
        output = agent.ask(question)
        assert output["verified"] is None and "erified" not in output["answer"]

    (first, _) = prompts(agent, "GeneratedSQL")
    assert (
        '{"question": "How many customers are there in Germany?", '
        '"sql": "SELECT COUNT(*) AS customers FROM customers WHERE country = \'Germany\'"}' in first
    )
    none = asked({"GeneratedSQL": [COUNT]}, enable_sql_validation=False, source_settings={"shots": 0})
    none.ask("How many customers are not in Germany?")
    assert "Earlier questions about this database" not in prompts(none, "GeneratedSQL")[0]


def test_without_embeddings_only_the_same_words_are_equivalent(asked: Scripted) -> None:
    class Unreachable:
        def embed(self, texts: Sequence[str]) -> Vectors:
            raise ModelUnreachable("http://127.0.0.1:9/v1", "down")

    for embedder in (None, Unreachable()):
        agent = asked({"GeneratedSQL": [COUNT]}, enable_sql_validation=False)
        agent.services.verified = KnowledgeQueries(embedder)
        assert agent.ask("What were the net sales in 2023?")["sql"] == NET_2023
        assert agent.ask("Show me the net sales for 2023")["sql"] == COUNT["sql"]


def test_literals_are_bound_as_values(asked: Scripted, tmp_path: Path) -> None:
    from tests.databases import make_table, url

    hostile = "O'Neil' OR '1'='1"
    path = make_table(tmp_path, "thing TEXT", [["north"], [hostile], ["south"]])
    text = (
        "verified:\n  - question: How many things are called north?\n"
        "    sql: SELECT COUNT(*) AS things FROM things WHERE thing = :thing\n"
        "    parameters: {thing: {example: north}}\n"
    )
    agent = asked(text=text, source_settings={"url": url(path)})
    output = agent.ask(f"How many things are called {hostile}?")

    assert (output["value"], output["verified"]["parameters"]) == (1, {"thing": hostile})
    assert output["sql"] == "SELECT COUNT(*) AS things FROM things WHERE thing = 'O''Neil'' OR ''1''=''1'"


def test_query_that_fails_is_reported_and_not_used_again(asked: Scripted, caplog: pytest.LogCaptureFixture) -> None:
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
    assert check_knowledge(asked(text=text).services.source("shop")) != []


def test_query_that_does_not_fit_the_schema_is_not_used(asked: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    text = "verified:\n  - {question: How many customers are there?, sql: SELECT COUNT(nickname) FROM customers}\n"
    agent = asked({"GeneratedSQL": [COUNT]}, text, enable_sql_validation=False)
    output = agent.ask("How many customers are there?")

    assert (output["sql"], output["verified"]) == (COUNT["sql"], None)
    assert "a verified query is not used: knowledge/shop.yml:2" in caplog.text


def test_query_that_does_not_fit_the_output_type_is_not_used(asked: Scripted) -> None:
    text = "verified:\n  - {question: Who are the customers?, sql: SELECT name FROM customers}\n"
    agent = asked({"GeneratedSQL": [COUNT]}, text, enable_sql_validation=False)

    assert agent.ask("Who are the customers?", output_type="number")["sql"] == COUNT["sql"]
    assert agent.services.source("shop").knowledge.problems(1)[0] == []


def test_row_rules_apply(asked: Scripted) -> None:
    rules = {"row_rules": {"customers": "country <> 'Germany'"}}
    denied = {"row_rules": {"customers": "1 = 0", "*": "deny"}}

    assert asked(source_settings=rules).ask("How many customers are there in Germany?")["value"] == 0
    output = asked({"GeneratedSQL": [COUNT]}, source_settings=denied).ask("Net sales in 2023?")
    assert output["verified"] is None and output["error"]


def test_parameter_that_the_question_does_not_name_is_a_mistake(asked: Scripted) -> None:
    text = (
        "verified:\n  - question: How many customers are there?\n"
        "    sql: SELECT COUNT(*) FROM customers WHERE country = :country\n"
        "    parameters: {country: {example: Spain}}\n"
    )
    (problem,) = asked(text=text).services.source("shop").knowledge.problems(1)[0]

    assert str(problem).endswith(
        "the question does not contain the example of the parameter `country`. "
        "Write `Spain` in the question, or the value in the SQL."
    )


@pytest.mark.parametrize("stored_record", [True])
def test_record_and_replay_have_the_query(asked: Scripted, write: Write) -> None:
    agent = asked()
    output = agent.ask("Net sales in 2023?")
    store = agent.services.store
    assert store is not None
    agent.services.recorder.flush(output["audit"]["trace_id"])
    events = store.run(output["audit"]["trace_id"])
    (found,) = [event.content for event in events if event.kind == "verified"]
    # The verified query is taken from the record, also after the files have changed.
    write(TEXT.replace("author: Ann", "author: Bob").replace("net sales in", "gross sales in"))
    repeated = replay(store, output["audit"]["trace_id"], agent.services.settings)

    assert (found["sql"], found["verified"]) == (NET_2023, output["verified"])
    assert repeated.differences == []
    assert repeated.output["verified"] == output["verified"]
    assert repeated.output["audit"]["llm_calls"] == 0

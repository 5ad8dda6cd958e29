"""The plain profile: fenced SQL instead of JSON, for small models."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.graph import build_graph
from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.conftest import ScriptedAgent
from tests.support.databases import make_database
from tests.support.fake_openai import FakeOpenAI, Reply

pytestmark = [pytest.mark.integration, pytest.mark.stored_record]
Make = Callable[..., ScriptedAgent]
COUNT = "How many customers are there?"
START = "```sql\nSELECT"
AUTO = {"llm_profile": "auto"}


@pytest.fixture
def plain(scripted: Make) -> Callable[..., ScriptedAgent]:
    """A maker of agents with the profile plain, whose model answers with these texts."""

    def make(*texts: Any, **overrides: Any) -> ScriptedAgent:
        return scripted({"text": texts}, **{"llm_profile": "plain", **overrides})

    return make


def rows(output: dict[str, Any]) -> list[list[Any]]:
    assert output["error"] is None, output["error"]
    return output["tables"][0]["rows"]


@pytest.mark.parametrize(
    "text",
    [
        " COUNT(*) FROM customers;\n",
        "COUNT(*) FROM customers;\n```\nThis counts the customers.",
        "```sql\nSELECT COUNT(*) FROM customers;\n```",
        "```sql\nSELECT COUNT(*) FROM customers",
        "select count(*) from customers",
        "Here it is:\n```sql\nSELECT COUNT(*) FROM customers\n```\nIt counts the customers.",
        "WITH c AS (SELECT customer_id FROM customers) SELECT COUNT(*) FROM c",
        "<think>SELECT 7?</think>COUNT(*) FROM customers",
    ],
)
def test_one_call_answers_whether_the_model_continues_or_begins_again(plain: Make, text: str) -> None:
    agent = plain(text)
    output = agent.ask(COUNT)
    assert rows(output) == [[1184]]
    assert output["audit"]["llm_calls"] == len(agent.model.calls) == 1


def test_a_subquery_of_the_continuation_is_not_taken_for_the_statement(plain: Make) -> None:
    output = plain(" COUNT(*) FROM customers WHERE region_id IN (SELECT region_id FROM regions)").ask(COUNT)
    assert rows(output) == [[1184]]


def test_the_prompt_has_create_table_statements_and_ends_with_the_question(plain: Make) -> None:
    agent = plain(" COUNT(*) FROM customers")
    agent.ask("How many customers live in Germany?")
    system, user, start = (str(message.content) for message in agent.model.calls[0].messages)
    assert "one SQLite 3" in system and "SELECT statement" in system
    assert user.startswith("CREATE TABLE categories (")
    assert "  FOREIGN KEY (region_id) REFERENCES regions (region_id)\n);" in user
    assert user.endswith("customers.country = 'Germany'\n\nQuestion: How many customers live in Germany?")
    assert start == START
    assert "JSON" not in agent.model.calls[0].prompt


def test_nothing_but_a_statement_is_asked_of_the_model(plain: Make) -> None:
    agent = plain(" name, segment FROM customers")
    output = agent.ask("Which customers are the best?", clarify="always")
    assert len(rows(output)) > 100
    assert [call.schema_name for call in agent.model.calls] == ["text"]
    assert any("small model" in note for note in output["audit"]["notes"])


def test_an_error_is_shown_to_the_model_and_the_next_statement_is_sampled(plain: Make) -> None:
    agent = plain(" SUM(price_of_all) FROM products", " MAX(price) FROM products")
    output = agent.ask("What does the dearest product cost?")
    assert rows(output) == [[599.0]]
    repeated = agent.model.calls[1].prompt
    assert "SELECT SUM(price_of_all) FROM products" in repeated
    assert "there is no column price_of_all" in repeated


def test_a_statement_that_failed_is_not_tried_again(plain: Make) -> None:
    wrong = " SUM(price_of_all) FROM products"
    agent = plain(wrong, wrong, wrong, " MAX(price) FROM products")
    assert rows(agent.ask("What does the dearest product cost?")) == [[599.0]]
    stubborn = plain(*[wrong] * 4)
    output = stubborn.ask("What does the dearest product cost?")
    assert output["error"]["code"] == "sql_not_generated"
    assert len(stubborn.model.calls) == 4


def test_a_model_that_does_not_continue_is_asked_without_the_start(plain: Make) -> None:
    agent = plain("I would count the customers.", "```sql\nSELECT COUNT(*) FROM customers\n```")
    assert rows(agent.ask(COUNT)) == [[1184]]
    assert [call.messages[-1].type for call in agent.model.calls] == ["ai", "human"]


def test_clarifications_and_rejected_statements_are_in_the_prompt(plain: Make) -> None:
    agent = plain(" COUNT(*) FROM customers", " COUNT(*) FROM customers WHERE segment = 'Consumer'")
    graph = build_graph(agent.services, InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke({"question": COUNT}, config)
    output = graph.invoke({"feedback": {"accepted": False, "comment": "only consumers"}}, config)
    assert output["sql"] == "SELECT COUNT(*) FROM customers WHERE segment = 'Consumer'"
    prompt = agent.model.calls[1].prompt
    assert "The user rejected the answer of: SELECT COUNT(*) FROM customers" in prompt
    assert "The user remarks: only consumers" in prompt


def rejects_start(request: dict[str, Any]) -> Reply:
    if request["messages"][-1]["role"] == "assistant":
        return Reply(status=400)
    return Reply("```sql\nSELECT COUNT(*) FROM customers\n```")


def test_an_endpoint_that_rejects_the_start_of_the_answer_gets_it_once(cache_dir: Path) -> None:
    with FakeOpenAI(default=rejects_start) as server:
        settings = load_settings(
            cache_dir=cache_dir, llm_base_url=server.base_url, llm_model="small", llm_profile="plain"
        )
        graph = build_graph(Services(settings))
        assert [rows(graph.invoke({"question": COUNT})) for _ in range(2)] == [[[1184]]] * 2
        assert [request["messages"][-1]["role"] for request in server.requests] == ["assistant", "user", "user"]


def test_an_answer_is_limited_in_length(cache_dir: Path) -> None:
    endless = Reply(" COUNT(*) FROM customers WHERE city = 'a'" + " OR city = 'a'" * 200, finish_reason="length")
    with FakeOpenAI([endless], default=" COUNT(*) FROM customers") as server:
        settings = load_settings(
            cache_dir=cache_dir, llm_base_url=server.base_url, llm_model="small", llm_profile="plain"
        )
        assert rows(build_graph(Services(settings)).invoke({"question": COUNT})) == [[1184]]
        first, second = server.requests
        assert (first["max_tokens"], first["stop"], first["temperature"]) == (512, ["```"], 0.0)
        assert second["temperature"] > 0


@pytest.mark.parametrize("start_is_rejected", [False, True])
def test_a_replay_uses_the_same_profile(tmp_path: Path, cache_dir: Path, start_is_rejected: bool) -> None:
    default = rejects_start if start_is_rejected else " COUNT(*) FROM customers"
    with FakeOpenAI(default=default) as server:
        settings = load_settings(
            cache_dir=cache_dir, llm_base_url=server.base_url, llm_model="small", llm_profile="plain"
        )
        graph = build_graph(Services(settings))
        outputs = [graph.invoke({"question": COUNT}) for _ in range(2)]
    for output in outputs:
        again = replay(open_store(settings), output["audit"]["trace_id"], settings.model_copy(update=AUTO))
        assert again.differences == []
        assert rows(again.output) == [[1184]]


def test_a_large_schema_is_selected_without_a_call(plain: Make, tmp_path: Path) -> None:
    tables = [f"CREATE TABLE machine_{n:02} (id INTEGER PRIMARY KEY, voltage REAL, weight REAL)" for n in range(60)]
    path = make_database(tmp_path, "CREATE TABLE student (id INTEGER PRIMARY KEY, first_name TEXT)", *tables)
    agent = plain(" COUNT(*) FROM student", schema_token_budget=200)
    assert rows(agent.ask("How many students are there?", source=f"sqlite:///{path}")) == [[0]]
    assert "CREATE TABLE student" in agent.model.calls[0].prompt
    assert "machine_59" not in agent.model.calls[0].prompt
    assert len(agent.model.calls) == 1

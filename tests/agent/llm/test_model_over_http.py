"""The whole graph over a model that is reached by HTTP."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.graph import Graph, build_graph
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.support.fake_openai import FakeOpenAI, Reply

HOW_MANY = "How many orders are there?"
COUNT = {"sql": "SELECT COUNT(*) AS orders FROM orders", "assumptions": [], "off_topic": False}
VALID = {"is_valid": True, "reason": "it counts", "issues": [], "corrected_sql": None}
DESCRIBE = "Describe the orders by status"
BY_STATUS = {"sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status", "assumptions": []}
NARRATED = {"answer": "{max.orders:status} dominates with {max.orders} orders."}
KEY = "sk-very-secret-0123456789"

Make = Callable[..., Graph]


@pytest.fixture
def graph(server: FakeOpenAI, no_waiting: None, cache_dir: Path) -> Make:
    def make(**overrides: Any) -> Graph:
        endpoint = {"llm_base_url": server.base_url, "llm_model": "some-model", "enable_sql_validation": True}
        return build_graph(Services(load_settings(cache_dir=cache_dir, **{**endpoint, **overrides})))

    return make


def test_no_text_of_the_model_is_streamed(server: FakeOpenAI, graph: Make) -> None:
    server.answers = [BY_STATUS, VALID, NARRATED]
    modes = [mode for mode, _ in graph().stream({"question": DESCRIBE}, stream_mode=["messages", "updates"])]

    assert {*modes} == {"updates"} and not [request for request in server.requests if request.get("stream")]


@pytest.mark.parametrize(
    ("question", "says"), [("Сколько всего заказов?", "не отвечает"), ("有多少 orders 订单？", "没有响应")]
)
def test_a_dead_endpoint_is_told_in_the_language_of_the_question(graph: Make, question: str, says: str) -> None:
    output = graph(llm_base_url="http://127.0.0.1:9/v1", source="").invoke({"question": question + " orders"})
    assert output["error"]["code"] == "model_unreachable"
    assert says in output["answer"]


def test_a_dead_validation_does_not_fail_the_question(server: FakeOpenAI, graph: Make) -> None:
    server.answers = [COUNT]
    output = graph().invoke({"question": HOW_MANY})
    assert output["error"] is None
    assert output["value"] > 10_000
    assert len(server.requests) == 1 + 2


def test_a_wrong_key_is_told_without_the_key(server: FakeOpenAI, graph: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    server.default = Reply(status=401, body=f'{{"error": {{"message": "Incorrect API key provided: {KEY}"}}}}')
    output = graph(llm_api_key=KEY).invoke({"question": HOW_MANY})
    assert output["error"]["code"] == "model_rejected"
    assert server.base_url in output["answer"]
    assert f"Bearer {KEY}" in server.headers[0].values()
    assert KEY not in str(output)
    assert KEY not in "\n".join(record.getMessage() for record in caplog.records if record.name == "datasphinx")


def test_talk_instead_of_sql_ends_without_a_statement(server: FakeOpenAI, graph: Make) -> None:
    server.default = "I would rather talk."
    output = graph().invoke({"question": HOW_MANY})
    assert output["error"]["code"] == "sql_not_generated"
    # The first generation and three more, each with a request for the same answer in the right form.
    assert len(server.requests) == 8


@pytest.mark.parametrize(
    "missing", [{"llm_model": None}, {"llm_model": None, "llm_base_url": None, "llm_api_key": KEY}]
)
def test_a_model_without_a_name_is_a_configuration_error(
    server: FakeOpenAI, graph: Make, missing: dict[str, Any]
) -> None:
    output = graph(**missing).invoke({"question": HOW_MANY})
    assert output["error"]["code"] == "configuration"
    assert "DATASPHINX_LLM_MODEL" in output["answer"]
    assert server.requests == []

"""The model client through the real ChatOpenAI, against a server that answers well and badly."""

import importlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from datasphinx.agent.connect import connect_model
from datasphinx.agent.errors import BudgetExceeded, ModelAnswerUnreadable, ModelRejected, ModelUnreachable
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import AmbiguityReview, ColumnSelection, GeneratedSQL, NarratedAnswer, SQLValidation
from datasphinx.agent.llm.schemas import TableSelection as Tables
from datasphinx.agent.record.step import ModelCall, add_costs
from datasphinx.agent.settings import load_settings
from tests.agent.llm.conftest import Connect
from tests.support.fake_openai import USAGE, FakeOpenAI, Reply

KEY = "sk-very-secret-0123456789"
SQL = {"sql": "SELECT 1", "assumptions": [], "off_topic": False}
QUESTION = [HumanMessage("How many?")]


def ask(client: ModelClient, schema: type[BaseModel] = GeneratedSQL, **given: Any) -> Any:
    return client.ask(schema, QUESTION, **given)


def refusing(*types: str, status: int = 400, message: str = "response_format is not supported") -> Callable[..., Reply]:
    """An endpoint that refuses these types of response format."""

    def answer(request: dict[str, Any]) -> Reply:
        wanted = request.get("response_format", {}).get("type", "text")
        if wanted not in types:
            return Reply(SQL)
        return Reply(status=status, body=json.dumps({"error": {"message": message, "code": None, "type": "invalid"}}))

    return answer


@pytest.mark.parametrize(
    ("url", "reads"),
    [
        ("http://127.0.0.1:8080/v1", False),
        ("https://127.0.0.1:8080/v1", True),
        ("http://models.example/v1", True),
        ("https://models.example/v1", True),
    ],
)
def test_certificates_are_read_unless_the_endpoint_is_plain_http_on_this_machine(
    url: str, reads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    importlib.import_module("langchain_openai")  # It reads the certificates when it is imported.
    read = []
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *given, **named: read.append(given))
    connect_model(load_settings(llm_base_url=url, llm_model="gpt-4o"))

    assert bool(read) is reads


def modes(server: FakeOpenAI) -> list[str]:
    return [request.get("response_format", {}).get("type", "text") for request in server.requests]


def error_body(message: str, code: str | None = None) -> str:
    return json.dumps({"error": {"message": message, "code": code, "type": "error", "param": None}})


# The request

FIELDS = [
    "plan", "metric", "sql", "language", "standalone", "assumptions", "not_answered", "output_type", "off_topic",
    "reason", "alternatives", "question", "ambiguity_type", "reply", "title", "answer", "empty_answer", "formats",
    "chart", "follow_ups",
]  # fmt: skip


def test_the_request_is_the_contract(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = [SQL]
    assert ask(connect(llm_api_key=KEY)) == GeneratedSQL(sql="SELECT 1")
    [request], [headers] = server.requests, server.headers
    form = request.pop("response_format")
    fields = form["json_schema"]["schema"]["properties"]
    assert form["type"] == "json_schema"
    assert list(fields) == FIELDS
    assert all(field["description"] for field in fields.values())
    assert request == {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "How many?"}],
        "temperature": 0.0,
        "stream": False,
    }
    assert {name.lower(): value for name, value in headers.items()}["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "schema", [Tables, ColumnSelection, GeneratedSQL, SQLValidation, NarratedAnswer, AmbiguityReview]
)
def test_every_schema_is_strict(server: FakeOpenAI, connect: Connect, schema: type[BaseModel]) -> None:
    server.default = "no"
    with pytest.raises(ModelAnswerUnreadable):
        ask(connect(), schema)
    sent = server.requests[0]["response_format"]["json_schema"]
    assert (sent["name"], sent["strict"]) == (schema.__name__, True)
    assert list(_objects(sent["schema"]))
    assert "$ref" not in json.dumps(sent["schema"])
    for node in _objects(sent["schema"]):
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])
        assert not any("default" in field for field in node["properties"].values())


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for part in node.values():
            yield from _objects(part)
    elif isinstance(node, list):
        for part in node:
            yield from _objects(part)


def test_without_a_temperature_none_is_sent(
    server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, connect: Connect
) -> None:
    monkeypatch.setenv("DATASPHINX_LLM_TEMPERATURE", "none")
    server.answers = [SQL]
    ask(connect())
    assert "temperature" not in server.requests[0]


@pytest.mark.parametrize("model", ["gpt-5-pro", "gpt-5-codex", "gpt-6"])
def test_every_model_is_asked_by_chat_completions(server: FakeOpenAI, connect: Connect, model: str) -> None:
    server.answers = [SQL]
    assert ask(connect(llm_model=model)).sql == "SELECT 1"
    assert server.requests[0]["messages"]


def test_a_statement_is_the_text_under_a_grammar(server: FakeOpenAI, connect: Connect, calls: list[ModelCall]) -> None:
    server.answers = [" FROM t SELECT a\n"]
    assert connect().write(QUESTION, grammar='root ::= "FROM"', temperature=0.7, seed=2).text == "FROM t SELECT a"
    [request], [call] = server.requests, calls
    assert (request["grammar"], request["temperature"], request["seed"]) == ('root ::= "FROM"', 0.7, 2)
    assert "response_format" not in request
    assert (call["schema"], call["completion_tokens"]) == ("GeneratedSQL", USAGE["completion_tokens"])


def test_a_statement_without_a_grammar_is_the_likeliest_text(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = ["FROM t SELECT a"]
    connect().write(QUESTION)
    assert "grammar" not in server.requests[0]
    assert server.requests[0]["temperature"] == 0


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply("FROM t SELECT", finish_reason="length"), ModelAnswerUnreadable),
        (Reply(status=400), ModelRejected),
        (Reply(status=401), ModelRejected),
        (Reply(body="no JSON"), ModelUnreachable),
    ],
)
def test_a_statement_that_cannot_be_had(
    server: FakeOpenAI, connect: Connect, reply: Reply, error: type[Exception]
) -> None:
    server.default = reply
    with pytest.raises(error):
        connect().write(QUESTION)


def test_a_proxy_is_not_asked_for_a_server_on_this_machine(
    server: FakeOpenAI, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.answers = [SQL]
    assert ask(connect()).sql == "SELECT 1"


# What the endpoint can


@pytest.mark.parametrize(
    ("refused", "tried"),
    [
        ((), ["json_schema"]),
        (("json_schema",), ["json_schema", "json_object"]),
        (("json_schema", "json_object"), ["json_schema", "json_object", "text"]),
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_what_an_endpoint_supports_is_found_out_once(
    server: FakeOpenAI, connect: Connect, refused: tuple[str, ...], tried: list[str], status: int
) -> None:
    server.default = refusing(*refused, status=status)
    client = connect()
    for _ in range(3):
        assert ask(client).sql == "SELECT 1"
    assert modes(server) == [*tried, tried[-1], tried[-1]]


def test_without_a_schema_in_the_request_it_stands_in_the_prompt(server: FakeOpenAI, connect: Connect) -> None:
    server.default = refusing("json_schema", "json_object")
    ask(connect())
    by_schema, by_object, by_text = server.requests
    assert len(by_schema["messages"]) == 1
    assert by_object["messages"] == by_text["messages"]
    instruction = by_text["messages"][-1]["content"]
    assert "JSON" in instruction
    assert '"assumptions"' in instruction


def test_an_endpoint_that_ignores_the_schema_gets_it_in_the_prompt_from_then_on(
    server: FakeOpenAI, connect: Connect
) -> None:
    valid = {"is_valid": True, "reason": "", "issues": [], "corrected_sql": None}
    server.answers = ["It looks right to me.", valid, valid]
    client = connect()
    assert ask(client, SQLValidation).is_valid
    assert ask(client, SQLValidation).is_valid
    assert len(server.requests) == 3
    assert '"corrected_sql"' in server.requests[2]["messages"][-1]["content"]


@pytest.mark.parametrize("mode", ["json_schema", "json_object", "text"])
def test_a_setting_fixes_the_mode(server: FakeOpenAI, connect: Connect, mode: str) -> None:
    server.answers = [SQL]
    client = connect(llm_structured_output=mode)
    assert ask(client).sql == "SELECT 1"
    server.default = refusing(mode)
    with pytest.raises(ModelRejected, match="response_format is not supported"):
        ask(client)
    assert modes(server) == [mode, mode]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Your messages resulted in 9000 tokens.", "context_length_exceeded"),
        ("This model's maximum context length is 8192 tokens.", None),
        ("the request exceeds the available context size, try increasing it", None),
        ("The input exceeds the context window of this model.", None),
        ("prompt is too long: 210000 tokens > 200000 maximum", None),
    ],
)
@pytest.mark.parametrize("status", [400, 413])
def test_a_prompt_that_is_too_long_is_not_tried_in_other_modes(
    server: FakeOpenAI, connect: Connect, message: str, code: str | None, status: int
) -> None:
    server.default = Reply(status=status, body=error_body(message, code))
    with pytest.raises(ModelRejected) as caught:
        ask(connect())
    assert message.rstrip(".") in caught.value.reason
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "message",
    [
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "Invalid schema for response_format 'GeneratedSQL'",
    ],
)
def test_a_fallback_warns_nobody(server: FakeOpenAI, connect: Connect, message: str) -> None:
    server.default = refusing("json_schema", message=message)
    assert ask(connect()).sql == "SELECT 1"


# The record


def test_tokens_and_time_are_on_the_record(server: FakeOpenAI, connect: Connect, calls: list[ModelCall]) -> None:
    server.answers = [SQL]
    ask(connect(llm_model="some-model"))
    [call] = calls
    assert 0 < call.pop("latency_ms") < 10_000
    assert call == {
        "schema": "GeneratedSQL",
        "model": "some-model",
        "prompt_tokens": USAGE["prompt_tokens"],
        "completion_tokens": USAGE["completion_tokens"],
        "cost_usd": None,
    }


@pytest.mark.parametrize("mode", ["json_schema", "text"])
def test_a_cut_answer_is_paid_for_too(server: FakeOpenAI, connect: Connect, calls: list[ModelCall], mode: str) -> None:
    server.answers = [Reply('{"sql": "SE', finish_reason="length"), SQL]
    ask(connect(llm_structured_output=mode))
    assert [call["prompt_tokens"] for call in calls] == [USAGE["prompt_tokens"]] * 2


def priced(server: FakeOpenAI, model: str) -> ModelClient:
    """A client that takes the fake server for OpenAI's own."""
    chat = connect_model(load_settings(llm_base_url=server.base_url, llm_model=model)).chat
    return ModelClient(chat, load_settings(llm_api_key=KEY), name=model)


def test_a_known_model_has_a_price(server: FakeOpenAI, calls: list[ModelCall]) -> None:
    server.answers = [SQL, SQL]
    ask(priced(server, "gpt-4o"))
    assert calls[0]["cost_usd"] == pytest.approx((120 * 2.5 + 30 * 10) / 1e6)
    ask(priced(server, "somebodys-own-model"))
    assert calls[1]["cost_usd"] is None
    assert add_costs(call["cost_usd"] for call in calls) is None


def test_a_refused_format_costs_nothing_and_lost_usage_is_not_free(server: FakeOpenAI, calls: list[ModelCall]) -> None:
    silent = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
    choice = {"index": 0, "message": {"role": "assistant", "content": json.dumps(SQL)}, "finish_reason": "stop"}
    client = priced(server, "gpt-4o")
    server.answers = [refusing("json_schema"), Reply(body=json.dumps({**silent, "choices": [choice]}))]
    assert ask(client).sql == "SELECT 1"
    assert [call["cost_usd"] for call in calls] == [0.0, None]


def test_a_failed_call_is_on_the_record(server: FakeOpenAI, connect: Connect, calls: list[ModelCall]) -> None:
    with pytest.raises(ModelUnreachable):
        ask(connect())
    assert [(call["prompt_tokens"], call["completion_tokens"]) for call in calls] == [(0, 0)] * len(server.requests)


def test_no_call_is_made_past_the_budget(server: FakeOpenAI, connect: Connect, calls: list[ModelCall]) -> None:
    server.default = "no"
    with pytest.raises(BudgetExceeded) as caught:
        ask(connect(max_llm_calls=1))
    assert caught.value.setting == "DATASPHINX_MAX_LLM_CALLS"
    assert len(server.requests) == len(calls) == 1


def test_parallel_questions_share_one_client(server: FakeOpenAI, connect: Connect) -> None:
    server.default = refusing("json_schema")
    client = connect()
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(ask(client).sql)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["SELECT 1"] * 8
    ask(client)
    assert modes(server)[-1] == "json_object"

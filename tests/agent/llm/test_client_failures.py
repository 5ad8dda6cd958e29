"""The model client through the real ChatOpenAI, against a server that fails or answers badly."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from datasphinx.agent.connect import connect_model
from datasphinx.agent.embedded.prefix_cache import PrefixCache
from datasphinx.agent.embedded.server import Endpoint
from datasphinx.agent.errors import ModelAnswerUnreadable, ModelRejected, ModelUnreachable, Unavailable
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import GeneratedSQL
from datasphinx.agent.record.step import ModelCall
from datasphinx.agent.settings import load_settings
from tests.agent.llm.conftest import Connect
from tests.support.fake_openai import FakeOpenAI, Reply

KEY = "sk-very-secret-0123456789"
SQL = {"sql": "SELECT 1", "assumptions": [], "off_topic": False}
QUESTION = [HumanMessage("How many?")]
TRIES = 2
"""A call and the one time that the client tries it again."""

CLOSED_PORT = "http://127.0.0.1:9/v1"


def ask(client: ModelClient, schema: type[BaseModel] = GeneratedSQL, **given: Any) -> Any:
    return client.ask(schema, QUESTION, **given)


def error_body(message: str, code: str | None = None) -> str:
    return json.dumps({"error": {"message": message, "code": code, "type": "error", "param": None}})


# Trouble that passes, and trouble that stays


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
def test_what_may_pass_is_tried_again(server: FakeOpenAI, connect: Connect, status: int) -> None:
    server.answers = [Reply(status=status), SQL]
    assert ask(connect()).sql == "SELECT 1"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "seconds"),
    [
        (Reply(status=429, headers={"Retry-After": "7"}), 7.0),
        (Reply(status=503, headers={"retry-after-ms": "1500"}), 1.5),
    ],
)
def test_retry_after_is_obeyed(
    server: FakeOpenAI, connect: Connect, monkeypatch: pytest.MonkeyPatch, reply: Reply, seconds: float
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("openai._base_client.time.sleep", waited.append)
    server.answers = [reply, SQL]
    assert ask(connect()).sql == "SELECT 1"
    assert waited == [seconds]


def test_nobody_waits_an_hour(server: FakeOpenAI, connect: Connect) -> None:
    server.default = Reply(status=429, headers={"Retry-After": "3600"})
    with pytest.raises(ModelUnreachable):
        ask(connect())
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 501, 502, 503, 529])
def test_what_does_not_pass_is_unreachable(server: FakeOpenAI, connect: Connect, status: int) -> None:
    server.default = Reply(status=status)
    with pytest.raises(ModelUnreachable) as caught:
        ask(connect())
    assert len(server.requests) == TRIES
    assert caught.value.endpoint == server.base_url
    assert str(status) in caught.value.reason


def test_a_page_of_html_is_quoted_without_its_marks(server: FakeOpenAI, connect: Connect) -> None:
    server.default = Reply(
        status=502, body="<html>\n<h1>Bad gateway</h1></html>", headers={"Content-Type": "text/html"}
    )
    with pytest.raises(ModelUnreachable) as caught:
        ask(connect())
    assert caught.value.reason == "Error code: 502 - Bad gateway"


def test_a_timeout_is_unreachable(server: FakeOpenAI, connect: Connect) -> None:
    released = threading.Event()
    server.default = Reply(SQL, hang=released)
    try:
        with pytest.raises(ModelUnreachable) as caught:
            ask(connect(llm_timeout_s=0.3))
    finally:
        released.set()
    assert len(server.requests) == TRIES
    assert caught.value.reason == "Request timed out"


def test_the_embedded_model_has_the_time_of_a_question_and_is_asked_once(
    server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    released = threading.Event()
    server.default = Reply(SQL, hang=released)
    endpoint = Endpoint(server.base_url, "key", PrefixCache(tmp_path / "prompts", "model", None))
    monkeypatch.setattr("datasphinx.agent.embedded.server.embedded_endpoint", lambda *_, **__: endpoint)
    client = connect_model(load_settings(llm_timeout_s=0.01, max_question_s=0.5))
    try:
        with pytest.raises(Unavailable, match=r"within 0\.5 s: the machine is busy") as caught:
            client.write([HumanMessage("How many?")])
    finally:
        released.set()
    assert (len(server.requests), caught.value.seconds) == (1, 0.5)


def test_a_refused_connection_is_unreachable(connect: Connect) -> None:
    with pytest.raises(ModelUnreachable) as caught:
        ask(connect(llm_base_url=CLOSED_PORT))
    assert caught.value.endpoint == CLOSED_PORT
    assert CLOSED_PORT in str(caught.value)
    assert "DATASPHINX_LLM_BASE_URL" in str(caught.value)


def test_a_connection_that_breaks_in_the_body_is_tried_again(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = [Reply(SQL, cut=20), SQL]
    assert ask(connect()).sql == "SELECT 1"


def test_a_connection_that_always_breaks_is_unreachable(server: FakeOpenAI, connect: Connect) -> None:
    server.default = Reply(SQL, cut=20)
    with pytest.raises(ModelUnreachable):
        ask(connect())
    assert len(server.requests) == TRIES


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_names_the_endpoint_and_never_the_key(server: FakeOpenAI, connect: Connect, status: int) -> None:
    server.default = Reply(status=status, body=error_body(f"Incorrect API key provided: {KEY}.\nSee {KEY}"))
    with pytest.raises(ModelRejected) as caught:
        ask(connect(llm_api_key=KEY))
    assert caught.value.endpoint == server.base_url
    assert caught.value.reason == f"Error code: {status} - Incorrect API key provided: ***. See ***"
    for text in (str(caught.value), repr(caught.value), caught.value.message("ru"), caught.value.message("zh")):
        assert KEY not in text
        assert server.base_url in text
    assert len(server.requests) == 1


def test_an_endpoint_is_named_without_password_and_query(server: FakeOpenAI, connect: Connect) -> None:
    server.default = Reply(status=401)
    address = server.base_url.removeprefix("http://")
    with pytest.raises(ModelRejected) as caught:
        ask(connect(llm_base_url=f"http://me:hunter2@{address}"))
    assert caught.value.endpoint == server.base_url
    with pytest.raises(ModelUnreachable) as lost:
        ask(connect(llm_base_url=f"{CLOSED_PORT}?key=hunter2"))
    assert lost.value.endpoint == CLOSED_PORT


def test_no_money_left_is_a_refusal_and_not_an_outage(server: FakeOpenAI, connect: Connect) -> None:
    server.default = Reply(status=429, body=error_body("You exceeded your current quota", "insufficient_quota"))
    with pytest.raises(ModelRejected, match="quota"):
        ask(connect())


# Answers that are none


@pytest.mark.parametrize(
    "bad",
    [
        Reply(body='{"id": "1", "object": "chat.completion", "choi'),
        Reply(body='data: {"choices": [{"delta": {"content": "SEL', headers={"Content-Type": "text/event-stream"}),
        Reply(content=None),
        Reply(content=""),
        Reply(content=" \n "),
        Reply(content=None, refusal="I cannot help with that."),
        Reply(content="I'm sorry, I cannot select that.", finish_reason="stop"),
        Reply(content='{"sql": "SELECT 1 FR', finish_reason="length"),
        Reply(content=None, finish_reason="content_filter"),
        Reply(content={"answer": "SELECT 1"}),
        Reply(content={"sql": {"a": 1}}),
        Reply(content='{"sql": "SELECT 1'),
    ],
    ids=[
        "half a body", "a stream that stops", "null content", "empty content", "blank content", "refusal",
        "refusal in prose", "length", "content filter", "wrong field", "wrong type", "cut json",
    ],
)  # fmt: skip
def test_a_bad_answer_is_repaired_once(
    server: FakeOpenAI, connect: Connect, calls: list[ModelCall], bad: Reply
) -> None:
    client = connect()
    server.answers = [bad, SQL]
    assert ask(client).sql == "SELECT 1"
    assert len(server.requests) == 2
    server.default = bad
    with pytest.raises(ModelAnswerUnreadable) as caught:
        ask(client)
    assert caught.value.schema == "GeneratedSQL"
    assert len(server.requests) == len(calls) == 4


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (Reply({"answer": "SELECT 1"}), "sql: Field required"),
        (Reply({"sql": 5}), "sql: Input should be a valid string"),
        (Reply(None), "the answer is empty"),
        (Reply("Of course!"), "there is no JSON object in the answer"),
        (Reply('{"sql": "SEL'), "its JSON object is not complete"),
        (Reply(None, refusal="Not that."), "the model refused: Not that."),
        (Reply('{"sql": "SEL', finish_reason="length"), "cut off by the limit of tokens"),
        (Reply(None, finish_reason="content_filter"), "cut off by the content filter"),
    ],
)
def test_the_repair_prompt_says_what_was_wrong(server: FakeOpenAI, connect: Connect, bad: Reply, said: str) -> None:
    server.answers = [bad, SQL]
    ask(connect())
    first, *added = server.requests[1]["messages"]
    assert first == {"role": "user", "content": "How many?"}
    assert "could not be read as GeneratedSQL" in added[-2]["content"]
    assert said in added[-2]["content"]
    assert '"off_topic"' in added[-1]["content"]
    assert server.requests[1]["response_format"] == server.requests[0]["response_format"]


def test_the_repair_prompt_quotes_the_answer(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = [{"answer": "SELECT 1"}, SQL]
    ask(connect())
    assert {"role": "assistant", "content": '{"answer": "SELECT 1"}'} in server.requests[1]["messages"]


def test_a_cut_statement_is_never_taken_for_a_whole_one(server: FakeOpenAI, connect: Connect) -> None:
    server.default = Reply("SELECT a FROM t WHERE b = 1", finish_reason="length")
    with pytest.raises(ModelAnswerUnreadable):
        ask(connect(llm_structured_output="text"))

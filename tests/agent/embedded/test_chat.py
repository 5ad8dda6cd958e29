"""The chat model of the embedded model, over servers that play llama.cpp."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from datasphinx.agent.connect import connect_model
from datasphinx.agent.embedded import server as local
from datasphinx.agent.embedded.prefix_cache import PrefixCache
from datasphinx.agent.embedded.server import Endpoint
from datasphinx.agent.errors import ModelRejected, ModelUnreachable, Unavailable
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.record.step import Step, new_audit, recorded_on
from datasphinx.agent.settings import load_settings
from tests.support.fake_openai import FakeOpenAI, Reply

SCHEMA = "\n".join(f"table_{number}(id key, name text, amount number)" for number in range(20))
ANSWER = "FROM table_1 SELECT COUNT(*)"


class FakeLlama(FakeOpenAI):
    """Answers as llama.cpp does, and keeps the kinds of the requests."""

    def __init__(self, folder: Path) -> None:
        super().__init__(default=self.answer)
        self.folder, self.kinds, self.prefixes = folder, list[str](), list[str]()

    def answer(self, request: dict[str, Any]) -> Reply | str:
        if "filename" in request:
            path = self.folder / request["filename"]
            self.kinds.append("restore" if path.exists() else "save")
            path.write_bytes(self.prefixes[-1].encode() if self.kinds[-1] == "save" else path.read_bytes())
            return Reply(body=json.dumps({"filename": path.name}))
        if "model" in request:
            self.kinds.append("chat")
            return ANSWER
        if "prompt" in request:
            self.kinds.append("prefix")
            self.prefixes.append(request["prompt"])
            return Reply(body=json.dumps({"content": ""}))
        self.kinds.append("template")
        prompt = "".join(f"<{message['role']}>{message['content']}" for message in request["messages"])
        return Reply(body=json.dumps({"prompt": f"{prompt}<assistant>"}))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], tuple[FakeLlama, Endpoint]]]:
    """Starts a server; all share a folder of states."""
    with ExitStack() as servers:

        def started() -> tuple[FakeLlama, Endpoint]:
            cache = PrefixCache(tmp_path / "prompts", "model", None)
            fake = servers.enter_context(FakeLlama(tmp_path / "prompts"))
            return fake, Endpoint(fake.base_url, f"key of {fake.base_url}", cache)

        yield started


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModelClient]:
    """Connects to these servers, which are chosen one after the other, the last one from then on."""

    def connected(*endpoints: Endpoint, seconds: float = 30) -> ModelClient:
        remaining = list(endpoints)

        def choose(cache_dir: Path, tier_name: str, *, adapter: bool = True) -> Endpoint:
            return remaining.pop(0) if len(remaining) > 1 else remaining[0]

        monkeypatch.setattr(local, "embedded_endpoint", choose)
        return connect_model(load_settings(max_question_s=seconds))

    return connected


def prompt(question: str, schema: str = SCHEMA) -> list[BaseMessage]:
    return [SystemMessage("SQL"), HumanMessage(f"{schema}\n\n{question}\nvalues: table_1.name = 'a'")]


def test_a_schema_is_read_once_and_then_restored_from_a_file(start: Any, connect: Any) -> None:
    (first, endpoint), (later, other_endpoint) = start(), start()
    client = connect(endpoint)
    for question in ("How many?", "How many?", "Which?"):
        assert client.write(prompt(question)).text == ANSWER
    connect(other_endpoint).write(prompt("Which?"))

    assert first.kinds == ["template", "prefix", "save", "chat", "chat", "chat"]
    assert first.prefixes == [f"<system>SQL<user>{SCHEMA}"]
    assert later.kinds == ["restore", "chat"]
    keys = {value for headers in later.headers for name, value in headers.items() if name.lower() == "authorization"}
    assert keys == {f"Bearer {other_endpoint.key}"}


def test_another_schema_is_read_anew(start: Any, connect: Any) -> None:
    fake, endpoint = start()
    client = connect(endpoint)
    for schema in (SCHEMA, SCHEMA.upper(), SCHEMA, "short(id)"):
        client.write(prompt("How many?", schema))

    assert fake.kinds == [*2 * ["template", "prefix", "save", "chat"], "restore", "chat", "chat"]


def test_the_file_contains_no_question(start: Any, connect: Any, tmp_path: Path) -> None:
    _, endpoint = start()
    connect(endpoint).write(prompt("How many?"))

    (path,) = (tmp_path / "prompts").iterdir()
    assert path.read_text() == f"<system>SQL<user>{SCHEMA}"


def test_a_damaged_file_is_not_restored(start: Any, connect: Any, tmp_path: Path) -> None:
    (_, endpoint), (later, other_endpoint) = start(), start()
    connect(endpoint).write(prompt("How many?"))
    (path,) = (tmp_path / "prompts").iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    connect(other_endpoint).write(prompt("How many?"))

    assert later.kinds == ["template", "prefix", "save", "chat"]


def test_a_prompt_that_cannot_be_prepared_is_sent_whole(start: Any, connect: Any) -> None:
    fake, endpoint = start()
    fake.answers = [Reply(status=500)]
    client = connect(endpoint)

    assert client.write(prompt("How many?")).text == ANSWER
    assert fake.kinds == ["chat"]


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [
        (503, ModelUnreachable, "Error code: 503 - status 503"),
        (400, ModelRejected, "status 400"),
    ],
)
def test_an_error_of_the_server_is_quoted(
    start: Any, connect: Any, status: int, error: type[Exception], text: str
) -> None:
    fake, endpoint = start()
    fake.answers = [Reply(status=500), Reply(status=status)]
    with pytest.raises(error, match=text):
        connect(endpoint).write(prompt("How many?"))


def test_the_server_is_chosen_for_each_prompt(start: Any, connect: Any) -> None:
    (first, one), (second, two) = start(), start()
    client = connect(one, one, two)
    for question in ("How many?", "How many?", "Which?"):
        client.write(prompt(question))

    assert [fake.kinds.count("chat") for fake in (first, second)] == [2, 1]


class Words(TypedDict):
    text: str


def run(client: ModelClient, waits: Queue[Any]) -> None:
    """Ask in a graph, and put what the graph waits for into `waits`, and None at its end."""

    def node(state: Words) -> Words:
        return {"text": client.write(prompt("How many?")).text}

    builder = StateGraph(Words)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    for chunk in builder.compile().stream({"text": ""}, stream_mode="custom"):
        waits.put(chunk)
    waits.put(None)


def test_a_run_that_waits_for_another_answer_says_so(start: Any, connect: Any) -> None:
    _, endpoint = start()
    client, waits = connect(endpoint), Queue[Any]()
    run(client, waits)
    assert waits.get_nowait() is None

    with local.request_lock:
        runner = threading.Thread(target=run, args=(client, waits))
        runner.start()
        assert waits.get(timeout=10) == {"event": "waiting", "data": {"for": "waiting_for_model"}}
    runner.join()
    assert waits.get_nowait() is None


def test_waiting_for_another_answer_ends_with_the_time_of_the_question(start: Any, connect: Any) -> None:
    fake, endpoint = start()
    client = connect(endpoint, seconds=0.02)
    with local.request_lock, pytest.raises(Unavailable, match=r"within 0\.02 s"):
        client.write(prompt("How many?"))
    assert fake.kinds == []


def test_a_request_has_the_time_that_is_left_of_the_question(start: Any, connect: Any) -> None:
    fake, endpoint = start()
    client, released = connect(endpoint), threading.Event()
    fake.default = Reply(ANSWER, hang=released)
    step = Step("generate_sql", {**new_audit("trace"), "latency_ms": 29_950.0})
    try:
        with recorded_on(step), pytest.raises(Unavailable):
            client.write(prompt("How many?"))
    finally:
        released.set()

"""LangGraph Studio's local server: `langgraph dev` starts offline from langgraph.json and runs the graph."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.server.loopback import foreign_sender
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.walk import NODES
from tests.conftest import VALID
from tests.support.best_customer import ASKS, BEST, BY_ORDERS
from tests.support.collector import KeepingServer
from tests.support.databases import make_table, url
from tests.support.fake_openai import FakeOpenAI
from tests.support.server_process import free_port

ROOT = Path(__file__).parents[3]
STARTS_WITHIN_S = 90
ENDS_WITHIN_S = 10
ASKED = {"question": "How many customers do we have?"}
COUNT = {"sql": "SELECT COUNT(*) AS customers FROM customers", "assumptions": [], "off_topic": False}
RUN = {"assistant_id": "agent", "input": ASKED}
LONG_AGO_NS = 1_000_000_000
STRICT = """
import os, sys

def refuse(event, args):
    writes = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writes or event in {"socket.connect", "socket.getaddrinfo", "sqlite3.connect", "subprocess.Popen", "os.mkdir"}:
        raise RuntimeError(f"I/O: {event} {args}")

sys.addaudithook(refuse)
"""


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import datasphinx.agent.graph, datasphinx.agent.analyst, datasphinx.agent.server.studio", True),
        ("open('left_behind', 'w')", False),
        ("import sqlite3; sqlite3.connect(':memory:')", False),
        ("import socket; socket.create_connection(('127.0.0.1', 9))", False),
    ],
)
def test_importing_the_graph_does_no_io(code: str, allowed: bool) -> None:
    run = subprocess.run([sys.executable, "-B", "-c", STRICT + code], cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode == 0) is allowed, run.stderr
    assert allowed or "RuntimeError: I/O" in run.stderr


@pytest.mark.heavy
@pytest.mark.process
def test_importing_the_graphs_leaves_slow_packages_out() -> None:
    slow = {"openai", "langchain_openai", "langchain", "langgraph_api", "fastapi", "pandas", "quickjs", "duckdb"}
    imported = "datasphinx.agent.graph, datasphinx.agent.analyst, datasphinx.agent.server.studio"
    code = f"import sys, {imported}; print(*({slow} & sys.modules.keys()))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


@pytest.mark.heavy
@pytest.mark.process
def test_the_served_graphs_need_no_package_of_the_server() -> None:
    absent = "import sys; sys.modules.update(dict.fromkeys(('fastapi', 'langserve', 'prometheus_client')))"
    run = subprocess.run(
        [sys.executable, "-c", f"{absent}; import datasphinx.agent.server.studio"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


@pytest.fixture(scope="module")
def model() -> Iterator[FakeOpenAI]:
    """The endpoint that the graph asks; it takes each test's answers."""
    with FakeOpenAI() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def studio_url(model: FakeOpenAI, cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a `langgraph dev` that runs in a copy of the project, so that it leaves nothing behind."""
    if find_spec("langgraph_cli") is None:
        assert not os.environ.get("CI"), "langgraph-cli is not installed"
        pytest.skip("langgraph-cli is not installed")
    project = _copy_project(tmp_path_factory.mktemp("project"))
    sources = {
        "things": url(make_table(project, "thing TEXT", [["one"], ["two"]])),
        "gone": f"sqlite:///{project}/no such place/gone.sqlite",
    }
    environment = {**_environment(model.base_url, cache_dir), "DATASPHINX_SOURCES": json.dumps(sources)}
    environment["DATASPHINX_SOURCE"] = "sample"
    environment["DATASPHINX_PRICES"] = json.dumps({"other": {"input": 1, "output": 1}})
    with running_studio(project, environment) as base:
        yield base


@contextmanager
def running_studio(project: Path, environment: dict[str, str]) -> Iterator[str]:
    """Yield the URL of `langgraph dev` in `project` as soon as it answers; end it with all its children."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", str(port)]
    log = project / "langgraph-dev.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=project, env=environment, stdout=output, stderr=output, start_new_session=True
        )
        try:
            _wait_until_ready(process, f"{url}/ok", log)
            yield url
        finally:
            _end(process)


def _copy_project(project: Path) -> Path:
    shutil.copy(ROOT / "langgraph.json", project)
    for package in ("agent", "datasphinx", "nodes", "prompts"):
        shutil.copytree(ROOT / package, project / package, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    return project


def _environment(base_url: str, cache_dir: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DATASPHINX_", "LANG", "OPENAI"))}
    # Whatever is not on loopback goes to a proxy that is not there: the server has to do without a network.
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    return {
        **kept,
        **nowhere,
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "1",
        "LANGSMITH_TRACING": "false",
        "PYTHONDONTWRITEBYTECODE": "1",
        "DATASPHINX_LLM_BASE_URL": base_url,
        "DATASPHINX_LLM_PROFILE": "standard",
        "DATASPHINX_DATA_DIR": str(cache_dir),
        "DATASPHINX_LLM_MODEL": "fake",
        "DATASPHINX_CACHE_DIR": str(cache_dir),
    }


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(httpx.TransportError):
            if httpx.get(url, timeout=2, trust_env=False).status_code == 200:
                return
        time.sleep(0.1)
    pytest.fail(f"langgraph dev is not ready; exit code {process.poll()}\n{log.read_text(errors='replace')}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and its children: they are a session of their own."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDS_WITHIN_S)


@pytest.fixture
def studio(studio_url: str, model: FakeOpenAI) -> Iterator[Any]:
    """A client of the running server."""
    from langgraph_sdk import get_sync_client

    model.answers.clear()
    model.requests.clear()
    with get_sync_client(url=studio_url) as client:
        yield client


@pytest.fixture
def new_assistant(studio: Any) -> Iterator[Callable[..., str]]:
    """Creates assistants of the SQL agent with a context, for one test."""
    created: list[str] = []

    def create(**context: Any) -> str:
        created.append(studio.assistants.create("agent", context=context)["assistant_id"])
        return created[-1]

    yield create
    for assistant in created:
        studio.assistants.delete(assistant)


def test_the_input_is_described_and_the_nodes_are_drawn(studio: Any) -> None:
    assistant = studio.assistants.search(graph_id="agent")[0]["assistant_id"]
    assert "question" in studio.assistants.get_schemas(assistant)["input_schema"]["properties"]
    drawn = {node["id"] for node in studio.assistants.get_graph(assistant)["nodes"]}
    assert set(NODES) <= drawn


def test_the_picture_has_descriptions_and_labels(studio: Any) -> None:
    for graph in ("agent", "analyst", "report"):
        assistant = studio.assistants.search(graph_id=graph)[0]["assistant_id"]
        drawn = studio.assistants.get_graph(assistant)
        nodes = [node for node in drawn["nodes"] if node["id"] not in ("__start__", "__end__")]
        assert all(node["metadata"]["description"] for node in nodes)
        unlabelled = [edge for edge in drawn["edges"] if not edge.get("data")]
        assert [(edge["source"], edge["target"]) for edge in unlabelled] == [("__start__", "begin")]


def test_an_assistant_has_a_context(studio: Any, new_assistant: Callable[..., str], model: FakeOpenAI) -> None:
    default = studio.assistants.search(graph_id="agent")[0]["assistant_id"]
    described = studio.assistants.get_schemas(default)["context_schema"]["properties"]
    assert list(described) == ["model", "source", "clarify", "effort"]
    assistant = new_assistant(model="other", source="things", clarify="never", effort="high")
    things = {**COUNT, "sql": "SELECT COUNT(*) AS things FROM things"}
    model.answers.extend([things, things, things])
    output = studio.runs.wait(None, assistant, input={"question": "How many things are there?"})
    assert (output["error"], output["value"]) == (None, 2)
    assert model.schemas == ["GeneratedSQL"] * 3
    assert {request["model"] for request in model.requests} == {"other"}


@pytest.mark.parametrize(("name", "value"), [("effort", "huge"), ("clarify", 1), ("model", "gpt-unknown")])
def test_a_wrong_context_of_an_assistant_is_a_clear_error(
    studio: Any, new_assistant: Callable[..., str], model: FakeOpenAI, name: str, value: Any
) -> None:
    error = studio.runs.wait(None, new_assistant(**{name: value}), input=ASKED)["error"]
    assert error["code"] == "input_invalid" and f"context.{name}" in error["message"]
    assert model.requests == []


@pytest.mark.parametrize("source", ["sqlite:///{folder}/private.sqlite", "{folder}/private.csv"])
def test_a_context_cannot_name_a_source_that_is_not_configured(
    studio: Any, new_assistant: Callable[..., str], model: FakeOpenAI, private: Path, source: str
) -> None:
    assistant = new_assistant(source=source.format(folder=private))
    assert studio.runs.wait(None, assistant, input=ASKED)["error"]["code"] == "source_not_found"
    assert model.requests == [] and not opened(private / "private.sqlite") and not opened(private / "private.csv")


def test_a_chat_sends_messages(studio: Any, model: FakeOpenAI) -> None:
    thread = studio.threads.create()["thread_id"]
    model.answers.append(COUNT)
    said = [{"type": "human", "content": [{"type": "text", "text": ASKED["question"]}]}]
    parts = list(studio.runs.stream(thread, "agent", input={"messages": said}, stream_mode=["values"]))
    (question, answer) = parts[-1].data["messages"]
    assert (question["type"], answer["type"]) == ("human", "ai")
    assert answer["content"] == parts[-1].data["answer"]
    assert model.requests[0]["messages"][-1]["content"].count(ASKED["question"]) >= 1


# Which sources a question can name


def opened(path: Path) -> bool:
    """Whether anything has read `path` since it was put there; its time of access is long ago otherwise."""
    return path.stat().st_atime_ns != LONG_AGO_NS


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A database and a file that no setting names."""
    make_table(tmp_path, "thing TEXT", [["hidden"]]).rename(tmp_path / "private.sqlite")
    (tmp_path / "private.csv").write_text("thing\nhidden\n")
    for path in tmp_path.iterdir():
        os.utime(path, ns=(LONG_AGO_NS, path.stat().st_mtime_ns))
        assert not opened(path) and path.read_bytes() and opened(path), "reading does not change the time of access"
        os.utime(path, ns=(LONG_AGO_NS, path.stat().st_mtime_ns))
    return tmp_path


@pytest.mark.parametrize("graph", ["agent", "analyst"])
@pytest.mark.parametrize(
    "source",
    [
        "sqlite:///{folder}/private.sqlite",
        "sqlite:////{folder}/private.sqlite?mode=ro",
        "duckdb:///{folder}/private.sqlite",
        "SQLITE:///{folder}/private.sqlite",
        "postgresql://postgres@127.0.0.1:5432/postgres",
        "{folder}/private.sqlite",
        "file://{folder}/private.csv",
    ],
)
def test_a_source_that_is_not_configured_is_refused(
    studio: Any, model: FakeOpenAI, private: Path, graph: str, source: str
) -> None:
    named = source.format(folder=private)
    output = studio.runs.wait(None, graph, input={"question": "How many things are there?", "source": named})
    assert output["error"]["code"] == "source_not_found"
    assert model.requests == [] and not opened(private / "private.sqlite") and not opened(private / "private.csv")


@pytest.mark.parametrize("name", ["{folder}/private.csv", "{folder}/private.sqlite", "../private.csv", "/etc/passwd"])
def test_a_file_path_is_refused(studio: Any, model: FakeOpenAI, private: Path, name: str) -> None:
    named = name.format(folder=private)
    output = studio.runs.wait(None, "analyst", input={"question": "How many?", "files": [named]})
    assert output["error"]["code"] == "file_unknown"
    assert model.requests == [] and not opened(private / "private.sqlite") and not opened(private / "private.csv")


def test_a_source_that_is_put_into_the_state_is_refused(studio: Any, model: FakeOpenAI, private: Path) -> None:
    named = f"sqlite:///{private}/private.sqlite"
    thread = studio.threads.create()["thread_id"]
    model.answers.extend([COUNT, VALID])
    studio.runs.wait(thread, "agent", input=ASKED)
    stated = {"sql_request": "SELECT * FROM things", "source": named, "given": {"source": named}, "error": None}
    studio.threads.update_state(thread, stated, as_node="check_stop_words")
    with suppress(httpx.HTTPStatusError):
        studio.runs.wait(thread, "agent", input=None)
    assert "hidden" not in str(studio.threads.get_state(thread)) and not opened(private / "private.sqlite")


@pytest.mark.parametrize("graph", ["agent", "analyst"])
def test_an_error_names_no_directory(studio: Any, graph: str) -> None:
    thread = studio.threads.create()["thread_id"]
    output = studio.runs.wait(thread, graph, input={"question": "How many things are there?", "source": "gone"})
    assert output["error"]["code"] == "source_not_found" and "gone.sqlite" in output["error"]["message"]
    shown = json.dumps([output, studio.threads.get_state(thread)["values"]])
    assert "no such place" not in shown and str(ROOT) not in shown


def test_a_caller_in_the_same_process_names_urls_and_paths(
    cache_dir: Path, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasphinx.agent.analyst
    import datasphinx.agent.graph

    answers = {"GeneratedSQL": [{**COUNT, "sql": "SELECT COUNT(*) AS things FROM things"}], "SQLValidation": [VALID]}
    services = Services(load_settings(cache_dir=cache_dir, data_dir=cache_dir), model=ScriptedModel(answers))
    asked = {"question": "How many things are there?", "source": f"sqlite:///{private}/private.sqlite"}
    assert datasphinx.agent.graph.build_graph(services).invoke(asked)["value"] == 1
    assert datasphinx.agent.graph.graph is not None and datasphinx.agent.analyst.graph is not None
    assert Services().any_source


# Who can reach the server

STUDIO = "https://smith.langchain.com"
FOREIGN = [
    "https://evil.example",
    "http://localhost:3000",
    "null",
    "https://smith.langchain.com.evil.example",
    "http://smith.langchain.com",
    "https://evil.smith.langchain.com",
    "http://[::1",
]
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-api-key"}


def test_the_origin_of_studio_is_allowed(studio_url: str) -> None:
    preflight = httpx.options(f"{studio_url}/runs/stream", headers={"Origin": STUDIO, **PREFLIGHT}, trust_env=False)
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (200, STUDIO)
    assert "POST" in preflight.headers["access-control-allow-methods"]
    simple = httpx.post(f"{studio_url}/assistants/search", headers={"Origin": STUDIO}, json={}, trust_env=False)
    assert (simple.status_code, simple.headers["access-control-allow-origin"]) == (200, STUDIO)
    assert "access-control-allow-credentials" not in simple.headers
    assert len(simple.json()) == 3


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_foreign_origin_gets_no_permission_and_no_answer(studio_url: str, model: FakeOpenAI, origin: str) -> None:
    model.requests.clear()
    headers = {"Origin": origin}
    with httpx.Client(base_url=studio_url, trust_env=False) as http:
        answers = [
            http.options("/runs/wait", headers=headers | PREFLIGHT),
            http.get("/info", headers=headers),
            # A browser sends this one without a preflight request.
            http.post("/runs/wait", headers=headers | {"Content-Type": "text/plain"}, content=json.dumps(RUN)),
        ]
    for answer in answers:
        assert answer.status_code == 403 and answer.json()["code"] == "origin_refused"
        assert "access-control-allow-origin" not in answer.headers
    assert model.requests == []


@pytest.mark.parametrize("host", ["evil.example", "evil.example:2024", "192.0.2.7", "localhost.evil.example", ""])
def test_a_foreign_host_name_is_refused(studio_url: str, host: str) -> None:
    answer = httpx.get(f"{studio_url}/info", headers={"Host": host}, trust_env=False)
    assert answer.status_code in (400, 403) and "version" not in answer.text


def test_a_page_cannot_open_a_websocket(studio_url: str, studio: Any) -> None:
    thread = studio.threads.create()["thread_id"]
    host = studio_url.removeprefix("http://")
    opening = (
        f"GET /threads/{thread}/stream/events HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    )
    answers = {}
    for origin in (STUDIO, "https://evil.example"):
        address = host.split(":")
        with socket.create_connection((address[0], int(address[1])), timeout=10) as connection:
            connection.sendall(f"{opening}Origin: {origin}\r\n\r\n".encode())
            answers[origin] = connection.recv(100).split(b"\r\n")[0]
    assert answers == {STUDIO: b"HTTP/1.1 101 Switching Protocols", "https://evil.example": b"HTTP/1.1 403 Forbidden"}


@pytest.mark.parametrize(
    ("changes", "sender"),
    [
        ({}, None),
        ({"type": "websocket"}, None),
        ({"server": ("::1", 2024)}, None),
        ({"server": ("192.0.2.7", 2024)}, "192.0.2.7"),
        ({"type": "websocket", "server": ("192.0.2.7", 2024)}, "192.0.2.7"),
        ({"server": ("::ffff:192.0.2.7", 2024)}, "::ffff:192.0.2.7"),
        ({"headers": [(b"host", b"evil.example")]}, "evil.example"),
        ({"headers": [(b"host", b"localhost"), (b"origin", b"null")]}, "null"),
        ({"headers": [(b"host", b"localhost"), (b"origin", b"http://localhost")]}, None),
        ({"headers": [(b"host", b"localhost"), (b"origin", b"http://localhost:1")]}, "http://localhost:1"),
        ({"headers": []}, "a request without Host"),
        ({"type": "lifespan", "headers": []}, None),
    ],
)
def test_what_shows_a_foreign_sender(changes: dict[str, Any], sender: str | None) -> None:
    scope = {"type": "http", "server": ("127.0.0.1", 2024), "headers": [(b"host", b"127.0.0.1:2024")], **changes}
    assert foreign_sender(scope) == sender


def test_a_local_program_needs_no_origin(studio_url: str) -> None:
    for host in (None, "localhost", "127.0.0.1:1", "[::1]:5"):
        answer = httpx.get(f"{studio_url}/info", headers={"Host": host} if host else {}, trust_env=False)
        assert answer.status_code == 200 and "access-control-allow-origin" not in answer.headers


def test_a_question_back_interrupts_and_is_resumed(studio: Any, model: FakeOpenAI) -> None:
    thread = studio.threads.create()["thread_id"]
    model.answers.append(ASKS)
    asked = studio.runs.wait(thread, "agent", input={"question": BEST, "enable_sql_validation": True})
    (interrupt,) = studio.threads.get_state(thread)["interrupts"]
    assert asked["clarification"].items() <= interrupt["value"].items()
    assert interrupt["value"]["question"] == ASKS["question"]
    assert studio.threads.get(thread)["status"] == "interrupted"

    model.answers.append(VALID)
    output = studio.runs.wait(thread, "agent", command={"resume": "1"})
    assert (output["error"], output["clarification"], output["sql"]) == (None, None, BY_ORDERS)
    assert model.schemas == ["GeneratedSQL", "SQLValidation"]
    assert studio.threads.get(thread)["status"] == "idle"


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.parametrize("is_allowed", [True, False])
def test_langsmith_gets_runs_only_if_it_is_allowed(is_allowed: bool, cache_dir: Path, tmp_path: Path) -> None:
    pytest.importorskip("langgraph_cli")
    from langgraph_sdk import get_sync_client

    with KeepingServer() as smith, FakeOpenAI(default=json.dumps(COUNT)) as model:
        environment = {
            **_environment(model.base_url, cache_dir),
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_ENDPOINT": smith.url,
            "LANGSMITH_API_KEY": "lsv2_key",
            "LANGSMITH_DISABLE_RUN_COMPRESSION": "true",
            "DATASPHINX_SOURCE": "sample",
            "DATASPHINX_EFFORT": "low",
            "DATASPHINX_ALLOW_LANGSMITH": str(is_allowed).lower(),
        }
        with running_studio(_copy_project(tmp_path), environment) as base, get_sync_client(url=base) as client:
            for mode in ("values", "events"):
                chunks = list(client.runs.stream(None, "agent", input=ASKED, stream_mode=mode))
                assert COUNT["sql"] in str(chunks)
    sent = b"\n".join(smith.bodies).decode(errors="replace")
    for text in (ASKED["question"], COUNT["sql"]):
        assert (text in sent) is is_allowed
    assert any("runs" in path for path in smith.paths) is is_allowed

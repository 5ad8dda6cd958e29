"""Text that UTF-8 cannot encode: replaced where it enters, so that no record, stream, file or terminal fails on it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasphinx.agent.core.text import valid_text
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.replay import replay
from datasphinx.agent.server.app import create_app
from datasphinx.agent.services import Services
from datasphinx.agent.settings import SourceSettings, load_settings
from datasphinx.agent.types import Limits
from tests.agent.server.serving import running
from tests.conftest import VALID
from tests.support.characters import ANY
from tests.support.databases import make_database, url
from tests.support.fake_openai import FakeOpenAI
from tests.support.servers import POSTGRES_URL

pytestmark = pytest.mark.integration

LONE = "\ud800"
QUESTION = "How many orders were placed?"
SQL = f"SELECT COUNT(*) AS orders, '{LONE}' AS mark FROM orders"
GENERATED = {"sql": SQL, "assumptions": [f"all {LONE} orders"], "off_topic": False}


def valid(value: Any) -> bool:
    json.dumps(value, ensure_ascii=False, default=str).encode()
    return True


# The function


@given(st.text(ANY))
def test_text_without_surrogates_stays(text: str) -> None:
    assert valid_text(text) == text


@given(st.lists(st.sampled_from(["a", "я", "😀", "\ud800", "\udbff", "\udc00", "\udfff", "\x00"])).map("".join))
def test_any_text_can_be_encoded_afterwards(text: str) -> None:
    once = valid_text(text)
    assert once.encode().decode() == once == valid_text(once)
    assert [char for char in once if char in "aя\x00"] == [char for char in text if char in "aя\x00"]


# Model output


@pytest.fixture
def endpoint() -> Iterator[FakeOpenAI]:
    """An endpoint that writes a lone surrogate into every answer, as an escape in its JSON and as text."""
    texts = {"GeneratedSQL": json.dumps(GENERATED), "SQLValidation": json.dumps({**VALID, "reason": f"it {LONE}"})}

    def answer(request: dict[str, Any]) -> str:
        name = request.get("response_format", {}).get("json_schema", {}).get("name")
        return f"{LONE} {texts.get(name, LONE)} {LONE}"

    with FakeOpenAI(default=answer) as fake:
        yield fake


@pytest.fixture
def settings(endpoint: FakeOpenAI, cache_dir: Path, tmp_path: Path) -> dict[str, Any]:
    return {
        "llm_base_url": endpoint.base_url,
        "llm_model": "fake",
        "cache_dir": cache_dir,
        "data_dir": tmp_path / "data",
        "clarify": "never",
    }


def test_model_output_over_http(settings: dict[str, Any]) -> None:
    services = Services(load_settings(**settings), any_source=False)
    asked = {"input": {"question": QUESTION}}
    with running(create_app(services)) as base, httpx.Client(base_url=base, timeout=30) as http:
        output = http.post("/agent/invoke", json=asked).json()["output"]
        assert output["error"] is None and "\ufffd" in output["sql"]
        assert output["audit"]["assumptions"] == ["all \ufffd orders"]
        again = {"input": {"question": "And per status?", "thread_id": output["thread_id"]}}
        trace, thread = f"/traces/{output['audit']['trace_id']}", f"/threads/{output['thread_id']}"
        answers = [
            *(http.post(f"/agent/{way}", json=asked) for way in ("stream", "stream_events")),
            http.post("/agent/batch", json={"inputs": [asked["input"]]}),
            http.post("/agent/events", json=asked["input"]),
            http.post("/agent/invoke", json=again),
            http.post(f"{thread}/feedback", json={"accepted": False, "comment": "others"}),
            *(http.get(path) for path in (trace, thread, f"{thread}/history", "/metrics")),
            http.post(f"{trace}/replay"),
        ]
    assert [answer.status_code for answer in answers] == [200] * len(answers)
    assert not [answer.url for answer in answers if "event: error" in answer.text or "event: problem" in answer.text]
    for answer in answers:
        parts = [line.partition("data: ")[2] for line in answer.text.splitlines() if line.startswith("data: {")]
        is_json = answer.headers["content-type"] == "application/json"
        assert all(valid(json.loads(part)) for part in (parts or ([answer.text] if is_json else []))), answer.url


def test_model_output_on_record_and_in_a_replay(settings: dict[str, Any]) -> None:
    services = Services(load_settings(**settings))
    output = build_graph(services).invoke({"question": QUESTION})
    assert output["error"] is None and output["audit"]["recorded"] and valid(output)
    assert services.store
    events = services.store.run(output["audit"]["trace_id"])
    assert valid([event.as_json() for event in events])
    assert replay(services.store, output["audit"]["trace_id"], services.settings).as_json()["same"]


def test_a_call_of_a_tool(cache_dir: Path, tmp_path: Path) -> None:
    from datasphinx.agent.analyst import build_analyst

    path = tmp_path / "cities.csv"
    path.write_text("city,units\nKazan,1\nTver,2\n")
    query = {"aggregations": [{"as": f"n{LONE}", "agg": "count"}], "filters": [{"col": LONE, "op": "=", "value": LONE}]}

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        return {"tool": tool, "arguments": json.dumps(arguments)}

    steps = [
        {"tool": f"run{LONE}", "arguments": "{}"},
        call("run_query", dataset_id=LONE, query=query),
        call("finish", answer=f"No {LONE}."),
        call("finish", cannot_answer=f"no {LONE}"),
    ]
    with FakeOpenAI(steps, default=steps[-1]) as fake:
        named = {"llm_base_url": fake.base_url, "llm_model": "fake", "clarify": "never"}
        services = Services(load_settings(cache_dir=cache_dir, data_dir=tmp_path / "data", **named))
        output = build_analyst(services).invoke({"question": "How many?", "files": [str(path)]})
    assert valid(output) and output["error"]["code"] != "internal_error"


# What users send


@pytest.mark.parametrize(
    "given_",
    [
        {"question": f"How many {LONE} orders?"},
        {"question": QUESTION, "source": LONE},
        {"question": QUESTION, "thread_id": LONE},
        {"clarification_answer": LONE, "thread_id": "0" * 32},
        {"feedback": {"accepted": False, "comment": LONE}, "thread_id": "0" * 32},
        {LONE: 1, "question": QUESTION},
    ],
)
def test_http_input_that_is_no_unicode_is_refused(settings: dict[str, Any], given_: dict[str, Any]) -> None:
    services = Services(load_settings(**settings), any_source=False)
    raw = json.dumps({"input": given_}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    with running(create_app(services)) as base, httpx.Client(base_url=base, timeout=30) as http:
        events = http.post("/agent/events", content=json.dumps(given_), headers={"Content-Type": "application/json"})
        answers = [
            http.post("/agent/invoke", content=json.dumps({"input": given_})),
            http.post("/agent/stream", content=json.dumps({"input": given_})),
            http.post("/agent/batch", content=json.dumps({"inputs": [given_]})),
            http.post("/agent/invoke", content=raw),
        ]
    assert [answer.status_code for answer in answers] == [422] * len(answers)
    assert all(valid(answer.json()) for answer in answers)
    # FastAPI reads this one, and refuses no text without a bound: what it lets through is cleaned.
    assert events.status_code == 422 or "thread_unknown" in events.text


@pytest.mark.parametrize(
    "given_",
    [
        {"question": f"How many orders {LONE} were placed?"},
        {"question": QUESTION, "source": LONE},
        {"question": QUESTION, "output_type": LONE},
        {"question": QUESTION, "clarify": LONE},
        {"question": QUESTION, "feedback": {"accepted": False, "comment": LONE}},
        {"clarification_answer": LONE, "question": LONE},
    ],
)
def test_input_of_python_callers(settings: dict[str, Any], given_: dict[str, Any]) -> None:
    services = Services(load_settings(**settings))
    output = build_graph(services).invoke(given_)
    code = (output["error"] or {}).get("code")
    assert valid({**output, "error": code}) and code != "internal_error"


# What databases and files hold


def test_cells_and_names_of_a_database(tmp_path: Path) -> None:
    odd = "INSERT INTO things VALUES (CAST(x'61EDA080FF62' AS TEXT))"
    path = make_database(tmp_path, "CREATE TABLE things (thing TEXT)", odd)
    services = Services(
        load_settings(cache_dir=tmp_path / "cache", source=url(path), record=False), model=ScriptedModel()
    )
    result = services.source().execute("SELECT thing FROM things")
    assert valid(result) and result["rows"][0][0].startswith("a") and result["rows"][0][0].endswith("b")


@pytest.mark.postgres
def test_a_json_cell_of_postgresql() -> None:
    from datasphinx.agent.sources.source import open_source

    base = POSTGRES_URL
    settings = SourceSettings(url=base.replace("+psycopg", ""), allow_writable_account=True)
    source = open_source(settings, Limits(10, 10))
    result = source.execute("""SELECT CAST('{"a\\ud800": ["\\udc00"]}' AS JSON) AS cell""")
    assert valid(result) and result["rows"] == [[{"a\ufffd": ["\ufffd"]}]]


def test_the_name_of_a_file(cache_dir: Path, tmp_path: Path) -> None:
    registry = Services(load_settings(cache_dir=cache_dir, data_dir=tmp_path / "data")).registry
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/sales\xff.csv"))
    path.write_text("city,units\nKazan,1\nTver,2\n")
    dataset = registry.create(registry.add_file(path))
    assert dataset.name == "sales\ufffd.csv" and valid(dataset.to_json())


def test_a_data_frame(cache_dir: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    cells = [[f"x{LONE}", 1, [LONE]], ["y", 2, []]]
    frame = pandas.DataFrame(cells, dtype=object, columns=pandas.Index([f"a{LONE}", "n", "l"], dtype=object))
    registry = Services(load_settings(cache_dir=cache_dir, data_dir=tmp_path / "data")).registry
    dataset = registry.create_from_frame(frame, "frame")
    assert valid(dataset.to_json()) and dataset.row_count == 2


# The command line


def datasphinx(settings: dict[str, Any], *arguments: str | bytes) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, whose output is UTF-8 and strict."""
    named = {f"DATASPHINX_{name.upper()}": str(value) for name, value in settings.items()}
    environment = {
        **os.environ,
        **named,
        "PYTHONIOENCODING": "utf-8:strict",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    command = [sys.executable, "-W", "ignore", "-c", "from datasphinx.agent.cli import main; main()", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.parametrize("as_json", [False, True])
def test_model_output_on_the_command_line(settings: dict[str, Any], as_json: bool) -> None:
    run = datasphinx(settings, "ask", QUESTION, *(["--json"] if as_json else []))
    assert (run.returncode, b"Traceback" in run.stderr) == (0, False), run.stderr
    text = run.stdout.decode()
    assert not as_json or json.loads(text)["audit"]["assumptions"] == ["all \ufffd orders"]


@pytest.mark.heavy
@pytest.mark.process
def test_arguments_that_are_no_utf8(settings: dict[str, Any], tmp_path: Path) -> None:
    asked = datasphinx(settings, "ask", b"How many orders \xff were placed?", "--json")
    assert asked.returncode == 0 and json.loads(asked.stdout.decode())["value"] is not None, asked.stderr
    for arguments in (
        [b"--source", b"sqlite:///no\xff.db"],
        [b"--source", b"no\xff"],
        [b"--thread", b"\xff"],
    ):
        for more in ([], ["--json"]):
            run = datasphinx(settings, "ask", QUESTION, *arguments, *more)
            assert run.returncode not in (0, 1) and b"Traceback" not in run.stderr, run.stderr
            assert not more or not run.stdout or json.loads(run.stdout.decode())["error"]

"""The log as JSON lines: with trace ids and without secrets."""

import gc
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent import cli
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.logs import configure_logs
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, load_settings
from tests.conftest import VALID
from tests.support.fake_openai import FakeOpenAI

COUNT = {"sql": "SELECT COUNT(*) AS orders FROM orders", "assumptions": [], "off_topic": False}
KEY = "sk-test-0123456789abcdef"
PASSWORD = "correct-horse-battery"


@pytest.fixture(autouse=True)
def handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the logging of the process, and its collector of garbage, as they were."""
    root, own = logging.getLogger(), logging.getLogger("datasphinx")
    before = list(root.handlers), root.level, own.level
    monkeypatch.setattr(gc, "freeze", lambda: None)
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    own.setLevel(before[2])
    gc.enable()


def lines_of(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def ask(settings: Settings, model: ScriptedModel, question: str = "How many orders are there?") -> dict[str, Any]:
    return build_graph(Services(settings, model=model)).invoke({"question": question})


def test_every_line_is_json_with_the_trace_id_of_its_question(cache_dir: Path) -> None:
    stream = io.StringIO()
    settings = load_settings(cache_dir=cache_dir, log_json=True, enable_sql_validation=True)
    configure_logs(settings, stream)
    outputs = [ask(settings, ScriptedModel({"GeneratedSQL": [COUNT], "SQLValidation": [VALID]})) for _ in range(2)]
    lines = lines_of(stream)
    assert {line["trace_id"] for line in lines} == {output["audit"]["trace_id"] for output in outputs}
    assert all({"event", "level", "logger", "time"} <= set(line) for line in lines)
    (statement, _) = [line for line in lines if line.get("event_kind") == "statement"]
    assert (statement["rows"], statement["node"]) == (1, "execute_sql")


def test_a_traceback_is_one_line_with_the_trace_id(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    settings = load_settings(cache_dir=cache_dir, log_json=True, enable_sql_validation=True)
    configure_logs(settings, stream)

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError(f"while drawing with {KEY} on postgresql://u:{PASSWORD}@h/db")

    monkeypatch.setattr("datasphinx.agent.answers.outputs.chart_of", broken)
    output = ask(settings, ScriptedModel({"GeneratedSQL": [COUNT], "SQLValidation": [VALID]}))
    (line,) = [line for line in lines_of(stream) if line["level"] == "error"]
    assert output["error"]["code"] == "internal_error"
    assert "ZeroDivisionError" in line["exception"] and "Traceback" in line["exception"]
    assert line["trace_id"] == output["audit"]["trace_id"]
    assert PASSWORD not in stream.getvalue()


def test_no_secret_is_in_the_log(cache_dir: Path) -> None:
    stream = io.StringIO()
    settings = load_settings(
        enable_sql_validation=True,
        cache_dir=cache_dir,
        llm_api_key=KEY,
        log_json=True,
        source="sample",
        sources={"store": f"postgresql://reader:{PASSWORD}@127.0.0.1:1/x"},
    )
    configure_logs(settings, stream)
    said = {**VALID, "reason": f"the key is {KEY} and the password {PASSWORD}"}
    ask(settings, ScriptedModel({"GeneratedSQL": [COUNT], "SQLValidation": [said]}), f"How many orders? {KEY}")
    ask(
        settings,
        ScriptedModel({"GeneratedSQL": [RuntimeError(f"{KEY} postgresql://a:third-secret@b/c?password=x9x9x9")]}),
    )
    logging.getLogger("some.library").warning("GET %s", "https://u:fourth-secret@host/?api_key=fifth-secret&x=1")
    logging.getLogger("datasphinx").info("header", extra={"sent": {"authorization": "Bearer abcdef123456"}})
    text = stream.getvalue()
    assert "the password ***" in text
    for secret in (KEY, PASSWORD, "third-secret", "x9x9x9", "fourth-secret", "fifth-secret", "abcdef123456"):
        assert secret not in text


def test_details_and_libraries_are_quiet(cache_dir: Path) -> None:
    stream = io.StringIO()
    configure_logs(load_settings(log_json=True), stream)
    logging.getLogger("datasphinx").debug("a detail")
    logging.getLogger("httpx").info("a request")
    logging.getLogger("httpx").warning("a warning")
    assert [line["event"] for line in lines_of(stream)] == ["a warning"]


def test_odd_text_stays_one_line_of_json(cache_dir: Path) -> None:
    stream = io.StringIO()
    configure_logs(load_settings(log_json=True), stream)
    logging.getLogger("datasphinx").info("one\ntwo \ud800 客户 %s", {"a": object()}, extra={"value": float("nan")})
    (line,) = lines_of(stream)
    assert line["event"].startswith("one\ntwo")
    assert line["value"] == "nan"


def test_the_command_line_writes_it_to_standard_error(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["datasphinx", "ask", "How many orders are there?", "--json"])
    with FakeOpenAI([COUNT, VALID]) as server, pytest.raises(SystemExit):
        server.configure(monkeypatch, cache_dir, log_json="true")
        cli.main()
    out, err = capsys.readouterr()
    trace_id = json.loads(out)["audit"]["trace_id"]
    assert {json.loads(line)["trace_id"] for line in err.splitlines()} == {trace_id}


@pytest.mark.heavy
@pytest.mark.process
def test_the_command_line_writes_no_steps_between_the_lines(cache_dir: Path, tmp_path: Path) -> None:
    with FakeOpenAI([COUNT]) as model:
        environment = {**os.environ, **model.variables(cache_dir, log_json="true")}
        command = [sys.executable, "-m", "datasphinx", "ask", "--effort", "low", "How many orders are there?"]
        run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    lines = [json.loads(line) for line in run.stderr.splitlines()]
    assert lines and len({line["trace_id"] for line in lines}) == 1

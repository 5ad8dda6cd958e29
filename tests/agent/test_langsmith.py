"""LangSmith gets runs if its variables say so, and nothing if the settings forbid it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from tests.agent.server.serving import ASKED, COUNT
from tests.support.collector import KeepingServer
from tests.support.databases import make_table, url
from tests.support.fake_openai import FakeOpenAI
from tests.support.heavy import heavy
from tests.support.server_process import ROOT, server_process

pytestmark = [pytest.mark.process, pytest.mark.integration]

QUESTION = ASKED["question"]
PYTHON = f"""
from datasphinx.agent.chat import Agent
print(Agent().chat({QUESTION!r}, validate=False))
"""
TRACED = f"""
# Tracers that the program itself attaches or enables count too.
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.langchain import LangChainTracer
from langsmith import tracing_context
from datasphinx.agent.graph import graph
asked = {{"question": {QUESTION!r}, "effort": "low"}}
with tracing_context(enabled=True):
    assert graph.invoke(asked)["value"]
assert graph.invoke(asked, {{"callbacks": [LangChainTracer()]}})["value"]
assert graph.with_config(callbacks=[LangChainTracer()]).invoke(asked)["value"]
def enclosing(_):
    return graph.invoke(asked)["value"]
tracer = LangChainTracer()
tracer.on_chain_start = tracer.on_chat_model_start = tracer.on_llm_start = lambda *given, **named: seen.append(named)
seen = []
assert RunnableLambda(enclosing).invoke(0, {{"callbacks": [tracer]}})
assert len(seen) == 1, seen
"""
CLI = pytest.param(["-m", "datasphinx", "ask", QUESTION], marks=pytest.mark.heavy)
FORBIDDEN = {"DATASPHINX_ALLOW_LANGSMITH": "false"}


def variables(smith: KeepingServer, model: FakeOpenAI, cache_dir: Path) -> dict[str, str]:
    """The environment of a process that LangSmith's variables tell to trace."""
    return {
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_ENDPOINT": smith.url,
        "LANGSMITH_API_KEY": "lsv2_key",
        "LANGSMITH_DISABLE_RUN_COMPRESSION": "true",
        **model.variables(cache_dir, effort="low"),
    }


def sent(smith: KeepingServer) -> str:
    """The text of all requests."""
    return b"\n".join(smith.bodies).decode(errors="replace")


def run(command: list[str], environment: Mapping[str, str], folder: Path) -> None:
    given = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([sys.executable, *command], env=given, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def check(smith: KeepingServer, is_forbidden: bool) -> None:
    """Nothing, or the question, the prompt, the statement and the rows."""
    if is_forbidden:
        assert smith.paths == []
    else:
        assert QUESTION in sent(smith) and COUNT["sql"] in sent(smith)
        assert "<schema>" in sent(smith) and "10127" in sent(smith)


@pytest.mark.parametrize("is_forbidden", [*heavy(False), True])
@pytest.mark.parametrize("command", [CLI, ["-c", PYTHON]], ids=["cli", "python"])
def test_a_question_in_this_process(command: list[str], is_forbidden: bool, cache_dir: Path, tmp_path: Path) -> None:
    with KeepingServer() as smith, FakeOpenAI(default=json.dumps(COUNT)) as model:
        environment = {**variables(smith, model, cache_dir), **(FORBIDDEN if is_forbidden else {})}
        run(command, environment, tmp_path)
        check(smith, is_forbidden)


@pytest.mark.heavy
def test_rows_of_secret_columns_are_sent_too(cache_dir: Path, tmp_path: Path) -> None:
    """The page about telemetry warns of it."""
    source = url(make_table(tmp_path, "thing TEXT, password TEXT", [("a", "hunter2"), ("b", "swordfish")]))
    listed = {**COUNT, "sql": "SELECT thing, password FROM things"}
    with KeepingServer() as smith, FakeOpenAI(default=json.dumps(listed)) as model:
        environment = {**variables(smith, model, cache_dir), "DATASPHINX_SOURCE": source}
        run(["-m", "datasphinx", "ask", "Which things have which password?"], environment, tmp_path)
        assert "swordfish" in sent(smith)


@pytest.mark.heavy
def test_no_other_way_to_attach_a_tracer_works_if_it_is_forbidden(cache_dir: Path, tmp_path: Path) -> None:
    with KeepingServer() as smith, FakeOpenAI(default=json.dumps(COUNT)) as model:
        run(["-c", TRACED], {**variables(smith, model, cache_dir), **FORBIDDEN, "LANGSMITH_TRACING": ""}, tmp_path)
        check(smith, True)


@pytest.mark.heavy
def test_model_calls_outside_of_a_question_count_too(cache_dir: Path, tmp_path: Path) -> None:
    for is_forbidden in (False, True):
        with KeepingServer() as smith, FakeOpenAI(default=json.dumps(COUNT)) as model:
            environment = {**variables(smith, model, cache_dir), **(FORBIDDEN if is_forbidden else {})}
            given = {**os.environ, **environment}
            subprocess.run([sys.executable, "-m", "datasphinx", "model", "check"], env=given, cwd=tmp_path, check=False)
            assert model.requests and bool(smith.paths) is not is_forbidden


@pytest.mark.heavy
@pytest.mark.server
@pytest.mark.parametrize("is_forbidden", [False, True])
def test_a_server(is_forbidden: bool, cache_dir: Path, tmp_path: Path) -> None:
    with KeepingServer() as smith, FakeOpenAI(default=json.dumps(COUNT)) as model:
        environment = {**variables(smith, model, cache_dir), **(FORBIDDEN if is_forbidden else {})}
        with server_process(tmp_path, environment) as server:
            with httpx.Client(base_url=server.url, timeout=60, verify=False) as http:
                assert http.post("/agent/invoke", json={"input": ASKED}).json()["output"]["value"] == 10127
                chat = {"model": "datasphinx", "messages": [{"role": "user", "content": QUESTION}]}
                assert http.post("/v1/chat/completions", json=chat).status_code == 200
            server.stop()
        check(smith, is_forbidden)

"""The programs of docs/conversations.md, as they stand there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from datasphinx.agent import errors
from datasphinx.agent.cli import app
from datasphinx.agent.messages import TEXTS
from tests.agent.server.serving import serving
from tests.support.best_customer import ASKS, BY_AMOUNT
from tests.support.fake_openai import FakeOpenAI
from tests.support.generated_docs import ROOT

PAGE = (ROOT / "docs/conversations.md").read_text(encoding="utf-8")
OVER_HTTP, WITH_AGENT, WITH_GRAPH = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^datasphinx .*$", PAGE, re.MULTILINE)
ERRORS = re.findall(r"^\| `(\w+)` \| (\d) \|", PAGE, re.MULTILINE)
TOP_TWO = {"sql": BY_AMOUNT.replace("LIMIT 3", "LIMIT 2")}
OTHER = {"sql": "SELECT customer_id FROM orders ORDER BY total_amount DESC LIMIT 3"}


def output_of(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> FakeOpenAI:
    monkeypatch.setenv("DATASPHINX_LLM_MODEL", "fake")
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(cache_dir))
    monkeypatch.setenv("DATASPHINX_ENABLE_SQL_VALIDATION", "false")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))
    return FakeOpenAI()


@pytest.mark.heavy
@pytest.mark.process
def test_the_program_with_an_agent(model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_LLM_BASE_URL", model.base_url)
    model.answers = [ASKS, TOP_TWO, OTHER]
    with model:
        shown = output_of(WITH_AGENT)
    assert shown.splitlines() == [BY_AMOUNT, TOP_TWO["sql"], OTHER["sql"]]


@pytest.mark.heavy
@pytest.mark.process
def test_the_program_with_the_graph(model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_LLM_BASE_URL", model.base_url)
    model.answers = [ASKS]
    with model:
        assert output_of(WITH_GRAPH).splitlines() == [BY_AMOUNT]


@pytest.mark.heavy
@pytest.mark.process
def test_the_program_over_http(cache_dir: Path) -> None:
    answers = {"GeneratedSQL": [ASKS, TOP_TWO, OTHER]}
    with serving(cache_dir, answers) as server:
        shown = output_of(OVER_HTTP.replace("http://127.0.0.1:8000", str(server.http.base_url).rstrip("/")))
    assert shown.splitlines()[:2] == [ASKS["question"], shown.splitlines()[1]]
    assert shown.splitlines()[-3:] == [BY_AMOUNT, "2 rows", "ok"]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_line_is_one_that_the_program_takes(line: str) -> None:
    command, arguments = get_command(app), shlex.split(line)[1:]
    asked = command.commands[arguments.pop(0)]  # type: ignore[attr-defined]
    asked.make_context("ask", arguments)


@pytest.mark.parametrize(("code", "ends"), ERRORS)
def test_an_error_has_its_exit_code(code: str, ends: str) -> None:
    assert code in TEXTS["en"]
    assert errors.exit_code_of(code) == int(ends)


def test_there_is_something_to_check() -> None:
    assert len(COMMANDS) == 5 and len(ERRORS) == 7

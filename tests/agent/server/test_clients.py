"""Clients of the served protocols and of the Python API, each the real package in a pinned version."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.agent.server.asking import query_or_finish, statement_for
from tests.agent.server.serving import COUNT, Served
from tests.conftest import VALID
from tests.support.best_customer import BY_AMOUNT
from tests.support.fake_openai import FakeOpenAI
from tests.support.generated_docs import CLIENT_PROGRAMS
from tests.support.npm import installed, node
from tests.support.npm import run as run_in

pytestmark = [pytest.mark.heavy, pytest.mark.process]

TOOLS = 6
OVER_HTTP: dict[str, dict[str, Any]] = {
    "chat_litellm": {"answer": True, "streamed": True},
    "chat_llm": {"answer": True, "error": ""},
    "mcp_fastmcp": {"tools": TOOLS, "asked": 1, "sql": BY_AMOUNT, "progress": True, "error": True},
    "mcp_langchain": {"tools": TOOLS, "answer": True},
}
IN_PROCESS: dict[str, dict[str, Any]] = {
    "agent_deepagents": {"listed": True, "read": True, "answer": True},
    "app_gradio": {"answer": True},
    "app_marimo": {"answer": True, "sql": True},
    "app_streamlit": {"answer": True, "value": "10127", "errors": []},
    "tables_in_memory": dict.fromkeys(("polars", "ibis"), "beta has 70, alpha 30."),
    "types_pyright": {"errors": [], "sql": True},
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns the Python of an environment with the packages of a file, by its name, installed when it is first used.

    Packages that these do not require are those of the tests.
    """
    return cache(lambda name: installed_python(name, tmp_path_factory.mktemp("clients")))


def installed_python(name: str, folder: Path) -> Path:
    path = folder / "bin/python"
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, folder], check=True)
    wanted = ("--requirements", CLIENT_PROGRAMS / f"{name}.txt")
    done = subprocess.run([uv, "pip", "install", "--quiet", "--python", path, *wanted], capture_output=True, text=True)
    if done.returncode:
        pytest.fail(done.stderr) if os.environ.get("CI") else pytest.skip("the packages cannot be downloaded")
    (packages,) = folder.glob("lib/python*/site-packages")
    own = next(each for each in sys.path if each.endswith("site-packages"))
    (packages / "tests.pth").write_text(f"import site; site.addsitedir({own!r})\n")
    return path


# The model counts the orders, and asks back who is the best.
ANSWERS = {"GeneratedSQL": [statement_for]}


def shown_by(python: Path, program: str, *arguments: str, **environment: str) -> dict[str, Any]:
    """Return the JSON object in the last line that a program prints."""
    command = [python, CLIENT_PROGRAMS / f"{program}.py", *arguments]
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, env={**os.environ, "PATH": path, **environment}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    shown: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return shown


@pytest.mark.parametrize("program", OVER_HTTP)
def test_a_client_over_http(served: Served, environment: Callable[[str], Path], program: str) -> None:
    # The adapters do not work with version 2 of MCP's package, which fastmcp needs.
    python = environment("requirements-mcp1" if program == "mcp_langchain" else "requirements")
    assert shown_by(python, program, served.url) == OVER_HTTP[program]


@pytest.mark.parametrize("program", IN_PROCESS)
def test_an_application_or_checker_of_the_python_api(
    environment: Callable[[str], Path], program: str, cache_dir: Path
) -> None:
    with FakeOpenAI() as model:
        model.answers = [] if program == "tables_in_memory" else [COUNT, VALID]
        model.default = lambda request: query_or_finish([SimpleNamespace(**each) for each in request["messages"]])
        settings = model.variables(cache_dir, enable_sql_validation="false")
        python = environment("requirements-agents" if program == "agent_deepagents" else "requirements")
        assert shown_by(python, program, **settings) == IN_PROCESS[program]


def test_the_mcp_client_for_typescript(served: Served) -> None:
    shown = node("mcp.mjs", served.url)
    assert shown == {"forms": 1, "progress": True, "tools": TOOLS, "sql": BY_AMOUNT, "error": True}


def test_the_client_of_ag_ui_for_javascript(served: Served) -> None:
    shown = node("agui.mjs", served.url)
    assert shown == {"steps": True, "answer": "Orders: 10,127", "reason": "input_required", "answered": True}


def test_the_inspector(served: Served) -> None:
    command = ("node_modules/.bin/mcp-inspector-cli", "--cli", f"{served.url}/mcp", "--transport", "http")
    listed = run_in(*command, "--method", "tools/list", folder=installed())
    assert len(json.loads(listed.stdout)["tools"]) == TOOLS, listed.stderr
    asked = ("--tool-name", "datasphinx_ask", "--tool-arg", "question=How many orders were placed?")
    called = run_in(*command, "--method", "tools/call", *asked, folder=installed())
    assert json.loads(called.stdout)["structuredContent"]["rows"] == [[10127]], called.stderr

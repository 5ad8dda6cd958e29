"""The public import name: what it has, what it loads, and other packages with the names of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

import agent.chat
import agent.graph
import datasphinx

pytestmark = pytest.mark.process

ROOT = Path(datasphinx.__file__).parents[1]


def run(*arguments: str, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments]
    variables = {"HOME": str(cwd), "PATH": "", **environment}
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=60)


def test_names_are_those_of_the_packages() -> None:
    assert datasphinx.chat is agent.chat.chat
    assert datasphinx.Agent is agent.chat.Agent
    assert datasphinx.graph is agent.graph.graph
    assert datasphinx.__version__
    with pytest.raises(AttributeError, match="has no attribute 'chats'"):
        _ = datasphinx.chats


def test_import_loads_nothing_but_the_standard_library(tmp_path: Path) -> None:
    code = (
        "import sys; before = set(sys.modules); import datasphinx; "
        "print({name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"
    )

    assert run("-c", code, cwd=tmp_path).stdout.strip() == "{'datasphinx'}"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder with a package named `agent`, as LangGraph's project template has one."""
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "__init__.py").write_text("")
    return tmp_path


def test_the_command_runs_beside_a_foreign_package(foreign: Path) -> None:
    done = run("-m", "datasphinx", "--version", cwd=foreign, PYTHONPATH=str(ROOT))

    assert (done.stdout.strip(), done.returncode) == (datasphinx.__version__, 0), done.stderr


def test_a_foreign_package_is_named_in_one_message(foreign: Path) -> None:
    code = "import datasphinx; datasphinx.chat"
    imported = run("-c", code, cwd=foreign, PYTHONPATH=str(ROOT))
    command = run("-P", "-m", "datasphinx", "--version", cwd=ROOT, PYTHONPATH=f"{foreign}:{ROOT}")

    assert f"another one at {foreign / 'agent' / '__init__.py'}" in imported.stderr
    assert command.stderr.startswith("datasphinx: datasphinx needs its own package 'agent'")
    assert command.returncode == 1

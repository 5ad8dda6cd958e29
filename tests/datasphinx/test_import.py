"""The import name: what it has, what it loads, and other packages with the names of the folders in a checkout."""

import subprocess
import sys
from pathlib import Path

import pytest

import datasphinx
import datasphinx.agent.chat
import datasphinx.agent.graph

pytestmark = pytest.mark.process

ROOT = Path(datasphinx.__file__).parents[1]


def run(*arguments: str, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments]
    variables = {"HOME": str(cwd), "PATH": "", **environment}
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=60)


def test_names_are_those_of_the_packages() -> None:
    assert datasphinx.chat is datasphinx.agent.chat.chat
    assert datasphinx.Agent is datasphinx.agent.chat.Agent
    assert datasphinx.graph is datasphinx.agent.graph.graph
    assert datasphinx.__version__
    with pytest.raises(AttributeError, match="has no attribute 'chats'"):
        _ = datasphinx.chats


def test_import_loads_nothing_but_the_standard_library(tmp_path: Path) -> None:
    code = (
        "import sys; before = set(sys.modules); import datasphinx; "
        "print({name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"
    )

    assert run("-c", code, cwd=tmp_path).stdout.strip() == "{'datasphinx'}"


@pytest.mark.heavy
def test_foreign_modules_of_any_name_do_not_matter(tmp_path: Path) -> None:
    for name in ("agent", "nodes", "prompts"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    code = "from datasphinx import chat; import agent"
    imported = run("-c", code, cwd=tmp_path, PYTHONPATH=str(ROOT))
    command = run("-m", "datasphinx", "--version", cwd=tmp_path, PYTHONPATH=str(ROOT))

    assert imported.stderr.strip() == "imported"
    assert (command.stdout.strip(), command.returncode) == (datasphinx.__version__, 0), command.stderr


@pytest.mark.heavy
def test_former_names_work_in_a_checkout_with_a_warning() -> None:
    code = (
        "from agent.graph import graph; import agent.accessor, agent.errors, datasphinx.agent.errors; "
        "print(graph.name, agent.accessor.Sphinx.__name__, agent.errors is datasphinx.agent.errors)"
    )
    done = run("-W", "always::DeprecationWarning:__main__", "-c", code, cwd=ROOT)

    assert done.stdout.strip() == "agent Sphinx True", done.stderr
    assert "DeprecationWarning: import datasphinx.agent, not agent" in done.stderr

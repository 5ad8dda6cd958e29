"""What the README tells a newcomer to run does run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from agent.cli import app
from tests.fake_openai import FakeOpenAI
from tests.generated_docs import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
SHELL = "\n".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL))
COMMANDS = [line for line in SHELL.splitlines() if line.startswith("datasphinx ")]
COUNT = {"sql": "SELECT COUNT(*) AS customers FROM customers", "assumptions": [], "off_topic": False}
VALID = {"is_valid": True, "reason": "fine", "issues": [], "corrected_sql": None}


def test_the_python_program_answers(cache_dir: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    with FakeOpenAI([COUNT, VALID]) as server:
        environment = os.environ | {
            "DATASPHINX_LLM_BASE_URL": server.base_url,
            "DATASPHINX_LLM_MODEL": "fake",
            "DATASPHINX_CACHE_DIR": str(cache_dir),
        }
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.stdout.strip() == f"1184 {COUNT['sql']} 2", done.stderr


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_line_is_one_that_the_program_takes(line: str) -> None:
    command, arguments = get_command(app), shlex.split(line)[1:]
    while hasattr(command, "commands"):
        command = command.commands[arguments.pop(0)]
    command.make_context(command.name, arguments)


def test_there_are_commands_to_check() -> None:
    assert len(COMMANDS) >= 4


@pytest.mark.parametrize("path", re.findall(r"\]\(((?!https?:)[^)#]+)\)", README))
def test_a_link_leads_somewhere(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_make_targets_exist() -> None:
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", SHELL, re.MULTILINE):
        assert f"\n{target}:" in targets

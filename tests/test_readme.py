"""The commands, programs and links of the README and of the skills work, and so does the example of docs/analyst.md."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from datasphinx.agent.cli import app
from tests.support.fake_openai import FakeOpenAI, first_dataset
from tests.support.generated_docs import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
SHELL = "\n".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL))
ANALYST = (ROOT / "docs/analyst.md").read_text(encoding="utf-8")
((SPREADSHEET, SHOWN),) = re.findall(r"```sh\n(datasphinx[^\n]*)\n```\n\n```text\n(.*?)```", ANALYST, re.DOTALL)
SKILLS = {path.parent.name: path.read_text(encoding="utf-8") for path in ROOT.glob("skills/*/SKILL.md")}
COMMANDS = [line.strip() for line in "\n".join([SHELL, *SKILLS.values()]).splitlines()]
COMMANDS = [line for line in COMMANDS if line.startswith("datasphinx ")]
COUNT = {"sql": "SELECT COUNT(*) AS customers FROM customers", "assumptions": [], "off_topic": False}


@pytest.mark.heavy
@pytest.mark.process
def test_the_python_program_answers(cache_dir: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    with FakeOpenAI([COUNT]) as server:
        environment = os.environ | {
            "DATASPHINX_LLM_BASE_URL": server.base_url,
            "DATASPHINX_LLM_MODEL": "fake",
            "DATASPHINX_CACHE_DIR": str(cache_dir),
        }
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=130, check=False
        )
    assert done.stdout.strip() == f"1184 {COUNT['sql']} 1", done.stderr


@pytest.mark.heavy
@pytest.mark.process
def test_the_question_of_a_spreadsheet_gives_what_is_shown(cache_dir: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "agent/sample", tmp_path / "agent/sample")
    spec = {
        "group_by": ["账号"],
        "aggregations": [{"as": "returns", "agg": "sum", "col": "退货数量"}],
        "sort": [{"by": "returns", "desc": True}],
        "limit": 3,
    }

    def query(request: dict[str, Any]) -> dict[str, Any]:
        arguments = {"dataset_id": first_dataset(request), "query": spec}
        return {"tool": "run_query", "arguments": json.dumps(arguments)}

    bars = {"chart_type": "bar", "x": "账号", "y": "returns", "title": "Returns"}
    plot = {"tool": "plot", "arguments": json.dumps({"result_id": "r1", "plot": bars})}
    said = "Of all accounts {1.账号} has the most returns, {1.returns}; it is followed by {2.账号} with {2.returns} "
    said += "and {3.账号} with {3.returns}."
    end = {"answer": said}
    with FakeOpenAI([query, plot, {"tool": "finish", "arguments": json.dumps(end)}]) as server:
        environment = os.environ | {
            "DATASPHINX_LLM_BASE_URL": server.base_url,
            "DATASPHINX_LLM_MODEL": "fake",
            "DATASPHINX_CACHE_DIR": str(cache_dir),
            "COLUMNS": "120",
        }
        command = [str(Path(sys.executable).with_name("datasphinx")), *shlex.split(SPREADSHEET)[1:]]
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=130,
            check=False,
        )  # fmt: skip
    assert (tmp_path / "returns.png").exists(), done.stdout
    assert _without_times(done.stdout) == _without_times(SHOWN)


def _without_times(shown: str) -> list[str]:
    # The first picture on a machine may come with a line on fonts.
    lines = [line for line in shown.strip().splitlines() if not line.startswith("Matplotlib is building")]
    return [re.sub(r"\d+\.\d s|(trace|thread) \w+", "", line).rstrip() for line in lines]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_line_is_one_that_the_program_takes(line: str) -> None:
    command, arguments = get_command(app), shlex.split(line, comments=True)[1:]
    for each in arguments:
        if each.endswith((".xlsx", ".csv")):
            Path(each).parent.mkdir(parents=True, exist_ok=True)
            Path(each).touch()
    while hasattr(command, "commands"):
        command = command.commands[arguments.pop(0)]
    command.make_context(command.name, arguments)


def test_there_are_commands_to_check() -> None:
    assert len(COMMANDS) >= 15


@pytest.mark.parametrize("name", SKILLS)
def test_a_skill_has_its_name_and_says_when_it_is_used(name: str) -> None:
    head = yaml.safe_load(SKILLS[name].split("---")[1])
    assert head["name"] == name and head["description"].endswith(".")
    assert [path for path in re.findall(r"`(docs/[\w-]+\.md)", SKILLS[name]) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("path", re.findall(r"\]\(((?!https?:)[^)#]+)\)", README))
def test_a_link_leads_somewhere(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_make_targets_exist() -> None:
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", SHELL, re.MULTILINE):
        assert f"\n{target}:" in targets

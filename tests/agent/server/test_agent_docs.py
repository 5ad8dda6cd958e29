"""The programs of the pages on LangGraph's clients and on agents, and what an agent's model gets to see."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasphinx.agent.server.mcp.server import _TOOLS
from tests.agent.server.asking import statement_for
from tests.agent.server.serving import COUNT, serving
from tests.support.best_customer import ASKS, BY_AMOUNT, BY_ORDERS
from tests.support.fake_openai import FakeOpenAI
from tests.support.generated_docs import ROOT

OVER_HTTP, WITH_REMOTE_GRAPH = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs/agent-server.md").read_text(encoding="utf-8"), re.DOTALL
)
WITH_TOOL, WITH_SUB_GRAPH = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs/inside-your-agent.md").read_text(encoding="utf-8"), re.DOTALL
)
LARGEST_SCHEMA = 3000
"""The largest schema of a tool, in bytes of JSON, which each call of an agent's model pays for."""
CALLS_THE_TOOL = """
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self

call = {"name": "ask_data", "args": {"question": "How many orders were placed?"}, "id": "1"}
said = iter([AIMessage("", tool_calls=[call]), AIMessage("done")])
for message in agent_with(Model(messages=said)).invoke({"messages": ["How many orders?"]})["messages"]:
    print(message.type, message.text)
import json
from langchain_core.utils.function_calling import convert_to_openai_tool
print(len(json.dumps(convert_to_openai_tool(ask_data))))
"""


def output_of(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> Iterator[FakeOpenAI]:
    monkeypatch.setenv("DATASPHINX_LLM_MODEL", "fake")
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(cache_dir))
    monkeypatch.setenv("DATASPHINX_ENABLE_SQL_VALIDATION", "false")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))
    with FakeOpenAI() as server:
        yield server


@pytest.mark.heavy
@pytest.mark.process
def test_the_programs_over_http(cache_dir: Path) -> None:
    with serving(cache_dir, {"GeneratedSQL": [statement_for]}) as server:
        url = server.url
        shown = output_of(OVER_HTTP.replace("http://127.0.0.1:8000", url))
        remote = output_of(WITH_REMOTE_GRAPH.replace("http://127.0.0.1:8000", url))
    asked = ["What makes a customer the best?", "1. by orders", "2. by amount"]
    assert shown == [*remote, *asked, BY_AMOUNT, BY_ORDERS] and remote[0].startswith("Orders: ")


@pytest.mark.heavy
@pytest.mark.process
def test_the_program_with_a_tool(model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_LLM_BASE_URL", model.base_url)
    model.answers = [COUNT]
    shown = output_of(WITH_TOOL + CALLS_THE_TOOL)
    assert shown[0] == "human How many orders?" and shown[-2] == "ai done"
    assert f"SQL: {COUNT['sql']}" in shown and int(shown[-1]) < LARGEST_SCHEMA


@pytest.mark.heavy
@pytest.mark.process
def test_the_program_with_a_sub_graph(model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_LLM_BASE_URL", model.base_url)
    model.answers = [ASKS]
    assert output_of(WITH_SUB_GRAPH) == [BY_AMOUNT]


@pytest.mark.parametrize("tool", _TOOLS, ids=lambda tool: tool.name)
def test_the_input_of_an_mcp_tool_is_small(tool: object) -> None:
    assert len(json.dumps(tool.as_listed().input_schema)) < LARGEST_SCHEMA  # type: ignore[attr-defined]

"""The examples of the pages on HTTP, as they stand there."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from ag_ui.core import Event
from pydantic import TypeAdapter

from tests.agent.server.asking import statement_for
from tests.agent.server.serving import COUNT, Served
from tests.support.databases import make_table
from tests.support.generated_docs import ROOT

PAGES = ("http", "http-api", "http-answers", "boards", "chat-clients")
PAGE = "".join((ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in PAGES)
CURL = re.findall(r"^curl .*$", PAGE, re.MULTILINE)
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


# The model counts the orders, and asks back who is the best.
ANSWERS = {"GeneratedSQL": [statement_for]}
SETTINGS = {"run_sql": True}


def here(text: str, server: Served) -> str:
    return text.replace("http://127.0.0.1:8000", server.url)


@pytest.mark.process
def test_each_curl_command_gets_its_response(served: Served, tmp_path: Path) -> None:
    make_table(tmp_path, "title TEXT", [["Emma"]], table="books").rename(tmp_path / "books.sqlite")
    responses: dict[str, list[str]] = {}
    for command in CURL:
        arguments = shlex.split(here(command, served))
        done = subprocess.run([*arguments, "--noproxy", "*"], capture_output=True, text=True, timeout=60, check=True)
        path = urlsplit(next(each for each in arguments if each.startswith("http"))).path
        responses.setdefault(path, []).append(done.stdout)
    ((invoked,), (events,), (sources,)) = (responses[name] for name in ("/agent/invoke", "/agent/events", "/sources"))
    assert json.loads(invoked)["output"]["sql"] == COUNT["sql"] and "event: output" in events
    assert json.loads(sources)["sources"][0]["name"] == "sample"
    before, added = map(json.loads, responses["/operate/sources"])
    assert (before["sources"], added["description"]) == ([], "Books and loans")
    assert json.loads(responses["/operate/sources/test"][0])["tables"] == 1
    assert json.loads(responses["/operate/sources/books/test"][0])["ok"] is True
    assert responses["/operate/sources/books"] == [""]
    edited = json.loads(responses["/sql"][0])
    assert edited["edited_by_hand"] is True and len(edited["tables"][0]["rows"]) == 2
    ((models,), (model,), (whole, stream)) = (
        responses[name] for name in ("/v1/models", "/v1/models/datasphinx", "/v1/chat/completions")
    )
    assert json.loads(models)["data"][0] == json.loads(model)
    content = json.loads(whole)["choices"][0]["message"]["content"]
    assert json.dumps(content)[1:-1] in stream and stream.endswith("data: [DONE]\n\n")
    assert json.loads(responses["/v1/responses"][0])["output"][-1]["content"][0]["text"] == content
    agui = [line.removeprefix("data: ") for line in responses["/agui"][0].split("\n\n") if line]
    assert TypeAdapter(Event).validate_json(agui[-1]).type == "RUN_FINISHED"


@pytest.mark.heavy
@pytest.mark.process
def test_the_programs_with_openai_and_its_agents_sdk(served: Served) -> None:
    asked, counted = (
        subprocess.run([sys.executable, "-c", here(program, served)], capture_output=True, text=True, timeout=60)
        for program in PROGRAMS
    )
    assert (asked.returncode, counted.returncode) == (0, 0), asked.stderr + counted.stderr
    assert COUNT["sql"] in asked.stdout and "| December 2025 |" in asked.stdout.partition(COUNT["sql"])[2]
    assert COUNT["sql"] in counted.stdout

"""Files over HTTP where a proxy hands each request to another server, with a data directory of its own."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agent.record.stores import fresh_url
from tests.agent.server.asking import QUESTION, ROWS, query_or_finish
from tests.agent.server.keys import ACME, BETA, KEYS
from tests.agent.tools.conftest import RETURNS
from tests.support.fake_openai import FakeOpenAI
from tests.support.server_process import ServerProcess, server_process

pytestmark = [pytest.mark.heavy, pytest.mark.process, pytest.mark.postgres]


class Message:
    def __init__(self, message: dict[str, Any]) -> None:
        self.content = message["content"]


def said(request: dict[str, Any]) -> dict[str, Any]:
    return query_or_finish([Message(each) for each in request["messages"]])


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[ServerProcess]]:
    """Two servers with one PostgreSQL and nothing else in common."""
    with fresh_url("postgres", tmp_path) as url, FakeOpenAI(default=said) as model, ExitStack() as stack:
        given = {"api_keys": json.dumps(KEYS), "threads_url": url, "record_url": url}
        yield [
            stack.enter_context(server_process(folder, model.variables(folder / "cache", **given)))
            for folder in (tmp_path / "one", tmp_path / "other")
        ]


@pytest.fixture
def by_turns(servers: list[ServerProcess]) -> Iterator[Any]:
    """Sends each request to the next server."""
    urls = cycle(server.url for server in servers)

    def send(method: str, path: str, tenant: str = "acme", **given: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {ACME if tenant == 'acme' else BETA}"}
        return httpx.request(method, next(urls) + path, headers=headers, timeout=60, verify=False, **given)

    yield send


def test_what_one_server_is_given_the_other_lists_answers_and_removes(by_turns: Any, tmp_path: Path) -> None:
    made = by_turns("POST", "/files", files={"file": ("returns.csv", RETURNS.encode())})
    (dataset,) = made.json()["datasets"]
    asked = {"input": {"question": QUESTION, "datasets": [dataset["dataset_id"]]}}

    assert by_turns("GET", "/datasets").json() == by_turns("GET", "/datasets").json() == {"datasets": [dataset]}
    for _ in range(2):
        by_turns("GET", "/healthz")
        output = by_turns("POST", "/analyst/invoke", json=asked).json()["output"]
        assert output["value"]["rows"] == ROWS, output
        replayed = by_turns("POST", f"/traces/{output['audit']['trace_id']}/replay").json()
        assert replayed["same"], replayed
    assert by_turns("GET", "/datasets", "beta").json() == {"datasets": []}
    assert by_turns("DELETE", f"/datasets/{dataset['dataset_id']}", "beta").status_code == 404
    assert by_turns("DELETE", f"/datasets/{dataset['dataset_id']}").status_code == 204
    for _ in range(2):
        assert by_turns("POST", "/analyst/invoke", json=asked).json()["output"]["error"]["code"] == "dataset_unknown"
        assert by_turns("DELETE", f"/datasets/{dataset['dataset_id']}").status_code == 404
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.name.startswith(("ds_", "file_"))]
    assert left == []

"""LangServe's routes, as its client reads them."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from langserve import RemoteRunnable

from datasphinx.agent.server.runnable import ServedGraph
from tests.agent.server.serving import ASKED, COUNT, Served
from tests.agent.walk import NODES


def events(text: str) -> list[tuple[str, Any]]:
    """Return the events of a stream as their names and data."""
    read: list[tuple[str, Any]] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        field, _, content = line.partition(": ")
        if field == "event":
            read.append((content, None))
        elif field == "data":
            read[-1] = (read[-1][0], json.loads(content))
    return read


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/agent/invoke", {"input": ASKED, "config": {"tags": ["mine"]}, "kwargs": {}}, 200),
        ("/agent/invoke", {"input": {**ASKED, "surprise": 1}}, 422),
        ("/agent/invoke", {"input": ASKED, "config": 5}, 422),
        ("/agent/batch", {"inputs": [ASKED, ASKED], "config": [{"tags": ["a"]}, {"tags": ["b"]}]}, 200),
        ("/agent/batch", {"inputs": [ASKED, ASKED], "config": [{}]}, 422),
        ("/agent/batch", {"inputs": []}, 200),
    ],
)
def test_the_form_of_a_body_is_checked(served: Served, path: str, body: dict[str, Any], status: int) -> None:
    response = served.post(path, **body)

    assert response.status_code == status
    assert response.headers["content-type"] == ("application/json" if status == 200 else "application/problem+json")


@pytest.mark.parametrize("route", ["stream", "stream_events"])
def test_an_unexpected_error_ends_a_stream_without_its_text(
    served: Served, route: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a secret")
        yield

    monkeypatch.setattr(ServedGraph, "astream", broken)
    with served.http.stream("POST", f"/agent/{route}", json={"input": ASKED}) as response:
        text = b"".join(_until_closed(response)).decode()

    assert events(text)[-1] == ("error", {"status_code": 500, "message": "Internal Server Error"})
    assert "a secret" not in text


def _until_closed(response: httpx.Response) -> Iterator[bytes]:
    """Yield what a response contains until the server closes the connection, possibly in the middle."""
    try:
        yield from response.iter_bytes()
    except httpx.RemoteProtocolError:
        return


def test_the_documented_routes_have_their_schemas(served: Served) -> None:
    document = served.http.get("/openapi.json").json()
    routes = ("invoke", "batch", "stream", "stream_events")

    for graph in ("agent", "analyst"):
        assert {f"/{graph}/{route}" for route in routes} <= document["paths"].keys()
        for schema in ("input_schema", "output_schema", "config_schema"):
            assert served.http.get(f"/{graph}/{schema}").json()["title"]
    names = set(re.findall(r"#/components/schemas/([\w-]+)", json.dumps(document)))
    assert names <= document["components"]["schemas"].keys()


def test_langserves_client_reads_every_route(served: Served) -> None:
    agent = RemoteRunnable(f"{served.url}/agent", verify=False)

    async def ask() -> list[Any]:
        try:
            return [event async for event in agent.astream_events(ASKED, version="v2")]
        finally:
            await agent.async_client.aclose()

    assert agent.invoke(ASKED)["sql"] == COUNT["sql"]
    assert [output["sql"] for output in agent.batch([ASKED, ASKED])] == [COUNT["sql"]] * 2
    *updates, output = agent.stream(ASKED)
    assert ([node for update in updates for node in update], output["sql"]) == (NODES, COUNT["sql"])
    seen = asyncio.run(ask())
    assert {"on_chain_start", "on_chain_stream", "on_chain_end"} <= {event["event"] for event in seen}

"""The routes of LangServe without it: the same responses as LangServe's, read by its client."""

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from datasphinx.agent.server.runnable import ServedGraph
from tests.agent.server.serving import ASKED, COUNT, LANGSERVE_WARNING, Served, serving
from tests.agent.walk import NODES

pytestmark = [
    pytest.mark.filterwarnings(LANGSERVE_WARNING),
    pytest.mark.filterwarnings("ignore:astream_log is deprecated"),
]

OFF_TOPIC = {"sql": "", "assumptions": [], "off_topic": True}
_ID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+]+")
_DURATIONS = ("latency_ms", "ms", "charged_ms")


@contextmanager
def pair(cache_dir: Path, folder: Path, answers: dict[str, Any] | None = None) -> Iterator[tuple[Served, Served]]:
    """Yield a server without LangServe and one with it, whose models give the same answers."""
    with ExitStack() as stack:
        servers = []
        for name in ("without", "with"):
            with pytest.MonkeyPatch.context() as patch:
                if name == "without":
                    patch.setitem(sys.modules, "langserve", None)
                else:
                    patch.delitem(sys.modules, "langserve")
                    import langserve  # noqa: F401
                servers.append(stack.enter_context(serving(cache_dir, answers, data_dir=folder / name)))
        own, theirs = servers
        assert own.http.get("/agent/playground/").status_code == 404
        assert theirs.http.get("/agent/playground/").status_code == 200
        yield own, theirs


@pytest.fixture(scope="module")
def both(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    """A pair of servers for all tests of the file."""
    with pair(cache_dir, tmp_path_factory.mktemp("both")) as servers:
        yield servers


def comparable(value: Any) -> Any:
    """Return a JSON value without ids, times and durations, which differ from run to run."""
    if isinstance(value, dict):
        return {
            name: comparable(part)
            for name, part in value.items()
            if name not in _DURATIONS and not name.startswith(("__useragent", "__langserve"))
        }
    if isinstance(value, list):
        return [comparable(part) for part in value]
    return _TIME.sub("TIME", _ID.sub("ID", value)) if isinstance(value, str) else value


def events(text: str) -> list[tuple[str, Any]]:
    """Return the events of a stream as their names and comparable data."""
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if line]
    read: list[tuple[str, Any]] = []
    for line in lines:
        field, _, content = line.partition(": ")
        if field == "event":
            read.append((content, None))
        elif field == "data":
            read[-1] = (read[-1][0], comparable(json.loads(content)))
    return read


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/agent/invoke", {"input": ASKED}),
        ("/agent/invoke", {"input": ASKED, "config": {"tags": ["mine"]}, "kwargs": {}}),
        ("/agent/invoke", {"input": {**ASKED, "surprise": 1}}),
        ("/agent/invoke", {"input": ASKED, "config": 5}),
        ("/agent/batch", {"inputs": [ASKED, {**ASKED, "output_type": "dataframe"}]}),
        ("/agent/batch", {"inputs": [ASKED, ASKED], "config": [{"tags": ["a"]}, {"tags": ["b"]}]}),
        ("/agent/batch", {"inputs": [ASKED, ASKED], "config": [{}]}),
        ("/agent/batch", {"inputs": []}),
        ("/analyst/invoke", {"input": {"question": "Why?"}}),
    ],
)
def test_the_response_is_that_of_langserve(both: tuple[Served, Served], path: str, body: dict[str, Any]) -> None:
    own, theirs = (server.post(path, **body) for server in both)
    assert own.status_code == theirs.status_code
    assert own.headers["content-type"] == theirs.headers["content-type"]
    assert comparable(own.json()) == comparable(theirs.json())


def test_a_batch_has_the_errors_of_its_questions(cache_dir: Path, tmp_path: Path) -> None:
    inputs = [{"question": "How many moons?"}, {"question": "How many suns?"}]
    with pair(cache_dir, tmp_path, {"GeneratedSQL": [OFF_TOPIC]}) as servers:
        own, theirs = (server.post("/agent/batch", inputs=inputs).json() for server in servers)
    assert [output["error"]["code"] for output in own["output"]] == ["off_topic", "off_topic"]
    assert len({*own["metadata"]["run_ids"]}) == 2
    assert [response["run_id"] for response in own["metadata"]["responses"]] == own["metadata"]["run_ids"]
    assert comparable(own) == comparable(theirs)


@pytest.mark.parametrize("route", ["stream", "stream_log", "stream_events"])
def test_the_events_are_those_of_langserve(both: tuple[Served, Served], route: str) -> None:
    own, theirs = (server.post(f"/agent/{route}", input=ASKED) for server in both)
    assert own.headers["content-type"] == theirs.headers["content-type"]
    assert events(own.text)[-1] == events(theirs.text)[-1] == ("end", None)
    # The events of a node come from the thread of the run, and mix with those of the stream.
    assert sorted(map(json.dumps, events(own.text))) == sorted(map(json.dumps, events(theirs.text)))


def test_events_are_filtered_as_by_langserve(both: tuple[Served, Served]) -> None:
    filters = {"include_names": ["generate_sql"], "exclude_tags": ["seq:step:2"]}
    own, theirs = (events(server.post("/agent/stream_events", input=ASKED, **filters).text) for server in both)
    assert {data["name"] for kind, data in own if kind == "data"} == {"generate_sql"}
    assert own == theirs


@pytest.mark.parametrize("route", ["stream", "stream_log", "stream_events"])
def test_an_unexpected_error_ends_a_stream_without_its_text(
    both: tuple[Served, Served], route: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a secret")
        yield

    monkeypatch.setattr(ServedGraph, "astream", broken)
    told = []
    for server in both:
        with server.http.stream("POST", f"/agent/{route}", json={"input": ASKED}) as response:
            told.append(b"".join(_until_closed(response)).decode())
    own, theirs = told
    assert events(own)[-1] == ("error", {"status_code": 500, "message": "Internal Server Error"})
    assert "a secret" not in own
    assert events(own) == events(theirs)


def _until_closed(response: httpx.Response) -> Iterator[bytes]:
    """Yield what a response contains until the server closes the connection, possibly in the middle."""
    try:
        yield from response.iter_bytes()
    except httpx.RemoteProtocolError:
        return


@pytest.mark.parametrize("graph", ["agent", "analyst"])
@pytest.mark.parametrize("schema", ["input_schema", "output_schema", "config_schema"])
def test_the_schemas_are_those_of_langserve(both: tuple[Served, Served], graph: str, schema: str) -> None:
    own, theirs = (server.http.get(f"/{graph}/{schema}").json() for server in both)
    assert own == theirs


def test_the_documented_routes_are_those_of_langserve(both: tuple[Served, Served]) -> None:
    own, theirs = (server.http.get("/openapi.json").json() for server in both)
    assert own["paths"].keys() == theirs["paths"].keys()
    for path in own["paths"]:
        assert own["paths"][path].keys() == theirs["paths"][path].keys()
    names = set(re.findall(r"#/components/schemas/([\w-]+)", json.dumps(own)))
    assert names <= own["components"]["schemas"].keys()


def test_langserves_client_reads_every_route(both: tuple[Served, Served]) -> None:
    own, _ = both

    async def ask() -> tuple[list[Any], list[Any]]:
        try:
            seen = [event async for event in own.agent.astream_events(ASKED, version="v2")]
            log = [patch async for patch in own.agent.astream_log(ASKED)]
            return seen, log
        finally:
            await own.agent.async_client.aclose()

    assert own.agent.invoke(ASKED)["sql"] == COUNT["sql"]
    assert [output["sql"] for output in own.agent.batch([ASKED, ASKED])] == [COUNT["sql"]] * 2
    *updates, output = own.agent.stream(ASKED)
    assert ([node for update in updates for node in update], output["sql"]) == (NODES, COUNT["sql"])
    seen, log = asyncio.run(ask())
    assert {"on_chain_start", "on_chain_stream", "on_chain_end"} <= {event["event"] for event in seen}
    assert any(change["path"] == "/final_output" for patch in log for change in patch.ops)

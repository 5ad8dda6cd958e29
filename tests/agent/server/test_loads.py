"""Loading over HTTP: its progress as events, and its cancellation, which leaves nothing behind."""

import io
import json
import re
import socket
import threading
from typing import Any

import pytest
from langserve import RemoteRunnable

from datasphinx.agent.core.cancellation import Cancellation
from tests.agent.server.asking import events_of, kept, upload
from tests.agent.server.serving import Served
from tests.support.eventually import eventually
from tests.support.server_process import sending

TEXT = b"kind,pairs\n" + b"boot,3\n" * 500
STAGES = ["read", "examine", "write"]


def read_again(messages: list[Any]) -> dict[str, Any]:
    """A model that reads the file of its dataset again, and then gives up."""
    prompt = str(messages[-1].content)
    if '"create_dataset"' in prompt:
        return {"tool": "finish", "arguments": {"cannot_answer": "They lack all."}}
    (file_id,) = set(re.findall("file_[0-9a-f]{16}", prompt))
    return {"tool": "create_dataset", "arguments": {"file_id": file_id, "types": {"pairs": "text"}}}


ANSWERS = {"AnalystStep": [read_again]}
SETTINGS = {"max_upload_bytes": 50_000}


@pytest.fixture
def server(emptied: Served) -> Served:
    return emptied


class Held:
    """Loads that wait at their first progress until they are released."""

    def __init__(self, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.released, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.stop = Cancellation()
        registry = server.services.registry
        create = registry.create

        def held(file_id: str, options: Any, progress: Any, stop: Any) -> Any:
            self.stop = stop

            def report(stage: str, share: float) -> None:
                progress(stage, share)
                self.begun.set()
                assert self.released.wait(20)

            try:
                return create(file_id, options, report, stop)
            finally:
                self.ended.set()

        monkeypatch.setattr(registry, "create", held)

    def end(self) -> None:
        """Continue the load once it is cancelled, and wait for its end."""
        eventually(lambda: self.stop.requested)
        self.released.set()
        assert self.ended.wait(20)


def loading(server: Served, content: bytes = TEXT, name: str = "a.csv", **fields: Any) -> Any:
    files = {"file": (name, io.BytesIO(content))}
    return server.http.stream("POST", "/files/events", files=files, data=fields)


def test_progress_is_reported_in_order(server: Served) -> None:
    with loading(server) as response:
        assert (response.status_code, response.headers["content-type"][:17]) == (200, "text/event-stream")
        *progress, (last, output) = events_of(response.iter_lines())
    assert {kind for kind, _ in progress} == {"progress"}
    places = [(STAGES.index(data["stage"]), data["share"]) for _, data in progress]
    assert places == sorted(set(places)) and {place for place, _ in places} == {0, 1, 2}
    assert (last, output["bytes"]) == ("output", len(TEXT))
    assert server.http.get("/datasets").json()["datasets"] == output["datasets"]

    body = {"file_id": output["file_id"], "options": {"types": {"pairs": "text"}}}
    with server.http.stream("POST", "/datasets/events", json=body) as response:
        *progress, (last, dataset) = events_of(response.iter_lines())
    assert {kind for kind, _ in progress} == {"progress"}
    assert (last, dataset["schema"][1]["type"]) == ("output", "VARCHAR")


@pytest.mark.heavy
def test_a_question_reports_the_progress_of_its_load(server: Served) -> None:
    made = upload(server, "a.csv", TEXT).json()
    body = {"question": "Which?", "datasets": [made["datasets"][0]["dataset_id"]]}
    with server.http.stream("POST", "/analyst/events", json=body) as response:
        events = list(events_of(response.iter_lines()))
    places = [(STAGES.index(data["stage"]), data["share"]) for kind, data in events if kind == "progress"]
    assert places == sorted(set(places)) and {place for place, _ in places} == {0, 1, 2}
    assert {kind for kind, _ in events} == {"started", "step", "progress", "output"}
    streamed = list(RemoteRunnable(f"{server.url}/analyst", verify=False).stream(body))
    assert all("stage" not in chunk for chunk in streamed)


def test_a_file_that_cannot_be_loaded_ends_in_a_problem(server: Served) -> None:
    with loading(server, b"only,a,header\n") as response:
        *_, (kind, problem) = events_of(response.iter_lines())
    assert (kind, problem["code"], problem["status"]) == ("problem", "file_empty", 422)
    for status, given in {422: {"options": "{"}, 413: {"content": b"x" * 50_001}}.items():
        with loading(server, **given) as response:
            assert response.status_code == status
    assert kept(server) == []


@pytest.mark.parametrize("path", ["/files/events", "/files"])
def test_a_client_that_leaves_cancels_its_load(server: Served, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    held = Held(server, monkeypatch)
    part = [b"--x", b'Content-Disposition: form-data; name="file"; filename="a.csv"', b"", TEXT, b"--x--", b""]
    body = b"\r\n".join(part)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    with socket.create_connection(("127.0.0.1", server.http.base_url.port or 0)) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert held.begun.wait(20)
    held.end()
    eventually(lambda: kept(server) == [])


def test_a_cancelled_load_of_a_stored_file_keeps_the_file(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    made = upload(server, "a.csv", TEXT).json()
    before = kept(server)
    held = Held(server, monkeypatch)
    body = {"file_id": made["file_id"], "options": {"types": {"pairs": "text"}}}
    with sending(server.http.base_url.port or 0, "/datasets/events", body):
        assert held.begun.wait(20)
    held.end()
    eventually(lambda: kept(server) == before)
    assert json.dumps(made["datasets"]) == json.dumps(server.http.get("/datasets").json()["datasets"])

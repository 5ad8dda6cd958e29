"""Connections that send no request, or only its beginning, are closed; others are not."""

import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.agent.server.serving import serving


def test_connections_without_the_end_of_headers_are_closed(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.server.connections.HEADERS_S", 0.3)
    with serving(cache_dir) as server, ExitStack() as stack:
        address = (str(server.http.base_url.host), server.http.base_url.port)
        clients = [stack.enter_context(socket.create_connection(address, timeout=20)) for _ in range(300)]
        for client in clients[::2]:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: a")
        for client in clients:
            try:
                assert client.recv(1) == b""
            except ConnectionResetError:
                pass
        assert server.http.get("/healthz").status_code == 200


def test_headers_that_trickle_are_limited_as_a_whole(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.server.connections.HEADERS_S", 0.5)
    with serving(cache_dir) as server:
        address = (str(server.http.base_url.host), server.http.base_url.port)
        with socket.create_connection(address, timeout=20) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
            started, pause = time.monotonic(), threading.Event()
            with pytest.raises(OSError):
                for _ in range(400):
                    client.sendall(b"G")
                    pause.wait(0.05)
            assert time.monotonic() - started < 15


@pytest.mark.heavy
def test_a_question_that_takes_longer_is_answered(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.server.connections.HEADERS_S", 0.1)
    slow = threading.Event()

    def answer(_: object) -> dict[str, object]:
        slow.wait(0.3)
        return {"sql": "SELECT COUNT(*) AS orders FROM orders", "assumptions": [], "off_topic": False}

    with serving(cache_dir, {"GeneratedSQL": [answer]}) as server:
        for _ in range(2):
            assert server.invoke(question="How many orders were placed?")["value"] == 10127

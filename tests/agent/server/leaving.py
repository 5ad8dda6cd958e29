"""Clients that leave while their question is answered."""

import socket
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tests.agent.server.serving import Served
from tests.support.server_process import sending

UNBOUNDED = {"statement_timeout_s": 30, "enable_sql_validation": False}


def client(server: Served, path: str, body: Any) -> AbstractContextManager[socket.socket]:
    return sending(server.http.base_url.port or 0, path, body)


class Held:
    """An answer of the model that comes when `left` is set, such as after its client has left."""

    def __init__(self, answer: Callable[[Any], dict[str, Any]]) -> None:
        self.answer, self.begun, self.left = answer, threading.Event(), threading.Event()

    def __call__(self, messages: Any) -> dict[str, Any]:
        self.begun.set()
        assert self.left.wait(20)
        return self.answer(messages)


def broken_off(server: Served, graph: str) -> float:
    """How many questions have ended without an output."""
    text = server.http.get("/metrics").text
    name = f'datasphinx_questions_total{{graph="{graph}",status="broken_off"}} '
    return sum(float(line.removeprefix(name)) for line in text.splitlines() if line.startswith(name))

"""A chat-completions server on loopback that answers what it was told to, also badly."""

import json
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.loopback import Handler, LoopbackServer

if TYPE_CHECKING:
    import pytest

USAGE = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}


def first_dataset(request: dict[str, Any]) -> str:
    """Return the id of the first dataset that the messages of a request name."""
    return re.findall(r"\bds_[0-9a-f]{16}\b", json.dumps(request["messages"]))[0]


@dataclass
class Reply:
    """One HTTP answer. `body` replaces the chat completion; `cut` sends only so many of the bytes that were announced.

    `hang` keeps the client waiting until it is set.
    """

    content: str | dict[str, Any] | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    finish_reason: str = "stop"
    refusal: str | None = None
    cut: int | None = None
    hang: threading.Event | None = None
    pause: threading.Event | None = None
    """Where there is one, a streamed answer stops in the middle until it is set."""

    def as_bytes(self) -> bytes:
        """Return the whole body."""
        if self.body is not None:
            return self.body.encode()
        if self.status != 200:
            return json.dumps({"error": {"message": f"status {self.status}", "type": "error", "code": None}}).encode()
        text = json.dumps(self.content) if isinstance(self.content, dict) else self.content
        message = {"role": "assistant", "content": text, "refusal": self.refusal}
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        completion = {"id": "1", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice]}
        return json.dumps({**completion, "usage": USAGE}).encode()

    def pieces(self) -> list[bytes]:
        """Return the events of a streamed answer: its text in words, then its end."""
        text = json.dumps(self.content) if isinstance(self.content, dict) else self.content or ""
        choices: list[dict[str, Any]] = [{"delta": {"content": word}} for word in re.findall(r"\s*\S+", text)]
        choices.append({"delta": {}, "finish_reason": self.finish_reason})
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "fake"}
        chunks = [{**chunk, "choices": [{"index": 0, "finish_reason": None, **choice}]} for choice in choices]
        lines = [*map(json.dumps, [*chunks, {**chunk, "choices": [], "usage": USAGE}]), "[DONE]"]
        return [f"data: {line}\n\n".encode() for line in lines]


Scripted = Reply | str | dict[str, Any] | Callable[[dict[str, Any]], Any]


class FakeOpenAI(LoopbackServer):
    """A server with queued answers; when they run out, `default`, else status 500. Use it in a `with` block."""

    def __init__(self, answers: Iterable[Scripted] = (), default: Scripted | None = None) -> None:
        self.answers = list(answers)
        self.default = default
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._lock = threading.Lock()
        super().__init__(self._handler())

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return f"{self.url}/v1"

    def variables(self, cache_dir: Path, **settings: object) -> dict[str, str]:
        """Return environment variables that name it as the model, the cache folder, and more settings."""
        given = {"llm_base_url": self.base_url, "llm_model": "fake", "cache_dir": cache_dir, **settings}
        return {f"DATASPHINX_{name.upper()}": str(value) for name, value in given.items()}

    def configure(self, monkeypatch: "pytest.MonkeyPatch", cache_dir: Path, **settings: object) -> None:
        """Set these variables for a test."""
        for name, value in self.variables(cache_dir, **settings).items():
            monkeypatch.setenv(name, value)

    @property
    def schemas(self) -> list[str | None]:
        """The schema name that each request asked for; None where it asked for none."""
        return [request.get("response_format", {}).get("json_schema", {}).get("name") for request in self.requests]

    def _reply_to(self, request: dict[str, Any]) -> Reply:
        with self._lock:
            self.requests.append(request)
            answer = self.answers.pop(0) if self.answers else self.default
        if callable(answer):
            answer = answer(request)
        if answer is None:
            return Reply(status=500)
        return answer if isinstance(answer, Reply) else Reply(answer)

    def _handler(self) -> type[Handler]:
        fake = self

        class Serving(Handler):
            def do_POST(self) -> None:
                fake.headers.append(dict(self.headers))
                request = json.loads(self.body())
                reply = fake._reply_to(request)
                if reply.hang:
                    reply.hang.wait(10)
                if request.get("stream") and reply.status == 200 and reply.body is None:
                    self.stream(reply)
                    return
                body = reply.as_bytes()
                try:
                    self.send_response(reply.status)
                    for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body[: reply.cut])
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def stream(self, reply: Reply) -> None:
                pieces = reply.pieces()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for at, piece in enumerate(pieces):
                    if reply.pause and at == len(pieces) // 2:
                        reply.pause.wait(10)
                    self.wfile.write(piece)
                    self.wfile.flush()

        return Serving

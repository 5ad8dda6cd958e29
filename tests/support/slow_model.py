"""A chat-completions server on loopback that takes its time, and bears hundreds of callers at once."""

import asyncio
import json
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from tests.support.fake_openai import Reply

Answer = Callable[[str, str], Reply | dict[str, Any] | str]
"""Takes the name of the schema that is asked for and the text of the prompt, and gives what is answered."""


class SlowModel:
    """Answers each call after `delay_s` seconds. Use it in an `async with` block."""

    def __init__(self, answer: Answer, delay_s: float, port: int = 0) -> None:
        """Take what it answers, and on which port; by default a free one."""
        self.answer, self.delay_s, self.port = answer, delay_s, port
        self.calls = self.most_at_once = 0
        self._at_once, self._open = 0, dict[asyncio.StreamWriter, Any]()
        self._called = asyncio.Condition()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def has_at_once(self, calls: int) -> None:
        """Wait until so many calls wait for their answer."""
        async with self._called:
            await self._called.wait_for(lambda: self._at_once >= calls)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Listen no more, and break off every call."""
        self._server.close()
        tasks = list(self._open.values())
        for writer, task in self._open.items():
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = asyncio.current_task()
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length:")[2].split("\r\n", 1)[0] or 0)
                body = await reader.readexactly(length)
                # Who asks only whether it is there brings no question.
                reply = await self._reply_to(json.loads(body)) if body else Reply(status=404)
                writer.write(_as_http(reply))
                await writer.drain()
                if reply.cut is not None or "Connection" in reply.headers:
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            # The caller has gone, or the server is closed.
            pass
        finally:
            del self._open[writer]
            writer.close()

    async def _reply_to(self, request: dict[str, Any]) -> Reply:
        self.calls, self._at_once = self.calls + 1, self._at_once + 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        async with self._called:
            self._called.notify_all()
        schema = request.get("response_format", {}).get("json_schema", {}).get("name", "")
        prompt = "\n".join(str(message["content"]) for message in request["messages"])
        try:
            await self.wait(prompt)
        finally:
            self._at_once -= 1
        answer = self.answer(schema, prompt)
        return answer if isinstance(answer, Reply) else Reply(answer)

    async def wait(self, prompt: str) -> None:
        """Take the time that an answer takes."""
        await asyncio.sleep(self.delay_s)


def _as_http(reply: Reply) -> bytes:
    body = reply.as_bytes()
    headers = {"Content-Type": "application/json", **reply.headers, "Content-Length": str(len(body))}
    lines = [f"HTTP/1.1 {reply.status} Said", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body[: reply.cut]

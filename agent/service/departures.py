"""What a request began ends when nobody waits for its answer any more."""

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Departures:
    """Cancels a request whose client has left before its answer began; streams see to the time after that."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as waited_for:
                client = _Client(receive, send, lambda: waited_for.reschedule(loop.time()))
                try:
                    await self._app(scope, client.receive, client.send)
                finally:
                    client.let_go()
        except TimeoutError:
            if not waited_for.expired():
                raise


class _Client:
    """A client, who is listened to from the end of its request on: all that can come then is that it leaves."""

    def __init__(self, receive: Receive, send: Send, leave: Callable[[], None]) -> None:
        self._receive, self._send, self._leave = receive, send, leave
        self._listening: asyncio.Task[Message] | None = None
        self._is_answered = False

    async def receive(self) -> Message:
        if self._listening:
            return await asyncio.shield(self._listening)
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            self._listening = asyncio.create_task(self._listen())
        return message

    async def send(self, message: Message) -> None:
        self._is_answered = True
        await self._send(message)

    def let_go(self) -> None:
        if self._listening:
            self._listening.cancel()

    async def _listen(self) -> Message:
        message = await self._receive()
        if not self._is_answered:
            self._leave()
        return message

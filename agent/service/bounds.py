"""What a request may take: bytes, and seconds."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.errors import DatasphinxError, RequestTimeout, RequestTooLarge
from agent.service.problems import problem
from agent.settings import Settings

_FILES = "/files"
_EVENTS = "/events"
"""How the paths end that watch the time themselves, to say so in their stream."""

_MULTIPART_BYTES = 10_000
"""What a form may have beside the file that it brings."""


class Bounds:
    """Refuses a request that is too large, as soon as that is known, and stops one that takes too long."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """Stand before `app`."""
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        body = _Body(receive, *self._allowed(scope))
        seconds = self._settings.request_timeout_s
        try:
            body.check_announced(scope)
            async with asyncio.timeout(None if scope["path"].endswith(_EVENTS) else seconds) as limit:
                await self._app(scope, body.receive, answer.send_unless(body))
            error: DatasphinxError | None = body.error
        except RequestTooLarge as too_large:
            error = too_large
        except TimeoutError:
            if not limit.expired():
                raise
            error = RequestTimeout(seconds)
        if error and not answer.has_begun:
            await problem(error, scope)(scope, receive, answer.send)

    def _allowed(self, scope: Scope) -> tuple[int, int, str]:
        """Return the bytes that the request may have, and for the error the limit and its setting."""
        if scope["path"] == _FILES:
            limit = self._settings.max_upload_bytes
            return limit + _MULTIPART_BYTES, limit, "DATASPHINX_MAX_UPLOAD_BYTES"
        limit = self._settings.max_request_bytes
        return limit, limit, "DATASPHINX_MAX_REQUEST_BYTES"


class _Body:
    """The body of a request, counted; `error` is set when it is too large."""

    def __init__(self, receive: Receive, allowed: int, limit: int, setting: str) -> None:
        self._receive, self._allowed = receive, allowed
        self._too_large = RequestTooLarge(limit, setting)
        self._bytes = 0
        self.error: RequestTooLarge | None = None

    def check_announced(self, scope: Scope) -> None:
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if announced.isdigit() and int(announced) > self._allowed:
            raise self._too_large

    async def receive(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self._bytes > self._allowed:
            self.error = self._too_large
            raise self.error
        return message


class _Answer:
    """The answer to a request, as far as it has gone out."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def send(self, message: Message) -> None:
        self.has_begun = True
        await self._send(message)

    def send_unless(self, body: _Body) -> Send:
        """Return what sends an answer, but none on a body that is too large: that is said here."""

        async def send(message: Message) -> None:
            if body.error is None or self.has_begun:
                await self.send(message)

        return send

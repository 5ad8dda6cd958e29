"""Middleware: API keys, tokens and roles, origins, request limits, and cancellation when the client disconnects."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as ASGIMessage

from datasphinx.agent.errors import (
    DatasphinxError,
    DriverMissing,
    Forbidden,
    RequestTimeout,
    TooLarge,
    Unauthenticated,
)
from datasphinx.agent.record.telemetry import remote_parent
from datasphinx.agent.server.background import time_limit
from datasphinx.agent.server.errors import problem
from datasphinx.agent.server.headers import HttpMiddleware, SecurityHeaders, route_path
from datasphinx.agent.server.live_sources import LiveSources
from datasphinx.agent.server.loopback import foreign_sender
from datasphinx.agent.server.tenants import ALL_ROLES, Identity, Tenant, Tenants, set_tenant
from datasphinx.agent.settings import OidcSettings, Role, Settings

if TYPE_CHECKING:
    from datasphinx.agent.server.tokens import TokenVerifier

_FILES = ("/files", "/files/events")
_STREAMS = (
    "/events",
    "/report",
    "/v1/chat/completions",
    "/v1/responses",
    "/agui",
    "/mcp",
    "/runs/stream",
    "/runs/wait",
)
"""Path endings of the streams, which enforce the time limit themselves and report a timeout as an event or result."""

_MULTIPART_BYTES = 10_000
"""Allowed size of a form in addition to its file."""

_OPEN = ("/", "/healthz", "/readyz", "/docs", "/openapi.json", "/favicon.ico")
_ASSETS = "/static/"
"""Paths without data, which need no key or token."""
_READINESS = "/readyz"
"""The open path that shows more to some roles."""
_ROLES: Mapping[str, Role] = {"metrics": "operate", "operate": "operate", "proposals": "review"}
"""The roles that routes require, by the first part of the path; all other routes require `ask`."""

_BEARER = "bearer "


class RequestLimits(HttpMiddleware):
    """Refuses requests that are too large, as early as possible, and stops requests that take too long."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        super().__init__(app)
        self._settings = settings

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        settings, is_upload = self._settings, route_path(scope) in _FILES
        limit = settings.max_upload_bytes if is_upload else settings.max_request_bytes
        setting = f"DATASPHINX_MAX_{'UPLOAD' if is_upload else 'REQUEST'}_BYTES"
        too_large = TooLarge("request_too_large", limit=limit, setting=setting)
        exchange = _Exchange(receive, send, limit + _MULTIPART_BYTES * is_upload, too_large)
        error: DatasphinxError | None = None
        try:
            exchange.check_content_length(scope)
            async with time_limit(None if scope["path"].endswith(_STREAMS) else settings.request_timeout_s):
                await self._app(scope, exchange.receive, exchange.send)
        except (TooLarge, RequestTimeout) as raised:
            error = raised
        error = exchange.error or error
        if error and not exchange.has_started:
            await problem(error, scope)(scope, receive, send)


class _Exchange:
    """A request whose body has a limit, and its response; `error` is set if the body is too large."""

    def __init__(self, receive: Receive, send: Send, max_bytes: int, too_large: TooLarge) -> None:
        self._receive, self._send, self._max_bytes, self._too_large = receive, send, max_bytes, too_large
        self._bytes = 0
        self.error: TooLarge | None = None
        self.has_started = False
        """Whether the response has started."""

    def check_content_length(self, scope: Scope) -> None:
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and int(length) > self._max_bytes:
            raise self._too_large

    async def receive(self) -> ASGIMessage:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self._bytes > self._max_bytes:
            self.error = self._too_large
            raise self.error
        return message

    async def send(self, message: ASGIMessage) -> None:
        # The application's own response to a body that it could not read is replaced.
        if self.error is None or self.has_started:
            self.has_started = True
            await self._send(message)


class CancelOnDisconnect(HttpMiddleware):
    """Cancels a request if its client disconnects before the response starts; streams detect later disconnects."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as timeout:
                client = _Client(receive, send, lambda: timeout.reschedule(loop.time()))
                try:
                    await self._app(scope, client.receive, client.send)
                finally:
                    client.stop_listening()
        except TimeoutError:
            if not timeout.expired():
                raise


class _Client:
    """Waits for the disconnect of a client, the only message that can follow the end of its request."""

    def __init__(self, receive: Receive, send: Send, on_disconnect: Callable[[], None]) -> None:
        self._receive, self._send, self._on_disconnect = receive, send, on_disconnect
        self._listening: asyncio.Task[ASGIMessage] | None = None
        self._response_started = False

    async def receive(self) -> ASGIMessage:
        if self._listening:
            return await asyncio.shield(self._listening)
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            self._listening = asyncio.create_task(self._listen())
        return message

    async def send(self, message: ASGIMessage) -> None:
        self._response_started = True
        await self._send(message)

    def stop_listening(self) -> None:
        if self._listening:
            self._listening.cancel()

    async def _listen(self) -> ASGIMessage:
        message = await self._receive()
        if not self._response_started:
            self._on_disconnect()
        return message


class Authentication(HttpMiddleware):
    """Sets the tenant and the roles of a request by its API key or token, and refuses routes that need another role.

    Without a valid key or token, only paths without data are served.
    """

    def __init__(self, app: ASGIApp, tenants: Tenants, tokens: "TokenVerifier | None") -> None:
        """Wrap `app`; tokens are not accepted if `tokens` is None."""
        super().__init__(app)
        self._tenants, self._tokens = tenants, tokens

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        path = route_path(scope)
        is_open = path in _OPEN or path.startswith(_ASSETS)
        if is_open and path != _READINESS:
            await self._app(scope, receive, send)
            return
        try:
            identity = await self._identify(Headers(scope=scope))
            if not is_open:
                role = _ROLES.get(path.lstrip("/").partition("/")[0], "ask")
                if role not in identity.roles:
                    raise (
                        Forbidden("review_not_permitted") if role == "review" else Forbidden("role_missing", role=role)
                    )
        except DatasphinxError as error:
            if not is_open:
                await problem(error, scope)(scope, receive, send)
                return
        else:
            tenant = await run_in_threadpool(self._tenants.open, identity)
            set_tenant(tenant, identity.roles, identity.user)
        await self._app(scope, receive, send)

    async def _identify(self, headers: Headers) -> Identity:
        """Return the sender of a request. Raise Unauthenticated if it has no valid key or token."""
        header = headers.get("authorization", "")
        bearer = header[len(_BEARER) :].strip() if header.lower().startswith(_BEARER) else ""
        key = bearer or headers.get("x-api-key", "").strip()
        if identity := self._tenants.of_key(key):
            return identity
        if bearer and self._tokens:
            return await self._tokens.identify(bearer)
        raise Unauthenticated("key_missing")


class FollowSources(HttpMiddleware):
    """Applies changes of the sources before each request."""

    def __init__(self, app: ASGIApp, sources: LiveSources) -> None:
        super().__init__(app)
        self._sources = sources

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if self._sources.has_changed():
            await run_in_threadpool(self._sources.update)
            # It lists the names of the sources.
            scope["app"].openapi_schema = None
        await self._app(scope, receive, send)


class LoopbackOnly(HttpMiddleware):
    """Refuses requests to an address or host name other than loopback, and requests from other sites."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection of any kind."""
        sender = foreign_sender(scope)
        if sender is None:
            await self._app(scope, receive, send)
        else:
            await problem(Forbidden("origin_refused", origin=sender), scope)(scope, receive, send)


class TraceContext(HttpMiddleware):
    """Makes the span that the header `traceparent` names the parent of the runs of a request."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        with remote_parent(Headers(scope=scope)):
            await self._app(scope, receive, send)


def add_middleware(app: FastAPI, server: Tenant, tenants: Tenants | None, live_sources: LiveSources | None) -> None:
    """Add all middleware to `app`, the outermost last; `tenants` is None on a server without keys and tokens.

    `live_sources` is None if the sources do not change.
    """
    settings = server.services.settings
    if settings.otel:
        app.add_middleware(TraceContext)
    app.add_middleware(CancelOnDisconnect)
    app.add_middleware(RequestLimits, settings=settings)
    if live_sources:
        app.add_middleware(FollowSources, sources=live_sources)
    if tenants:
        tokens = _token_verifier(settings.oidc, tenants) if settings.oidc else None
        app.add_middleware(Authentication, tenants=tenants, tokens=tokens)
    else:
        app.add_middleware(SingleTenant, tenant=server)
        app.add_middleware(LoopbackOnly)
    app.add_middleware(SecurityHeaders)


def _token_verifier(settings: OidcSettings, tenants: Tenants) -> "TokenVerifier":
    try:
        import jwt.algorithms

        if not jwt.algorithms.has_crypto:
            raise ImportError("cryptography")
    except ImportError as error:
        raise DriverMissing("pyjwt[crypto]", "oidc") from error
    from datasphinx.agent.server.issuer import SigningKeys
    from datasphinx.agent.server.tokens import TokenVerifier

    return TokenVerifier(settings, tenants.names, SigningKeys(settings))


class SingleTenant(HttpMiddleware):
    """Sets the same tenant for each request, on a server without keys and tokens."""

    def __init__(self, app: ASGIApp, tenant: Tenant) -> None:
        super().__init__(app)
        self._tenant = tenant

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        set_tenant(self._tenant, ALL_ROLES, "")
        await self._app(scope, receive, send)

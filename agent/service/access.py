"""A server with keys answers their tenants, each for itself."""

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.errors import KeyMissing
from agent.service.problems import problem
from agent.service.tenant import answer_for
from agent.service.tenants import Tenants

_OPEN = ("/", "/healthz", "/readyz", "/docs", "/openapi.json", "/favicon.ico")
_ASSETS = "/static/"
_BEARER = "bearer "


class Access:
    """Answers a request for the tenant of its key; without one, only what shows nothing of anybody."""

    def __init__(self, app: ASGIApp, tenants: Tenants) -> None:
        """Stand before `app`."""
        self._app, self._tenants = app, tenants

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        key = _key(Headers(scope=scope))
        tenant = await run_in_threadpool(self._tenants.of_key, key) if key else None
        if tenant:
            answer_for(tenant)
        elif scope["path"] not in _OPEN and not scope["path"].startswith(_ASSETS):
            await problem(KeyMissing(), scope)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _key(headers: Headers) -> str:
    """Return the key that came along; empty where none did."""
    given = headers.get("authorization", "")
    bearer = given[len(_BEARER) :] if given.lower().startswith(_BEARER) else ""
    return (bearer or headers.get("x-api-key", "")).strip()

"""What stands before every route, from the outside: headers, who may ask, and what a request may take."""

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.service.access import Access
from agent.service.bounds import Bounds
from agent.service.departures import Departures
from agent.service.headers import Headers
from agent.service.origin import OwnMachine
from agent.service.tenant import Tenant, answer_for
from agent.service.tenants import Tenants


def add_walls(app: FastAPI, server: Tenant, tenants: Tenants | None) -> None:
    """Add the middleware of `app`, the outermost last; `tenants` are those of a server with keys."""
    settings = server.services.settings
    app.add_middleware(Departures)
    app.add_middleware(Bounds, settings=settings)
    if tenants:
        app.add_middleware(Access, tenants=tenants)
    else:
        app.add_middleware(ForOne, tenant=server)
        app.add_middleware(OwnMachine)
    app.add_middleware(Headers)


class ForOne:
    """Answers every request for the one tenant of a server without keys."""

    def __init__(self, app: ASGIApp, tenant: Tenant) -> None:
        """Stand before `app`."""
        self._app, self._tenant = app, tenant

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        answer_for(self._tenant)
        await self._app(scope, receive, send)

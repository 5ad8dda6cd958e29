"""The graphs and the HTTP application that `langgraph dev` serves; `langgraph.json` names them.

That server requires no key, and every program on this machine can reach it. So questions can name configured sources
only, and requests from other machines, under other host names and from other web pages are refused.
"""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.errors import Forbidden
from datasphinx.agent.graph import build_graph
from datasphinx.agent.report.graph import build_report
from datasphinx.agent.server.loopback import foreign_sender
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings

_POLICY_VIOLATION = 1008
"""The WebSocket close code for a message that violates the server's policy (RFC 6455, section 7.4.1)."""


class LocalRequests:
    """Refuses requests that come neither from this machine nor from a page that `http.cors` allows.

    CORS alone is not enough: browsers send simple POST requests and open WebSockets without a preflight request, and a
    host name that resolves to loopback (DNS rebinding) makes a foreign page same-origin.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`; the allowed origins are those of the server's CORS configuration."""
        from langgraph_api.config import CORS_CONFIG

        self._app = app
        self._is_allowed_origin = CORSMiddleware(app, **(CORS_CONFIG or {})).is_allowed_origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with status 403."""
        sender = foreign_sender(scope, self._is_allowed_origin)
        if sender is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": ""})
        else:
            error = Forbidden("origin_refused", origin=sender)
            await JSONResponse({"code": error.code, "detail": error.message()}, 403)(scope, receive, send)


# Studio is a page of another host, which no path of this machine reaches: sources are not edited there.
_services = Services(load_settings(edit_sources=False), any_source=False)
agent = build_graph(_services)
analyst = build_analyst(_services)
report = build_report(_services)
app = Starlette(middleware=[Middleware(LocalRequests)])

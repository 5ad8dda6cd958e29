"""Route: the Model Context Protocol over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.server.metrics import Metrics
from datasphinx.agent.server.runnable import ServedGraph
from datasphinx.agent.server.tenants import current_tenant
from datasphinx.agent.settings import Settings

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
METHODS = ("POST", "DELETE")
"""GET is for messages that belong to no request, of which there are none."""


class McpRoute:
    """Serves MCP clients, while `running`. A session can be used with the keys of its tenant only."""

    def __init__(self, agent: ServedGraph, settings: Settings, metrics: Metrics) -> None:
        """Answer questions with `agent`."""
        self._agent, self._settings, self._metrics = agent, settings, metrics
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Accept sessions during the block, if the extra `mcp` is installed."""
        if find_spec("mcp") is None:
            yield
            return
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from datasphinx.agent.server.mcp.server import build_server

        manager = StreamableHTTPSessionManager(
            build_server(self._agent, self._settings, self._metrics),
            max_request_body_size=self._settings.max_request_bytes,
        )
        async with manager.run():
            self._manager = manager
            yield
            self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request.

        Raises:
            DriverMissing: the extra `mcp` is not installed.
        """
        if self._manager is None:
            raise DriverMissing("mcp", "mcp")
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        from datasphinx.agent.server.mcp.server import TENANT

        tenant = current_tenant()
        user = AuthenticatedUser(AccessToken(token="", client_id=tenant.name, scopes=[]))
        await self._manager.handle_request({**scope, TENANT: tenant, "user": user}, receive, send)

"""Route: the Model Context Protocol over HTTP."""

import asyncio
from contextvars import Context
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
    """Serves MCP clients. A session can be used with the keys of its tenant only.

    Sessions live in a task that the first request starts, since a mounted application has no lifespan; the event loop
    ends it.
    """

    def __init__(self, agent: ServedGraph, report: ServedGraph, settings: Settings, metrics: Metrics) -> None:
        """Answer questions with `agent`, and write reports with `report`."""
        self._report = report
        self._agent, self._settings, self._metrics = agent, settings, metrics
        self._sessions: asyncio.Task[None] | None = None
        self._manager: asyncio.Future[StreamableHTTPSessionManager]

    async def _open_manager(self) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from datasphinx.agent.server.mcp.server import build_server

        if self._sessions is None or self._sessions.done():
            manager = StreamableHTTPSessionManager(
                build_server(self._agent, self._report, self._settings, self._metrics),
                max_request_body_size=self._settings.max_request_bytes,
            )
            self._manager = asyncio.get_running_loop().create_future()
            # The task outlives the request, so it has nothing of its tenant.
            self._sessions = asyncio.create_task(_run(manager, self._manager), context=Context())
        return await asyncio.shield(self._manager)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request.

        Raises:
            DriverMissing: the extra `mcp` is not installed.
        """
        if find_spec("mcp") is None:
            raise DriverMissing("mcp", "mcp")
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        from datasphinx.agent.server.mcp.server import TENANT

        tenant = current_tenant()
        user = AuthenticatedUser(AccessToken(token="", client_id=tenant.name, scopes=[]))
        manager = await self._open_manager()
        await manager.handle_request({**scope, TENANT: tenant, "user": user}, receive, send)


async def _run(
    manager: "StreamableHTTPSessionManager", started: "asyncio.Future[StreamableHTTPSessionManager]"
) -> None:
    try:
        async with manager.run():
            started.set_result(manager)
            await asyncio.Event().wait()
    except Exception as error:
        if started.done():
            raise
        # The requests that wait for the start fail with it, and the next one starts again.
        started.set_exception(error)

"""`datasphinx mcp`: the MCP server of one user over standard input and output."""

import asyncio

from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings


def serve_stdio(settings: Settings | None = None) -> None:
    """Serve the client that started this process, until it closes standard input.

    Raises:
        DriverMissing: a package of the extra `mcp` is not installed.
    """
    try:
        from mcp.server.stdio import stdio_server
    except ImportError as error:
        raise DriverMissing("mcp", "mcp") from error
    from datasphinx.agent.server.app import check_stores, served_graphs
    from datasphinx.agent.server.mcp.server import build_server
    from datasphinx.agent.server.metrics import Metrics
    from datasphinx.agent.server.tenants import open_tenant, set_tenant

    # The client's model writes the names of sources.
    services = Services(settings, any_source=False)
    check_stores(services.settings)
    set_tenant(open_tenant("", services), frozenset())
    metrics = Metrics()
    agent, _, report = served_graphs(services, metrics)
    server = build_server(agent, report, services.settings, metrics)

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    asyncio.run(serve())

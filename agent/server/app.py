"""The web application of the graphs. FastAPI is imported by `create_app`."""

import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from datasphinx.agent.conversation.retention import DAY_S, prune_record, prune_threads
from datasphinx.agent.conversation.threads import open_threads
from datasphinx.agent.errors import ConfigurationError, DriverMissing
from datasphinx.agent.record.store import open_store
from datasphinx.agent.record.telemetry import check_installed
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from datasphinx.agent.server.boards import ScheduledRefreshes
    from datasphinx.agent.server.metrics import Metrics
    from datasphinx.agent.server.runnable import ServedGraph

PRUNE_S = 3600
"""Time between two deletions of old threads and events, in seconds."""


def create_app(services: Services | None = None) -> "FastAPI":
    """Return the web application with the routes of the package `routes`.

    A client can choose among the configured sources and the uploaded datasets only. Inputs that are not in the schema
    are refused with status 422; if they were ignored, the answer could be about other data than the question. The run
    configuration that LangServe's client sends is ignored. Conversations are stored as threads: each output contains
    its thread id, and an input may contain one to continue. Each error is a problem document (RFC 9457).

    Raises:
        DriverMissing: FastAPI, the driver of the thread store or the extra `oidc` is not installed.
        ConfigurationError: a setting is wrong.
    """
    services = services or Services(any_source=False)
    try:
        import fastapi_offline  # noqa: F401
        import prometheus_client  # noqa: F401
        import python_multipart  # noqa: F401
        from fastapi import FastAPI
        from starlette.routing import Route
    except ImportError as error:
        raise DriverMissing(error.name or "fastapi", "serve") from error
    from datasphinx.agent.server.boards import ScheduledRefreshes
    from datasphinx.agent.server.errors import add_handlers
    from datasphinx.agent.server.live_sources import LiveSources, may_edit_sources, may_run_sql
    from datasphinx.agent.server.metrics import Metrics, metrics_routes
    from datasphinx.agent.server.middleware import add_middleware
    from datasphinx.agent.server.routes import (
        answers,
        boards,
        charts,
        files,
        proposals,
        source_settings,
        sources,
        sql,
        traces,
    )
    from datasphinx.agent.server.routes.agent_events import agent_events_routes
    from datasphinx.agent.server.routes.agent_runs import agent_runs_routes
    from datasphinx.agent.server.routes.agent_threads import assistants_routes, threads_router
    from datasphinx.agent.server.routes.agui import agui_routes
    from datasphinx.agent.server.routes.chat_completions import chat_routes
    from datasphinx.agent.server.routes.events import events_routes
    from datasphinx.agent.server.routes.health import health_routes
    from datasphinx.agent.server.routes.mcp import METHODS, PATH, McpRoute
    from datasphinx.agent.server.routes.page import add_page
    from datasphinx.agent.server.routes.responses import responses_routes
    from datasphinx.agent.server.routes.runnables import runnable_routes
    from datasphinx.agent.server.routes.threads import list_router, threads_routes
    from datasphinx.agent.server.tenants import Tenants, open_tenant

    server = open_tenant("", services)
    tenants = None if services.settings.is_private else Tenants(server)
    metrics = Metrics()
    graphs = served_graphs(services, metrics)
    agent, analyst, report = graphs
    mcp = McpRoute(agent, report, services.settings, metrics)
    refreshes = ScheduledRefreshes(server, tenants)
    live_sources = LiveSources(server, tenants) if may_edit_sources(services.settings) else None
    app = FastAPI(
        title="datasphinx",
        description="Questions to databases and datasets.",
        docs_url=None,
        redoc_url=None,
        lifespan=lambda _: _running(refreshes, services.settings),
        # Spans of requests would have their query, and logs the texts of errors.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.router.routes.append(Route(PATH, mcp, methods=METHODS, include_in_schema=False))
    for router in (
        runnable_routes(agent),
        runnable_routes(analyst),
        events_routes(graphs),
        chat_routes(graphs),
        responses_routes(graphs),
        agui_routes(graphs),
        assistants_routes(graphs),
        threads_router,
        agent_runs_routes(graphs),
        agent_events_routes(graphs),
        list_router,
        threads_routes(agent),
        files.router,
        traces.router,
        answers.router,
        charts.router,
        sources.router,
        proposals.router,
        *([sql.router] if may_run_sql(services.settings) else []),
        boards.router,
        health_routes(server, tenants),
        metrics_routes(metrics),
        *([source_settings.router] if live_sources else []),
    ):
        # FastAPI would describe each route of an included router anew at the first request.
        app.router.routes.extend(router.routes)
    if live_sources:
        app.state.live_sources = live_sources
    add_page(app)
    add_handlers(app, metrics, services)
    add_middleware(app, server, tenants, live_sources)
    return app


@asynccontextmanager
async def _running(refreshes: "ScheduledRefreshes", settings: Settings) -> AsyncIterator[None]:
    from datasphinx.agent.server.background import repeated, run_in_thread

    async def prune() -> None:
        for days, delete in ((settings.thread_days, prune_threads), (settings.record_days, prune_record)):
            if days:
                await run_in_thread(partial(delete, settings, time.time() - days * DAY_S))

    async with refreshes.running(), repeated(prune, PRUNE_S, "[SERVER] old conversations or events were not deleted"):
        yield


def serve(host: str = "127.0.0.1", port: int = 8000, settings: Settings | None = None) -> None:
    """Serve until interrupted. An address other than loopback requires API keys or tokens.

    On SIGTERM the process accepts no more questions, answers the running ones, and exits with code 0.

    Raises:
        ConfigurationError: a setting is wrong, or the address is not loopback and there are neither keys nor tokens.
        DriverMissing: as for `create_app`, or uvicorn or the extra `otel` is not installed.
        Unavailable: the run record or the thread store cannot be used.
    """
    services = Services(settings, any_source=False)
    app = create_app(services)
    from datasphinx.agent.server.loopback import is_loopback

    if services.settings.is_private and not is_loopback(host):
        reason = f"without keys or tokens only this machine has access, and {host} is not loopback"
        raise ConfigurationError("DATASPHINX_API_KEYS", f"{reason}; see `datasphinx key new`")
    check_stores(services.settings)
    try:
        import uvicorn
        from uvicorn.config import LOGGING_CONFIG

        from datasphinx.agent.server.connections import LimitedProtocol
    except ImportError as error:
        raise DriverMissing("uvicorn", "serve") from error
    # Without its own configuration uvicorn uses the logging of the process, which is JSON with `log_json`.
    logs = None if services.settings.log_json else LOGGING_CONFIG
    # After its shutdown uvicorn raises the signal again; without this handler the exit status would be that of a kill.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    uvicorn.run(app, host=host, port=port, log_level="info", log_config=logs, server_header=False, http=LimitedProtocol)


def check_stores(settings: Settings) -> None:
    """Fail at start-up, not with the first question, if packages are missing or a store cannot be used.

    Raises:
        DriverMissing: the extra `otel`, or that of a store, is not installed.
        Unavailable: the run record or the thread store cannot be used.
    """
    check_installed(settings)
    if settings.record:
        open_store(settings).head()
    open_threads(settings).check()


def served_graphs(services: Services, metrics: "Metrics") -> "list[ServedGraph]":
    """Return the SQL agent, the analyst and the report graph for the current tenant of each request."""
    from datasphinx.agent.server.runnable import ServedGraph
    from datasphinx.agent.server.schemas import agent_question, analyst_question, report_request

    questions = {
        "agent": agent_question(services),
        "analyst": analyst_question(services),
        "report": report_request(services),
    }
    return [ServedGraph(graph, question, metrics) for graph, question in questions.items()]

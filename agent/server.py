"""Both graphs over HTTP: routes only. FastAPI and LangServe are imported when an app is made."""

import asyncio
import gc
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from agent.audit.store import open_store
from agent.conversation.threads import open_threads
from agent.errors import ConfigurationError, DriverMissing
from agent.services import Services
from agent.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI
    from langserve.serialization import Serializer

    from agent.served_graph import ServedGraph
    from agent.service.metrics import Metrics

_QUESTIONS_AT_ONCE = 256


def create_app(services: Services | None = None) -> "FastAPI":
    """Return the web application: LangServe's routes under /agent and /analyst, and those of `agent.service`.

    A client can choose among the named sources and the datasets that are kept, and bring no others: inputs that are not
    in the schema are refused with 422 instead of being ignored, since the answer would then be about other data than
    was asked for. What LangServe's client sends as a run's configuration is ignored. Conversations are kept on threads:
    every output names its own, and an input may name it to go on. Every error is a problem (RFC 9457).

    Raises:
        DriverMissing: FastAPI, LangServe, or what keeps threads is not installed.
        ConfigurationError: a setting is wrong.
    """
    services = services or Services(any_source=False)
    try:
        import fastapi_offline  # noqa: F401
        import prometheus_client  # noqa: F401
        import python_multipart  # noqa: F401
        from fastapi import FastAPI
        from langserve import add_routes  # noqa: F401
    except ImportError as error:
        raise DriverMissing("langserve", "serve") from error
    from agent.service import charts, files, sources, traces
    from agent.service.events import events_routes
    from agent.service.health import health_routes
    from agent.service.metrics import Metrics, metrics_routes
    from agent.service.page import add_page
    from agent.service.problems import DOCUMENTED, add_handlers
    from agent.service.tenant import open_tenant
    from agent.service.tenants import Tenants
    from agent.service.threads import threads_routes
    from agent.service.walls import add_walls

    server = open_tenant("", services)
    tenants = Tenants(server) if services.settings.api_keys else None
    app = FastAPI(
        title="datasphinx",
        description="Questions to databases and datasets.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        responses=DOCUMENTED,
    )
    metrics = Metrics()
    graphs = _served_graphs(services.settings, metrics)
    _add_langserve(app, graphs)
    for router in (
        events_routes(graphs),
        threads_routes(graphs[0]),
        files.router,
        traces.router,
        charts.router,
        sources.router,
        health_routes(server, tenants),
        metrics_routes(metrics),
    ):
        app.include_router(router)
    add_page(app)
    add_handlers(app, metrics, services.settings)
    add_walls(app, server, tenants)
    return app


def serve(host: str = "127.0.0.1", port: int = 8000, settings: Settings | None = None) -> None:
    """Serve until interrupted; on another address than loopback only those who have keys.

    Told to stop by SIGTERM, the process takes no more questions, answers those it has, and ends with exit code 0.

    Raises:
        ConfigurationError: the address is another than loopback, and there are no keys.
        DriverMissing, ConfigurationError: as `create_app` says.
        RecordUnavailable, ThreadsUnavailable: the record of runs, or what keeps threads, cannot be used.
    """
    services = Services(settings, any_source=False)
    app = create_app(services)
    from agent.service.loopback import is_loopback

    if not services.settings.api_keys and not is_loopback(host):
        reason = (
            f"without keys only this machine may ask, and {host} can be reached from others; see `datasphinx key new`"
        )
        raise ConfigurationError("DATASPHINX_API_KEYS", reason)
    # What cannot be used shows now, and not with the first question.
    if services.settings.record:
        open_store(services.settings).head()
    with open_threads(services.settings).saver():
        pass
    try:
        import uvicorn
        from uvicorn.config import LOGGING_CONFIG
    except ImportError as error:
        raise DriverMissing("uvicorn", "serve") from error
    # Without a configuration uvicorn logs as the process does: in JSON, where that is set.
    logs = None if services.settings.log_json else LOGGING_CONFIG
    # Almost all that a question makes is freed by counting; to look for cycles as often as Python does by itself costs
    # a sixth of it.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    # When all is answered uvicorn raises the signal once more, and the process would look as if it had been killed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    uvicorn.run(app, host=host, port=port, log_level="info", log_config=logs, server_header=False)


def _served_graphs(settings: Settings, metrics: "Metrics") -> "list[ServedGraph]":
    from agent.served_graph import ServedGraph
    from agent.server_inputs import agent_question, analyst_question

    questions = {"agent": agent_question(settings), "analyst": analyst_question(settings)}
    return [ServedGraph(graph, question, metrics) for graph, question in questions.items()]


def _add_langserve(app: "FastAPI", graphs: "Sequence[ServedGraph]") -> None:
    from fastapi.routing import APIRoute
    from langserve import add_routes
    from sse_starlette.sse import AppStatus

    from agent.served_graph import PlainJSON
    from agent.server_inputs import body_check
    from agent.service.events import ANY_EVENT, EventStream, stream_of
    from agent.service.page import add_playground

    # Else its streams break off as soon as the server is told to stop, and what was asked has no answer.
    AppStatus.enable_automatic_graceful_drain = False
    for served in graphs:
        add_routes(
            app,
            served,
            path=f"/{served.graph}",
            config_keys=(),
            disabled_endpoints=cast("Any", ("config_hashes", "playground", "token_feedback")),
            dependencies=[body_check(served.get_input_schema())],
            serializer=cast("Serializer", PlainJSON()),
        )
        add_playground(app, served)
    for route in app.routes:
        if isinstance(route, APIRoute) and "/stream" in route.path:
            # LangServe says of its streams that they are JSON.
            route.response_class = EventStream
            route.responses = {**route.responses, 200: stream_of(ANY_EVENT)}


@asynccontextmanager
async def _lifespan(app: "FastAPI") -> AsyncIterator[None]:
    # A question mostly waits for a model or a database, in a thread of the loop's default executor. That has cores + 4
    # threads by itself: on two cores the seventh question would wait.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_QUESTIONS_AT_ONCE, "datasphinx-question"))
    yield

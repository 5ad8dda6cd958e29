"""Both graphs over HTTP, with LangServe: routes only. FastAPI and LangServe are imported when an app is made."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

from agent.analyst import build_analyst
from agent.audit.store import open_store
from agent.conversation.conversations import Conversations
from agent.conversation.threads import open_threads
from agent.errors import DriverMissing
from agent.graph import build_graph
from agent.health import health
from agent.served_graph import PlainJSON, ServedGraph
from agent.server_inputs import agent_question, analyst_question, body_check, refused
from agent.service.page import add_page
from agent.services import Services
from agent.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI
    from langserve.serialization import Serializer

_NODE_THREADS = 64


def create_app(services: Services | None = None) -> "FastAPI":
    """Return the web application: LangServe's routes under /agent and /analyst, /docs and /healthz.

    A client can choose among the named sources and the datasets that are kept, and bring no others: inputs that are not
    in the schema are refused with 422 instead of being ignored, since the answer would then be about other data than
    was asked for. What LangServe's client sends as a run's configuration is ignored. Conversations are kept on threads:
    every output names its own, and an input may name it to go on.

    Raises:
        DriverMissing: FastAPI, LangServe, or what keeps threads is not installed.
        ConfigurationError: a setting is wrong.
    """
    services = services or Services(any_source=False)
    settings, threads = services.settings, open_threads(services.settings)
    graphs = {
        "/agent": ServedGraph(Conversations(build_graph(services), threads), agent_question(settings)),
        "/analyst": ServedGraph(Conversations(build_analyst(services), threads), analyst_question(settings)),
    }
    try:
        from fastapi import FastAPI
        from fastapi.exceptions import RequestValidationError
        from langserve import add_routes

        app = FastAPI(title="datasphinx", description="Questions to databases and datasets.", lifespan=_lifespan)
        for path, served in graphs.items():
            add_routes(
                app,
                served,
                path=path,
                config_keys=(),
                disabled_endpoints=("config_hashes",),
                dependencies=[body_check(served.get_input_schema())],
                serializer=cast("Serializer", PlainJSON()),
            )
    except ImportError as error:
        raise DriverMissing("langserve", "serve") from error
    app.add_exception_handler(RequestValidationError, refused)
    _add_healthz(app, services)
    add_page(app)
    return app


def serve(host: str = "127.0.0.1", port: int = 8000, settings: Settings | None = None) -> None:
    """Serve until interrupted. There is no login: let another address than loopback be reached only through one.

    Raises:
        DriverMissing, ConfigurationError: as `create_app` says.
        RecordUnavailable, ThreadsUnavailable: the record of runs, or what keeps threads, cannot be used.
    """
    services = Services(settings, any_source=False)
    app = create_app(services)
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
    uvicorn.run(app, host=host, port=port, log_level="info", log_config=logs)


def _add_healthz(app: "FastAPI", services: Services) -> None:
    from fastapi.responses import JSONResponse

    # A plain function runs in FastAPI's own threads, so a database that hangs costs the questions none of theirs.
    @app.get("/healthz", response_model=None, responses={503: {"description": "The source does not answer."}})
    def healthz() -> JSONResponse:
        """Whether the source answers and a model is configured."""
        found = health(services)
        return JSONResponse(found, 200 if found["source"]["answers"] else 503)


@asynccontextmanager
async def _lifespan(app: "FastAPI") -> AsyncIterator[None]:
    # Nodes are plain functions that mostly wait for a model or a database, and LangGraph runs them in the loop's
    # default executor. That has cores + 4 threads by itself: on two cores the seventh question would wait.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_NODE_THREADS, "datasphinx-node"))
    yield

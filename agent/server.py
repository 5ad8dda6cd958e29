"""The agent over HTTP, with LangServe: routes only. FastAPI and LangServe are imported when an app is made."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, create_model
from pydantic_core import from_json, to_json

from agent.audit.store import open_store
from agent.errors import DatasphinxError, DriverMissing
from agent.graph import Graph, build_graph
from agent.services import Services
from agent.settings import Settings
from agent.sql.execute import execute
from agent.sql.limits import Limits
from agent.state import Clarify, ErrorInfo, Input, Output, OutputType

if TYPE_CHECKING:
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse
    from langserve.serialization import Serializer

_NODE_THREADS = 64
_MAX_BATCH = 100
_HEALTH_TIMEOUT_S = 5
_OPTIONAL_INPUTS: dict[str, Any] = {
    "output_type": (
        OutputType | None,
        Field(None, description="Form of the answer; left out: chosen from the result."),
    ),
    "clarify": (Clarify | None, Field(None, description="When to ask back.")),
    "clarification_answer": (str | None, Field(None, description="The answer to the last clarifying question.")),
    "enable_sql_validation": (bool | None, Field(None, description="Whether the model checks the statement.")),
}


class ServedAgent(Runnable[dict[str, Any], dict[str, Any]]):
    """The graph as LangServe runs it: a checked input, plain JSON out, and a stream that ends in the output."""

    def __init__(self, graph: Graph, question: type[BaseModel]) -> None:
        """Serve `graph`; LangServe holds every input against `question`."""
        self._graph = graph
        self._question = question

    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """Return the schema of an input."""
        return self._question

    @property
    def OutputType(self) -> Any:
        """The type of an output."""
        return Output

    def invoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:
        """Return the output of one question; an error of the domain is in its `error`."""
        return self._graph.invoke(_given(input), config)

    async def ainvoke(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return the output of one question; an error of the domain is in its `error`."""
        return await self._graph.ainvoke(_given(input), config)

    async def astream(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield `{node: update}` as each node ends, and at last what `ainvoke` returns."""
        state: dict[str, Any] = {}
        events: AsyncIterator[Any] = self._graph.astream(_given(input), config, stream_mode=["updates", "values"])
        async for mode, chunk in events:
            if mode == "updates":
                yield chunk
            else:
                state = chunk
        yield {name: state[name] for name in Output.__annotations__ if name in state}


class PlainJSON:
    """How LangServe writes values: as JSON, and what JSON has no form for, such as an exception, as its type's name."""

    def dumps(self, obj: Any) -> bytes:
        """Return `obj` as JSON text."""
        return to_json(obj, inf_nan_mode="null", fallback=lambda unknown: f"<{type(unknown).__name__}>")

    def dumpd(self, obj: Any) -> Any:
        """Return `obj` as plain values."""
        return from_json(self.dumps(obj))


def create_app(services: Services | None = None) -> "FastAPI":
    """Return the web application: LangServe's routes under /agent, /docs and /healthz.

    A client can choose among the named sources and bring no other: inputs that are not in the schema are refused with
    422 instead of being ignored, since the answer would then be about other data than was asked for. What LangServe's
    client sends as a run's configuration is ignored.

    Raises:
        DriverMissing: FastAPI or LangServe is not installed.
        ConfigurationError: a setting is wrong.
    """
    services = services or Services(any_source=False)
    question = question_schema(services.settings)
    try:
        from fastapi import FastAPI
        from fastapi.exceptions import RequestValidationError
        from langserve import add_routes

        app = FastAPI(title="datasphinx", description="Questions to a database.", lifespan=_lifespan)
        add_routes(
            app,
            ServedAgent(build_graph(services), question),
            path="/agent",
            config_keys=(),
            disabled_endpoints=("config_hashes",),
            dependencies=[_body_check(question)],
            serializer=cast("Serializer", PlainJSON()),
        )
    except ImportError as error:
        raise DriverMissing("langserve", "serve") from error
    app.add_exception_handler(RequestValidationError, _refused)
    _add_healthz(app, services)
    return app


def serve(host: str = "127.0.0.1", port: int = 8000, settings: Settings | None = None) -> None:
    """Serve until interrupted. There is no login: let another address than loopback be reached only through one.

    Raises:
        DriverMissing, ConfigurationError: as `create_app` says.
        RecordUnavailable: the record of runs cannot be used.
    """
    services = Services(settings, any_source=False)
    app = create_app(services)
    if services.settings.record:
        # One that cannot be used shows now, and not with the first question.
        open_store(services.settings).head()
    try:
        import uvicorn
        from uvicorn.config import LOGGING_CONFIG
    except ImportError as error:
        raise DriverMissing("uvicorn", "serve") from error
    # Without a configuration uvicorn logs as the process does: in JSON, where that is set.
    logs = None if services.settings.log_json else LOGGING_CONFIG
    uvicorn.run(app, host=host, port=port, log_level="info", log_config=logs)


def question_schema(settings: Settings) -> type[BaseModel]:
    """Return the schema of an input: a question that is not too long, a named source if any is, nothing unknown."""
    length = StringConstraints(strip_whitespace=True, min_length=1, max_length=settings.max_question_chars)
    fields = {**_OPTIONAL_INPUTS}
    fields["question"] = (Annotated[str, length], Field(description="The question, in English, Russian or Chinese."))
    if settings.sources:
        named: Any = Literal[tuple(settings.sources)]
        fields["source"] = (named | None, Field(None, description="Which source to ask; left out: chosen."))
    return create_model("Question", __config__=ConfigDict(extra="forbid"), **fields)


def health(services: Services) -> dict[str, Any]:
    """Return whether the source answers a statement, and whether a model is configured, without asking the model.

    `status` is "ok", "degraded" without a model, or "unavailable" without the source.
    """
    source_error = _source_error(services)
    model = _model_health(services.settings)
    status = "unavailable" if source_error else "ok" if model["configured"] else "degraded"
    return {"status": status, "source": {"answers": source_error is None, "error": source_error}, "model": model}


def _body_check(question: type[BaseModel]) -> Any:
    """Return a dependency that holds the body of a request against the schema of an input.

    LangServe does so too, but answers 500 for some of what a client may get wrong, in /batch above all.
    """
    from fastapi import Depends, Request
    from fastapi.exceptions import RequestValidationError

    questions: Any = (list[question], Field(max_length=_MAX_BATCH))  # type: ignore[valid-type]
    one = create_model("One", input=(question, ...))
    many = create_model("Many", inputs=questions)

    async def check(request: Request) -> None:
        if request.method != "POST":
            return
        expected = many if request.url.path.endswith("/batch") else one
        try:
            expected.model_validate_json(await request.body())
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from error

    return Depends(check)


def _add_healthz(app: "FastAPI", services: Services) -> None:
    from fastapi.responses import JSONResponse

    # A plain function runs in FastAPI's own threads, so a database that hangs costs the questions none of theirs.
    @app.get("/healthz", response_model=None, responses={503: {"description": "The source does not answer."}})
    def healthz() -> JSONResponse:
        """Whether the source answers and a model is configured."""
        found = health(services)
        return JSONResponse(found, 200 if found["source"]["answers"] else 503)


def _source_error(services: Services) -> ErrorInfo | None:
    try:
        source = services.source()
        # Through the choke point, and not `source.execute`, for a shorter time limit: the one who asks is waiting.
        execute("SELECT 1", source.database, source.catalog, Limits(_HEALTH_TIMEOUT_S, 1))
    except DatasphinxError as error:
        return ErrorInfo(code=error.code, message=error.message())
    return None


def _model_health(settings: Settings) -> dict[str, Any]:
    if settings.uses_embedded_model:
        return {"kind": "embedded", "configured": find_spec("xllamacpp") is not None}
    return {"kind": "endpoint", "configured": bool(settings.llm_model)}


@asynccontextmanager
async def _lifespan(app: "FastAPI") -> AsyncIterator[None]:
    # Nodes are plain functions that mostly wait for a model or a database, and LangGraph runs them in the loop's
    # default executor. That has cores + 4 threads by itself: on two cores the seventh question would wait.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_NODE_THREADS, "datasphinx-node"))
    yield


async def _refused(request: "Request", error: Exception) -> "JSONResponse":
    """Say what is wrong with an input without repeating it: it may be long, or hold what UTF-8 cannot."""
    from fastapi.responses import JSONResponse

    found = cast("ValidationError", error).errors()
    detail = [
        {key: item.get(key) for key in ("type", "loc", "msg")} if isinstance(item, dict) else item for item in found
    ]
    return JSONResponse({"detail": detail}, 422)


def _given(question: dict[str, Any]) -> Input:
    return cast("Input", {name: value for name, value in question.items() if value is not None})

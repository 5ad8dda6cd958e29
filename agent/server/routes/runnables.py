"""LangServe's routes of a graph, with the same requests and responses."""

import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import cache
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from datasphinx.agent.conversation.reply import Reply
from datasphinx.agent.server.errors import new_router
from datasphinx.agent.server.routes.events import EventStream, event_response, named_event, stream_of
from datasphinx.agent.server.runnable import ServedGraph, json_bytes
from datasphinx.agent.server.schemas import body_check

_FAILED = {"status_code": 500, "message": "Internal Server Error"}
"""The data of the event that ends a stream after an unexpected error."""


class InvokeMetadata(BaseModel):
    """Metadata of the response to one input; there are no feedback tokens."""

    run_id: uuid.UUID
    feedback_tokens: list[Any]


class InvokeResponse(BaseModel):
    """The response to one input."""

    output: Reply
    metadata: InvokeMetadata


class BatchMetadata(BaseModel):
    """Metadata of the response to several inputs, in their order."""

    responses: list[InvokeMetadata]
    run_ids: list[uuid.UUID]


class BatchResponse(BaseModel):
    """The response to several inputs, in their order."""

    output: list[Reply]
    metadata: BatchMetadata


def runnable_routes(served: ServedGraph) -> APIRouter:
    """Return the routes `invoke`, `batch`, `stream`, `stream_events` and the schemas of `served`."""
    router = new_router(prefix=f"/{served.graph}", tags=[served.graph])
    checked: Any = body_check(served.get_input_schema())

    async def invoke(body: Any = checked) -> Response:
        """Ask one question."""
        output = await served.ainvoke(body.input.model_dump())
        return _json({"output": output, "metadata": _metadata(_new_id())})

    async def batch(body: Any = checked) -> Response:
        """Ask several questions at once."""
        outputs = await served.abatch([question.model_dump() for question in body.inputs])
        run_ids = [_new_id() for _ in outputs]
        metadata = {"responses": [_metadata(run_id) for run_id in run_ids], "run_ids": run_ids}
        return _json({"output": outputs, "metadata": metadata})

    async def stream(request: Request, body: Any = checked) -> EventStream:
        """Ask one question; `data` events contain the update of each node, and finally the output."""
        events = _events(served.astream(body.input.model_dump()), _new_id())
        return event_response(events, request.scope, None, _encode)

    async def stream_events(request: Request, body: Any = checked) -> EventStream:
        """Ask one question; `data` events contain LangChain's events, version 2."""
        # The events name the path of the graph, as with LangServe.
        config = RunnableConfig(run_name=f"/{served.graph}", run_id=uuid.uuid4())
        events = served.astream_events(body.input.model_dump(), config, version="v2", **_filters(body))
        shown = (
            {**event, "metadata": {name: value for name, value in event["metadata"].items() if name[:2] != "__"}}
            async for event in events
        )
        return event_response(_events(shown), request.scope, None, _encode)

    one, many = _request(served, "input"), _request(served, "inputs")
    router.post("/invoke", response_model=InvokeResponse, openapi_extra=one)(invoke)
    router.post("/batch", response_model=BatchResponse, openapi_extra=many)(batch)
    for endpoint in (stream, stream_events):
        router.post(
            f"/{endpoint.__name__}", response_class=EventStream, responses={200: stream_of()}, openapi_extra=one
        )(endpoint)
    _add_schemas(router, served)
    return router


def _add_schemas(router: APIRouter, served: ServedGraph) -> None:
    schemas: dict[str, Any] = {
        "input_schema": served.get_input_schema(),
        "output_schema": served.get_output_schema(),
        "config_schema": served.config_schema(include=()),
    }

    def endpoint(model: type[BaseModel]) -> Callable[[], dict[str, Any]]:
        # Few clients read schemas, which take a third of the time to create the application.
        return cache(lambda: model.model_json_schema())

    for name, model in schemas.items():
        router.get(f"/{name}", name=name, response_model=None)(endpoint(model))


def _filters(body: Any) -> dict[str, Any]:
    return {name: value for name, value in body if name.startswith(("include_", "exclude_"))}


def _new_id() -> str:
    return str(uuid.uuid4())


def _metadata(run_id: str) -> dict[str, Any]:
    return {"run_id": run_id, "feedback_tokens": []}


def _json(content: dict[str, Any]) -> Response:
    return Response(json_bytes(content), media_type="application/json")


async def _events(chunks: AsyncGenerator[Any], run_id: str | None = None) -> AsyncGenerator[tuple[str, Any]]:
    """Yield `chunks` as `data` events, and `end`; with `run_id`, a `metadata` event precedes them."""
    async with aclosing(chunks):
        async for chunk in chunks:
            if run_id:
                yield "metadata", {"run_id": run_id}
                run_id = None
            yield "data", chunk
    yield "end", None


def _encode(kind: str, data: bytes) -> bytes:
    """Return an event. The text of an error is not sent, because it may be confidential."""
    if kind == "end":
        return b"event: end\n\n"
    return named_event("error", json_bytes(_FAILED)) if kind == "problem" else named_event(kind, data)


def _request(served: ServedGraph, name: str) -> dict[str, Any]:
    """Return the OpenAPI description of a body with the input, or the list of inputs, under `name`."""
    # The route /events registers the schema of the input.
    question: dict[str, Any] = {"$ref": f"#/components/schemas/{served.get_input_schema().__name__}"}
    options = {"type": "object", "description": "Ignored."}
    properties = {
        name: {"type": "array", "items": question} if name == "inputs" else question,
        "config": options,
        "kwargs": options,
    }
    schema = {"type": "object", "required": [name], "properties": properties}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}

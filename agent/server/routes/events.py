"""Server-sent events, and the routes that stream a question: an event for each completed step."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Protocol, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.types import Scope

from datasphinx.agent.answers.progress import step_line
from datasphinx.agent.conversation.conversations import Event
from datasphinx.agent.conversation.reply import Reply, title_of
from datasphinx.agent.server.background import domain_error, time_limit
from datasphinx.agent.server.errors import new_router, problem
from datasphinx.agent.server.runnable import ServedGraph, json_bytes
from datasphinx.agent.server.tenants import current_list, current_tenant

_KEEP_ALIVE_S = 15.0
_KEEP_ALIVE = b": keep-alive\n\n"
_SHOWN = ("relevant_tables", "sql_request", "sql_error_info", "used_stop_words", "validation", "error")
"""The fields of a node's update that `step` events contain: no rows."""


Encode = Callable[[str, bytes], bytes]


def named_event(kind: str, data: bytes) -> bytes:
    """Return a server-sent event called `kind`."""
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


class EventStream(StreamingResponse):
    """A response with server-sent events."""

    media_type = "text/event-stream"


def stream_of(*events: str) -> dict[str, Any]:
    """Return the OpenAPI description of a response that streams `events`; without names, events of any kind."""
    schema = {
        "type": "object",
        "required": ["event", "data"] if events else ["event"],
        "properties": {"event": {"enum": [*events]} if events else {"type": "string"}, "data": {"type": "string"}},
    }
    return {"content": {EventStream.media_type: {"schema": schema}}}


DATA_STREAM: dict[str, Any] = {
    "content": {
        EventStream.media_type: {
            "schema": {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}
        }
    }
}
"""The OpenAPI description of a response that streams events without names."""


def or_stream(stream: Mapping[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI description of a response that is an object of OpenAI's API, or else `stream`."""
    return {"content": {"application/json": {"schema": {"type": "object"}}, **stream["content"]}}


def events_routes(graphs: Sequence[ServedGraph]) -> APIRouter:
    """Return the event routes of `graphs`: the body is an input, the response a stream that ends with an `output`.

    Before it come the nodes that are `started`, their `step`s, what the run is `waiting` for, the `progress` of
    loading a file as in `/files/events`, and each `part` of a report as it is answered.
    """
    router = new_router(tags=["questions"])
    for served in graphs:
        is_report = served.graph == "report"
        parts = ("part",) if is_report else ()
        router.post(
            "/report" if is_report else f"/{served.graph}/events",
            name=f"{served.graph}_events",
            response_class=EventStream,
            responses={200: stream_of("started", "step", "waiting", "progress", *parts, "output", "problem")},
        )(_endpoint(served))
    return router


def _endpoint(served: ServedGraph) -> Any:
    async def events(request: Request, question: Any) -> EventStream:
        """Ask a question and get an event for each step; closing the connection cancels the run and its statement."""
        await current_tenant().admit(1)
        seconds = current_tenant().services.settings.request_timeout_s
        body = question.model_dump(exclude_none=True)
        runs = _listed(served.events(body), served.graph, body.get("question"))
        timed = current_tenant().durations.told(_shown(runs), served.graph, body)
        return event_response(timed, request.scope, seconds)

    schema: type[BaseModel] = served.get_input_schema()
    events.__annotations__["question"] = schema
    return events


async def _listed(events: AsyncGenerator[Event], graph: str, question: str | None) -> AsyncGenerator[Event]:
    """Yield the events of a run; a stored run is added to the user's list of conversations before its output."""
    conversations = current_list()
    async with aclosing(events):
        async for kind, content in events:
            if kind == "output" and conversations:
                reply = cast(Reply, content)
                if thread_id := reply.get("run_id") and reply.get("thread_id"):
                    await run_in_threadpool(conversations.add, thread_id, graph, question, title_of(reply))
            yield cast(Event, (kind, content))


async def _shown(events: AsyncGenerator[Event]) -> AsyncGenerator[tuple[str, Any]]:
    """Yield the events of a run with their content for clients."""
    async with aclosing(events):
        async for kind, content in events:
            for data in _steps(cast(Mapping[str, Any], content)) if kind == "step" else (content,):
                yield kind, data


class CompletionForm(Protocol):
    """The answer to one request, whole or as events."""

    async def whole(self) -> dict[str, Any]:
        """Return the answer as one object."""

    def events(self) -> AsyncGenerator[tuple[str, Any]]:
        """Yield the events of a stream."""


def event_response(
    events: AsyncGenerator[tuple[str, Any]], scope: Scope, seconds: float | None, encode: Encode = named_event
) -> EventStream:
    """Return the stream of `events`, which are closed when the client disconnects or after `seconds`, if any.

    `encode` returns the bytes of an event from its kind and its data as JSON. If the events fail or time out, the last
    one is a `problem`, with the body of the error response.
    """
    return EventStream(_keep_alive(_lines(events, scope, seconds, encode)), headers={"X-Accel-Buffering": "no"})


async def completion_response(request: Request, stream: bool | None, form: CompletionForm, encode: Encode) -> Response:
    """Count a question of the tenant and return its answer in a form of OpenAI's API, as a stream if one is wanted."""
    tenant = current_tenant()
    await tenant.admit(1)
    seconds = tenant.services.settings.request_timeout_s
    if stream:
        return event_response(form.events(), request.scope, seconds, encode)
    async with time_limit(seconds):
        return Response(json_bytes(await form.whole()), media_type=JSONResponse.media_type)


async def _lines(
    events: AsyncGenerator[tuple[str, Any]], scope: Scope, seconds: float | None, encode: Encode
) -> AsyncGenerator[bytes]:
    """Yield the encoded events; if they fail or time out, a `problem` is the last."""
    try:
        async with time_limit(seconds), aclosing(events):
            async for kind, data in events:
                yield encode(kind, json_bytes(data))
    except Exception as error:
        yield encode("problem", bytes(problem(domain_error(error, "[SERVER] a run"), scope).body))


def _steps(updates: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for node, update in updates.items():
        line = step_line(node, update)
        fields = {name: update[name] for name in _SHOWN if update.get(name)}
        (step,) = update["audit"]["steps"]
        yield {"node": node, "line": line.plain if line else "", "latency_ms": step["latency_ms"], "update": fields}


async def _keep_alive(lines: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    """Yield `lines`, with a comment after each pause of `_KEEP_ALIVE_S`; closes `lines` when the client disconnects."""
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def fill() -> None:
        async with aclosing(lines):
            async for line in lines:
                queue.put_nowait(line)
        queue.put_nowait(None)

    filling = asyncio.create_task(fill())
    try:
        while True:
            try:
                line = await asyncio.wait_for(queue.get(), _KEEP_ALIVE_S)
            except TimeoutError:
                yield _KEEP_ALIVE
                continue
            if line is None:
                return
            yield line
    finally:
        filling.cancel()
        with suppress(asyncio.CancelledError):
            await filling

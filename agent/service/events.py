"""Routes: a question as server-sent events, each step as it ends."""

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.types import Scope

from agent.conversation.conversations import Event
from agent.errors import DatasphinxError, InternalError, RequestTimeout
from agent.served_graph import PlainJSON, ServedGraph
from agent.service.problems import problem
from agent.service.tenant import asking
from agent.terminal_steps import step_line

logger = logging.getLogger("datasphinx")

_KEEP_ALIVE_S = 15.0
_KEEP_ALIVE = b": keep-alive\n\n"
_EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {"event": {"enum": ["step", "output", "problem"]}, "data": {"type": "string"}},
}
ANY_EVENT = {
    "type": "object",
    "required": ["event"],
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
}
"""The schema of an event of LangServe's streams."""

_SHOWN = ("relevant_tables", "sql_request", "sql_error_info", "used_stop_words", "validation", "error")
"""What is told of a node's update: no rows."""


class EventStream(StreamingResponse):
    """An answer of server-sent events."""

    media_type = "text/event-stream"


def stream_of(event: dict[str, Any]) -> dict[str, Any]:
    """Return how an answer is documented that streams events of this schema."""
    return {"content": {EventStream.media_type: {"schema": event}}}


def events_routes(graphs: Sequence[ServedGraph]) -> APIRouter:
    """Return the routes of `graphs`: the body is an input, the answer a stream of `step` and one `output`."""
    router = APIRouter(tags=["questions"])
    for served in graphs:
        router.post(
            f"/{served.graph}/events",
            name=f"{served.graph}_events",
            response_class=EventStream,
            responses={200: stream_of(_EVENT)},
        )(_endpoint(served))
    return router


def _endpoint(served: ServedGraph) -> Any:
    async def events(request: Request, given: Any) -> EventStream:
        """Ask, and hear of each step as it ends; closing the connection cancels the run and its statement."""
        await asking().admit(1)
        seconds = asking().services.settings.request_timeout_s
        body = given.model_dump(exclude_none=True)
        lines = _kept_alive(_lines(served.events(body), request.scope, seconds))
        return EventStream(lines, headers={"X-Accel-Buffering": "no"})

    question: type[BaseModel] = served.get_input_schema()
    events.__annotations__["given"] = question
    return events


async def _lines(events: AsyncGenerator[Event], scope: Scope, seconds: float) -> AsyncGenerator[bytes]:
    """Yield the events as they go over the wire, and a problem where the run ends otherwise."""
    try:
        async with asyncio.timeout(seconds), aclosing(events):
            async for kind, each in events:
                for data in _steps(each) if kind == "step" else (each,):
                    yield _event(kind, data)
    except TimeoutError:
        yield _problem(RequestTimeout(seconds), scope)
    except Exception as error:
        broken = InternalError(type(error).__name__, uuid.uuid4().hex)
        logger.exception("[SERVER] a run failed trace_id=%s", broken.trace_id)
        yield _problem(broken, scope)


def _steps(ended: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for node, update in ended.items():
        line = step_line(node, update)
        shown = {name: update[name] for name in _SHOWN if update.get(name)}
        (step,) = update["audit"]["steps"]
        yield {"node": node, "line": line.plain if line else "", "latency_ms": step["latency_ms"], "update": shown}


def _problem(error: DatasphinxError, scope: Scope) -> bytes:
    return b"event: problem\ndata: " + bytes(problem(error, scope).body) + b"\n\n"


def _event(kind: str, data: Any) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + PlainJSON().dumps(data) + b"\n\n"


async def _kept_alive(lines: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    """Yield `lines`, and a comment wherever nothing came for a while; where nobody reads any more, `lines` end."""
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

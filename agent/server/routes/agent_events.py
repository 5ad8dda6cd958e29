"""Routes of LangGraph's Agent Server protocol for event streaming: commands to a thread, and the events of its runs."""

import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Body, Request, Response
from pydantic import BaseModel, Field, StringConstraints, model_validator
from starlette.concurrency import run_in_threadpool

from datasphinx.agent.errors import Conflict, NotFound
from datasphinx.agent.server.agent_thread import AgentThread, runs_elsewhere
from datasphinx.agent.server.connections import closing_of
from datasphinx.agent.server.routes.agent_runs import NewRun, ThreadCommand, run_response, start_run
from datasphinx.agent.server.routes.agent_threads import CheckpointId
from datasphinx.agent.server.routes.events import EventStream, event_response
from datasphinx.agent.server.runnable import ServedGraph
from datasphinx.agent.server.runs import Event, Run
from datasphinx.agent.server.tenants import current_tenant

_KINDS = frozenset({"metadata", "error", "values", "updates", "messages", "custom", "checkpoint"})
"""What clients of a run can follow that a command has started."""
_CHANNELS = {"input.requested": "input"}
"""The channels whose names differ from the method of their events."""

Channel = (
    Literal["values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks", "custom"]
    | Annotated[str, StringConstraints(pattern="^custom:.")]
)


class Wanted(BaseModel):
    """Which events a client gets: those of channels, after a number; all are those of the graph itself."""

    channels: list[Channel] = Field(min_length=1)
    namespaces: list[list[str]] | None = None
    since: int | None = Field(None, ge=0)

    def has(self, event: dict[str, Any]) -> bool:
        """Return whether the client gets an event."""
        method, data = event["method"], event["params"]["data"]
        names = {_CHANNELS.get(method, method), *([f"custom:{data['name']}"] if method == "custom" else [])}
        in_namespace = self.namespaces is None or [] in self.namespaces
        return in_namespace and not names.isdisjoint(self.channels) and event["seq"] > (self.since or 0)


class RunConfig(BaseModel):
    """The configuration of a run, of which only the checkpoint to continue from is read."""

    configurable: CheckpointId = CheckpointId()


class StartParameters(BaseModel):
    """A run with an input."""

    assistant_id: str
    input: dict[str, Any] | None = None
    config: RunConfig | None = None


class Answered(BaseModel):
    """An answer to an interrupt."""

    interrupt_id: str
    response: Any


class AnswerParameters(BaseModel):
    """The answer to the interrupt of a thread, alone or in a list; nothing else of the state can be changed."""

    interrupt_id: str | None = None
    response: Any = None
    responses: list[Answered] = Field([], max_length=1)
    update: None = None
    goto: Any = None

    @model_validator(mode="after")
    def _check_command(self) -> Self:
        self.command()
        return self

    def command(self) -> ThreadCommand:
        """Return the command of a run."""
        answered = {each.interrupt_id: each.response for each in self.responses}
        if self.interrupt_id:
            answered[self.interrupt_id] = self.response
        return ThreadCommand(resume=answered or None, goto=self.goto)


class RunStart(BaseModel):
    """A command that starts a run."""

    id: int
    method: Literal["run.start"]
    params: StartParameters


class InputRespond(BaseModel):
    """A command that answers a clarifying question."""

    id: int
    method: Literal["input.respond"]
    params: AnswerParameters


def agent_events_routes(graphs: Sequence[ServedGraph]) -> APIRouter:
    """Return the routes to threads on which `graphs` answer."""
    router = APIRouter(prefix="/threads/{thread_id:dashed}", include_in_schema=False)

    @router.post("/commands")
    async def command(
        request: Request, thread_id: str, given: Annotated[RunStart | InputRespond, Body(discriminator="method")]
    ) -> Response:
        """Start a run; its events are on the stream of the thread."""
        if isinstance(given, RunStart):
            asked, start = given.params, given.params.config.configurable if given.params.config else None
            new = NewRun(assistant_id=asked.assistant_id, input=asked.input, checkpoint=start, if_not_exists="create")
        else:
            thread = await run_in_threadpool(AgentThread.existing, thread_id)
            if not thread.graph:
                raise Conflict("nothing_asked")
            new = NewRun(assistant_id=thread.graph, command=given.params.command())
        run = await start_run(graphs, request, new, thread_id, _KINDS)
        meta = {"applied_through_seq": run.number - 1}
        return run_response({"type": "success", "id": given.id, "result": {"run_id": run.id}, "meta": meta}, run)

    @router.post("/stream/events")
    async def events(request: Request, thread_id: str, wanted: Wanted) -> EventStream:
        """Stream the events of the last run, or those after `since`, and of all further runs of this process.

        Raises:
            NotFound: a run is in progress, in another process.
        """
        own = current_tenant().runs
        if not own.on(thread_id, only_running=True) and await run_in_threadpool(runs_elsewhere, thread_id):
            raise NotFound("run_elsewhere", id=thread_id)
        runs = own.follow(thread_id, every=wanted.since is not None, until=closing_of(request.scope))
        return event_response(_events(runs, wanted), request.scope, None)

    return router


async def _events(runs: AsyncGenerator[Run], wanted: Wanted) -> AsyncGenerator[tuple[str, Any]]:
    """Yield the wanted events of runs, numbered by the time at which their run began."""
    async with aclosing(runs):
        async for run in runs:
            number = run.number
            async for method, data in _protocol_events(run):
                params = {"namespace": [], "timestamp": time.time_ns() // 1_000_000, "data": data}
                event_id = f"{run.id}:{number - run.number}"
                event = {"type": "event", "event_id": event_id, "seq": number, "method": method, "params": params}
                if wanted.has(event):
                    yield method, event
                number += 1


async def _protocol_events(run: Run) -> AsyncGenerator[Event]:
    error = None
    async with aclosing(run.events()) as events:
        async for kind, data in events:
            if kind == "error":
                error = data["message"]
            for event in _translated(kind, data):
                yield event
    ended = {"success": "completed", "error": "failed"}.get(run.status, "interrupted")
    yield "lifecycle", {"event": ended, **({"error": error} if error else {})}


def _translated(kind: str, data: Any) -> Iterator[Event]:
    if kind == "metadata":
        yield "lifecycle", {"event": "running"}
    elif kind == "custom":
        yield kind, {"name": data["event"], "payload": data["data"]}
    elif kind == "updates":
        for node, update in data.items():
            # An interrupt is an event of its own.
            if node != "__interrupt__":
                yield kind, {"node": node, "values": update}
    elif kind == "messages":
        answer = data[0]
        text = {"type": "text", "text": answer["content"]}
        yield kind, {"event": "message-start", "role": "ai", "id": answer["id"]}
        yield kind, {"event": "content-block-start", "index": 0, "content": {"type": "text", "text": ""}}
        delta = {"type": "text-delta", "text": answer["content"]}
        yield kind, {"event": "content-block-delta", "index": 0, "delta": delta}
        yield kind, {"event": "content-block-finish", "index": 0, "content": text}
        yield kind, {"event": "message-finish"}
    elif kind == "checkpoint":
        yield "checkpoints", data
    elif kind == "values":
        asked = data.get("__interrupt__", [])
        yield kind, {name: value for name, value in data.items() if name != "__interrupt__"}
        for interrupt in asked:
            question = interrupt["value"]
            # The client for Python reads `value`.
            yield "input.requested", {"interrupt_id": interrupt["id"], "payload": question, "value": question}

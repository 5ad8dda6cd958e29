"""Routes of LangGraph's Agent Server protocol: runs, which are waited for, streamed, joined and cancelled."""

import uuid
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Literal, Self, cast

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.concurrency import run_in_threadpool

from datasphinx.agent.clarify.human_interrupt import inputs_of_answer, is_ignored
from datasphinx.agent.conversation.conversations import BEGINNING
from datasphinx.agent.conversation.reply import Reply, title_of
from datasphinx.agent.core.failure import shown_error
from datasphinx.agent.errors import Conflict, DatasphinxError, InputInvalid
from datasphinx.agent.messages import Message
from datasphinx.agent.server.agent_thread import AgentThread, assistant_id_of, is_pending, message_id
from datasphinx.agent.server.errors import accepted_language
from datasphinx.agent.server.routes.agent_threads import Fork, checked_input, graph_named
from datasphinx.agent.server.routes.events import EventStream, event_response
from datasphinx.agent.server.runnable import ServedGraph, json_bytes
from datasphinx.agent.server.runs import Event, Run
from datasphinx.agent.server.tenants import current_list, current_tenant

Mode = Literal["values", "updates", "messages", "messages-tuple", "custom", "events", "debug", "tasks", "checkpoints"]
_KINDS: Mapping[str, str] = {"messages": "messages/complete", "messages-tuple": "messages"}
"""The names of events that differ from their mode."""


class ThreadCommand(BaseModel):
    """The answer to a clarifying question, or its end without one; no other commands are accepted."""

    model_config = ConfigDict(extra="forbid")

    resume: Any = None
    graph: None = None
    update: None = None
    goto: Literal["__end__"] | Annotated[list[Any], Field(max_length=0)] | None = None

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if (self.resume is None) != bool(self.goto):
            raise ValueError("either an answer in `resume` is needed, or `goto` with `__end__`")
        return self


class NewRun(Fork):
    """A run. Its configuration and metadata are ignored, as by LangServe's routes."""

    assistant_id: str
    input: dict[str, Any] | None = None
    command: ThreadCommand | None = None
    stream_mode: Mode | list[Mode] = "values"
    if_not_exists: Literal["create", "reject"] | None = None
    on_disconnect: Literal["cancel", "continue"] | None = None
    context: dict[str, Any] | None = Field(None, max_length=0)
    interrupt_before: None | list[str] = Field(None, max_length=0)
    interrupt_after: None | list[str] = Field(None, max_length=0)
    webhook: None = None
    after_seconds: None = None

    @property
    def kinds(self) -> set[str]:
        """The kinds of events that the client gets."""
        modes = [self.stream_mode] if isinstance(self.stream_mode, str) else self.stream_mode
        return {"metadata", "error", *(_KINDS.get(mode, mode) for mode in modes)}


def agent_runs_routes(graphs: Sequence[ServedGraph]) -> APIRouter:
    """Return the routes to runs of `graphs`."""
    router = APIRouter(include_in_schema=False)

    @router.post("/runs/wait")
    @router.post("/threads/{thread_id:dashed}/runs/wait")
    async def wait(request: Request, new: NewRun, thread_id: str | None = None) -> Response:
        """Run, and return the last values."""
        run = await start_run(graphs, request, new, thread_id, new.kinds)
        return run_response(await run.wait(cancels=new.on_disconnect != "continue"), run)

    @router.post("/runs/stream")
    @router.post("/threads/{thread_id:dashed}/runs/stream")
    async def stream(request: Request, new: NewRun, thread_id: str | None = None) -> EventStream:
        """Run, and stream the events of the wanted modes."""
        run = await start_run(graphs, request, new, thread_id, new.kinds)
        return _stream(request, run, cancels=new.on_disconnect != "continue")

    @router.post("/threads/{thread_id:dashed}/runs")
    async def create(request: Request, thread_id: str, new: NewRun) -> Response:
        """Start a run."""
        run = await start_run(graphs, request, new, thread_id, new.kinds)
        return run_response(_described(run), run)

    @router.get("/threads/{thread_id:dashed}/runs")
    async def runs(thread_id: str) -> list[dict[str, Any]]:
        """The last runs of a thread in this process, newest first."""
        return [_described(run) for run in current_tenant().runs.on(thread_id)]

    @router.get("/threads/{thread_id:dashed}/runs/{run_id:dashed}")
    async def one(thread_id: str, run_id: str) -> dict[str, Any]:
        """A run of this process."""
        return _described(current_tenant().runs.get(run_id, thread_id=thread_id))

    @router.get("/threads/{thread_id:dashed}/runs/{run_id:dashed}/join")
    async def join(thread_id: str, run_id: str) -> Response:
        """Wait for a run, and return the last values."""
        run = current_tenant().runs.get(run_id, thread_id=thread_id)
        return run_response(await run.wait(), run)

    @router.get("/threads/{thread_id:dashed}/runs/{run_id:dashed}/stream")
    async def join_stream(request: Request, thread_id: str, run_id: str) -> EventStream:
        """Stream the events of a run from its beginning."""
        return _stream(request, current_tenant().runs.get(run_id, thread_id=thread_id), cancels=False)

    @router.post("/threads/{thread_id:dashed}/runs/{run_id:dashed}/cancel", status_code=204)
    async def cancel(thread_id: str, run_id: str) -> None:
        """Cancel a run; its thread stays as it was before the run."""
        await current_tenant().runs.get(run_id, thread_id=thread_id).cancel()

    return router


async def start_run(
    graphs: Sequence[ServedGraph], request: Request, new: NewRun, thread_id: str | None, kinds: Collection[str]
) -> Run:
    """Check and count a request, and start its run, of which clients get the events of some `kinds`.

    Raises:
        NotFound: there is no such thread.
        Conflict: a clarifying question is to end, and none is open.
        InputInvalid, RequestValidationError: there is no such assistant, or the input is invalid, or there is neither
            an input nor one that an update of the state has stored.
    """
    tenant, served = current_tenant(), graph_named(graphs, new.assistant_id)
    creates = thread_id is None or new.if_not_exists == "create"
    thread_id = thread_id or str(uuid.uuid4())
    inputs = await run_in_threadpool(_input, served, new, thread_id, creates)

    def message_of(error: DatasphinxError) -> str:
        return shown_error(error, tenant.services.settings, accepted_language(request.scope))["message"]

    if inputs:
        await tenant.admit(1)
    run = Run(thread_id, assistant_id_of(served.graph), message_of)
    tenant.runs.add(run)
    events = _events(served, inputs, run, new.start) if inputs else _question_ends(served, run, new.start)
    run.start(events, tenant.services.settings.request_timeout_s, kinds)
    return run


def _input(served: ServedGraph, new: NewRun, thread_id: str, creates: bool) -> dict[str, Any] | None:
    """Return the input of a run; None if it ends the clarifying question of the thread without an answer."""
    thread = AgentThread(thread_id) if creates else AgentThread.existing(thread_id)
    if thread.graph not in ("", served.graph):
        raise InputInvalid("assistant_id", Message("one_of", choices=thread.graph))
    if new.command:
        last, answer = thread.state(new.start), new.command.resume
        # A client may name the interrupt, of which there is one.
        if isinstance(answer, dict) and len(answer) == 1 and last:
            answer = answer.get(last.checkpoint["id"], answer)
        if new.command.goto or is_ignored(answer):
            if last is None or not last.checkpoint["channel_values"].get("clarification"):
                raise Conflict("nothing_asked")
            return None
        return checked_input(served, inputs_of_answer(answer), thread.stored_id)
    given = new.input
    if not given:
        if is_pending(thread.state(new.start) if new.start != BEGINNING else None):
            return {"thread_id": thread.stored_id}
        given = thread.question_after(new.start) if new.start else None
    if not given:
        raise InputInvalid("input", Message("no_question"))
    return checked_input(served, given, thread.stored_id)


async def _events(served: ServedGraph, inputs: Mapping[str, Any], run: Run, start: str | None) -> AsyncGenerator[Event]:
    """Yield the events of all modes, each with its name; `values` come once, at the end."""
    yield "metadata", {"run_id": run.id, "attempt": 1}
    async with aclosing(served.events(inputs, run_id=start, keeps_thread=True)) as events:
        async for kind, content in events:
            if kind == "step":
                for node, update in cast(Mapping[str, Any], content).items():
                    yield "updates", {node: update}
                    yield "events", _event("on_chain_end", node, run, {"output": update})
            elif kind == "output":
                for event in await run_in_threadpool(_ended, served.graph, cast(Reply, content), inputs):
                    yield event
            else:
                yield "custom", {"event": kind, "data": content}
                if kind == "started":
                    yield "events", _event("on_chain_start", cast(Any, content)["node"], run, {})


async def _question_ends(served: ServedGraph, run: Run, start: str | None) -> AsyncGenerator[Event]:
    """End the clarifying question of a thread without an answer, and yield the values."""
    yield "metadata", {"run_id": run.id, "attempt": 1}
    thread = await run_in_threadpool(AgentThread, run.thread_id)
    graph = current_tenant().graphs[served.graph]
    ended = await run_in_threadpool(graph.drop_question, thread.stored_id, start)
    for event in _state_events(await run_in_threadpool(lambda: thread.body(thread.state(ended)))):
        yield event


def _event(kind: str, node: str, run: Run, data: dict[str, Any]) -> dict[str, Any]:
    return {"event": kind, "name": node, "run_id": run.id, "data": data, "tags": [], "metadata": {}, "parent_ids": []}


def _ended(graph: str, reply: Reply, inputs: Mapping[str, Any]) -> list[Event]:
    """Return the last events of a run; a run that is not stored ends with an error."""
    run_id, thread_id = reply.get("run_id"), reply["thread_id"]
    if run_id is None or thread_id is None:
        error = reply["error"] or {"code": "internal_error", "message": reply["answer"]}
        return [("error", {"error": error["code"], "message": error["message"]})]
    said = inputs.get("question") or next((message["content"] for message in inputs.get("messages", ())), None)
    if listed := current_list():
        listed.add(thread_id, graph, said, title_of(reply))
    thread = AgentThread(thread_id)
    state = thread.body(thread.state(run_id))
    answer = {"type": "ai", "id": message_id(state["values"], run_id), "content": reply["answer"]}
    return [
        ("messages", [answer, {"langgraph_node": "answer", "thread_id": state["checkpoint"]["thread_id"]}]),
        ("messages/complete", [answer]),
        *_state_events(state),
    ]


def _state_events(state: Mapping[str, Any]) -> list[Event]:
    """Return the events with the state of a thread at the end of a run."""
    interrupts = {"__interrupt__": state["interrupts"]} if state["interrupts"] else {}
    parent, metadata = state["parent_checkpoint"], state["metadata"]
    above = {"parent_id": parent["checkpoint_id"]} if parent else {}
    at = {"id": state["checkpoint"]["checkpoint_id"], **above, "step": metadata["step"], "source": metadata["source"]}
    return [
        *([("updates", interrupts)] if interrupts else []),
        ("checkpoint", at),
        ("values", {**state["values"], **interrupts}),
    ]


def _described(run: Run) -> dict[str, Any]:
    own = {"run_id": run.id, "thread_id": run.thread_id, "assistant_id": run.assistant, "status": run.status}
    times = {"created_at": run.created_at, "updated_at": run.created_at}
    return {**own, **times, "metadata": {}, "kwargs": {}, "multitask_strategy": "reject"}


def _location(run: Run) -> dict[str, str]:
    """Return the header in which clients find the ids of a run."""
    return {"Content-Location": f"/threads/{run.thread_id}/runs/{run.id}"}


def run_response(content: Any, run: Run) -> Response:
    """Return a response with the ids of a run."""
    return Response(json_bytes(content), media_type="application/json", headers=_location(run))


def _stream(request: Request, run: Run, *, cancels: bool) -> EventStream:
    """Return the events of a run, which has a time limit of its own."""
    response = event_response(run.events(cancels=cancels), request.scope, None)
    response.headers.update(_location(run))
    return response

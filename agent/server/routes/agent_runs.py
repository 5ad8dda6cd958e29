"""Routes of LangGraph's Agent Server protocol: runs, which are waited for, streamed, joined and cancelled."""

import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal, cast

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from datasphinx.agent.clarify.human_interrupt import inputs_of_answer
from datasphinx.agent.conversation.conversations import BEGINNING
from datasphinx.agent.conversation.reply import Reply
from datasphinx.agent.core.failure import client_failure, error_info
from datasphinx.agent.errors import DatasphinxError, InputInvalid
from datasphinx.agent.messages import Message
from datasphinx.agent.server.agent_thread import AgentThread, assistant_id_of, is_pending, message_id
from datasphinx.agent.server.errors import accepted_language
from datasphinx.agent.server.routes.agent_threads import Fork, checked_input, graph_named
from datasphinx.agent.server.routes.events import EventStream, event_response
from datasphinx.agent.server.runnable import PlainJSON, ServedGraph
from datasphinx.agent.server.runs import Event, Run
from datasphinx.agent.server.tenants import current_list, current_tenant

Mode = Literal["values", "updates", "messages", "messages-tuple", "custom", "events", "debug", "tasks", "checkpoints"]
_KINDS: Mapping[str, str] = {"messages": "messages/complete", "messages-tuple": "messages"}
"""The names of events that differ from their mode."""


class Resume(BaseModel):
    """The answer to a clarifying question; no other commands are accepted."""

    model_config = ConfigDict(extra="forbid")

    resume: Any
    graph: None = None
    update: None = None
    goto: None | list[Any] = Field(None, max_length=0)


class NewRun(Fork):
    """A run. Its configuration and metadata are ignored, as by LangServe's routes."""

    assistant_id: str
    input: dict[str, Any] | None = None
    command: Resume | None = None
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
        run = await _start(graphs, request, new, thread_id)
        return _json(await run.wait(cancels=new.on_disconnect != "continue"), run)

    @router.post("/runs/stream")
    @router.post("/threads/{thread_id:dashed}/runs/stream")
    async def stream(request: Request, new: NewRun, thread_id: str | None = None) -> EventStream:
        """Run, and stream the events of the wanted modes."""
        run = await _start(graphs, request, new, thread_id)
        return _stream(request, run, cancels=new.on_disconnect != "continue")

    @router.post("/threads/{thread_id:dashed}/runs")
    async def create(request: Request, thread_id: str, new: NewRun) -> Response:
        """Start a run."""
        run = await _start(graphs, request, new, thread_id)
        return _json(_described(run), run)

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
        return _json(await run.wait(), run)

    @router.get("/threads/{thread_id:dashed}/runs/{run_id:dashed}/stream")
    async def join_stream(request: Request, thread_id: str, run_id: str) -> EventStream:
        """Stream the events of a run from its beginning."""
        return _stream(request, current_tenant().runs.get(run_id, thread_id=thread_id), cancels=False)

    @router.post("/threads/{thread_id:dashed}/runs/{run_id:dashed}/cancel", status_code=204)
    async def cancel(thread_id: str, run_id: str) -> None:
        """Cancel a run; its thread stays as it was before the run."""
        await current_tenant().runs.get(run_id, thread_id=thread_id).cancel()

    return router


async def _start(graphs: Sequence[ServedGraph], request: Request, new: NewRun, thread_id: str | None) -> Run:
    """Check and count a request, and start its run.

    Raises:
        NotFound: there is no such thread.
        InputInvalid, RequestValidationError: there is no such assistant, or the input is invalid, or there is neither
            an input nor one that an update of the state has stored.
        LimitReached: a limit of the tenant is reached.
        ThreadBusy: another run on the thread is in progress.
    """
    tenant, served = current_tenant(), graph_named(graphs, new.assistant_id)
    creates = thread_id is None or new.if_not_exists == "create"
    thread_id = thread_id or str(uuid.uuid4())
    inputs = await run_in_threadpool(_input, served, new, thread_id, creates)

    def message_of(error: DatasphinxError) -> str:
        failure = client_failure(error, tenant.services.settings)
        return error_info(failure, accepted_language(request.scope))["message"]

    await tenant.admit(1)
    run = Run(thread_id, assistant_id_of(served.graph), message_of)
    tenant.runs.add(run)
    run.start(_events(served, inputs, run, new.start), tenant.services.settings.request_timeout_s, new.kinds)
    return run


def _input(served: ServedGraph, new: NewRun, thread_id: str, creates: bool) -> dict[str, Any]:
    thread = AgentThread(thread_id) if creates else AgentThread.existing(thread_id)
    if thread.graph not in ("", served.graph):
        raise InputInvalid("assistant_id", Message("one_of", choices=thread.graph))
    if new.command:
        answer = new.command.resume
        # A client may name the interrupt, of which there is one.
        if isinstance(answer, dict) and len(answer) == 1 and new.start is None:
            last = thread.state()
            answer = answer.get(last.checkpoint["id"], answer) if last else answer
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
        listed.add(thread_id, graph, said)
    thread = AgentThread(thread_id)
    state = thread.body(thread.state(run_id))
    answer = {"type": "ai", "id": message_id(state["values"], run_id), "content": reply["answer"]}
    interrupts = {"__interrupt__": state["interrupts"]} if state["interrupts"] else {}
    return [
        ("messages", [answer, {"langgraph_node": "answer", "thread_id": state["checkpoint"]["thread_id"]}]),
        ("messages/complete", [answer]),
        *([("updates", interrupts)] if interrupts else []),
        ("values", {**state["values"], **interrupts}),
    ]


def _described(run: Run) -> dict[str, Any]:
    own = {"run_id": run.id, "thread_id": run.thread_id, "assistant_id": run.assistant, "status": run.status}
    times = {"created_at": run.created_at, "updated_at": run.created_at}
    return {**own, **times, "metadata": {}, "kwargs": {}, "multitask_strategy": "reject"}


def _location(run: Run) -> dict[str, str]:
    """Return the header in which clients find the ids of a run."""
    return {"Content-Location": f"/threads/{run.thread_id}/runs/{run.id}"}


def _json(content: Any, run: Run) -> Response:
    return Response(PlainJSON().dumps(content), media_type="application/json", headers=_location(run))


def _stream(request: Request, run: Run, *, cancels: bool) -> EventStream:
    """Return the events of a run, which has a time limit of its own."""
    response = event_response(run.events(cancels=cancels), request.scope, None)
    response.headers.update(_location(run))
    return response

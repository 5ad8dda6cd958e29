"""Routes of LangGraph's Agent Server protocol: assistants, which are the graphs, and threads with their states."""

import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from langgraph.checkpoint.base import CheckpointTuple
from pydantic import BaseModel, Field, StringConstraints, TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.convertors import StringConvertor, register_url_convertor

from datasphinx.agent.clarify.human_interrupt import human_interrupt
from datasphinx.agent.conversation.reply import REPLY_KEYS, reply_of, status_of
from datasphinx.agent.conversation.thread_list import ListedThread
from datasphinx.agent.core.version import package_version
from datasphinx.agent.errors import InputInvalid, NotFound
from datasphinx.agent.messages import Message
from datasphinx.agent.server.routes.threads import RUN_ID
from datasphinx.agent.server.runnable import PlainJSON, ServedGraph
from datasphinx.agent.server.tenants import Tenant, current_list, current_tenant
from datasphinx.agent.state import messages_of

_ASSISTANTS = uuid.UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
"""The namespace in which the Agent Server makes the id of an assistant from the name of its graph."""
_SOURCE_OF_UPDATES, _ASKS = "update", "await_clarification"
_MAX_LISTED = 1000
_OUTPUTS = {*REPLY_KEYS, "thread_id", "run_id"} - {"output_type"}


RunId = Annotated[str, StringConstraints(pattern=RUN_ID)]


class _DashedId(StringConvertor):
    """An id of the protocol; those of threads are written without dashes everywhere else, so that paths differ."""

    regex = RUN_ID.strip("^$")


register_url_convertor("dashed", _DashedId())


class CheckpointId(BaseModel):
    """A checkpoint of a thread."""

    checkpoint_id: RunId | None = None


class Fork(BaseModel):
    """A request that may name the checkpoint to continue from; by default, it is the last one of the thread."""

    checkpoint: CheckpointId | None = None
    checkpoint_id: RunId | None = None

    @property
    def start(self) -> str | None:
        """The id of that checkpoint."""
        return self.checkpoint_id or (self.checkpoint.checkpoint_id if self.checkpoint else None)


class NewThread(BaseModel):
    """A thread to create. Its metadata are not stored."""

    thread_id: uuid.UUID | None = None


class Search(BaseModel):
    """Which assistants or threads to list: those of a graph."""

    graph_id: str | None = None
    metadata: dict[str, Any] | None = None
    status: str | None = None
    limit: int = Field(10, ge=1, le=_MAX_LISTED)
    offset: int = Field(0, ge=0)


class History(BaseModel):
    """Which states of a thread to list: the newest, or those before a checkpoint."""

    limit: int = Field(10, ge=1, le=_MAX_LISTED)
    before: str | dict[str, Any] | None = None


class StateUpdate(Fork):
    """The input of the next run, stored on the thread; a run without an input runs it."""

    values: dict[str, Any]
    as_node: None = None


def assistant_id_of(graph: str) -> str:
    """Return the id of the assistant for a graph."""
    return str(uuid.uuid5(_ASSISTANTS, graph))


def stored_id(thread_id: str) -> str:
    """Return the id under which a thread of the protocol is stored."""
    return thread_id.replace("-", "")


def checked_input(served: ServedGraph, fields: Mapping[str, Any], thread_id: str) -> dict[str, Any]:
    """Return the input of a run on a thread, with the fields that clients may send to `served` and no others.

    Fields of outputs are left out, because a graph sends its whole state to a remote one. Without a question,
    the last one of `messages`, of the user, is the question or answers the clarifying question.

    Raises:
        RequestValidationError: there are other fields, or they do not fit.
        InputInvalid: the last message is not the user's.
    """
    given = {name: value for name, value in fields.items() if name not in _OUTPUTS}
    messages, message = messages_of(given.pop("messages", [])), None
    if "messages" in fields and not given.keys() & {"question", "clarification_answer", "feedback"}:
        if not messages or messages[-1].type != "human":
            raise InputInvalid("messages", Message("no_question"))
        message = messages[-1]
        given["question"] = str(message.text)
    try:
        question = served.get_input_schema().model_validate({**given, "thread_id": thread_id})
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error
    checked = question.model_dump(exclude_none=True)
    if message:
        said = {"type": "human", "content": checked.pop("question"), "id": message.id or str(uuid.uuid4())}
        checked["messages"] = [said]
    return checked


def state_body(tenant: Tenant, graph: str, thread_id: str, run: CheckpointTuple | None) -> dict[str, Any]:
    """Return a state of a thread: the values that outputs have, the messages, and the open clarifying question."""
    shown_id, state, metadata = str(uuid.UUID(thread_id)), dict[str, Any](), dict[str, Any]()
    asked, following, run_id, parent = list[dict[str, Any]](), list[str](), None, None
    if run:
        state, run_id = run.checkpoint["channel_values"], run.checkpoint["id"]
        parent = (run.parent_config or {}).get("configurable", {}).get("checkpoint_id")
        metadata = {**run.metadata, **_metadata(graph), "thread_id": shown_id}
        if is_pending(run):
            following = ["begin"]
        elif question := state.get("clarification"):
            following, asked = [_ASKS], [{"id": run_id, "value": human_interrupt(question)}]
    task: dict[str, Any] = {
        "id": run_id,
        "name": _ASKS,
        "path": [],
        "error": None,
        "checkpoint": None,
        "state": None,
        "result": None,
    }
    shown = {"question": state.get("question"), "messages": state.get("messages") or []}
    plain: dict[str, Any] = PlainJSON().dumpd(
        {
            "values": {**shown, **reply_of(state, thread_id, run_id)} if run else {},
            "next": following,
            "tasks": [{**task, "interrupts": asked}] if asked else [],
            "interrupts": asked,
            "checkpoint": _checkpoint(shown_id, run_id),
            "metadata": metadata,
            "created_at": run.checkpoint["ts"] if run else None,
            "parent_checkpoint": _checkpoint(shown_id, parent) if parent else None,
        }
    )
    return plain


def is_pending(run: CheckpointTuple | None) -> bool:
    """Return whether a state has an input that has not run yet."""
    return run is not None and run.metadata.get("source") == _SOURCE_OF_UPDATES


def graph_on(tenant: Tenant, thread_id: str) -> str | None:
    """Return the graph that answers on a thread; None if there is no such thread, or it has no runs."""
    return tenant.threads.graph_of(thread_id, tuple(tenant.graphs))


def require_thread(tenant: Tenant, thread_id: str) -> ListedThread | None:
    """Return the entry of a thread in the list of the user, None if there is none but the thread has runs.

    Raises:
        NotFound: there is no such thread.
    """
    listed = current_list()
    try:
        return listed.get(thread_id) if listed else None
    except NotFound:
        if graph_on(tenant, thread_id):
            return None
        raise


def assistants_routes(graphs: Sequence[ServedGraph]) -> APIRouter:
    """Return the routes to the assistants, to the version of the server, and to the input of a thread."""
    router = APIRouter(include_in_schema=False)

    @router.get("/info")
    def info() -> dict[str, Any]:
        """The version, which clients read to check the connection."""
        return {"version": package_version(), "flags": {"assistants": True, "crons": False}}

    @router.post("/assistants/search")
    def search(query: Search) -> list[dict[str, Any]]:
        """The assistants."""
        found = [served.graph for served in graphs if query.graph_id in (None, served.graph)]
        return [_assistant(graph) for graph in found[query.offset :][: query.limit]]

    @router.get("/assistants/{assistant_id}")
    def assistant(assistant_id: str) -> dict[str, Any]:
        """One assistant."""
        return _assistant(graph_named(graphs, assistant_id).graph)

    @router.get("/assistants/{assistant_id}/schemas")
    def schemas(assistant_id: str) -> dict[str, Any]:
        """The schemas of an assistant's input and output."""
        served = graph_named(graphs, assistant_id)
        output, question = TypeAdapter(served.OutputType).json_schema(), served.get_input_schema().model_json_schema()
        own: dict[str, Any] = {"input_schema": question, "output_schema": output, "state_schema": output}
        return {"graph_id": served.graph, **own, "config_schema": {}, "context_schema": {}}

    @router.post("/threads/{thread_id:dashed}/state")
    async def update(thread_id: str, new: StateUpdate) -> dict[str, Any]:
        """Store the input of the next run."""
        tenant, key = current_tenant(), stored_id(thread_id)
        listed = await run_in_threadpool(require_thread, tenant, key)
        graph = await run_in_threadpool(graph_on, tenant, key) or (listed and listed["graph"]) or graphs[0].graph
        inputs = checked_input(graph_named(graphs, graph), new.values, key)
        del inputs["thread_id"]
        run_id = await run_in_threadpool(partial(tenant.graphs[graph].update, inputs, key, new.start))
        return {"checkpoint": _checkpoint(thread_id, run_id)}

    return router


def graph_named(graphs: Sequence[ServedGraph], assistant_id: str) -> ServedGraph:
    """Return the graph of an assistant, by its id or its name.

    Raises:
        InputInvalid: there is no such assistant.
    """
    for served in graphs:
        if assistant_id in (served.graph, assistant_id_of(served.graph)):
            return served
    raise InputInvalid("assistant_id", Message("one_of", choices=", ".join(served.graph for served in graphs)))


threads_router = APIRouter(prefix="/threads", include_in_schema=False)


@threads_router.post("")
def create(new: NewThread) -> dict[str, Any]:
    """Create a thread, which is listed for its user."""
    thread_id = (new.thread_id or uuid.uuid4()).hex
    tenant, listed = current_tenant(), current_list()
    if listed and not graph_on(tenant, thread_id):
        listed.add(thread_id, "", None)
    return _thread(tenant, thread_id, None)


@threads_router.post("/search")
def search(query: Search) -> list[dict[str, Any]]:
    """The threads of the user, the last used first."""
    tenant, listed, metadata = current_tenant(), current_list(), query.metadata or {}
    found = (
        _thread(tenant, each["thread_id"], each)
        for each in (listed.find("", _MAX_LISTED) if listed else ())
        if metadata.items() <= _metadata(each["graph"]).items()
    )
    fitting = (thread for thread in found if query.status in (None, thread["status"]))
    return list(islice(fitting, query.offset, query.offset + query.limit))


@threads_router.get("/{thread_id:dashed}")
def thread(thread_id: str) -> dict[str, Any]:
    """A thread with its values."""
    tenant, key = current_tenant(), stored_id(thread_id)
    return _thread(tenant, key, require_thread(tenant, key))


@threads_router.delete("/{thread_id:dashed}", status_code=204)
def delete(thread_id: str) -> None:
    """Delete a thread, unless another user has it in the list."""
    if listed := current_list():
        listed.delete(stored_id(thread_id))
    else:
        raise NotFound("thread_unknown", thread_id=thread_id)


@threads_router.get("/{thread_id:dashed}/state")
def state(thread_id: str) -> dict[str, Any]:
    """The last state of a thread."""
    return _state(thread_id, None)


@threads_router.get("/{thread_id:dashed}/state/{checkpoint_id:dashed}")
def state_at(thread_id: str, checkpoint_id: str) -> dict[str, Any]:
    """An earlier state of a thread."""
    return _state(thread_id, checkpoint_id)


@threads_router.post("/{thread_id:dashed}/state/checkpoint")
def state_at_checkpoint(thread_id: str, at: Fork) -> dict[str, Any]:
    """An earlier state of a thread."""
    return _state(thread_id, at.start)


@threads_router.post("/{thread_id:dashed}/history")
def history(thread_id: str, query: History) -> list[dict[str, Any]]:
    """The states of a thread, newest first."""
    tenant, key, before = current_tenant(), stored_id(thread_id), query.before
    require_thread(tenant, key)
    graph = graph_on(tenant, key)
    runs = tenant.threads.runs(tenant.threads.key(graph, key), _MAX_LISTED) if graph else []
    if isinstance(before, dict):
        before = (before.get("configurable") or before).get("checkpoint_id")
    runs = [run for run in runs if before is None or run.checkpoint["id"] < before]
    return [state_body(tenant, graph or "", key, run) for run in runs[: query.limit]]


def _assistant(graph: str) -> dict[str, Any]:
    own = {"assistant_id": assistant_id_of(graph), "graph_id": graph, "name": graph, "version": 1}
    times = dict.fromkeys(("created_at", "updated_at"), "1970-01-01T00:00:00+00:00")
    return {**own, "config": {}, "context": {}, "metadata": {"created_by": "system"}, **times}


def _metadata(graph: str) -> dict[str, str]:
    return {"graph_id": graph, "assistant_id": assistant_id_of(graph)} if graph else {}


def _checkpoint(thread_id: str, checkpoint_id: str | None) -> dict[str, Any]:
    return {"thread_id": thread_id, "checkpoint_ns": "", "checkpoint_id": checkpoint_id}


def _thread(tenant: Tenant, thread_id: str, listed: ListedThread | None) -> dict[str, Any]:
    graph = graph_on(tenant, thread_id) or (listed["graph"] if listed else "")
    last = tenant.threads.last(tenant.threads.key(graph, thread_id)) if graph else None
    state = state_body(tenant, graph, thread_id, last)
    asked = {task["id"]: task["interrupts"] for task in state["tasks"]}
    shown_id = str(uuid.UUID(thread_id))
    status = "busy" if tenant.runs.on(shown_id, only_running=True) else "interrupted" if asked else "idle"
    if status == "idle" and last and status_of(last.checkpoint["channel_values"]) == "error":
        status = "error"
    times = dict.fromkeys(("created_at", "updated_at"), listed["updated"] if listed else state["created_at"])
    shown = {"values": state["values"] or None, "status": status, "interrupts": asked, "metadata": _metadata(graph)}
    return {"thread_id": shown_id, **times, "config": {}, **shown}


def _state(thread_id: str, checkpoint_id: str | None) -> dict[str, Any]:
    tenant, key = current_tenant(), stored_id(thread_id)
    require_thread(tenant, key)
    graph = graph_on(tenant, key) or ""
    if checkpoint_id:
        stored = tenant.threads.run(tenant.threads.key(graph, key), checkpoint_id)
        if stored is None:
            raise NotFound("run_unknown", run_id=checkpoint_id)
        return state_body(tenant, graph, key, stored)
    return state_body(tenant, graph, key, tenant.threads.last(tenant.threads.key(graph, key)) if graph else None)

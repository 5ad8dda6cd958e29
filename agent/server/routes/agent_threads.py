"""Routes of LangGraph's Agent Server protocol: assistants, which are the graphs, and threads with their states."""

import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field, StringConstraints, TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.convertors import StringConvertor, register_url_convertor

from datasphinx.agent.conversation.reply import REPLY_KEYS
from datasphinx.agent.core.version import package_version
from datasphinx.agent.errors import InputInvalid, NotFound
from datasphinx.agent.messages import Message
from datasphinx.agent.server.agent_thread import MAX_STATES, AgentThread, assistant_id_of, metadata_of
from datasphinx.agent.server.routes.threads import RUN_ID
from datasphinx.agent.server.runnable import ServedGraph
from datasphinx.agent.server.tenants import current_list, current_tenant
from datasphinx.agent.state import messages_of

_COMPONENT = Path(__file__).parents[1] / "ui_component.html"
"""The script by which chat pages show tables and charts; they run it in a shadow root."""
_OUTPUTS = {*REPLY_KEYS, "thread_id", "run_id", "ui"} - {"output_type"}


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
    limit: int = Field(10, ge=1, le=MAX_STATES)
    offset: int = Field(0, ge=0)


class History(BaseModel):
    """Which states of a thread to list: the newest, or those before a checkpoint."""

    limit: int = Field(10, ge=1, le=MAX_STATES)
    before: str | dict[str, Any] | None = None


class Component(BaseModel):
    """The name of UI messages."""

    name: Literal["chart", "table"]


class StateUpdate(Fork):
    """The input of the next run, stored on the thread; a run without an input runs it."""

    values: dict[str, Any]
    as_node: None = None


def checked_input(served: ServedGraph, fields: Mapping[str, Any], thread_id: str) -> dict[str, Any]:
    """Return the input of a run on a thread, with the fields that clients may send to `served` and no others.

    Fields of outputs are left out, because a graph sends its whole state to a remote one. Without a question,
    the last one of `messages`, of the user, is the question or answers the clarifying question.

    Raises:
        InputInvalid: the last message is not the user's.
    """
    given = {name: value for name, value in fields.items() if name not in _OUTPUTS}
    messages, message = messages_of(given.pop("messages", [])), None
    if "messages" in fields and not given.keys() & {"question", "clarification_answer", "feedback"}:
        if not messages or messages[-1].type != "human":
            raise InputInvalid("messages", Message("no_question"))
        message = messages[-1]
        given["question"] = str(message.text)
    checked = served.checked({**given, "thread_id": thread_id})
    if message:
        said = {"type": "human", "content": checked.pop("question"), "id": message.id or str(uuid.uuid4())}
        checked["messages"] = [said]
    return checked


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

    @router.post("/ui/{assistant_id}", response_class=HTMLResponse)
    def component(assistant_id: str, wanted: Component) -> HTMLResponse:
        """The part of a page that shows UI messages of a name."""
        graph_named(graphs, assistant_id)
        return HTMLResponse(_COMPONENT.read_text(encoding="utf-8").replace("NAME", wanted.name))

    @router.post("/threads/{thread_id:dashed}/state")
    async def update(thread_id: str, new: StateUpdate) -> dict[str, Any]:
        """Store the input of the next run."""
        thread = await run_in_threadpool(AgentThread.existing, thread_id)
        graph = thread.graph or (thread.listed["graph"] if thread.listed else "") or graphs[0].graph
        inputs = checked_input(graph_named(graphs, graph), new.values, thread.stored_id)
        del inputs["thread_id"]
        update = partial(current_tenant().graphs[graph].update, inputs, thread.stored_id, new.start)
        return {"checkpoint": thread.checkpoint(await run_in_threadpool(update))}

    return router


def graph_named(graphs: Sequence[ServedGraph], assistant_id: str) -> ServedGraph:
    """Return the graph of an assistant, by its id or its name. Raise InputInvalid if there is no such assistant."""
    for served in graphs:
        if assistant_id in (served.graph, assistant_id_of(served.graph)):
            return served
    raise InputInvalid("assistant_id", Message("one_of", choices=", ".join(served.graph for served in graphs)))


threads_router = APIRouter(prefix="/threads", include_in_schema=False)


@threads_router.post("")
def create(new: NewThread) -> dict[str, Any]:
    """Create a thread, which is listed for its user."""
    thread, listed = AgentThread(str(new.thread_id or uuid.uuid4())), current_list()
    if listed and not thread.graph:
        listed.add(thread.stored_id, "", None)
    return thread.description()


@threads_router.post("/search")
def search(query: Search) -> list[dict[str, Any]]:
    """The threads of the user, the last used first."""
    listed, metadata = current_list(), query.metadata or {}
    found = (
        AgentThread(each["thread_id"], each).description()
        for each in (listed.find("", MAX_STATES) if listed else ())
        if metadata.items() <= metadata_of(each["graph"]).items()
    )
    fitting = (thread for thread in found if query.status in (None, thread["status"]))
    return list(islice(fitting, query.offset, query.offset + query.limit))


@threads_router.get("/{thread_id:dashed}")
def thread(thread_id: str) -> dict[str, Any]:
    """A thread with its values."""
    return AgentThread.existing(thread_id).description()


@threads_router.delete("/{thread_id:dashed}", status_code=204)
def delete(thread_id: str) -> None:
    """Delete a thread, unless another user has it in the list."""
    if listed := current_list():
        listed.delete(uuid.UUID(thread_id).hex)
    else:
        raise NotFound("thread_unknown", thread_id=thread_id)


@threads_router.get("/{thread_id:dashed}/state")
@threads_router.get("/{thread_id:dashed}/state/{checkpoint_id:dashed}")
def state(thread_id: str, checkpoint_id: str | None = None) -> dict[str, Any]:
    """The last state of a thread, or an earlier one."""
    thread = AgentThread.existing(thread_id)
    return thread.body(thread.state(checkpoint_id))


@threads_router.post("/{thread_id:dashed}/state/checkpoint")
def state_at(thread_id: str, at: Fork) -> dict[str, Any]:
    """A state of a thread by its checkpoint."""
    return state(thread_id, at.start)


@threads_router.post("/{thread_id:dashed}/history")
def history(thread_id: str, query: History) -> list[dict[str, Any]]:
    """The states of a thread, newest first."""
    thread, before = AgentThread.existing(thread_id), query.before
    if isinstance(before, dict):
        before = (before.get("configurable") or before).get("checkpoint_id")
    runs = [run for run in thread.states() if before is None or run.checkpoint["id"] < before]
    return [thread.body(run) for run in runs[: query.limit]]


def _assistant(graph: str) -> dict[str, Any]:
    own = {"assistant_id": assistant_id_of(graph), "graph_id": graph, "name": graph, "version": 1}
    times = dict.fromkeys(("created_at", "updated_at"), "1970-01-01T00:00:00+00:00")
    return {**own, "config": {}, "context": {}, "metadata": {"created_by": "system"}, **times}

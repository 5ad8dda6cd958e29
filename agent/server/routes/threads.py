"""Routes: stored conversations, and feedback on their last answer."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from langgraph.checkpoint.base import CheckpointTuple
from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.concurrency import run_in_threadpool
from typing_extensions import TypedDict

from datasphinx.agent.conversation.conversations import ENDED, UPDATED
from datasphinx.agent.conversation.reply import reply_of, status_of
from datasphinx.agent.conversation.thread_list import MAX_TITLE_CHARS, ListedThread, ThreadList
from datasphinx.agent.errors import InputInvalid, NotFound
from datasphinx.agent.messages import Message
from datasphinx.agent.server.errors import new_router
from datasphinx.agent.server.runnable import ServedGraph, plain_json
from datasphinx.agent.server.tenants import current_list, current_tenant
from datasphinx.agent.types import Feedback

ThreadId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
RUN_ID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
RunId = Annotated[str, Path(pattern=RUN_ID)]
_MAX_RUNS = 100
_INPUTS = ("feedback", "clarification_answer", "question")
"""Inputs that start a run. The first that is present was the input; the others come from the thread."""


def threads_routes(agent: ServedGraph) -> APIRouter:
    """Return the routes; only answers of `agent` accept feedback."""
    router = new_router(prefix="/threads/{thread_id}", tags=["threads"])
    router.add_api_route("", _rename, methods=["PATCH"], name="rename")
    router.add_api_route("", _delete, methods=["DELETE"], name="delete", status_code=204)

    @router.get("")
    def thread(thread_id: ThreadId) -> dict[str, Any]:
        """A conversation: its questions and answers, and the open clarifying question."""
        tenant = current_tenant()
        graph = tenant.graph_of(thread_id)
        last = tenant.threads.last(tenant.threads.key(graph, thread_id))
        if last is None:
            raise NotFound("thread_unknown", thread_id=thread_id)
        state = last.checkpoint["channel_values"]
        given = state.get("given") or {}
        source = given.get("source")
        turns = [{name: turn.get(name) for name in ("question", "sql", "answer")} for turn in state.get("turns") or ()]
        shown = {
            "thread_id": thread_id,
            "graph": graph,
            "status": status_of(state),
            "turns": turns,
            "clarification": state.get("clarification"),
            # Questions cannot name a source that the settings do not have.
            "source": source if source in tenant.services.settings.sources else None,
            "datasets": given.get("datasets"),
        }
        return plain_json(shown)

    @router.get("/history")
    def history(thread_id: ThreadId) -> dict[str, Any]:
        """The last 100 runs of a conversation, newest first, each with its trace id."""
        tenant = current_tenant()
        graph = tenant.graph_of(thread_id)
        runs = tenant.threads.runs(tenant.threads.key(graph, thread_id), _MAX_RUNS)
        shown = [_describe_run(run) for run in runs if run.metadata.get("source") not in (UPDATED, ENDED)]
        return plain_json({"thread_id": thread_id, "graph": graph, "runs": shown})

    @router.get("/runs/{run_id}")
    def run(thread_id: ThreadId, run_id: RunId) -> dict[str, Any]:
        """The output of one run, by its id in the history."""
        output = reply_of(current_tenant().stored_run(thread_id, run_id).state, thread_id, run_id)
        return plain_json(output)

    @router.post("/feedback")
    async def feedback(thread_id: ThreadId, feedback: Feedback) -> dict[str, Any]:
        """Accept or reject the last answer; a rejection returns another answer or a clarifying question."""
        if await run_in_threadpool(current_tenant().graph_of, thread_id) != agent.graph:
            raise InputInvalid("feedback", Message("no_feedback_on_files"))
        await current_tenant().admit(1)
        output = await agent.ainvoke({"feedback": dict(feedback), "thread_id": thread_id})
        return plain_json(output)

    return router


class Conversations(TypedDict):
    """The conversations of a user."""

    threads: list[ListedThread]


list_router = new_router(tags=["threads"])


@list_router.get("/threads")
def conversations(
    search: Annotated[str, Query(max_length=500)] = "", limit: Annotated[int, Query(ge=1, le=500)] = 100
) -> Conversations:
    """The conversations on the page, `/events` and `/report`, last used first; `search` is in a title or question."""
    listed = current_list()
    return {"threads": [each for each in listed.find(search, limit) if each["graph"]] if listed else []}


class Title(BaseModel):
    """A new title."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TITLE_CHARS)]


def _rename(thread_id: ThreadId, body: Title) -> ListedThread:
    return _own_list(thread_id).rename(thread_id, body.title)


def _delete(thread_id: ThreadId) -> None:
    """Delete a conversation of the list, and its runs unless another user has it in the list."""
    _own_list(thread_id).delete(thread_id)


def _own_list(thread_id: str) -> ThreadList:
    listed = current_list()
    if listed is None:
        raise NotFound("thread_unknown", thread_id=thread_id)
    return listed


def _describe_run(run: CheckpointTuple) -> dict[str, Any]:
    state: Mapping[str, Any] = run.checkpoint["channel_values"]
    audit, inputs = state.get("audit") or {}, state.get("given") or {}
    user_input = next(({name: inputs[name]} for name in _INPUTS if inputs.get(name) is not None), {})
    figures = ("trace_id", "recorded", "llm_calls", "llm_cost_usd", "latency_ms")
    result = {name: state.get(name) for name in ("question", "answer", "sql", "error")}
    head = {"id": run.checkpoint["id"], "time": run.checkpoint["ts"], "said": user_input, "status": status_of(state)}
    return {**head, **result} | {name: audit.get(name) for name in figures}

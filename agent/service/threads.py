"""Routes: conversations as they are kept, and feedback on their last answer."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path
from langgraph.checkpoint.base import CheckpointTuple
from starlette.concurrency import run_in_threadpool

from agent.clarify.types import Feedback
from agent.conversation.reply import reply_of, status_of
from agent.errors import InputInvalid, RunUnknown, ThreadUnknown
from agent.served_graph import PlainJSON, ServedGraph
from agent.service.tenant import Tenant, asking

ThreadId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
RunId = Annotated[str, Path(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
_MOST_RUNS = 100
_SAID = ("feedback", "clarification_answer", "question")
"""What a run may begin with; the first that there is was said, and the others are of the thread."""


def threads_routes(agent: ServedGraph) -> APIRouter:
    """Return the routes; feedback goes to `agent`, whose answers alone take any."""
    router = APIRouter(prefix="/threads/{thread_id}", tags=["threads"])

    @router.get("")
    async def thread(thread_id: ThreadId) -> dict[str, Any]:
        """A conversation: what was asked and answered, and a question back that is open."""
        return await _found(thread_id, _thread)

    @router.get("/history")
    async def history(thread_id: ThreadId) -> dict[str, Any]:
        """The last 100 runs of a conversation, the newest first, each with its trace."""
        return await _found(thread_id, _history)

    @router.get("/runs/{run_id}")
    async def run(thread_id: ThreadId, run_id: RunId) -> dict[str, Any]:
        """What came out of one run, as it came out then, by its id in the history."""
        return await _found(thread_id, partial(_output, run_id))

    @router.post("/feedback")
    async def feedback(thread_id: ThreadId, given: Feedback) -> dict[str, Any]:
        """Whether the last answer is accepted; another one, or a question back, follows one that is not."""
        found = await _found(thread_id, lambda _, graph, __: {"graph": graph})
        if found["graph"] != agent.graph:
            raise InputInvalid("feedback", "answers about files take none; ask again in other words")
        await asking().admit(1)
        output = await agent.ainvoke({"feedback": dict(given), "thread_id": thread_id})
        plain: dict[str, Any] = PlainJSON().dumpd(output)
        return plain

    return router


async def _found(thread_id: str, read: Callable[[Tenant, str, str], dict[str, Any]]) -> dict[str, Any]:
    """Return what `read` gives for the tenant, the graph of the thread, and the thread.

    Raises:
        ThreadUnknown: the tenant has no such thread.
    """
    tenant = asking()

    def look() -> dict[str, Any]:
        graph = tenant.threads.graph_of(thread_id, tuple(tenant.graphs))
        if graph is None:
            raise ThreadUnknown(thread_id)
        plain: dict[str, Any] = PlainJSON().dumpd(read(tenant, graph, thread_id))
        return plain

    return await run_in_threadpool(look)


def _thread(tenant: Tenant, graph: str, thread_id: str) -> dict[str, Any]:
    found = tenant.threads.last(tenant.threads.key(graph, thread_id))
    if found is None:
        raise ThreadUnknown(thread_id)
    state = found.checkpoint["channel_values"]
    turns = [{name: turn.get(name) for name in ("question", "sql", "answer")} for turn in state.get("turns") or ()]
    return {
        "thread_id": thread_id,
        "graph": graph,
        "status": status_of(state),
        "turns": turns,
        "clarification": state.get("clarification"),
    }


def _history(tenant: Tenant, graph: str, thread_id: str) -> dict[str, Any]:
    runs = tenant.threads.runs(tenant.threads.key(graph, thread_id), _MOST_RUNS)
    return {"thread_id": thread_id, "graph": graph, "runs": [_run(each) for each in runs]}


def _output(run_id: str, tenant: Tenant, graph: str, thread_id: str) -> dict[str, Any]:
    found = tenant.threads.run(tenant.threads.key(graph, thread_id), run_id)
    if found is None:
        raise RunUnknown(run_id)
    return {**reply_of(found.checkpoint["channel_values"], thread_id, run_id)}


def _run(kept: CheckpointTuple) -> dict[str, Any]:
    state: Mapping[str, Any] = kept.checkpoint["channel_values"]
    audit, given = state.get("audit") or {}, state.get("given") or {}
    said = next(({name: given[name]} for name in _SAID if given.get(name) is not None), {})
    figures = ("trace_id", "recorded", "llm_calls", "llm_cost_usd", "latency_ms")
    shown = {name: state.get(name) for name in ("question", "answer", "sql", "error")}
    head = {"id": kept.checkpoint["id"], "time": kept.checkpoint["ts"], "said": said, "status": status_of(state)}
    return {**head, **shown} | {name: audit.get(name) for name in figures}

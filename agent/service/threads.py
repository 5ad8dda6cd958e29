"""Routes: conversations as they are kept, and feedback on their last answer."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path
from langgraph.checkpoint.base import CheckpointTuple
from starlette.concurrency import run_in_threadpool

from agent.clarify.types import Feedback
from agent.conversation.reply import status_of
from agent.errors import InputInvalid, ThreadUnknown
from agent.served_graph import PlainJSON, ServedGraph
from agent.service.tenant import Tenant, asking

ThreadId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
_MOST_RUNS = 100


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


def _run(kept: CheckpointTuple) -> dict[str, Any]:
    state: Mapping[str, Any] = kept.checkpoint["channel_values"]
    audit = state.get("audit") or {}
    figures = ("trace_id", "recorded", "llm_calls", "llm_cost_usd", "latency_ms")
    shown = {name: state.get(name) for name in ("question", "answer", "sql", "error")}
    return {"time": kept.checkpoint["ts"], "status": status_of(state), **shown} | {
        name: audit.get(name) for name in figures
    }

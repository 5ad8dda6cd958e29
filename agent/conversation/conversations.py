"""A graph whose conversations are kept on threads: one run at a time on each, and nothing of one that is broken off."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig

from agent.conversation.reply import Reply, reply_of
from agent.conversation.thread_run import ThreadRun
from agent.conversation.threads import Threads

_HOW: dict[str, Any] = {"stream_mode": ["updates", "values"], "durability": "exit"}

Event = tuple[Literal["step"], dict[str, Any]] | tuple[Literal["output"], Reply]
"""`{node: update}` of a node that has ended, or what comes out at last."""


class Conversations:
    """Runs a compiled graph on threads. Safe to share between threads of the process.

    Every way to run raises:
        ThreadUnknown: there is no such thread; without a thread's id a new one begins.
        ThreadBusy: another run on it has not ended.
        ThreadsUnavailable: the store cannot be used.
    """

    def __init__(self, graph: Any, threads: Threads) -> None:
        """Take a graph without a checkpointer, and where its threads are kept."""
        self._graph, self._threads = graph, threads

    def stream(
        self, given: Mapping[str, Any], thread_id: str | None = None, config: RunnableConfig | None = None
    ) -> Iterator[Event]:
        """Yield each node as it ends, and at last the output, when it is kept."""
        run, state = self._run(thread_id), {}
        try:
            run.open()
            for mode, chunk in self._on(run).stream(dict(given), run.config(config), **_HOW):
                if mode == "values":
                    state = chunk
                elif step := _steps(chunk):
                    yield "step", step
            run.keep()
        finally:
            run.close()
        yield "output", reply_of(state, run.thread_id, run.kept_as)

    async def astream(
        self, given: Mapping[str, Any], thread_id: str | None = None, config: RunnableConfig | None = None
    ) -> AsyncGenerator[Event]:
        """Yield what `stream` yields."""
        run, state = self._run(thread_id), {}
        try:
            await _to_its_end(run.open)
            async for mode, chunk in self._on(run).astream(dict(given), run.config(config), **_HOW):
                if mode == "values":
                    state = chunk
                elif step := _steps(chunk):
                    yield "step", step
            await _to_its_end(run.keep)
        finally:
            await _to_its_end(run.close)
        yield "output", reply_of(state, run.thread_id, run.kept_as)

    def _run(self, thread_id: str | None) -> ThreadRun:
        return ThreadRun(self._threads, self._graph.name, thread_id)

    def _on(self, run: ThreadRun) -> Any:
        return self._graph.copy({"checkpointer": run.memory})


def _steps(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nodes of `chunk` that have done something."""
    return {node: update for node, update in chunk.items() if update and not node.startswith("__")}


async def _to_its_end(work: Callable[[], None]) -> None:
    """Do `work` in a thread of its own, to its end also where nobody waits for it any more."""
    await asyncio.shield(asyncio.to_thread(work))

"""A graph whose conversations are kept on threads: one run at a time on each, and nothing of one that is broken off."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig

from agent.conversation.reply import Reply, reply_of
from agent.conversation.thread_run import ThreadRun
from agent.conversation.threads import Threads

_HOW: dict[str, Any] = {"stream_mode": ["updates", "values"], "durability": "exit"}

_CLOSING = ThreadPoolExecutor(16, "datasphinx-closing")
"""Threads of their own: a run that nobody waits for is stopped also where all others are taken."""

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
        return self._events(self._run(thread_id), given, config)

    async def astream(
        self, given: Mapping[str, Any], thread_id: str | None = None, config: RunnableConfig | None = None
    ) -> AsyncGenerator[Event]:
        """Yield what `stream` yields, from a thread of its own; where nobody reads on, the run ends.

        A run keeps its thread from the first node to the last: to change it for each node costs more than most nodes.
        """
        run, loop, heard = (
            self._run(thread_id),
            asyncio.get_running_loop(),
            asyncio.Queue[Event | BaseException | None](),
        )

        def work() -> None:
            for event in self._events(run, given, config):
                loop.call_soon_threadsafe(heard.put_nowait, event)

        working = asyncio.create_task(asyncio.to_thread(work))
        working.add_done_callback(lambda done: heard.put_nowait(None if done.cancelled() else done.exception()))
        try:
            while each := await heard.get():
                if isinstance(each, BaseException):
                    raise each
                yield each
        finally:
            if not working.done():
                # To its end also where nobody waits for it any more.
                await asyncio.shield(loop.run_in_executor(_CLOSING, run.close))

    def _events(self, run: ThreadRun, given: Mapping[str, Any], config: RunnableConfig | None) -> Iterator[Event]:
        state: dict[str, Any] = {}
        with closing(run):
            run.open()
            for mode, chunk in self._on(run).stream(dict(given), run.config(config), **_HOW):
                run.check()
                if mode == "values":
                    state = chunk
                elif step := _steps(chunk):
                    yield "step", step
            run.keep()
        yield "output", reply_of(state, run.thread_id, run.kept_as)

    def _run(self, thread_id: str | None) -> ThreadRun:
        return ThreadRun(self._threads, self._graph.name, thread_id)

    def _on(self, run: ThreadRun) -> Any:
        return self._graph.copy({"checkpointer": run.memory})


def _steps(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nodes of `chunk` that have done something."""
    return {node: update for node, update in chunk.items() if update and not node.startswith("__")}

"""Runs of a compiled graph on threads: one run at a time per thread, stored only when complete."""

import threading
import uuid
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, aclosing, closing
from typing import Any, Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START

from datasphinx.agent.conversation.inputs import run_input
from datasphinx.agent.conversation.reply import REPLY_KEYS, Reply, reply_of
from datasphinx.agent.conversation.threads import Threads, config_of
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.worker_threads import iterate_in_thread
from datasphinx.agent.datasets.limits import ProgressEvent
from datasphinx.agent.errors import NotFound, ThreadBusy
from datasphinx.agent.record.waiting import StartEvent, WaitEvent
from datasphinx.agent.state import Output
from datasphinx.agent.types import ReportPart

ENDS_WITH_QUESTION = "ends_with_question"
"""Configurable: a run that asks the user ends; the answer comes with the next run on the thread."""

CANCELLATION = "cancellation"
"""Configurable: the `Cancellation` of the run."""

PART_OF = "part_of"
"""Configurable: the step of a report that waits for the run, and whose limits apply to it as well."""

RUN = "loop"
"""The source of checkpoints of runs."""

UPDATED, ENDED = "update", "fork"
"""The sources of checkpoints that are no runs: the input of the next run, and the end of a clarifying question."""

ASKS = "await_clarification"
"""The node at which a run with a clarifying question ends."""

BEGINNING = str(uuid.UUID(int=0))
"""Instead of the id of a run, the empty beginning of a thread, from which its first run continues."""

_METADATA = ("source", "step", "parents")
_STREAM_MODES = ("updates", "values", "custom")
_REPLAY_THREAD = RunnableConfig(configurable={"thread_id": "replay"})

Event = (
    tuple[Literal["started"], StartEvent]
    | tuple[Literal["step"], dict[str, Any]]
    | tuple[Literal["progress"], ProgressEvent]
    | tuple[Literal["waiting"], WaitEvent]
    | tuple[Literal["part"], ReportPart]
    | tuple[Literal["output"], Reply]
)
"""The start of a node, `{node: update}` of a completed one, progress of loading a file, what the run waits for, an
answered question of a report, or the final output.
"""


class Conversations:
    """Runs a compiled graph on threads. Safe to share between threads of the process.

    `stream` and `astream` raise:
        NotFound: there is no such thread; without a thread id a new thread is created.
        ThreadBusy: another run on the thread is in progress.
        Unavailable: the store cannot be used.
    """

    def __init__(self, graph: Any, threads: Threads) -> None:
        """Run `graph`, compiled without a checkpointer, on the threads of the store `threads`."""
        self._graph, self._threads = graph, threads

    def stream(
        self, inputs: Mapping[str, Any], thread_id: str | None = None, config: RunnableConfig | None = None
    ) -> Generator[Event]:
        """Yield an event for each completed node and the progress of loads; once the thread is stored, the output."""
        return self._events(ThreadRun(self._threads, self._graph.name, thread_id), inputs, config, _STREAM_MODES)

    async def astream(
        self,
        inputs: Mapping[str, Any],
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
        *,
        with_steps: bool = True,
        run_id: str | None = None,
        keeps_thread: bool = False,
    ) -> AsyncGenerator[Event]:
        """Yield the events of `stream`; the run is cancelled if the generator is closed.

        Without `with_steps`, the output is the only event; each event wakes the event loop, which then waits for the
        threads of other questions. With `run_id`, the run continues from that run of the thread, or from its
        `BEGINNING`: on the thread itself if that run is its last one and no other is in progress, else on a new thread.
        With `keeps_thread`, it is always on this thread, which is created if there is none. Empty `inputs` run what
        `update` has stored.
        The whole run uses one worker thread: changing threads for each node would cost more than most nodes.
        """
        run = ThreadRun(self._threads, self._graph.name, thread_id, run_id, keeps_thread=keeps_thread)
        modes = _STREAM_MODES if with_steps else ("values",)
        events = iterate_in_thread(lambda: self._events(run, inputs, config, modes), run.close)
        async with aclosing(events) as stream:
            async for event in stream:
                yield event

    def update(self, inputs: Mapping[str, Any], thread_id: str, run_id: str | None = None) -> str:
        """Store the input of the next run after the last one, or after `run_id`; return the id of the checkpoint."""
        return self._change(lambda _: run_input(dict(inputs)), START, UPDATED, self._kept(thread_id, run_id))

    def drop_question(self, thread_id: str, run_id: str | None = None) -> str:
        """End the clarifying question of the last run, or of `run_id`, without an answer; return the new checkpoint."""
        return self._change(lambda _: {"clarification": None}, ASKS, ENDED, self._kept(thread_id, run_id))

    def add_answer(
        self, answer: Callable[[Mapping[str, Any]], Mapping[str, Any]], thread_id: str | None
    ) -> tuple[str, str]:
        """Store an answer that no run of the graph has given; return the id of its thread, and its run id.

        `answer` returns its final state from that of the thread; without a thread id a new thread is created.
        """
        run = ThreadRun(self._threads, self._graph.name, thread_id)
        return run.thread_id, self._change(answer, "answer", RUN, run)

    def _kept(self, thread_id: str, run_id: str | None) -> "ThreadRun":
        return ThreadRun(self._threads, self._graph.name, thread_id, run_id, keeps_thread=True)

    def _change(self, change: Callable[[Mapping[str, Any]], Any], as_node: str, source: str, run: "ThreadRun") -> str:
        with closing(run):
            run.open()
            graph, config = self._graph.copy({"checkpointer": run.memory}), run.config(None)
            graph.update_state(config, change(graph.get_state(config).values), as_node=as_node)
            run.keep(source)
        assert run.checkpoint_id
        return run.checkpoint_id

    def _events(
        self,
        run: "ThreadRun",
        inputs: Mapping[str, Any],
        config: RunnableConfig | None,
        modes: Sequence[str],
    ) -> Generator[Event]:
        state: dict[str, Any] = {}
        with closing(run):
            run.open()
            graph = self._graph.copy({"checkpointer": run.memory})
            for mode, chunk in graph.stream(dict(inputs) or None, run.config(config), stream_mode=[*modes]):
                run.check()
                if mode == "custom":
                    yield chunk["event"], chunk["data"]
                    continue
                if mode == "values":
                    state = chunk
                    continue
                # Nodes that changed nothing, and LangGraph's own entries, are not steps.
                step = {node: update for node, update in chunk.items() if update and not node.startswith("__")}
                if step:
                    yield "step", step
            run.keep()
        yield "output", reply_of(state, run.thread_id, run.checkpoint_id)


class ThreadRun:
    """One run on a copy of its thread in memory, which is written back only when the run is complete.

    An interrupted run therefore leaves the thread unchanged. Call `open` first and `keep` last, from the same thread of
    the process. `close` may be called at any time from any thread; it cancels the run and waits for `open` and `keep`.
    """

    def __init__(
        self,
        threads: Threads,
        graph: str,
        thread_id: str | None,
        run_id: str | None = None,
        *,
        keeps_thread: bool = False,
    ) -> None:
        """Prepare a run of the graph named `graph`; None as `thread_id` creates a thread.

        With `run_id` it continues from that run of the thread, if necessary on a new thread unless `keeps_thread`,
        which also permits that there is no thread with the id.
        """
        self.thread_id = thread_id or uuid.uuid4().hex
        self.memory = _RunMemory()
        self.checkpoint_id: str | None = None
        """The id of the stored checkpoint; None until `keep` has returned."""
        self._threads, self._is_new = threads, thread_id is None
        self._graph, self._run_id, self._keeps_thread = graph, run_id, keeps_thread
        self._key = threads.key(graph, self.thread_id)
        self._id_before: str | None = None
        self._last_id: str | None = None
        self._versions_before: ChannelVersions = {}
        self._cancellation = Cancellation()
        self._claim, self._mutex = ExitStack(), threading.Lock()

    def config(self, base: RunnableConfig | None) -> RunnableConfig:
        """Return `base` with the configurables of this run."""
        own = {ENDS_WITH_QUESTION: True, CANCELLATION: self._cancellation}
        return {**(base or {}), "configurable": {**config_of(self._key)["configurable"], **own}}

    def open(self) -> None:
        """Lock the thread and copy it into memory.

        Raises:
            StatementCancelled: the run is closed.
            NotFound: there is no such thread, or it has no run with the id `run_id`.
            ThreadBusy: another run on the thread is in progress, and the run cannot be on a new one.
            Unavailable: the store cannot be used.
        """
        with self._mutex:
            self.check()
            if self._is_new:
                return
            is_locked = self._claim.enter_context(self._threads.lock(self._key))
            if not is_locked and (self._run_id is None or self._keeps_thread):
                raise ThreadBusy(self.thread_id)
            stored = self._threads.last(self._key)
            self._last_id = stored.checkpoint["id"] if stored else None
            if stored and self._run_id and not (is_locked and self._last_id == self._run_id):
                stored = None if self._run_id == BEGINNING else self._threads.run(self._key, self._run_id)
                if not self._keeps_thread:
                    self._claim.close()
                    self._is_new, self._last_id = True, None
            if stored is None:
                if self._keeps_thread and self._run_id in (None, BEGINNING):
                    return
                raise NotFound("thread_unknown", thread_id=self.thread_id)
            if self._is_new:
                self.thread_id = uuid.uuid4().hex
                self._key = self._threads.key(self._graph, self.thread_id)
            else:
                # The run changes the versions in the checkpoint.
                self._id_before = stored.checkpoint["id"]
                self._versions_before = {**stored.checkpoint["channel_versions"]}
            self.memory.put(config_of(self._key), stored.checkpoint, stored.metadata, {})

    def keep(self, source: str | None = None) -> None:
        """Write the copy back to the store; its metadata have the `source` of a checkpoint that is no run.

        Raises:
            StatementCancelled: the run is closed.
            ThreadBusy: the lock was lost, and another run has changed the thread.
            Unavailable: the store cannot be used.
        """
        with self._mutex:
            self.check()
            after = self.memory.get_tuple(config_of(self._key))
            assert after
            changed = {
                name: version
                for name, version in after.checkpoint["channel_versions"].items()
                if self._versions_before.get(name) != version
            }
            metadata: Any = {name: value for name, value in after.metadata.items() if name in _METADATA}
            metadata["source"] = source or metadata["source"]
            with self._threads.saver() as saver:
                stored = saver.get_tuple(config_of(self._key))
                if (stored.checkpoint["id"] if stored else None) != self._last_id:
                    raise ThreadBusy(self.thread_id)
                saver.put(config_of(self._key, self._id_before), after.checkpoint, metadata, changed)
            self.checkpoint_id = after.checkpoint["id"]

    def check(self) -> None:
        """Raise StatementCancelled if the run is closed."""
        self._cancellation.check()

    def close(self) -> None:
        """Cancel the run's statements and model calls, and unlock the thread."""
        self._cancellation.cancel()
        with self._mutex:
            self._claim.close()


class _RunMemory(InMemorySaver):
    """The checkpoint of one run, not serialized: only the store serializes it, once the run is complete."""

    _stored: CheckpointTuple | None = None

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that was put last."""
        return self._stored

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Replace the checkpoint, and return its configuration."""
        own: RunnableConfig = {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}
        self._stored = CheckpointTuple(own, checkpoint, metadata)
        return own


def run_recorded(
    graph: Any, inputs: Mapping[str, Any], carried: Mapping[str, Any], error: str | None, *, last: str
) -> Output:
    """Return the output of `graph` for the recorded `inputs`, on a thread that contains the state `carried`.

    `graph` has a checkpointer, `last` is the final node of its runs, and `error` is the error code of the recorded run.
    """
    # The error `nothing_asked` can only occur on an existing thread.
    if carried or error == "nothing_asked":
        # The carried state belongs to the source that the run was started with.
        before = {name: inputs[name] for name in ("source",) if inputs.get(name)}
        graph.update_state(_REPLAY_THREAD, {"given": before, **carried}, as_node=last)
    output = graph.invoke(inputs, _REPLAY_THREAD)
    return cast(Output, {name: value for name, value in output.items() if name in REPLY_KEYS})

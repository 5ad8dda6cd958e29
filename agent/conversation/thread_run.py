"""One run on a thread."""

import threading
import uuid
from contextlib import ExitStack
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from agent.conversation.threads import PLAIN_VALUES, Threads, config_of
from agent.errors import ThreadBusy, ThreadUnknown
from agent.sql.limits import Cancellation

ENDS_WITH_QUESTION = "ends_with_question"
"""Configurable: a run that asks back ends then, and the answer comes with the next run on the thread."""

CANCELLATION = "cancellation"
"""Configurable: what stops the run."""

_METADATA = ("source", "step", "parents")


class ThreadRun:
    """One run, which works on a copy of its thread in memory: only what it leaves when it has ended is kept.

    So a run that is broken off, by whatever, leaves the thread as it was. `open` comes first and `keep` last, in one
    thread of the process; `close` may come at any time from any, waits for what the other is at, and ends the run.
    """

    def __init__(self, threads: Threads, graph: str, thread_id: str | None) -> None:
        """Name the thread; without an id a new one begins."""
        self.thread_id = thread_id or uuid.uuid4().hex
        self.memory = InMemorySaver(serde=PLAIN_VALUES)
        self.kept_as: str | None = None
        """The id of what the run has left on the thread, once it is kept."""
        self._threads, self._is_new = threads, thread_id is None
        self._key = threads.key(graph, self.thread_id)
        self._before: dict[str, Any] = {}
        self._cancellation = Cancellation()
        self._held, self._turn = ExitStack(), threading.Lock()

    def config(self, given: RunnableConfig | None) -> RunnableConfig:
        """Return `given` for this run."""
        own = {ENDS_WITH_QUESTION: True, CANCELLATION: self._cancellation}
        return {**(given or {}), "configurable": {**config_of(self._key)["configurable"], **own}}

    def open(self) -> None:
        """Claim the thread and copy it.

        Raises:
            StatementCancelled: it is closed.
            ThreadUnknown: there is no such thread.
            ThreadBusy: another run on it has not ended.
            ThreadsUnavailable: the store cannot be used.
        """
        with self._turn:
            self.check()
            if self._is_new:
                return
            if not self._held.enter_context(self._threads.alone(self._key)):
                raise ThreadBusy(self.thread_id)
            found = self._threads.last(self._key)
            if found is None:
                raise ThreadUnknown(self.thread_id)
            self._before = {**found.checkpoint}
            versions = found.checkpoint["channel_versions"]
            self.memory.put(config_of(self._key), found.checkpoint, found.metadata, versions)

    def keep(self) -> None:
        """Keep what the run has left.

        Raises:
            StatementCancelled: it is closed.
            ThreadBusy: the claim was lost, and somebody else has run on the thread.
            ThreadsUnavailable: the store cannot be used.
        """
        with self._turn:
            self.check()
            left = self.memory.get_tuple(config_of(self._key))
            assert left
            before, config = self._before.get("channel_versions", {}), config_of(self._key)
            changed = {
                name: version
                for name, version in left.checkpoint["channel_versions"].items()
                if before.get(name) != version
            }
            if self._before:
                config["configurable"]["checkpoint_id"] = self._before["id"]
            metadata: Any = {name: value for name, value in left.metadata.items() if name in _METADATA}
            with self._threads.saver() as saver:
                now = saver.get_tuple(config_of(self._key))
                if (now.checkpoint["id"] if now else None) != self._before.get("id"):
                    raise ThreadBusy(self.thread_id)
                saver.put(config, left.checkpoint, metadata, changed)
            self.kept_as = left.checkpoint["id"]

    def check(self) -> None:
        """Go on where the run is not closed.

        Raises:
            StatementCancelled: it is.
        """
        self._cancellation.check()

    def close(self) -> None:
        """Stop what still works for the run, and let the next one have the thread."""
        self._cancellation.cancel()
        with self._turn:
            self._held.close()

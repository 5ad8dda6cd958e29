"""Where threads are kept: a SQLite file by default, PostgreSQL by URL, the memory of the process where neither is."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agent.errors import DriverMissing
from agent.settings import Settings

THREAD_ID = r"^[0-9a-f]{32}$"
"""The form of a thread's id."""

PLAIN_VALUES = JsonPlusSerializer(allowed_msgpack_modules=None)
"""Reads no type but plain ones: whoever can write to the store cannot have code run by those who read it."""


class Threads(ABC):
    """Keeps threads by their key. Nothing is opened before it is needed; safe to share between threads.

    `name` is what users see of the store, `lasts` whether another process finds its threads, `owner` whose they are:
    nobody else finds them, also where a database holds those of several. Both methods, and what is
    done inside them, raise `ThreadsUnavailable` where the store cannot be used.
    """

    lasts = True
    owner = ""

    def __init__(self, name: str) -> None:
        """Take the name."""
        self.name = name

    def of(self, owner: str) -> Self:
        """Return the same store, over the same connections, for the threads of `owner`."""
        other = copy(self)
        other.owner = owner
        return other

    @abstractmethod
    def alone(self, key: str) -> AbstractContextManager[bool]:
        """Give whether nobody else runs on the thread; nobody else does until the end of the block."""

    @abstractmethod
    def saver(self) -> AbstractContextManager[BaseCheckpointSaver[Any]]:
        """Give the open store, with its tables, for a moment: reading or writing."""

    def key(self, graph: str, thread_id: str) -> str:
        """Return what a thread is kept under: the graphs have threads of their own."""
        return f"{self.owner}.{graph}-{thread_id}" if self.owner else f"{graph}-{thread_id}"

    def last(self, key: str) -> CheckpointTuple | None:
        """Return the thread as its last run left it; None where there is none."""
        with self.saver() as saver:
            return saver.get_tuple(config_of(key))

    def runs(self, key: str, limit: int) -> list[CheckpointTuple]:
        """Return the thread as each of its last `limit` runs left it, the newest first."""
        with self.saver() as saver:
            return list(saver.list(config_of(key), limit=limit))

    def run(self, key: str, kept_as: str) -> CheckpointTuple | None:
        """Return the thread as the run left it that was kept under this id; None where there is none."""
        config = config_of(key)
        config["configurable"]["checkpoint_id"] = kept_as
        with self.saver() as saver:
            return saver.get_tuple(config)

    def graph_of(self, thread_id: str, graphs: tuple[str, ...]) -> str | None:
        """Return which of `graphs` the thread is on; None where there is no such thread."""
        if not re.fullmatch(THREAD_ID, thread_id):
            return None
        return next((graph for graph in graphs if self.last(self.key(graph, thread_id))), None)


class ThreadsInMemory(Threads):
    """Threads that end with the process, which runs one question at a time."""

    lasts = False

    def __init__(self) -> None:
        """Begin without any."""
        super().__init__("memory")
        self._saver = InMemorySaver()

    @contextmanager
    def alone(self, key: str) -> Iterator[bool]:
        """Give True."""
        yield True

    @contextmanager
    def saver(self) -> Iterator[BaseCheckpointSaver[Any]]:
        """Give the store."""
        yield self._saver


def open_threads(settings: Settings, *, must_last: bool = True) -> Threads:
    """Return the store that `settings` name; unless it `must_last`, one in memory where its packages are missing.

    Raises:
        ConfigurationError: `threads_url` is not the URL of a PostgreSQL database.
        DriverMissing: the extra `threads`, or `postgres`, is not installed.
    """
    if settings.threads_url:
        from agent.conversation.postgres_threads import PostgresThreads

        return PostgresThreads(settings.threads_url.get_secret_value())
    from agent.conversation.sqlite_threads import SqliteThreads

    try:
        return SqliteThreads(settings.data_dir)
    except DriverMissing:
        if must_last:
            raise
        return ThreadsInMemory()


def config_of(key: str) -> RunnableConfig:
    """Return where LangGraph finds a thread."""
    return RunnableConfig(configurable={"thread_id": key, "checkpoint_ns": ""})

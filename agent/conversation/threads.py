"""Thread stores: SQLite by default, PostgreSQL if a URL is set, memory if the packages for SQLite are missing."""

import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from typing import Any, NamedTuple, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import CipherProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.settings import Settings

THREAD_ID = r"^[0-9a-f]{32}$"
"""Pattern of a thread id."""


class _Compression(CipherProtocol):
    """LangGraph's only step between a serializer and the store is meant for ciphers."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """Return the method and the compressed bytes."""
        return "zlib", zlib.compress(plaintext, 1)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """Return the bytes."""
        return zlib.decompress(ciphertext)


SERIALIZER = EncryptedSerializer(_Compression(), JsonPlusSerializer(allowed_msgpack_modules=None))
"""Deserializes plain types only, so that write access to the store does not allow code execution in its readers.

It compresses: the state contains rows up to three times, as result, value and table. Values of earlier versions, which
are not compressed, can be read.
"""


_CHARTS = "chart"
"""The namespace of the charts of a thread, which is deleted with the thread."""
LINK = "link"
"""The id of the only checkpoint of a link, and the graph in its key."""

LIST_TABLE = """CREATE TABLE IF NOT EXISTS conversations (
    owner TEXT NOT NULL, user_id TEXT NOT NULL, thread_id TEXT NOT NULL, graph TEXT NOT NULL, title TEXT NOT NULL,
    questions TEXT NOT NULL, updated DOUBLE PRECISION NOT NULL, PRIMARY KEY (owner, user_id, thread_id))"""
"""The table of `ThreadList`."""


class Link(NamedTuple):
    """A run of a thread, found by a name that a client can compute."""

    thread_id: str
    run_id: str


class Threads(ABC):
    """A store of threads by key. Opened on first use; safe to share between threads of the process.

    Attributes:
        name: the path or URL in messages.
        is_persistent: whether other processes find the threads.
        owner: the tenant whose threads these are; only this tenant finds them. Empty for a single tenant.

    All methods, and the blocks of `lock` and `saver`, raise `Unavailable` if the store cannot be used.
    """

    is_persistent = True
    owner = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def for_owner(self, owner: str) -> Self:
        """Return a view of the store, over the same connections, limited to the threads of `owner`."""
        other = copy(self)
        other.owner = owner
        return other

    @abstractmethod
    def lock(self, key: str) -> AbstractContextManager[bool]:
        """Lock the thread for the duration of the block, without waiting; yield False if it is locked already."""

    @abstractmethod
    def is_locked_elsewhere(self, key: str) -> bool:
        """Return whether another process has locked the thread."""

    @abstractmethod
    def saver(self) -> AbstractContextManager[BaseCheckpointSaver[Any]]:
        """Yield the open store, with its tables, for a single read or write."""

    def check(self) -> None:
        """Open the store. Raise Unavailable if it cannot be used."""
        with self.saver():
            pass

    @abstractmethod
    def rows(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows of a statement on the table of `LIST_TABLE`, with `values` for its placeholders `?`."""

    def key(self, graph: str, thread_id: str) -> str:
        """Return the key of a thread; each graph, and each owner, has separate threads."""
        return f"{self.owner}.{graph}-{thread_id}" if self.owner else f"{graph}-{thread_id}"

    def last(self, key: str) -> CheckpointTuple | None:
        """Return the latest checkpoint of the thread; None if there is no such thread."""
        with self.saver() as saver:
            return saver.get_tuple(config_of(key))

    def runs(self, key: str, limit: int) -> list[CheckpointTuple]:
        """Return the checkpoints of the last `limit` runs of the thread, newest first."""
        with self.saver() as saver:
            return list(saver.list(config_of(key), limit=limit))

    def run(self, key: str, checkpoint_id: str) -> CheckpointTuple | None:
        """Return the checkpoint of one run of the thread; None if there is no such checkpoint."""
        with self.saver() as saver:
            return saver.get_tuple(config_of(key, checkpoint_id))

    def link(self, name: str, link: Link) -> None:
        """Store `link` under `name`; it replaces an earlier one."""
        self._put(config_of(self.key(LINK, name)), LINK, {"thread_id": link.thread_id, "run_id": link.run_id})

    def linked(self, name: str) -> Link | None:
        """Return the link stored under `name`, if any."""
        return self.link_of(self.key(LINK, name))

    def link_of(self, key: str) -> Link | None:
        """Return the link stored under `key`, if any."""
        stored = self.last(key)
        return Link(**stored.checkpoint["channel_values"]) if stored else None

    def save_chart(self, key: str, run_id: str, spec: str) -> None:
        """Store `spec`, a plot spec as JSON, for a run of the thread; it replaces an earlier one."""
        self._put(config_of(key, namespace=_CHARTS), run_id, {"spec": spec})

    def saved_chart(self, key: str, run_id: str) -> str | None:
        """Return the plot spec stored for a run of the thread, if any."""
        with self.saver() as saver:
            stored = saver.get_tuple(config_of(key, run_id, _CHARTS))
        return stored.checkpoint["channel_values"]["spec"] if stored else None

    def _put(self, config: RunnableConfig, checkpoint_id: str, values: dict[str, str]) -> None:
        """Store texts as a checkpoint; it replaces one with the same id."""
        versions: dict[str, str | int | float] = dict.fromkeys(values, 1)
        checkpoint = empty_checkpoint()
        checkpoint.update({"id": checkpoint_id, "channel_values": {**values}, "channel_versions": versions})
        with self.saver() as saver:
            saver.put(config, checkpoint, {}, versions)

    def graph_of(self, thread_id: str, graphs: tuple[str, ...]) -> str | None:
        """Return the first of `graphs` that has the thread; None if there is no such thread."""
        if not re.fullmatch(THREAD_ID, thread_id):
            return None
        return next((graph for graph in graphs if self.last(self.key(graph, thread_id))), None)


class ThreadsInMemory(Threads):
    """Threads in memory, for a process that runs one question at a time."""

    is_persistent = False

    def __init__(self) -> None:
        super().__init__("memory")
        self._saver = InMemorySaver()

    @contextmanager
    def lock(self, key: str) -> Iterator[bool]:
        """Yield True: the process runs one question at a time."""
        yield True

    def is_locked_elsewhere(self, key: str) -> bool:
        """Return False: there is no other process."""
        return False

    @contextmanager
    def saver(self) -> Iterator[BaseCheckpointSaver[Any]]:
        """Yield the store."""
        yield self._saver

    def rows(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return no rows: threads in memory are not listed."""
        return []


def open_threads(settings: Settings, *, must_persist: bool = True) -> Threads:
    """Return the store that `settings` name: `threads_url`, else a SQLite file in the data directory.

    With `must_persist` False, a store in memory if the packages for SQLite are missing.
    """
    if settings.threads_url:
        from datasphinx.agent.conversation.postgres_threads import PostgresThreads

        return PostgresThreads(settings.threads_url.get_secret_value())
    from datasphinx.agent.conversation.sqlite_threads import SqliteThreads

    try:
        return SqliteThreads(settings.data_dir)
    except DriverMissing:
        if must_persist:
            raise
        return ThreadsInMemory()


def config_of(key: str, checkpoint_id: str | None = None, namespace: str = "") -> RunnableConfig:
    """Return the LangGraph configuration that selects a thread, or one of its checkpoints."""
    selected = {"checkpoint_id": checkpoint_id} if checkpoint_id else {}
    return RunnableConfig(configurable={"thread_id": key, "checkpoint_ns": namespace, **selected})

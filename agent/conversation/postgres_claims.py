"""Claims of threads in a PostgreSQL database: advisory locks, which go with the process that holds them."""

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import DictRow


class Claims:
    """What this process has claimed, all of it on one connection, so that any number of runs needs no more.

    Where the connection is lost, its claims are too; with the next claim they are made again as far as nobody else has
    made them meanwhile.
    """

    def __init__(self, connect: "Callable[[], Connection[DictRow]]") -> None:
        """Take what gives a connection, which is asked for with the first claim."""
        self._connect = connect
        self._connection: Connection[DictRow] | None = None
        self._turn = threading.Lock()
        self._held: set[str] = set()

    @contextmanager
    def of(self, key: str) -> Iterator[bool]:
        """Give whether nobody else has claimed `key`; nobody else does until the end of the block.

        Raises:
            psycopg.Error, OSError: the database cannot be reached.
        """
        with self._turn:
            is_ours = key not in self._held and try_lock(self._alive(), key)
            if is_ours:
                self._held.add(key)
        try:
            yield is_ours
        finally:
            if is_ours:
                self._release(key)

    def _alive(self) -> "Connection[DictRow]":
        import psycopg

        if self._connection:
            try:
                self._connection.execute("SELECT 1")
                return self._connection
            except (psycopg.Error, OSError):
                self._connection.close()
        self._connection = self._connect()
        weakref.finalize(self, self._connection.close)
        for key in self._held:
            try_lock(self._connection, key)
        return self._connection

    def _release(self, key: str) -> None:
        import psycopg

        with self._turn:
            self._held.remove(key)
            # A connection that is gone holds nothing.
            with suppress(psycopg.Error, OSError):
                if self._connection:
                    unlock(self._connection, key)


def try_lock(connection: "Connection[DictRow]", key: str) -> bool:
    """Claim `key` for `connection` and return True; False where another connection has it."""
    row = connection.execute("SELECT pg_try_advisory_lock(%s) AS is_ours", (_number(key),)).fetchone()
    return bool(row and row["is_ours"])


def unlock(connection: "Connection[DictRow]", key: str) -> None:
    """Give back what `try_lock` has claimed."""
    connection.execute("SELECT pg_advisory_unlock(%s)", (_number(key),))


def _number(key: str) -> int:
    return int.from_bytes(sha256(f"datasphinx threads {key}".encode()).digest()[:8], "big", signed=True)

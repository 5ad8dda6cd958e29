"""Threads in a SQLite file in the data directory."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agent.conversation.threads import PLAIN_VALUES, Threads
from agent.errors import DriverMissing, ThreadsUnavailable

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite import SqliteSaver

_WAIT_S = 10


class SqliteThreads(Threads):
    """Threads in a file. Any number of processes of one machine may use it at once."""

    def __init__(self, data_dir: Path) -> None:
        """Name the file; nothing is read or written yet.

        Raises:
            DriverMissing: the extra `threads` is not installed.
        """
        try:
            import filelock  # noqa: F401
            import langgraph.checkpoint.sqlite  # noqa: F401
        except ImportError as error:
            raise DriverMissing("langgraph-checkpoint-sqlite", "threads") from error
        self.path = data_dir / "threads.sqlite"
        self._locks = data_dir / "threads"
        self._turn = threading.Lock()
        self._is_set_up = False
        super().__init__(str(self.path))

    @contextmanager
    def alone(self, key: str) -> Iterator[bool]:
        """Hold a file that stands for the thread, in this process and among all of them."""
        from filelock import FileLock, Timeout

        lock = FileLock(self._locks / f"{key}.lock", timeout=0, mode=0o600, thread_local=False)
        with self._failing():
            # Its files are named by threads, and who knows the id of one may go on with it.
            self._locks.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(Timeout):
                lock.acquire()
        try:
            yield lock.is_locked
        finally:
            if lock.is_locked:
                # While it is held: who has opened it meanwhile holds a file without a name then, which counts for none.
                with suppress(OSError):
                    Path(lock.lock_file).unlink()
                lock.release()

    @contextmanager
    def saver(self) -> "Iterator[SqliteSaver]":
        """Give the open file; it is made, and its tables with it, the first time."""
        with self._failing():
            self._set_up()
            with self._opened() as saver:
                yield saver

    def _set_up(self) -> None:
        from filelock import FileLock

        with self._turn:
            if self._is_set_up and self.path.exists():
                return
            self._locks.mkdir(mode=0o700, parents=True, exist_ok=True)
            # It holds questions and rows: nobody else on this machine has to read them.
            self.path.touch(mode=0o600, exist_ok=True)
            with FileLock(self._locks / "tables.lock", timeout=_WAIT_S, mode=0o600), self._opened() as saver:
                saver.setup()
            self._is_set_up = True

    @contextmanager
    def _opened(self) -> "Iterator[SqliteSaver]":
        from langgraph.checkpoint.sqlite import SqliteSaver

        with closing(sqlite3.connect(self.path, timeout=_WAIT_S, check_same_thread=False)) as connection:
            yield SqliteSaver(connection, serde=PLAIN_VALUES)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).splitlines()[0]
            raise ThreadsUnavailable(self.name, reason.rstrip(".")) from error

"""Threads in a SQLite file in the data directory."""

import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
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
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)
        self._saver: SqliteSaver | None = None
        self._open_file: tuple[int, int] | None = None
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
        """Give the open file, to one thread of the process at a time; it is made, with its tables, the first time.

        Writers that wait for each other inside SQLite do so without an order, and some for long.
        """
        with self._failing(), self._turn:
            yield self._opened()

    def _opened(self) -> "SqliteSaver":
        """Return the open file; a new one where it is not the one that is there now."""
        file = self._file()
        if self._saver and file and file == self._open_file:
            return self._saver
        self._held.close()
        self._saver = None
        with ExitStack() as held:
            saver = self._set_up(held)
            self._held.push(held.pop_all())
        self._saver, self._open_file = saver, self._file()
        return saver

    def _file(self) -> tuple[int, int] | None:
        """Return what tells the file from one that was put in its place."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def _set_up(self, held: ExitStack) -> "SqliteSaver":
        from filelock import FileLock
        from langgraph.checkpoint.sqlite import SqliteSaver

        self._locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        # It holds questions and rows: nobody else on this machine has to read them.
        self.path.touch(mode=0o600, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=_WAIT_S, check_same_thread=False)
        held.enter_context(closing(connection))
        saver = SqliteSaver(connection, serde=PLAIN_VALUES)
        with FileLock(self._locks / "tables.lock", timeout=_WAIT_S, mode=0o600):
            saver.setup()
        return saver

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).splitlines()[0]
            raise ThreadsUnavailable(self.name, reason.rstrip(".")) from error

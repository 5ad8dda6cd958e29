"""Thread store in a SQLite file of the data directory."""

import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datasphinx.agent.conversation.threads import LIST_TABLE, SERIALIZER, Threads
from datasphinx.agent.errors import DriverMissing, Unavailable

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite import SqliteSaver

_WAIT_S = 10


class SqliteThreads(Threads):
    """Threads in a SQLite file, which any number of processes on one machine may share."""

    FILE_NAME = "threads.sqlite"

    def __init__(self, data_dir: Path) -> None:
        """Set the path; the file is created on first use.

        Raises:
            DriverMissing: the extra `threads` is not installed.
        """
        try:
            import filelock  # noqa: F401
            import langgraph.checkpoint.sqlite  # noqa: F401
        except ImportError as error:
            raise DriverMissing("langgraph-checkpoint-sqlite", "threads") from error
        self.path = data_dir / self.FILE_NAME
        self._locks = data_dir / "threads"
        self._mutex, self._locked = threading.Lock(), set[str]()
        self._resources = ExitStack()
        # Views of owners share the mutex, and may outlive this object.
        weakref.finalize(self._mutex, self._resources.close)
        self._saver: SqliteSaver | None = None
        self._open_file: tuple[int, int] | None = None
        super().__init__(str(self.path))

    @contextmanager
    def lock(self, key: str) -> Iterator[bool]:
        """Lock a file that represents the thread, which excludes other threads and processes."""
        from filelock import FileLock, Timeout

        lock = FileLock(self._locks / f"{key}.lock", timeout=0, mode=0o600, thread_local=False)
        with self._convert_errors():
            # File names contain thread ids, and an id is enough to continue a thread: mode 0700.
            self._locks.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(Timeout):
                lock.acquire()
                self._locked.add(key)
        try:
            yield lock.is_locked
        finally:
            if lock.is_locked:
                self._locked.discard(key)
                # Unlinked while still locked: a process that has opened the file meanwhile then locks an unlinked file,
                # which filelock does not accept.
                with suppress(OSError):
                    Path(lock.lock_file).unlink()
                lock.release()

    def is_locked_elsewhere(self, key: str) -> bool:
        """Try the lock if its file exists, which a process that was killed may have left."""
        if key in self._locked or not (self._locks / f"{key}.lock").exists():
            return False
        with self.lock(key) as is_free:
            return not is_free and key not in self._locked

    @contextmanager
    def saver(self) -> "Iterator[SqliteSaver]":
        """Yield the store to one thread of the process at a time; the file and its tables are created on first use.

        The mutex keeps writers in order: SQLite itself lets waiting writers retry in random order, some for long.
        """
        with self._convert_errors(), self._mutex:
            yield self._current_saver()

    def rows(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows of a statement, which is committed."""
        with self.saver() as saver, saver.conn as connection:
            return connection.execute(statement, values).fetchall()

    def _current_saver(self) -> "SqliteSaver":
        """Return the open store; reopen it if the file has been replaced or deleted."""
        identity = self._file_identity()
        if self._saver and identity and identity == self._open_file:
            return self._saver
        self._resources.close()
        self._saver = None
        with ExitStack() as resources:
            saver = self._set_up(resources)
            self._resources.push(resources.pop_all())
        self._saver, self._open_file = saver, self._file_identity()
        return saver

    def _file_identity(self) -> tuple[int, int] | None:
        """Return the device and inode of the file; None if it does not exist."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def _set_up(self, resources: ExitStack) -> "SqliteSaver":
        from filelock import FileLock
        from langgraph.checkpoint.sqlite import SqliteSaver

        self._locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The file contains questions and rows: only its owner may read it.
        self.path.touch(mode=0o600, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=_WAIT_S, check_same_thread=False)
        resources.enter_context(closing(connection))
        saver = SqliteSaver(connection, serde=SERIALIZER)
        with FileLock(self._locks / "tables.lock", timeout=_WAIT_S, mode=0o600):
            saver.setup()
            connection.execute(LIST_TABLE)
        return saver

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).splitlines()[0]
            raise Unavailable("threads_unavailable", url=self.name, reason=reason.rstrip(".")) from error

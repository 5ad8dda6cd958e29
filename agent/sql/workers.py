"""Pool of worker processes for SQLite, DuckDB and chDB; a worker that exceeds its limits is killed."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from multiprocessing import Pipe
from pathlib import Path
from typing import TYPE_CHECKING, Any

import datasphinx
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.redact import without_paths
from datasphinx.agent.engines import engines
from datasphinx.agent.errors import (
    DatasphinxError,
    PermissionDenied,
    SourceFilesUnreadable,
    SourceUnreachable,
    StatementCancelled,
    StatementFailed,
    StatementTimeout,
    Unavailable,
)
from datasphinx.agent.messages import Message
from datasphinx.agent.sql.failures import connection_reason, kind_of_text
from datasphinx.agent.types import Limits, Result

if TYPE_CHECKING:
    from datasphinx.agent.sql.view_files import ViewFiles

_GRACE_S = 0.25
"""Seconds beyond the time limit that a worker has to report its timeout."""

_START_S = 30.0
_OPEN_S = 20.0
"""Seconds that a worker has to open a database, in addition to the limit of the statement."""
_MAX_CHDB_OPENINGS = 20
"""Number of statements on chDB after which a worker is replaced: each opening of a folder leaves five idle threads."""
_POOL_SIZE = 4
_PACKAGE_ROOT = str(Path(datasphinx.__file__).resolve().parents[1])


@dataclass(frozen=True)
class DatabaseFile:
    """A database file, or views over files with a digest as `path`. Users see `name`.

    `engine` is sqlite, duckdb or chdb, whose database is a folder.
    """

    engine: str
    path: str
    name: str
    view_files: "ViewFiles | None" = None

    @contextmanager
    def in_use(self, wait_s: float) -> Iterator[None]:
        """Wait until nothing else uses a database of one process at a time: chDB. Raise Unavailable after too long."""
        lock = _folder_lock(self.path) if engines()[self.engine].is_folder else None
        if lock and not lock.acquire(timeout=wait_s):
            raise Unavailable("source_busy", source=self.name, places=1)
        try:
            yield
        finally:
            if lock:
                lock.release()


@cache
def _folder_lock(path: str) -> threading.Lock:
    return threading.Lock()


@lru_cache
def shared_workers(memory_mb: int) -> "Workers":
    """Return the process-wide pool whose workers have a limit of `memory_mb` megabytes each."""
    return Workers(memory_mb)


class Workers:
    """Up to four workers, started on demand; thread-safe. They end when the pool is garbage-collected."""

    def __init__(self, memory_mb: int) -> None:
        self._memory_mb = memory_mb
        self._slots = threading.BoundedSemaphore(_POOL_SIZE)
        self._idle: queue.LifoQueue[Worker] = queue.LifoQueue()
        self._idle.put(Worker(memory_mb))
        weakref.finalize(self, _end, self._idle)

    def run(
        self, file: DatabaseFile, sql: str, parameters: Any, limits: Limits, cancellation: Cancellation | None = None
    ) -> Result:
        """Run one statement and return its rows.

        Raises:
            StatementTimeout: it exceeded its time limit. A worker that did not stop in time was killed.
            StatementCancelled: `cancellation` was requested.
            StatementFailed: the engine rejected it, or it exceeded the memory limit.
            SourceUnreachable, SourceFilesUnreadable: a file cannot be read.
            Unavailable: no worker became free within the time limit.
        """
        if not self._slots.acquire(timeout=limits.timeout_s):
            raise Unavailable("source_busy", source=file.name, places=_POOL_SIZE)
        try:
            with file.in_use(limits.timeout_s):
                worker = self._acquire()
                try:
                    request = {"sql": sql, "parameters": parameters or [], **worker.place(file), **asdict(limits)}
                    with cancellation.calling(worker.stop) if cancellation else nullcontext():
                        return self._exchange(worker, file, request, cancellation)
                finally:
                    self._release(worker)
        finally:
            self._slots.release()

    def _acquire(self) -> "Worker":
        with suppress(queue.Empty):
            while True:
                worker = self._idle.get_nowait()
                if worker.is_alive:
                    return worker
                worker.end()
        return Worker(self._memory_mb)

    def _release(self, worker: "Worker") -> None:
        if worker.is_ready and worker.is_alive and worker.chdb_openings < _MAX_CHDB_OPENINGS:
            self._idle.put(worker)
        else:
            worker.end()

    def _exchange(
        self, worker: "Worker", file: DatabaseFile, request: dict[str, Any], cancellation: Cancellation | None
    ) -> Result:
        rows: list[list[Any]] = []
        try:
            worker.send(request)
            while "rows" in (message := worker.receive()):
                rows += message["rows"]
        except TimeoutError:
            raise StatementTimeout(request["timeout_s"]) from None
        except (EOFError, OSError) as error:
            if cancellation and cancellation.requested:
                raise StatementCancelled() from None
            raise StatementFailed(Message("worker_ended", limit=self._memory_mb), "resource") from error
        if "error" in message:
            raise self._failure(message, file, request["timeout_s"]) from WorkerError(message.get("reason", ""))
        return Result(columns=message["columns"], types=message["types"], rows=rows, truncated=message["truncated"])

    def _failure(self, message: dict[str, Any], file: DatabaseFile, timeout_s: float) -> DatasphinxError:
        if message["error"] == "timeout":
            return StatementTimeout(timeout_s)
        if message["error"] == "memory":
            return StatementFailed(Message("memory_needed", limit=self._memory_mb), "resource")
        engine = engines()[file.engine]
        reason = without_paths(
            message["reason"].splitlines()[0], () if file.view_files else (os.path.dirname(file.path),)
        )
        if message["error"] == "unreachable" and file.view_files:
            return SourceFilesUnreadable(file.name, reason)
        if message["error"] == "unreachable":
            return SourceUnreachable(file.name, connection_reason(reason, engine, message["code"], file.path))
        kind = kind_of_text(reason, engine, message["code"])
        return PermissionDenied(file.name, reason) if kind == "permission" else StatementFailed(reason, kind)


class WorkerError(Exception):
    """An engine error in a worker process, with the engine's message."""


class Worker:
    """A worker process. It inherits neither environment nor open files, and ends when the parent process ends."""

    def __init__(self, memory_mb: int) -> None:
        self._pipe, worker_end = Pipe()
        command = [sys.executable, "-P", "-m", "datasphinx.agent.sql.worker", str(worker_end.fileno()), str(memory_mb)]
        environment = {"PYTHONPATH": _PACKAGE_ROOT, "PYTHONUTF8": "1"}
        self._process = subprocess.Popen(
            command, env=environment, pass_fds=[worker_end.fileno()], stdin=subprocess.DEVNULL, cwd=os.sep
        )
        worker_end.close()
        self._deadline, self._limit_s = time.monotonic() + _START_S, 0.0
        self._has_started = False
        self._path = ""
        self.is_ready = True
        self.chdb_openings = 0

    @property
    def is_alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def place(self, file: DatabaseFile) -> dict[str, Any]:
        """Return how the next request names the database, with the views if the worker does not know them."""
        known, self._path = self._path, file.path
        views = file.view_files.as_json() if file.view_files and known != file.path else None
        engine = engines()[file.engine]
        self.chdb_openings += engine.is_folder
        return {
            "cursor": engine.worker_cursor,
            "path": file.path,
            "has_views": file.view_files is not None,
            "view_files": views,
            "kinds": dict(engine.driver_kinds),
        }

    def send(self, request: dict[str, Any]) -> None:
        """Send a statement; the worker is ready for another one after its last message."""
        if not self._has_started:
            self._has_started = bool(self.receive())
        self.is_ready = False
        self._limit_s = request["timeout_s"] + _GRACE_S
        self._deadline = time.monotonic() + self._limit_s + _OPEN_S
        self._pipe.send_bytes(json.dumps(request).encode())

    def receive(self) -> dict[str, Any]:
        """Return the next message. Raise TimeoutError without one, EOFError or OSError if the process ended."""
        if not self._pipe.poll(max(0.0, self._deadline - time.monotonic())):
            raise TimeoutError
        message: dict[str, Any] = json.loads(self._pipe.recv_bytes())
        if "opened" in message:
            self._deadline = time.monotonic() + self._limit_s
        self.is_ready = "rows" not in message
        return message

    def stop(self) -> None:
        """Kill the process; a pending `receive` then raises an error."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process and release its resources."""
        self._process.kill()
        self._process.wait()
        self._pipe.close()


def _end(idle: "queue.LifoQueue[Worker]") -> None:
    with suppress(queue.Empty):
        while True:
            idle.get_nowait().end()

"""A small pool of processes that run statements of SQLite and DuckDB files, killed where they overrun."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
import weakref
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from agent.errors import (
    DatasphinxError,
    PermissionDenied,
    SourceBusy,
    SourceUnreachable,
    StatementCancelled,
    StatementFailed,
    StatementTimeout,
)
from agent.sql.failures import kind_of_text
from agent.sql.limits import Cancellation, Limits
from agent.sql.redact import without_paths
from agent.sql.result import Result

_GRACE_S = 0.25
"""How long a worker may take, past its limit, to say that it stopped by itself."""

_START_S = 30.0
_POOL_SIZE = 4
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])


@dataclass(frozen=True)
class File:
    """A database file: `engine` is sqlite or duckdb, `name` is what users see."""

    engine: str
    path: str
    name: str


@lru_cache
def shared_workers(memory_mb: int) -> "Workers":
    """Return the pool of this process whose workers may take `memory_mb` megabytes each."""
    return Workers(memory_mb)


class Workers:
    """Up to four workers, started when they are needed; safe to share between threads. They end with their pool."""

    def __init__(self, memory_mb: int) -> None:
        """Start the first worker, which gets ready while the caller goes on."""
        self._memory_mb = memory_mb
        self._places = threading.BoundedSemaphore(_POOL_SIZE)
        self._idle: queue.LifoQueue[Worker] = queue.LifoQueue()
        self._idle.put(Worker(memory_mb))
        weakref.finalize(self, _end, self._idle)

    def run(
        self, file: File, sql: str, parameters: Any, limits: Limits, cancellation: Cancellation | None = None
    ) -> Result:
        """Return the rows of one statement.

        Raises:
            StatementTimeout: it was stopped at its limit; where it did not stop, its worker was killed.
            StatementCancelled: `cancellation` was asked for.
            StatementFailed: the engine refused it, or it needs more memory than a worker may have.
            SourceUnreachable: the file cannot be read.
            SourceBusy: every worker was busy for as long as the statement may take.
        """
        if not self._places.acquire(timeout=limits.timeout_s):
            raise SourceBusy(file.name, _POOL_SIZE)
        try:
            worker = self._take()
            try:
                request = {"sql": sql, "parameters": parameters or [], **asdict(file), **asdict(limits)}
                with cancellation.calling(worker.stop) if cancellation else nullcontext():
                    return self._ask(worker, file, request, cancellation)
            finally:
                self._keep(worker)
        finally:
            self._places.release()

    def _take(self) -> "Worker":
        with suppress(queue.Empty):
            while True:
                worker = self._idle.get_nowait()
                if worker.is_alive:
                    return worker
                worker.end()
        return Worker(self._memory_mb)

    def _keep(self, worker: "Worker") -> None:
        if worker.is_ready and worker.is_alive:
            self._idle.put(worker)
        else:
            worker.end()

    def _ask(self, worker: "Worker", file: File, request: dict[str, Any], cancellation: Cancellation | None) -> Result:
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
            reason = f"the engine broke off, most likely at its limit of {self._memory_mb} MB"
            raise StatementFailed(reason, "resource") from error
        if "error" in message:
            raise self._failure(message, file, request["timeout_s"]) from WorkerError(message.get("reason", ""))
        return Result(columns=message["columns"], types=message["types"], rows=rows, truncated=message["truncated"])

    def _failure(self, message: dict[str, Any], file: File, timeout_s: float) -> DatasphinxError:
        if message["error"] == "timeout":
            return StatementTimeout(timeout_s)
        if message["error"] == "memory":
            return StatementFailed(f"it needs more than {self._memory_mb} MB of memory", "resource")
        reason = without_paths(message["reason"].splitlines()[0], (os.path.dirname(file.path),))
        if message["error"] == "unreachable":
            return SourceUnreachable(file.name, reason)
        kind = kind_of_text(reason, message["code"])
        return PermissionDenied(file.name, reason) if kind == "permission" else StatementFailed(reason, kind)


class WorkerError(Exception):
    """The error of the engine in a worker process; its text is all that the engine said."""


class Worker:
    """One process. It gets neither this process's environment nor its files, and ends when this process does."""

    def __init__(self, memory_mb: int) -> None:
        """Start it without waiting for it."""
        self._pipe, theirs = Pipe()
        command = [sys.executable, "-P", "-m", "agent.sql.worker", str(theirs.fileno()), str(memory_mb)]
        environment = {"PYTHONPATH": _PACKAGE_ROOT, "PYTHONUTF8": "1"}
        self._process = subprocess.Popen(
            command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, cwd=os.sep
        )
        theirs.close()
        self._deadline = time.monotonic() + _START_S
        self._has_started = False
        self.is_ready = True

    @property
    def is_alive(self) -> bool:
        """False after it ended or was killed."""
        return self._process.poll() is None

    def send(self, request: dict[str, Any]) -> None:
        """Hand over a statement; until its last message came the worker is not ready for another."""
        if not self._has_started:
            self._has_started = bool(self.receive())
        self.is_ready = False
        self._deadline = time.monotonic() + request["timeout_s"] + _GRACE_S
        self._pipe.send_bytes(json.dumps(request).encode())

    def receive(self) -> dict[str, Any]:
        """Return the next message.

        Raises:
            TimeoutError: none came in time.
            EOFError, OSError: the process ended.
        """
        if not self._pipe.poll(max(0.0, self._deadline - time.monotonic())):
            raise TimeoutError
        message: dict[str, Any] = json.loads(self._pipe.recv_bytes())
        self.is_ready = "rows" not in message
        return message

    def stop(self) -> None:
        """Kill the process; who waits for its answer hears that it ended."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process and give back what it held."""
        self._process.kill()
        self._process.wait()
        self._pipe.close()


def _end(idle: "queue.LifoQueue[Worker]") -> None:
    with suppress(queue.Empty):
        while True:
            idle.get_nowait().end()

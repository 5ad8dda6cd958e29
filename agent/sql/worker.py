"""The far end of the choke point: a process of its own that runs statements of SQLite or DuckDB and can be killed.

It is started by `agent.sql.workers` as `python -m agent.sql.worker FD MEGABYTES`, speaks JSON over that pipe, imports
little, and gets no environment. What it answers is data: nothing that it sends can run in the process that asked.
"""

import json
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, Protocol

from agent.sql.rows import RowReader
from agent.sql.sqlite_walls import open_sqlite
from agent.text import valid_text

_IDLE_S = 1.0
"""After this long without a statement DuckDB's file is closed, so that others can write to it."""


_BASE_ADDRESS_SPACE_MB = 512
"""What interpreter, driver and stacks of threads take of the address space before there is a row."""

_UNREADABLE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOTADB,
}


class Cursor(Protocol):
    """What both drivers have."""

    @property
    def description(self) -> Any:
        """A sequence for each column, its name first; None where there are no columns."""

    def execute(self, sql: str, parameters: Any, /) -> object:
        """Run one statement."""

    def fetchmany(self, size: int, /) -> list[Any]:
        """Return at most `size` further rows."""

    def close(self) -> None:
        """Free what the statement holds."""


class DuckDBFile:
    """The DuckDB file asked last, kept open while statements follow each other: opening takes longer than most."""

    def __init__(self, memory_mb: int) -> None:
        """No file is open yet."""
        self._memory_mb = memory_mb
        self._path = ""
        self._connection: Any = None

    @contextmanager
    def cursor(self, path: str, timeout_s: float) -> Iterator[Cursor]:
        """Yield a cursor with temporary tables and variables of its own, interrupted after `timeout_s` seconds."""
        if self._connection is None or path != self._path:
            from agent.sql.duckdb_walls import open_duckdb

            self.close()
            self._connection, self._path = open_duckdb(path, self._memory_mb), path
        with closing(self._connection.cursor()) as cursor:
            timer = threading.Timer(timeout_s, cursor.interrupt)
            timer.start()
            try:
                yield cursor
            finally:
                timer.cancel()
                timer.join()

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def sqlite_cursor(path: str, timeout_s: float) -> Iterator[Cursor]:
    """Yield a cursor of the SQLite file that can only read, and stops after `timeout_s` seconds."""
    with closing(open_sqlite(path, timeout_s)) as connection, closing(connection.cursor()) as cursor:
        yield cursor


def main() -> None:
    """Serve statements from the pipe whose file descriptor is the one argument, until it is closed."""
    pipe = Connection(int(sys.argv[1]))
    memory_mb = int(sys.argv[2])
    limit_memory(memory_mb + _BASE_ADDRESS_SPACE_MB)
    duckdb_file = DuckDBFile(memory_mb)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        _send(pipe, {"ready": True})
        while True:
            if not pipe.poll(_IDLE_S):
                duckdb_file.close()
            serve(pipe, json.loads(pipe.recv_bytes()), duckdb_file)


def limit_memory(megabytes: int) -> None:
    """Bound the address space of this process, where the system knows such a bound."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, hard))


def serve(pipe: Connection, request: dict[str, Any], duckdb_file: DuckDBFile) -> None:
    """Run one statement and send its rows in chunks, then its end or its error."""
    started = time.monotonic()
    opened = sqlite_cursor if request["engine"] == "sqlite" else duckdb_file.cursor
    try:
        with opened(request["path"], request["timeout_s"]) as cursor:
            cursor.execute(request["sql"], request["parameters"])
            columns = [valid_text(str(column[0])) for column in cursor.description or ()]
            reader = RowReader(len(columns), request["row_limit"], request["byte_limit"])
            for chunk in reader.read(cursor.fetchmany):
                _send(pipe, {"rows": chunk})
        _send(pipe, {"columns": columns, "types": reader.types, "truncated": reader.truncated})
    except MemoryError:
        _send(pipe, {"error": "memory"})
    except Exception as error:
        late = time.monotonic() - started >= request["timeout_s"]
        text = str(error).strip() or type(error).__name__
        code = getattr(error, "sqlite_errorname", "") or type(error).__name__
        _send(pipe, {"error": "timeout" if late else _kind_of(error), "reason": text, "code": code})


def _send(pipe: Connection, message: dict[str, Any]) -> None:
    pipe.send_bytes(json.dumps(message).encode())


def _kind_of(error: Exception) -> str:
    """Return the class of `error`: the file cannot be read, memory ran out, or the statement failed."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _UNREADABLE or type(error).__name__ == "IOException":
        return "unreachable"
    return "memory" if type(error).__name__ == "OutOfMemoryException" else "failed"


if __name__ == "__main__":
    main()

"""Worker process that runs statements on SQLite and DuckDB files and chDB folders, and can be killed.

`datasphinx.agent.sql.workers` starts it as `python -m datasphinx.agent.sql.worker FD MEGABYTES`, with an empty
environment, and exchanges JSON over that pipe. It imports few modules. Its answers are data, so it cannot run code in
the parent process.
"""

import json
import math
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

from datasphinx.agent.core.text import valid_text
from datasphinx.agent.engines.intervals import interval_of
from datasphinx.agent.engines.read_only import open_duckdb_read_only, open_sqlite_read_only
from datasphinx.agent.sql.rows import RowReader, conversions_of

_BASE_ADDRESS_SPACE_MB = 1024
"""Address space of the interpreter, the driver and thread stacks, in megabytes."""

_CHDB_ADDRESS_SPACE_MB = 4096
"""Additional address space of chDB's library and threads, in megabytes."""

_KEPT_OPEN_S = 0.05
"""Time after a statement for which a DuckDB file stays open for the next one; then others can write to it."""

_INTERRUPTED = {"SQLITE_INTERRUPT", "InterruptException"}
"""The codes of statements that were interrupted, which only their time limit does."""
_UNREADABLE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_NOTADB,
}


class OpenDuckDB:
    """The most recent DuckDB file, or views over files, kept open between statements.

    Others can write to a DuckDB file only while it is closed; each read of views opens their files again.
    """

    def __init__(self, memory_mb: int) -> None:
        self._memory_mb = memory_mb
        self._place: tuple[str, object] = ("", None)
        self._view_files: dict[str, Any] = {}
        self._connection: Any = None
        self._files: Any = None
        """The file system of views."""

    @contextmanager
    def cursor(self, request: dict[str, Any]) -> Iterator[Any]:
        """Yield a cursor with its own temporary tables and variables, interrupted at the time limit of `request`.

        Raises:
            OSError: a file of a view cannot be read.
            duckdb.IOException: the file cannot be read, or another process keeps it open.
        """
        # Another file may have taken the place of the open one.
        place = request["path"], None if request["has_views"] else os.stat(request["path"]).st_ino
        if place != self._place:
            self._close()
            self._place, self._view_files = place, request["view_files"]
        if self._connection is None:
            self._open(request)
        with closing(self._connection.cursor()) as cursor, _interrupted(cursor, request["timeout_s"]):
            try:
                yield cursor
            except Exception:
                if self._files and self._files.failure:
                    raise self._files.failure from None
                raise

    def release(self) -> None:
        """Close a file, so that others can write to it."""
        if self._files is None:
            self._close()

    def _open(self, request: dict[str, Any]) -> None:
        if not request["has_views"]:
            self._connection = open_duckdb_read_only(request["path"], self._memory_mb)
            return
        from datasphinx.agent.sql.read_only_files import ViewUnreadable, open_views
        from datasphinx.agent.sql.view_files import view_files_of

        try:
            self._connection, self._files = open_views(view_files_of(self._view_files), self._memory_mb)
        except ViewUnreadable as error:
            raise OSError(": ".join(error.args)) from error

    def _close(self) -> None:
        if self._files is not None:
            from datasphinx.agent.sql.read_only_files import close_views

            close_views(self._connection)
        elif self._connection is not None:
            self._connection.close()
        self._connection = self._files = None


@contextmanager
def _interrupted(cursor: Any, timeout_s: float) -> Iterator[None]:
    timer = threading.Timer(timeout_s, cursor.interrupt)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


@contextmanager
def sqlite_cursor(request: dict[str, Any], memory_mb: int) -> Iterator[Any]:
    """Yield a read-only cursor of a SQLite file, interrupted at the time limit of `request`."""
    with (
        closing(open_sqlite_read_only(request["path"], request["timeout_s"])) as connection,
        closing(connection.cursor()) as cursor,
    ):
        yield cursor


@contextmanager
def chdb_cursor(request: dict[str, Any], memory_mb: int) -> Iterator[Any]:
    """Yield a cursor of a chDB folder within the limits of `request`; others can open the folder afterwards."""
    from datasphinx.agent.engines.clickhouse import ChDB
    from datasphinx.agent.sql.database import folder_engine
    from datasphinx.agent.types import Limits

    limit_memory(memory_mb + _BASE_ADDRESS_SPACE_MB + _CHDB_ADDRESS_SPACE_MB)
    limits = Limits(request["timeout_s"], request["row_limit"], memory_mb=memory_mb)
    engine = ChDB()
    with folder_engine(engine, request["path"]).connect() as connection:
        for statement in engine.setup_statements(connection, limits):
            connection.exec_driver_sql(statement)
        with closing(connection.connection.cursor()) as cursor:
            yield cursor


def main() -> None:
    """Serve statements until the pipe is closed. Arguments: pipe file descriptor, memory limit in megabytes."""
    pipe = Connection(int(sys.argv[1]))
    memory_mb = int(sys.argv[2])
    limit_memory(memory_mb + _BASE_ADDRESS_SPACE_MB)
    duckdb = OpenDuckDB(memory_mb)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        _send(pipe, {"ready": True})
        while True:
            if not pipe.poll(_KEPT_OPEN_S):
                duckdb.release()
            serve(pipe, json.loads(pipe.recv_bytes()), duckdb, memory_mb)


def limit_memory(megabytes: int) -> None:
    """Limit the address space of this process, if the system supports it."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, hard))


def serve(pipe: Connection, request: dict[str, Any], duckdb: OpenDuckDB, memory_mb: int) -> None:
    """Run one statement; send its rows in chunks, then a final message or an error."""
    deadline = math.inf
    try:
        kind = request["cursor"]
        opened = duckdb.cursor(request) if kind == "duckdb_cursor" else _CURSORS[kind](request, memory_mb)
        with opened as cursor:
            deadline = time.monotonic() + request["timeout_s"]
            _send(pipe, {"rows": [], "opened": True})
            # With parameters, also with none, the driver of chDB reads %% as %.
            parameters = [request["parameters"]] if request["parameters"] else []
            cursor.execute(request["sql"], *parameters)
            columns = [valid_text(str(column[0])) for column in cursor.description or ()]
            conversions = conversions_of(request["kinds"], cursor.description or ())
            if intervals := [at for at, convert in conversions.items() if convert is interval_of]:
                cursor.execute(_with_texts(request["sql"], intervals, len(columns)), *parameters)
            reader = RowReader(len(columns), request["row_limit"], request["byte_limit"], conversions=conversions)
            for chunk in reader.read(cursor.fetchmany):
                _send(pipe, {"rows": chunk})
        _send(pipe, {"columns": columns, "types": reader.types, "truncated": reader.truncated})
    except MemoryError:
        _send(pipe, {"error": "memory"})
    except Exception as error:
        text = str(error).strip() or type(error).__name__
        code = getattr(error, "sqlite_errorname", "") or type(error).__name__
        timed_out = code in _INTERRUPTED or time.monotonic() >= deadline
        _send(pipe, {"error": "timeout" if timed_out else _kind_of(error), "reason": text, "code": code})


def _with_texts(sql: str, places: Collection[int], width: int) -> str:
    """Return `sql` with the `width` columns of its rows, those at `places` as texts."""
    items = (f"CAST(c{at} AS VARCHAR)" if at in places else f"c{at}" for at in range(width))
    names = (f"c{at}" for at in range(width))
    return f"SELECT {', '.join(items)} FROM ({sql}\n) AS rows({', '.join(names)})"


_CURSORS = {function.__name__: function for function in (sqlite_cursor, chdb_cursor)}
"""The functions that engines name as `worker_cursor`, but for that of DuckDB."""


def _send(pipe: Connection, message: dict[str, Any]) -> None:
    pipe.send_bytes(json.dumps(message).encode())


def _kind_of(error: Exception) -> str:
    """Return the class of `error`: unreachable file, out of memory, or failed statement."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _UNREADABLE or isinstance(error, OSError) or type(error).__name__ == "IOException":
        return "unreachable"
    return "memory" if type(error).__name__ == "OutOfMemoryException" else "failed"


if __name__ == "__main__":
    main()

"""Read-only connections to SQLite and DuckDB files."""

import os
import sqlite3
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

LOCKED_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "temp_directory": "",
    "lock_configuration": True,
}
"""DuckDB settings: no access to other files, the network or extensions, no spilling to disk, and no change of
settings.
"""

_THREADS = 2
_LOCK_WAIT_S, _LOCK_POLL_S = 3.0, 0.05


_READS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_TABLE_FUNCTIONS = ("json_each", "json_tree")
_MAX_VALUE_BYTES = 1_000_000
_PROGRESS_INSTRUCTIONS = 10_000


def open_duckdb_read_only(path: str, memory_mb: int) -> Any:
    """Return a read-only connection to the DuckDB file at `path`, limited to `memory_mb` megabytes."""
    return connect_duckdb_read_only(path, {"memory_limit": f"{memory_mb}MB", "threads": _THREADS})


def connect_duckdb_read_only(path: str, config: Mapping[str, str | int] = MappingProxyType({})) -> Any:
    """Return a read-only connection to the DuckDB file at `path`; waits a while for a process that writes to it.

    Raises:
        duckdb.IOException: another process keeps the file open, or it cannot be read.
    """
    import duckdb

    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return duckdb.connect(path, read_only=True, config={**LOCKED_CONFIG, **config})
        except duckdb.IOException as error:
            # DuckDB has no code for this error, and no setting that waits.
            if "set lock" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(_LOCK_POLL_S)


def connect_read_only(path: str) -> sqlite3.Connection:
    """Return a read-only connection to the SQLite file at `path`; invalid UTF-8 is replaced when decoded.

    SQLite writes beside a file with a write-ahead log. In a folder where it cannot, such a file is opened as one that
    does not change, unless it has changes in a log.
    """
    file = Path(path).absolute()
    log = f"{file}-wal"
    is_unwritable = _has_wal(file) and not os.access(file.parent, os.W_OK)
    is_fixed = is_unwritable and not (os.path.exists(log) and os.path.getsize(log))
    uri = f"file:{quote(str(file))}?mode=ro{'&immutable=1' if is_fixed else ''}"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _has_wal(file: Path) -> bool:
    """Return whether the header of a SQLite file names a write-ahead log."""
    try:
        with file.open("rb") as content:
            return content.read(20)[18:] == b"\x02\x02"
    except OSError:
        return False


def open_sqlite_read_only(path: str, timeout_s: float) -> sqlite3.Connection:
    """Return a SQLite connection that allows only SELECT, values of at most 1 MB, and `timeout_s` seconds.

    The timeout does not interrupt a single long function call; the worker process has to be killed.
    """
    connection = connect_read_only(path)
    deadline = time.monotonic() + timeout_s
    connection.set_progress_handler(lambda: int(time.monotonic() > deadline), _PROGRESS_INSTRUCTIONS)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    _instantiate_table_functions(connection)
    connection.set_authorizer(_authorize)
    return connection


def _instantiate_table_functions(connection: sqlite3.Connection) -> None:
    """Create the virtual tables of `json_each` and `json_tree`, which exist for the lifetime of the connection.

    On the first use of such a function, SQLite parses a declaration of its columns and asks the authorizer for
    SQLITE_UPDATE of `sqlite_master`. Doing this before the authorizer is set avoids granting that permission to
    statements. Other table functions (`pragma_*`, `dbstat`, `sqlite_stmt`) stay unusable.
    """
    for name in _TABLE_FUNCTIONS:
        # Fails if the library lacks JSON support or the file has a table of this name; both are harmless.
        with suppress(sqlite3.OperationalError):
            # Compiles the statement without running it.
            connection(f"SELECT 1 FROM {name}('[]')")


def _authorize(action: int, first: str | None, function: str | None, *_: object) -> int:
    if action == sqlite3.SQLITE_FUNCTION and function == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY

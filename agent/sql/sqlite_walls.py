"""A SQLite connection that can only read."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

_READS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_MAX_VALUE_BYTES = 1_000_000
_PROGRESS_INSTRUCTIONS = 10_000


def connect_read_only(path: str) -> sqlite3.Connection:
    """Return a connection to the file at `path` that cannot write; text that is not UTF-8 is read all the same."""
    uri = f"file:{quote(str(Path(path).absolute()))}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def open_sqlite(
    path: str, timeout_s: float, prepare: Callable[[sqlite3.Connection], None] | None = None
) -> sqlite3.Connection:
    """Return a connection that allows nothing but SELECT, values of at most 1 MB, and `timeout_s` seconds.

    `prepare` is called with the connection before statements are restricted. One long call of a function is not
    stopped by this; the process that it runs in has to be.
    """
    connection = connect_read_only(path)
    deadline = time.monotonic() + timeout_s
    connection.set_progress_handler(lambda: int(time.monotonic() > deadline), _PROGRESS_INSTRUCTIONS)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    if prepare:
        prepare(connection)
    connection.set_authorizer(_authorize)
    return connection


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    if action == sqlite3.SQLITE_FUNCTION and second == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY

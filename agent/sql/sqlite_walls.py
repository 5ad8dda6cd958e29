"""A SQLite connection that can only read."""

import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

_READS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_TABLE_FUNCTIONS = ("json_each", "json_tree")
_MAX_VALUE_BYTES = 1_000_000
_PROGRESS_INSTRUCTIONS = 10_000


def connect_read_only(path: str) -> sqlite3.Connection:
    """Return a connection to the file at `path` that cannot write; text that is not UTF-8 is read all the same."""
    uri = f"file:{quote(str(Path(path).absolute()))}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def open_sqlite(path: str, timeout_s: float) -> sqlite3.Connection:
    """Return a connection that allows nothing but SELECT, values of at most 1 MB, and `timeout_s` seconds.

    One long call of a function is not stopped by this; the process that it runs in has to be.
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
    """Create the virtual tables behind `json_each` and `json_tree`, which stay for the life of the connection.

    When a statement that calls such a function is first compiled, SQLite parses a declaration of its columns and asks
    the authorizer for SQLITE_UPDATE of `sqlite_master`. Done before the authorizer is set, this needs no permission
    that a statement could use, and the table functions not named here (`pragma_*`, `dbstat`, `sqlite_stmt`) stay
    unusable.
    """
    for name in _TABLE_FUNCTIONS:
        # The library may lack JSON, and a table of the file may have the name: then there is nothing to create.
        with suppress(sqlite3.OperationalError):
            # Compiles the statement without running it.
            connection(f"SELECT 1 FROM {name}('[]')")


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    if action == sqlite3.SQLITE_FUNCTION and second == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY

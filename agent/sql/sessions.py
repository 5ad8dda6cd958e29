"""Sessions on a server: what makes them read-only and bounded, and how one is stopped from outside.

The statements here are constants; nothing that a user or a model wrote passes through.
"""

import math
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from typing import Any

from sqlalchemy import Connection, Engine, event

from agent.sql.limits import Cancellation, Limits

_GRACE_S = 0.5
"""How long the server may take, past the limit, to stop a statement by itself."""

_STOP_S = 2.0
"""How long a statement that was cancelled on the server may take to end before its connection is cut."""


def opening_statements(connection: Connection, dialect: str, limits: Limits) -> tuple[str, ...]:
    """Return what has to run first, so that the statement that follows can only read and stops in time."""
    # For all of them 0 means no limit at all.
    timeout_s = max(limits.timeout_s, 0.001)
    if dialect == "postgres":
        return ("SET TRANSACTION READ ONLY", f"SET LOCAL statement_timeout = {int(timeout_s * 1000)}")
    if dialect == "mysql":
        mariadb = getattr(connection.dialect, "is_mariadb", False)
        limit = f"max_statement_time = {timeout_s}" if mariadb else f"max_execution_time = {int(timeout_s * 1000)}"
        # Of the session, since DDL ends a transaction that was merely started as read-only.
        return (f"SET SESSION {limit}", "SET SESSION TRANSACTION READ ONLY", "ROLLBACK", "START TRANSACTION")
    if dialect == "clickhouse":
        # Level 1 forbids every change of a setting, also those that the client for HTTP sends with a statement.
        level = 1 if connection.dialect.name == "chdb" else 2
        rows = f"SET max_result_rows = {limits.row_limit + 1}, result_overflow_mode = 'break'"
        return (rows, f"SET max_execution_time = {timeout_s}", f"SET readonly = {level}")
    if dialect == "trino":
        return (f"SET SESSION query_max_run_time = '{timeout_s}s'",)
    if dialect == "spark":
        whole_seconds = math.ceil(timeout_s)
        return (
            f"SET spark.sql.thriftServer.queryTimeout={whole_seconds}s",
            "SET spark.sql.thriftServer.interruptOnCancel=true",
            "SET spark.sql.thriftServer.incrementalCollect=true",
        )
    return ()


def reset_on_return(engine: Engine, dialect: str) -> None:
    """Have connections of `engine` forget everything of a statement before the next one gets them.

    On PostgreSQL a mere rollback would leave settings that `set_config` changed, advisory locks and prepared plans.
    """
    if dialect != "postgres":
        return

    @event.listens_for(engine, "reset")
    def discard(connection: Any, record: Any, state: Any) -> None:
        if state.terminate_only:
            return
        connection.rollback()
        connection.autocommit = True
        connection.execute("DISCARD ALL")
        connection.autocommit = False


@contextmanager
def stopped_in_time(connection: Connection, limits: Limits, cancellation: Cancellation | None) -> Iterator[None]:
    """Stop what runs on `connection` inside the block where it overruns its limit or `cancellation` is asked for.

    The server is asked first; where that does not help, the connection is cut.
    """
    driver = connection.connection.driver_connection
    over, cut = threading.Event(), threading.Event()

    def stop() -> None:
        # Whatever goes wrong while the server is asked, cutting the connection remains.
        with suppress(Exception):
            stop_on_server(connection.engine, driver)
        if not over.wait(_STOP_S):
            cut.set()
            _cut(driver)

    def watch() -> None:
        if not over.wait(limits.timeout_s + _GRACE_S):
            stop()

    watcher = threading.Thread(target=watch, name="datasphinx-statement-limit", daemon=True)
    watcher.start()
    try:
        with cancellation.calling(stop) if cancellation else nullcontext():
            yield
    finally:
        over.set()
        watcher.join()
        if cut.is_set():
            connection.invalidate()


def stop_on_server(engine: Engine, driver: Any) -> None:
    """Ask the server to stop what runs on the connection `driver`; other engines stop at their own limit."""
    if engine.dialect.name == "postgresql":
        driver.cancel_safe(timeout=_STOP_S)
    elif engine.dialect.name in {"mysql", "mariadb"}:
        positional, named = engine.dialect.create_connect_args(engine.url)
        other: Any = engine.dialect.connect(*positional, **{**named, "connect_timeout": _STOP_S})
        with closing(other), other.cursor() as cursor:
            cursor.execute(f"KILL QUERY {int(driver.thread_id())}")


def _cut(driver: Any) -> None:
    """Shut the socket down, which ends a read that waits on it in another thread."""
    with suppress(OSError, AttributeError), socket.socket(fileno=os.dup(_descriptor(driver))) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)


def _descriptor(driver: Any) -> int:
    """Return the file descriptor of the socket of a driver's connection: pymysql's, PyHive's or psycopg's.

    Raises:
        AttributeError: the driver shows none.
    """
    if hasattr(driver, "_sock"):
        return int(driver._sock.fileno())
    if hasattr(driver, "_transport"):
        return int(driver._transport._trans.handle.fileno())
    return int(driver.fileno())

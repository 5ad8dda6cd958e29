"""Sessions on a server: what makes them read-only and bounded, how they read SQL, and how one is stopped from outside.

The guard reads a statement by the default rules of its dialect. Settings of a server, role, database or URL can change
these rules for the server (what a backslash or a double quote means, which function a name calls), so every session
is set back to them. The statements here are constants; nothing that a user or a model wrote passes through.
"""

import math
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from typing import Any, Literal

from sqlalchemy import Connection, Engine, event

from agent.sql.limits import Cancellation, Limits

_GRACE_S = 0.5
"""How long the server may take, past the limit, to stop a statement by itself."""

_POSTGRES_READING = {
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "client_encoding": "'UTF8'",
}
"""Settings of PostgreSQL that decide how it reads SQL, with their defaults."""

_POSTGRES_PATH = """SELECT pg_catalog.set_config('search_path', COALESCE((
SELECT pg_catalog.string_agg(pg_catalog.quote_ident(s), ', ')
FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) AS s
WHERE s OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.name), ''), {local})"""
"""Keeps the schemas of the search path. One that does not name pg_catalog searches it first, so that no function or
operator of another schema takes the place of one with the same name there."""

_MYSQL_MODES = (
    "ANSI_QUOTES", "PIPES_AS_CONCAT", "NO_BACKSLASH_ESCAPES", "IGNORE_SPACE", "HIGH_NOT_PRECEDENCE",
    "EMPTY_STRING_IS_NULL", "ANSI", "ORACLE", "MSSQL", "DB2", "POSTGRESQL", "MAXDB", "MYSQL323", "MYSQL40",
)  # fmt: skip
"""SQL modes of MySQL and MariaDB that change how SQL is read, and combinations that contain one of them."""

_SPARK_READING = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.caseSensitive": "false",
}
"""Settings of Spark that decide how it reads SQL. It would replace variables, such as ${env:NAME}, before it parses."""

_STOP_S = 2.0
"""How long a statement that was cancelled on the server may take to end before its connection is cut."""


def opening_statements(connection: Connection, dialect: str, limits: Limits) -> tuple[str, ...]:
    """Return what has to run first, so that the statement that follows can only read and stops in time."""
    # For all of them 0 means no limit at all.
    timeout_s = max(limits.timeout_s, 0.001)
    if dialect == "postgres":
        timeout = f"SET LOCAL statement_timeout = {int(timeout_s * 1000)}"
        return ("; ".join(("SET TRANSACTION READ ONLY", timeout, *_postgres_reading("LOCAL"))),)
    if dialect == "mysql":
        mariadb = getattr(connection.dialect, "is_mariadb", False)
        limit = f"max_statement_time = {timeout_s}" if mariadb else f"max_execution_time = {int(timeout_s * 1000)}"
        # Of the session, since DDL ends a transaction that was merely started as read-only.
        return (
            f"{_mysql_reading()}, SESSION {limit}",
            "SET SESSION TRANSACTION READ ONLY",
            "ROLLBACK",
            "START TRANSACTION",
        )
    if dialect == "clickhouse":
        # Level 1 forbids every change of a setting, also those that the client for HTTP sends with a statement.
        level = 1 if connection.dialect.name == "chdb" else 2
        rows = f"SET max_result_rows = {limits.row_limit + 1}, result_overflow_mode = 'break'"
        return ("SET dialect = 'clickhouse'", rows, f"SET max_execution_time = {timeout_s}", f"SET readonly = {level}")
    if dialect == "trino":
        return (f"SET SESSION query_max_run_time = '{timeout_s}s'",)
    if dialect == "spark":
        whole_seconds = math.ceil(timeout_s)
        return (
            f"SET spark.sql.thriftServer.queryTimeout={whole_seconds}s",
            "SET spark.sql.thriftServer.interruptOnCancel=true",
            "SET spark.sql.thriftServer.incrementalCollect=true",
            *(f"SET {name}={value}" for name, value in _SPARK_READING.items()),
        )
    return ()


def read_by_default_rules(engine: Engine, dialect: str) -> None:
    """Have new connections of `engine` read SQL by the default rules of `dialect`.

    `opening_statements` sets this again for each statement. Here it comes before SQLAlchemy asks the server how to
    quote names.
    """
    if dialect not in {"postgres", "mysql"}:
        return
    statement = "; ".join(_postgres_reading("SESSION")) if dialect == "postgres" else _mysql_reading()

    @event.listens_for(engine, "connect", insert=True)
    def set_rules(connection: Any, record: Any) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute(statement)
        connection.commit()


def _postgres_reading(scope: Literal["SESSION", "LOCAL"]) -> list[str]:
    path = _POSTGRES_PATH.format(local=str(scope == "LOCAL").lower())
    return [*(f"SET {scope} {name} = {value}" for name, value in _POSTGRES_READING.items()), path]


def _mysql_reading() -> str:
    """Return the SET statement that keeps all other SQL modes, to which further assignments may be added."""
    modes = "CONCAT(',', @@SESSION.sql_mode, ',')"
    for mode in _MYSQL_MODES:
        modes = f"REPLACE({modes}, ',{mode},', ',')"
    character_sets = "character_set_client = utf8mb4, SESSION character_set_results = utf8mb4"
    return f"SET SESSION sql_mode = TRIM(BOTH ',' FROM {modes}), SESSION {character_sets}, SESSION sql_auto_is_null = 0"


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
        # What the role or the database sets holds again.
        connection.execute("; ".join(_postgres_reading("SESSION")))
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
            _close_transport(driver)


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


def _close_transport(driver: Any) -> None:
    """Close the socket of PyHive's connection, which its own `close` leaves open where the server does not answer."""
    with suppress(OSError, AttributeError):
        driver._transport.close()


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

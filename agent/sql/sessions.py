"""Server sessions: read-only mode, time limits, SQL parser settings, and cancellation of a running statement.

The guard parses a statement by the default rules of its dialect. Settings of a server, role, database or URL can change
these rules for the server (the meaning of a backslash or double quote, or the function that a name calls), so every
session is reset to the defaults. The statements here are constants; no text of a user or model is inserted.
"""

import math
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from typing import Any, Literal

from sqlalchemy import Connection, Engine, event

from agent.core.cancellation import Cancellation
from agent.types import Limits

_GRACE_S = 0.5
"""Time beyond the limit that the server has to stop a statement."""

_POSTGRES_PARSER_SETTINGS = {
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "client_encoding": "'UTF8'",
}
"""PostgreSQL settings that affect parsing, with their defaults."""

_POSTGRES_PATH = """SELECT pg_catalog.set_config('search_path', COALESCE((
SELECT pg_catalog.string_agg(pg_catalog.quote_ident(s), ', ')
FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) AS s
WHERE s OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.name), ''), {local})"""
"""Statement that keeps the schemas of the search path and makes pg_catalog come first, as it does if the path does not
name it. No function or operator of another schema then replaces one of pg_catalog.
"""

_MYSQL_MODES = (
    "ANSI_QUOTES", "PIPES_AS_CONCAT", "NO_BACKSLASH_ESCAPES", "IGNORE_SPACE", "HIGH_NOT_PRECEDENCE",
    "EMPTY_STRING_IS_NULL", "ANSI", "ORACLE", "MSSQL", "DB2", "POSTGRESQL", "MAXDB", "MYSQL323", "MYSQL40",
)  # fmt: skip
"""SQL modes of MySQL and MariaDB that affect parsing, and combinations that contain one of them."""

_SPARK_PARSER_SETTINGS = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.caseSensitive": "false",
}
"""Spark settings that affect parsing. Spark would otherwise replace variables, such as ${env:NAME}, before it
parses.
"""

SNOWFLAKE_SESSION: dict[str, Any] = {
    "QUOTED_IDENTIFIERS_IGNORE_CASE": False,
    "MULTI_STATEMENT_COUNT": 1,
    "ABORT_DETACHED_QUERY": True,
    "CLIENT_TELEMETRY_ENABLED": False,
}
"""Snowflake session parameters: names are parsed by default rules, a call has one statement, which ends with its
session, and the driver sends no telemetry.
"""

_TSQL_PARSER_SETTINGS = "SET QUOTED_IDENTIFIER, ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL ON"

_CLICKHOUSE_THREADS = 4
"""Threads of one statement on ClickHouse; each needs memory of its own."""

_STOP_S = 2.0
"""Time for a cancelled statement to end before its connection is closed."""


def setup_statements(connection: Connection, dialect: str, limits: Limits) -> tuple[str, ...]:
    """Return the statements that make the session read-only and limit the run time of the next statement."""
    # On all engines 0 means no limit.
    timeout_s = max(limits.timeout_s, 0.001)
    if dialect == "postgres":
        timeout = f"SET LOCAL statement_timeout = {int(timeout_s * 1000)}"
        return ("; ".join(("SET TRANSACTION READ ONLY", timeout, *_postgres_parser_settings("LOCAL"))),)
    if dialect == "redshift":
        # The driver begins transactions with BEGIN READ ONLY.
        return (f"SET LOCAL statement_timeout = {int(timeout_s * 1000)}",)
    if dialect == "snowflake":
        return (f"ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = {math.ceil(timeout_s)}",)
    if dialect == "databricks":
        return (f"SET STATEMENT_TIMEOUT = {math.ceil(timeout_s)}",)
    if dialect == "tsql":
        return (_TSQL_PARSER_SETTINGS, f"SET LOCK_TIMEOUT {int(timeout_s * 1000)}", "SET ROWCOUNT 0")
    if dialect == "mysql":
        mariadb = getattr(connection.dialect, "is_mariadb", False)
        limit = f"max_statement_time = {timeout_s}" if mariadb else f"max_execution_time = {int(timeout_s * 1000)}"
        # Set for the session, since DDL ends a transaction that was started as read-only.
        return (
            f"{_mysql_parser_settings()}, SESSION {limit}",
            "SET SESSION TRANSACTION READ ONLY",
            "ROLLBACK",
            "START TRANSACTION",
        )
    if dialect == "clickhouse":
        # Level 1 forbids all changes of settings, including those that the HTTP client sends with a statement.
        level = 1 if connection.dialect.name == "chdb" else 2
        rows = f"SET max_result_rows = {limits.row_limit + 1}, result_overflow_mode = 'break'"
        memory = f"SET max_memory_usage = {limits.memory_mb << 20}, max_threads = {_CLICKHOUSE_THREADS}"
        time = f"SET max_execution_time = {timeout_s}, timeout_overflow_mode = 'throw'"
        return ("SET dialect = 'clickhouse'", rows, memory, time, f"SET readonly = {level}")
    if dialect == "trino":
        return (f"SET SESSION query_max_run_time = '{timeout_s}s'",)
    if dialect == "spark":
        whole_seconds = math.ceil(timeout_s)
        return (
            f"SET spark.sql.thriftServer.queryTimeout={whole_seconds}s",
            "SET spark.sql.thriftServer.interruptOnCancel=true",
            "SET spark.sql.thriftServer.incrementalCollect=true",
            *(f"SET {name}={value}" for name, value in _SPARK_PARSER_SETTINGS.items()),
        )
    return ()


def driver_limits(connection: Connection, dialect: str, limits: Limits) -> dict[str, Any]:
    """Set the limits that the driver enforces; return the execution options of the next statement for the others."""
    timeout_s = max(limits.timeout_s, 0.001)
    if dialect == "tsql":
        driver: Any = connection.connection.driver_connection
        driver.timeout = math.ceil(timeout_s)
    if dialect == "bigquery":
        from google.cloud.bigquery import QueryJobConfig

        job = QueryJobConfig(use_legacy_sql=False, job_timeout_ms=int(timeout_s * 1000))
        job.maximum_bytes_billed = limits.max_bytes_billed
        return {"job_config": job}
    return {}


def set_parser_defaults(engine: Engine, dialect: str) -> None:
    """Make new connections of `engine` parse SQL by the default rules of `dialect`.

    `setup_statements` repeats this for each statement. At connection time it precedes SQLAlchemy's queries about
    quoting.
    """
    if dialect not in {"postgres", "mysql"}:
        return
    statement = "; ".join(_postgres_parser_settings("SESSION")) if dialect == "postgres" else _mysql_parser_settings()

    @event.listens_for(engine, "connect", insert=True)
    def set_rules(connection: Any, record: Any) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute(statement)
        connection.commit()


def _postgres_parser_settings(scope: Literal["SESSION", "LOCAL"]) -> list[str]:
    path = _POSTGRES_PATH.format(local=str(scope == "LOCAL").lower())
    return [*(f"SET {scope} {name} = {value}" for name, value in _POSTGRES_PARSER_SETTINGS.items()), path]


def _mysql_parser_settings() -> str:
    """Return a SET statement that removes only the modes above; further assignments may be appended."""
    modes = "CONCAT(',', @@SESSION.sql_mode, ',')"
    for mode in _MYSQL_MODES:
        modes = f"REPLACE({modes}, ',{mode},', ',')"
    character_sets = "character_set_client = utf8mb4, SESSION character_set_results = utf8mb4"
    return f"SET SESSION sql_mode = TRIM(BOTH ',' FROM {modes}), SESSION {character_sets}, SESSION sql_auto_is_null = 0"


def reset_on_checkin(engine: Engine, dialect: str) -> None:
    """Reset the session state of connections of `engine` between statements.

    On PostgreSQL a rollback alone would keep settings changed by `set_config`, advisory locks and prepared plans.
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
        # DISCARD ALL restores the settings of the role and database.
        connection.execute("; ".join(_postgres_parser_settings("SESSION")))
        connection.autocommit = False


@contextmanager
def enforce_time_limit(connection: Connection, limits: Limits, cancellation: Cancellation | None) -> Iterator[None]:
    """Stop a statement on `connection` that exceeds its time limit, or when `cancellation` is requested.

    The server is asked to stop it first; if that fails, the connection is closed.
    """
    driver: Any = connection.connection.driver_connection
    finished, is_cut = threading.Event(), threading.Event()

    def stop() -> None:
        # If the request to the server fails, the connection is closed below.
        with suppress(Exception):
            stop_on_server(connection.engine, driver)
        if not finished.wait(_STOP_S):
            is_cut.set()
            # Ends a read on the socket in another thread.
            with suppress(OSError, AttributeError), socket.socket(fileno=os.dup(_descriptor(driver))) as duplicate:
                duplicate.shutdown(socket.SHUT_RDWR)

    def watch() -> None:
        if not finished.wait(limits.timeout_s + _GRACE_S):
            stop()

    watcher = threading.Thread(target=watch, name="datasphinx-statement-limit", daemon=True)
    watcher.start()
    try:
        with cancellation.calling(stop) if cancellation else nullcontext():
            yield
    finally:
        finished.set()
        watcher.join()
        if is_cut.is_set():
            connection.invalidate()
            # `close` of a PyHive connection leaves its socket open if the server does not answer.
            with suppress(OSError, AttributeError):
                driver._transport.close()


def stop_on_server(engine: Engine, driver: Any) -> None:
    """Ask the server to stop the statement on the connection `driver`; other engines rely on their own limit."""
    if engine.dialect.name in {"postgresql", "redshift"}:
        driver.cancel_safe(timeout=_STOP_S)
    elif engine.dialect.name in {"mysql", "mariadb"}:
        positional, named = engine.dialect.create_connect_args(engine.url)
        connection: Any = engine.dialect.connect(*positional, **{**named, "connect_timeout": _STOP_S})
        with closing(connection), connection.cursor() as cursor:
            cursor.execute(f"KILL QUERY {int(driver.thread_id())}")


def _descriptor(driver: Any) -> int:
    """Return the socket file descriptor of a pymysql, PyHive or psycopg connection.

    Raises:
        AttributeError: the driver does not expose it.
    """
    if hasattr(driver, "_sock"):
        return int(driver._sock.fileno())
    if hasattr(driver, "_transport"):
        return int(driver._transport._trans.handle.fileno())
    return int(driver.fileno())

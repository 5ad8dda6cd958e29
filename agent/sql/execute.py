"""The choke point: the one function through which a statement reaches a database."""

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from typing_extensions import TypedDict

from agent.audit.step import StatementRun, current_step
from agent.catalog.schema import Catalog
from agent.errors import DatasphinxError, SourceUnreachable, StatementCancelled, StatementFailed, StatementTimeout
from agent.sql.database import Database, reason_of
from agent.sql.limits import Cancellation, Limits
from agent.sql.preflight import objection
from agent.sql.rows import RowReader
from agent.sql.sessions import opening_statements, stop_on_server, stopped_in_time
from agent.sql.workers import Rows, shared_workers


class Result(TypedDict):
    """Rows of JSON-safe values; `types` has a type for each column; `truncated` is True where more rows exist."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    truncated: bool


def execute(
    sql: str, database: Database, catalog: Catalog, limits: Limits, *, cancellation: Cancellation | None = None
) -> Result:
    """Run one query and return its rows, within `limits`.

    The guard and the catalog look first; then it runs where it can only read. It can be stopped from another thread by
    `cancellation`.

    Raises:
        StatementRefused: the guard found something; the database was not asked.
        NamesUnknown: a column does not exist; the database was not asked.
        StatementFailed: the database refused it.
        StatementTimeout: it was stopped at its time limit.
        StatementCancelled: it was cancelled.
        SourceUnreachable: the database does not answer, or stopped answering.
        SourceBusy: no connection or worker became free.
    """
    started = time.perf_counter()
    try:
        problem = objection(sql, catalog)
        if problem:
            raise problem
        if cancellation and cancellation.requested:
            raise StatementCancelled()
        rows = _run(sql, {}, database, limits, cancellation)
    except DatasphinxError as error:
        _record(sql, 0, started, str(error))
        raise
    _record(sql, len(rows.rows), started, None)
    return Result(columns=rows.columns, types=rows.types, rows=rows.rows, truncated=rows.truncated)


def _record(sql: str, rows: int, started: float, error: str | None) -> None:
    step = current_step.get()
    if step:
        latency_ms = round((time.perf_counter() - started) * 1000, 1)
        step.statements.append(StatementRun(sql=sql, rows=rows, latency_ms=latency_ms, error=error))


def _run(
    sql: str, parameters: Mapping[str, Any], database: Database, limits: Limits, cancellation: Cancellation | None
) -> Rows:
    if database.kind.in_worker:
        return shared_workers(limits.memory_mb).run(database.file, sql, parameters, limits, cancellation)
    started = time.perf_counter()
    try:
        rows = _run_on_server(sql, parameters, database, limits, cancellation)
    except (SQLAlchemyError, OverflowError, RuntimeError) as error:
        # chDB raises errors of its own, which SQLAlchemy does not know.
        raise _failure(error, started, database, limits, cancellation) from error
    # MariaDB ends some functions at the time limit with a value instead of an error.
    if time.perf_counter() - started >= limits.timeout_s:
        raise StatementTimeout(limits.timeout_s)
    return rows


def _run_on_server(
    sql: str, parameters: Mapping[str, Any], database: Database, limits: Limits, cancellation: Cancellation | None
) -> Rows:
    options = {"no_parameters": not parameters, "stream_results": True}
    with database.connect() as connection, stopped_in_time(connection, limits, cancellation):
        for statement in opening_statements(connection, database.dialect, limits):
            connection.exec_driver_sql(statement)
        with closing(connection.execution_options(**options).exec_driver_sql(sql, dict(parameters) or None)) as cursor:
            columns = list(cursor.keys())
            reader = RowReader(len(columns), limits.row_limit, limits.byte_limit)
            rows = [row for chunk in reader.read(cursor.fetchmany) for row in chunk]
            if reader.truncated and database.dialect == "mysql":
                # Its cursor reads all that is left before it closes.
                stop_on_server(connection.engine, connection.connection.driver_connection)
        return Rows(columns, reader.types, rows, reader.truncated)


def _failure(
    error: Exception, started: float, database: Database, limits: Limits, cancellation: Cancellation | None
) -> DatasphinxError:
    if cancellation and cancellation.requested:
        return StatementCancelled()
    if time.perf_counter() - started >= limits.timeout_s:
        return StatementTimeout(limits.timeout_s)
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return SourceUnreachable(database.name, reason_of(error))
    return StatementFailed(reason_of(error))

"""The choke point: the one function through which a statement reaches a database."""

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from agent.audit.canonical import result_hashes
from agent.audit.step import StatementRun, current_step
from agent.catalog.schema import Catalog
from agent.errors import (
    DatasphinxError,
    PermissionDenied,
    SourceUnreachable,
    StatementCancelled,
    StatementFailed,
    StatementRefused,
    StatementTimeout,
    StatementTooCostly,
)
from agent.sql.database import Database, reason_of
from agent.sql.equal_rows import is_ordered
from agent.sql.failures import database_text, kind_of, without_database_text
from agent.sql.finding import Finding
from agent.sql.guard import parse
from agent.sql.limits import Cancellation, Limits
from agent.sql.parameters import Value, escape, mark, place
from agent.sql.plan import EXPLAIN, planned_rows
from agent.sql.preflight import approved
from agent.sql.result import Result, masked
from agent.sql.row_rules import RowRules, restrict
from agent.sql.rows import RowReader
from agent.sql.secret_outputs import names_columns_after_secrets, reads_secrets, secret_outputs
from agent.sql.sessions import opening_statements, stop_on_server, stopped_in_time
from agent.sql.workers import shared_workers
from agent.text import valid_text

logger = logging.getLogger("datasphinx")

Parameters = Sequence[Any] | Mapping[str, Any]
"""Values of a statement's parameters, by place or by name."""


_SECRET_NAMES = Finding(
    "secret_names",
    "PIVOT would name columns after values of a secret column; group by the column, or list its values with IN (...)",
    "PIVOT",
)


@dataclass(frozen=True)
class RowAccess:
    """The row rules of a source, and the values of their parameters for whoever asks."""

    rules: RowRules
    parameters: Mapping[str, Any]
    log_database_errors: bool = False
    """Whether the log gets the text of database errors, which may quote values of rows."""


def execute(
    sql: str,
    database: Database,
    catalog: Catalog,
    limits: Limits,
    *,
    parameters: Mapping[str, Value] = MappingProxyType({}),
    access: RowAccess | None = None,
    cancellation: Cancellation | None = None,
) -> Result:
    """Run one query and return its rows, within `limits`.

    The guard and the catalog look first; what they have read is written down anew, with the row rules of `access` on
    it, and only that text runs, where it can only read. It can be stopped from another thread by `cancellation`, left
    out: that of the run.
    `parameters` are bound to the places that `sql` names as `:name`, in every dialect; they share no name with those
    of row rules.

    Raises:
        StatementRefused: the guard found something, or a PIVOT would name columns after values of a secret column; the
            database was not asked.
        NamesUnknown: a column does not exist; the database was not asked.
        StatementUnsound: the database would refuse it; it was not asked.
        NotPermitted, RowRuleParameterMissing, RowRuleNotApplied: as the row rules say; the database was not asked.
        StatementFailed: the database refused it. With `access`, and where `sql` reads a table with a secret column, the
            text of this and of every other error has the class of the error and its position only.
        PermissionDenied: the account may not read what it needs.
        StatementTimeout: it was stopped at its time limit.
        StatementTooCostly: the server expects too many rows on the way; it did not run.
        StatementCancelled: it was cancelled.
        SourceUnreachable: the database does not answer, or stopped answering.
        SourceBusy: no connection or worker became free.
    """
    started = time.perf_counter()
    step = current_step.get()
    cancellation = cancellation or (step.cancellation if step else None)
    written, printed = "", sql
    try:
        printed = approved(sql, catalog, parameters)
        if names_columns_after_secrets(printed, catalog):
            raise StatementRefused((str(_SECRET_NAMES),))
        written, bound = _bound(printed, parameters, access, database)
        if cancellation and cancellation.requested:
            raise StatementCancelled()
        result = _known_or_run(written, bound, database, limits, cancellation)
        secret = secret_outputs(printed, catalog, len(result["columns"]))
        if secret:
            result["secret"] = secret
    except DatasphinxError as error:
        is_secret = reads_secrets(printed, catalog)
        if access is None and not is_secret:
            _record(sql, printed, database, parameters, started, error)
            raise
        if access and access.log_database_errors and not is_secret:
            _log_database_text(error, database)
        failure = without_database_text(error, sql, written).with_traceback(None)
    else:
        _record(sql, printed, database, parameters, started, result)
        return result
    _record(sql, printed, database, parameters, started, failure)
    # Raised outside of the handler, it has neither the driver's error nor its text as its context.
    raise failure


def _log_database_text(error: DatasphinxError, database: Database) -> None:
    text = " ".join(database_text(error).split())
    if text:
        step = current_step.get()
        trace_id = step.spent["trace_id"] if step else None
        logger.warning("[SQL] source=%s trace_id=%s the database said: %s", database.name, trace_id, text)


def _known_or_run(
    written: str, bound: Parameters, database: Database, limits: Limits, cancellation: Cancellation | None
) -> Result:
    """Return the rows, without asking a database that never changes for what it has given already."""
    known = database.known_results
    if known is None:
        return _run(written, bound, database, limits, cancellation)
    key = (written, repr(bound), limits.row_limit, limits.byte_limit)
    result = known.get(key)
    if result is None:
        result = _run(written, bound, database, limits, cancellation)
        known.keep(key, result)
    return result


def _bound(
    sql: str, given: Mapping[str, Value], access: RowAccess | None, database: Database
) -> tuple[str, Parameters]:
    """Return `sql` with the row rules on it, and the values of both as the driver wants them."""
    if not given and not access:
        return sql, ()
    values: dict[str, Any] = {}
    if given:
        (tree,) = parse(sql, database.dialect)
        sql, values = mark(sql, tree, database.dialect, given)
    text_, ruled = restrict(sql, access.rules, access.parameters) if access else (escape(sql), {})
    if not values and not ruled:
        return text_.replace("\\:", ":"), ()
    return _compiled(place(text_, {name: name for name in values}), {**values, **ruled}, database)


def _compiled(sql: str, values: Mapping[str, Any], database: Database) -> tuple[str, Parameters]:
    compiled = text(sql).bindparams(**values).compile(dialect=database.engine.dialect)
    positions = getattr(compiled, "positiontup", None)
    return compiled.string, tuple(values[name] for name in positions) if positions else dict(values)


def _record(
    sql: str,
    printed: str,
    database: Database,
    parameters: Mapping[str, Value],
    started: float,
    outcome: Result | DatasphinxError,
) -> None:
    """Put the statement on the audit and the record; of its rows only their number and their hash.

    `printed` is the text that the guard has approved in place of `sql`.
    Values of secret columns are masked in the hash too: those that are short could be found by trying.
    """
    step = current_step.get()
    if step is None:
        return
    latency_ms = round((time.perf_counter() - started) * 1000, 1)
    body: dict[str, Any] = {"source": database.name, "sql": sql, "parameters": parameters, "latency_ms": latency_ms}
    if isinstance(outcome, DatasphinxError):
        step.statements.append(StatementRun(sql=sql, rows=0, latency_ms=latency_ms, error=str(outcome)))
        step.event("statement", {**body, "rows": 0, "error": {"code": outcome.code, "facts": outcome.details()}})
        return
    columns, rows = outcome["columns"], masked(outcome)["rows"]
    step.statements.append(StatementRun(sql=sql, rows=len(rows), latency_ms=latency_ms, error=None))
    body |= {"rows": len(rows), "columns": columns, "truncated": outcome["truncated"], "error": None}
    if step.recorder and step.recorder.is_on:
        body["result_hash"], unordered = result_hashes(columns, rows)
        body["unordered_hash"] = None if is_ordered(printed, database.dialect) else unordered
    step.event("statement", body)


def _run(
    sql: str, parameters: Parameters, database: Database, limits: Limits, cancellation: Cancellation | None
) -> Result:
    if database.kind.in_worker:
        return shared_workers(limits.memory_mb).run(database.file, sql, parameters, limits, cancellation)
    started = time.perf_counter()
    try:
        result = _run_on_server(sql, parameters, database, limits, cancellation)
    except DatasphinxError:
        raise
    except Exception as error:
        # Drivers raise errors of their own beside those that SQLAlchemy knows: chDB's, Thrift's, OverflowError.
        raise _failure(error, started, database, limits, cancellation) from error
    # MariaDB ends some functions at the time limit with a value instead of an error.
    if time.perf_counter() - started >= limits.timeout_s:
        raise StatementTimeout(limits.timeout_s)
    return result


def _run_on_server(
    sql: str, parameters: Parameters, database: Database, limits: Limits, cancellation: Cancellation | None
) -> Result:
    options = {"no_parameters": not parameters, "stream_results": True}
    with database.connect() as connection, stopped_in_time(connection, limits, cancellation):
        for statement in opening_statements(connection, database.dialect, limits):
            connection.exec_driver_sql(statement)
        _refuse_costly(connection, sql, parameters, database.dialect, limits)
        with closing(connection.execution_options(**options).exec_driver_sql(sql, parameters or None)) as cursor:
            columns = [valid_text(name) for name in cursor.keys()]
            reader = RowReader(len(columns), limits.row_limit, limits.byte_limit)
            rows = [row for chunk in reader.read(cursor.fetchmany) for row in chunk]
            if reader.truncated and database.dialect == "mysql":
                # Its cursor reads all that is left before it closes.
                stop_on_server(connection.engine, connection.connection.driver_connection)
        return Result(columns=columns, types=reader.types, rows=rows, truncated=reader.truncated)


def _refuse_costly(connection: Connection, sql: str, parameters: Parameters, dialect: str, limits: Limits) -> None:
    if limits.max_planned_rows is None or dialect not in EXPLAIN:
        return
    options = connection.execution_options(no_parameters=not parameters)
    plan = options.exec_driver_sql(f"{EXPLAIN[dialect]}{sql}", parameters or None).fetchall()
    rows = planned_rows(dialect, plan)
    if rows > limits.max_planned_rows:
        raise StatementTooCostly(rows, limits.max_planned_rows)


def _failure(
    error: Exception, started: float, database: Database, limits: Limits, cancellation: Cancellation | None
) -> DatasphinxError:
    if cancellation and cancellation.requested:
        return StatementCancelled()
    if time.perf_counter() - started >= limits.timeout_s:
        return StatementTimeout(limits.timeout_s)
    kind = kind_of(error)
    if kind == "connection" or (isinstance(error, DBAPIError) and error.connection_invalidated):
        return SourceUnreachable(database.name, reason_of(error))
    if kind == "permission":
        return PermissionDenied(database.name, reason_of(error))
    return StatementTimeout(limits.timeout_s) if kind == "timeout" else StatementFailed(reason_of(error), kind)

"""The choke point: the one function through which a statement reaches a database."""

import math
import time
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from typing_extensions import TypedDict

from agent.audit.step import StatementRun, current_step
from agent.catalog.schema import Catalog
from agent.errors import DatasphinxError, SourceUnreachable, StatementFailed, StatementTimeout
from agent.sql.database import Database, reason_of
from agent.sql.preflight import objection

_SQLITE_FILE_BROKEN = {10, 11, 14, 26}
"""Primary result codes of SQLite for a file that cannot be read: IOERR, CORRUPT, CANTOPEN, NOTADB."""


class Result(TypedDict):
    """Rows of JSON-safe values; `types` has a type for each column; `truncated` is True where more rows exist."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    truncated: bool


def execute(sql: str, database: Database, catalog: Catalog, *, timeout_s: float, row_limit: int) -> Result:
    """Run one query and return its rows, at most `row_limit` of them, within `timeout_s` seconds.

    The guard and the catalog look first; then it runs in a transaction that can only read.

    Raises:
        StatementRefused: the guard found something; the database was not asked.
        NamesUnknown: a column does not exist; the database was not asked.
        StatementFailed: the database refused it.
        StatementTimeout: it was stopped at `timeout_s`.
        SourceUnreachable: the database does not answer, or stopped answering.
    """
    started = time.perf_counter()
    try:
        result = _execute(sql, database, catalog, timeout_s, row_limit)
    except DatasphinxError as error:
        _record(sql, 0, started, str(error))
        raise
    _record(sql, len(result["rows"]), started, None)
    return result


def _execute(sql: str, database: Database, catalog: Catalog, timeout_s: float, row_limit: int) -> Result:
    problem = objection(sql, catalog)
    if problem:
        raise problem
    started = time.perf_counter()
    try:
        with database.connect(timeout_s) as connection:
            return _run(connection, sql, database.session_statements(connection, timeout_s), row_limit)
    except (SQLAlchemyError, OverflowError) as error:
        if time.perf_counter() - started >= timeout_s:
            raise StatementTimeout(timeout_s) from error
        if _is_gone(error):
            raise SourceUnreachable(database.name, reason_of(error)) from error
        raise StatementFailed(reason_of(error)) from error


def _record(sql: str, rows: int, started: float, error: str | None) -> None:
    step = current_step.get()
    if step:
        latency_ms = round((time.perf_counter() - started) * 1000, 1)
        step.statements.append(StatementRun(sql=sql, rows=rows, latency_ms=latency_ms, error=error))


def _run(connection: Connection, sql: str, session: Sequence[str], row_limit: int) -> Result:
    for statement in session:
        connection.exec_driver_sql(statement)
    options = {"no_parameters": True, "stream_results": True}
    cursor = connection.execution_options(**options).exec_driver_sql(sql)
    rows = cursor.fetchmany(row_limit + 1)
    values = [[json_safe(value) for value in row] for row in rows[:row_limit]]
    columns = list(cursor.keys())
    cursor.close()
    types = [_type_of(row[index] for row in rows) for index in range(len(columns))]
    return Result(columns=columns, types=types, rows=values, truncated=len(rows) > row_limit)


def json_safe(value: Any) -> Any:
    """Return `value` as JSON can hold it: numbers, text, booleans and None; everything else as text.

    Decimals become floats, or integers where they are whole; dates and times are in ISO 8601; bytes are in hexadecimal.
    A float that is not a number or not finite becomes None.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return (int(value) if value == value.to_integral_value() else float(value)) if value.is_finite() else None
    if isinstance(value, date | datetime | clock):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, list | tuple):
        return [json_safe(item) for item in value]
    if isinstance(value, dict):
        return {str(key): json_safe(item) for key, item in value.items()}
    return str(value)


_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "float"),
    (Decimal, "decimal"),
    (datetime, "datetime"),
    (date, "date"),
    (clock, "time"),
    (timedelta, "interval"),
    (str, "string"),
    ((bytes, bytearray, memoryview), "bytes"),
)


def _type_of(values: Any) -> str:
    """Return the type of the first value that is not NULL; `null` where there is none."""
    first = next((value for value in values if value is not None), None)
    if first is None:
        return "null"
    return next((name for kind, name in _TYPES if isinstance(first, kind)), "other")


def _is_gone(error: Exception) -> bool:
    if not isinstance(error, DBAPIError):
        return False
    code = getattr(error.orig, "sqlite_errorcode", None)
    return error.connection_invalidated or (code is not None and code & 0xFF in _SQLITE_FILE_BROKEN)

"""Execution of statements: the only function that sends a generated statement to a database."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlglot import exp

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.canonical import result_hashes
from datasphinx.agent.core.result_cache import ResultCache
from datasphinx.agent.core.text import valid_text
from datasphinx.agent.errors import (
    DatasphinxError,
    NamesUnknown,
    NotPermitted,
    PermissionDenied,
    SourceFilesUnreadable,
    StatementCancelled,
    StatementFailed,
    StatementRefused,
    StatementTimeout,
    StatementUnsound,
)
from datasphinx.agent.record.step import StatementRun, current_step
from datasphinx.agent.record.telemetry import current_run, record_statement
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.compare import is_ordered
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.dialects import exact_dialect
from datasphinx.agent.sql.failures import kind_of, without_database_text
from datasphinx.agent.sql.guard import parse, shared_nodes, shared_trees
from datasphinx.agent.sql.guard.finding import Finding
from datasphinx.agent.sql.names import table_of
from datasphinx.agent.sql.parameters import Value, escape, insert_markers, insert_parameters
from datasphinx.agent.sql.quotients import with_numbers_alike
from datasphinx.agent.sql.row_rules import RowRules, restrict
from datasphinx.agent.sql.rows import RowReader, conversions_of
from datasphinx.agent.sql.secret_outputs import names_columns_after_secrets, reads_secrets, secret_outputs
from datasphinx.agent.sql.sessions import enforce_time_limit
from datasphinx.agent.sql.validation import validated_sql
from datasphinx.agent.sql.workers import shared_workers
from datasphinx.agent.types import Limits, Result, masked

_Parameters = Sequence[Any] | Mapping[str, Any]
"""Parameter values, by position or by name."""

_UNNAMED = {"", "?column?"}
"""Names of outputs without a name: of SQL Server, and of PostgreSQL."""
_MAX_NAME = 60

_SECRET_NAMES = Finding(
    "secret_names",
    "PIVOT would name columns after values of a table with secret columns; list the values with IN (...), or group by",
    "PIVOT",
)


@dataclass(frozen=True)
class RowAccess:
    """The row rules of a source and the parameter values of the current user."""

    rules: RowRules
    parameters: Mapping[str, Any]


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
    """Run one query within `limits` and return its rows.

    The guard and the catalog check `sql` first. The SQL is then regenerated from its parse tree, with the row rules of
    `access` applied, and only that text runs, in a read-only session.

    `parameters` are bound to the places that `sql` names as `:name`, in every dialect; their names differ from those of
    row-rule parameters. `cancellation` stops the statement from another thread; it defaults to that of the current run.

    A statement that a run repeats is checked again but not executed again, unless it needs more rows than were read.

    Raises:
        StatementRefused: the guard rejects it, or a PIVOT would name columns after values of a table with secret
            columns. It did not run.
        NamesUnknown: a column does not exist. The statement did not run.
        StatementUnsound: the static checks reject it. It did not run.
        NotPermitted, RowRuleParameterMissing, RowRuleNotApplied: a row rule rejects it. It did not run.
        StatementFailed: the database rejected it. With `access`, or if `sql` reads a table with a secret column, this
            and every other error contains only the cause instead of the database's message.
        PermissionDenied: the account lacks a privilege.
        StatementTimeout: it exceeded its time limit.
        StatementCancelled: it was cancelled.
        SourceUnreachable: the database does not answer, or the connection was lost.
        SourceFilesUnreadable: a file of a view cannot be read.
        Unavailable: no connection or worker became free in time.
    """
    started = time.perf_counter()
    step = current_step.get()
    cancellation = cancellation or (step.cancellation if step else None)
    sent_sql, checked_sql = "", sql
    try:
        checked_sql = check(sql, catalog, parameters)
        is_bound = bool(parameters or access)
        sent_sql, bound = _bind_values(checked_sql, parameters, access, database) if is_bound else (checked_sql, ())
        if cancellation and cancellation.requested:
            raise StatementCancelled()
        cache = database.result_cache or (step.results() if step and step.results else None)
        result, is_reused = _run_cached(sent_sql, bound, database, limits, cancellation, cache)
        result["columns"] = _distinct_names(result["columns"], checked_sql, database.dialect)
        result = with_numbers_alike(result, checked_sql, database.dialect)
        secret = secret_outputs(checked_sql, catalog, len(result["columns"]))
        if secret:
            result["secret"] = secret
    except DatasphinxError as error:
        if access is None and not reads_secrets(checked_sql, catalog):
            _record(sql, checked_sql, database, catalog, parameters, started, error)
            raise
        failure = without_database_text(error, database.kind).with_traceback(None)
    else:
        _record(sql, checked_sql, database, catalog, parameters, started, result, is_reused=is_reused)
        return result
    _record(sql, checked_sql, database, catalog, parameters, started, failure)
    # Raise outside the handler, so that the driver's error is not attached as context.
    raise failure


def check(sql: str, catalog: Catalog, parameters: Mapping[str, Value] = MappingProxyType({})) -> str:
    """Check `sql` as `execute` does, without running it; return the text to run, before row rules are applied.

    Raises:
        NotPermitted: it has an error, and names a table that row rules deny. The error would tell which columns exist.
    """
    try:
        checked_sql = validated_sql(sql, catalog, parameters)
    except (NamesUnknown, StatementUnsound):
        for node in shared_nodes(sql, catalog.dialect, exp.Table) if catalog.denied else ():
            table = table_of(node, catalog)
            if table and table.key in catalog.denied:
                raise NotPermitted(table.key) from None
        raise
    if names_columns_after_secrets(checked_sql, catalog):
        raise StatementRefused((str(_SECRET_NAMES),))
    return checked_sql


def _distinct_names(columns: list[str], sql: str, dialect: str) -> list[str]:
    """Return `columns` with the expression as the name of outputs without a name, and of those with the same name.

    >>> _distinct_names(["id", "id"], "SELECT a.id, b.id FROM a, b", "sqlite")
    ['a.id', 'b.id']
    """
    counts = Counter(columns)
    unclear = [name in _UNNAMED or counts[name] > 1 for name in columns]
    if not any(unclear):
        return columns
    tree = shared_trees(sql, dialect)[0]
    outputs = tree.selects if isinstance(tree, exp.Query) else []
    names: list[str] = []
    for index, name in enumerate(columns):
        output = outputs[index] if unclear[index] and len(outputs) == len(columns) else None
        if output is not None and not output.is_star and not isinstance(output, exp.Alias):
            name = output.sql(dialect=exact_dialect(dialect), comments=False)[:_MAX_NAME]
        number, base = 2, name
        while name in names or (name != columns[index] and name in columns):
            name, number = f"{base}_{number}", number + 1
        names.append(name)
    return names


def _run_cached(
    sent_sql: str,
    bound: _Parameters,
    database: Database,
    limits: Limits,
    cancellation: Cancellation | None,
    cache: ResultCache | None,
) -> tuple[Result, bool]:
    """Return the rows, and whether they are those of an earlier execution in `cache`."""
    if cache is None:
        return _run(sent_sql, bound, database, limits, cancellation), False
    key = (database.name, sent_sql, repr(bound), limits.byte_limit)
    result = cache.get(key, limits.row_limit)
    if result is not None:
        return result, True
    result = _run(sent_sql, bound, database, limits, cancellation)
    cache.put(key, limits.row_limit, result)
    return result, False


def _bind_values(
    sql: str, parameters: Mapping[str, Value], access: RowAccess | None, database: Database
) -> tuple[str, _Parameters]:
    """Return `sql` with the row rules applied, and all parameter values in the form that the driver expects."""
    values: dict[str, Any] = {}
    if parameters:
        (tree,) = parse(sql, database.dialect)
        sql, values = insert_markers(sql, tree, database.dialect, parameters)
    template, rule_values = restrict(sql, access.rules, access.parameters) if access else (escape(sql), {})
    if not values and not rule_values:
        return template.replace("\\:", ":"), ()
    template = insert_parameters(template, {name: name for name in values})
    values |= rule_values
    compiled = text(template).bindparams(**values).compile(dialect=database.engine.dialect)
    positions = getattr(compiled, "positiontup", None)
    return compiled.string, tuple(values[name] for name in positions) if positions else values


def _record(
    sql: str,
    checked_sql: str,
    database: Database,
    catalog: Catalog,
    parameters: Mapping[str, Value],
    started: float,
    outcome: Result | DatasphinxError,
    *,
    is_reused: bool = False,
) -> None:
    """Add the statement to the audit and the record; of its rows only their number and hash.

    `checked_sql` is the text that the guard produced from `sql`. Values of secret columns are masked before hashing:
    short values could be guessed from it.
    """
    if current_run():
        _trace(sql, checked_sql, database, catalog, started, outcome, is_reused)
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
    run = StatementRun(sql=sql, rows=len(rows), latency_ms=latency_ms, error=None)
    reuse: Any = {"reused": True} if is_reused else {}
    step.statements.append({**run, **reuse})
    body |= reuse
    body |= {"rows": len(rows), "columns": columns, "truncated": outcome["truncated"], "error": None}
    if step.recorder and step.recorder.is_on:
        body["result_hash"], unordered = result_hashes(columns, rows)
        body["unordered_hash"] = None if is_ordered(checked_sql, database.dialect) else unordered
    step.event("statement", body)


def _trace(
    sql: str,
    checked_sql: str,
    database: Database,
    catalog: Catalog,
    started: float,
    outcome: Result | DatasphinxError,
    is_reused: bool,
) -> None:
    """Record the span of the statement, with the tables of `catalog` in it, and no other names that a model wrote."""
    try:
        names = [table.name for table in shared_nodes(checked_sql, database.dialect, exp.Table)]
    except ValueError:
        names = []
    keys = [key for name in names for key in catalog.keys_named(name)[:1]]
    name = database.url.database or ""
    record_statement(
        sql,
        started,
        system=database.kind.otel_name or database.kind.name,
        namespace=(Path(name).name if database.kind.in_worker else name) or None,
        host=database.url.host,
        port=database.url.port,
        tables=[*dict.fromkeys(catalog.full_names[key].name for key in keys)],
        rows=None if isinstance(outcome, DatasphinxError) else len(outcome["rows"]),
        is_reused=is_reused,
        error=outcome if isinstance(outcome, DatasphinxError) else None,
    )


def _run(
    sql: str, parameters: _Parameters, database: Database, limits: Limits, cancellation: Cancellation | None
) -> Result:
    if database.kind.in_worker:
        workers = shared_workers(limits.memory_mb)
        try:
            return workers.run(database.file, sql, parameters, limits, cancellation)
        except SourceFilesUnreadable:
            # Another program may have replaced files since they were listed.
            if not database.list_files():
                raise
            return workers.run(database.file, sql, parameters, limits, cancellation)
    started = time.perf_counter()
    try:
        result = _run_on_server(sql, parameters, database, limits, cancellation)
    except DatasphinxError:
        raise
    except Exception as error:
        # Some drivers raise errors that SQLAlchemy does not wrap: chDB, Thrift, OverflowError.
        raise _failure(error, started, database, limits, cancellation) from error
    # MariaDB interrupts some functions at the time limit and returns a value instead of an error.
    if time.perf_counter() - started >= limits.timeout_s:
        raise StatementTimeout(limits.timeout_s)
    return result


def _run_on_server(
    sql: str, parameters: _Parameters, database: Database, limits: Limits, cancellation: Cancellation | None
) -> Result:
    engine, options = database.kind, {"no_parameters": not parameters, "stream_results": True}
    with database.connect() as connection, enforce_time_limit(connection, engine, limits, cancellation):
        for statement in engine.setup_statements(connection, limits):
            connection.exec_driver_sql(statement)
        options |= engine.limit_driver(connection, limits)
        if engine.needs_parameters_for_options and not parameters:
            options["no_parameters"], sql = False, sql.replace("%", "%%")
        with closing(connection.execution_options(**options).exec_driver_sql(sql, parameters or None)) as cursor:
            columns = [valid_text(name) for name in cursor.keys()]
            conversions = conversions_of(engine.driver_kinds, cursor.cursor.description if cursor.cursor else ())
            reader = RowReader(len(columns), limits.row_limit, limits.byte_limit, conversions=conversions)
            rows = [row for chunk in reader.read(cursor.fetchmany) for row in chunk]
            if reader.truncated and engine.closes_slowly:
                engine.stop(connection.engine, connection.connection.driver_connection)
        if reader.truncated and engine.closes_slowly:
            # The request to stop may arrive after the end of the statement, and would stop the next one.
            connection.invalidate()
        return Result(columns=columns, types=reader.types, rows=rows, truncated=reader.truncated)


def _failure(
    error: Exception, started: float, database: Database, limits: Limits, cancellation: Cancellation | None
) -> DatasphinxError:
    if cancellation and cancellation.requested:
        return StatementCancelled()
    if time.perf_counter() - started >= limits.timeout_s:
        return StatementTimeout(limits.timeout_s)
    kind = kind_of(error, database.kind)
    if kind == "connection" or (isinstance(error, DBAPIError) and error.connection_invalidated):
        return database.unreachable(error)
    if kind == "permission":
        return PermissionDenied(database.name, database.message_of(error))
    return (
        StatementTimeout(limits.timeout_s) if kind == "timeout" else StatementFailed(database.message_of(error), kind)
    )

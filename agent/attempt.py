"""One try at running a statement: with what can be done about an error without asking the model."""

from dataclasses import dataclass
from typing import Any

from agent.audit.step import note
from agent.catalog.schema import Catalog
from agent.catalog.source import Source
from agent.errors import NamesUnknown, StatementError, StatementFailed, StatementRefused
from agent.services import Services
from agent.sql.checks import warnings_of
from agent.sql.repair import repair
from agent.sql.result import Result
from agent.state import State

_MENDABLE = {"unknown name", "syntax", "type"}
"""Classes of errors of a database that another reading of the statement may be free of."""


@dataclass(frozen=True)
class Attempt:
    """How it went: rows or an error, the statement that gave them, and what changes in the state besides."""

    sql: str
    result: Result | None
    error: StatementError | None
    changes: dict[str, Any]


def attempt(state: State, services: Services) -> Attempt:
    """Run the statement in hand; after an error at most once more with a fresh schema and once more repaired.

    The schema is read again, once for a question, where a name is unknown: it may have changed since it was read.

    Raises:
        Terminal: what no other statement would help: permission, connection, cancellation.
    """
    source, sql = services.source(state.get("source")), state["sql_request"]
    result, error = _run(source, sql)
    changes: dict[str, Any] = {}
    if error and _is_unknown_name(error) and not state.get("schema_was_read_again"):
        changes["schema_was_read_again"] = True
        fresh = services.refreshed(state.get("source"))
        if fresh:
            changes |= _selection(state, source.catalog, fresh.catalog)
            note("the schema has changed and was read again")
            source = fresh
            result, error = _run(source, sql)
    if error and _may_be_repaired(state, services):
        return _repaired(source, sql, error, changes)
    return Attempt(sql, _with_doubts(source, sql, result), error, changes)


def _may_be_repaired(state: State, services: Services) -> bool:
    embedded = services.model.embedded
    return not state.get("sql_was_repaired") and (embedded is None or embedded.repair)


def _run(source: Source, sql: str) -> tuple[Result | None, StatementError | None]:
    try:
        return source.execute(sql), None
    except StatementError as error:
        return None, error


def _is_unknown_name(error: StatementError) -> bool:
    if isinstance(error, StatementRefused):
        return all(finding.startswith("catalog_tables") for finding in error.findings)
    return isinstance(error, NamesUnknown) or getattr(error, "kind", "") == "unknown name"


def _repaired(source: Source, sql: str, error: StatementError, changes: dict[str, Any]) -> Attempt:
    was_refused = isinstance(error, StatementFailed) and error.kind in _MENDABLE
    mended = repair(sql, source.catalog, was_refused=was_refused)
    result, _ = _run(source, mended.sql) if mended else (None, None)
    if mended is None or result is None:
        return Attempt(sql, None, error, changes)
    note(f"repaired without the model: {mended.how}")
    changes = {**changes, "sql_request": mended.sql, "sql_was_repaired": True}
    return Attempt(mended.sql, _with_doubts(source, mended.sql, result), None, changes)


def _with_doubts(source: Source, sql: str, result: Result | None) -> Result | None:
    """Note what the static checks warn of where the result has no rows, which may be why."""
    if result is not None and not result["rows"]:
        for warning in warnings_of(sql, source.catalog, lambda: source.values):
            note(f"no rows, and {warning}")
    return result


def _selection(state: State, before: Catalog, now: Catalog) -> dict[str, Any]:
    """Return the tables in play with all their columns: those that still exist, and those that are new."""
    keys = [key for key in state.get("relevant_tables", {}) if key in now.tables]
    keys += [key for key in now.tables if key not in before.tables and key not in keys]
    tables = {key: list(now.tables[key].column_names) for key in keys} or now.selection()
    return {"relevant_tables": tables, "relevant_tables_with_rel_columns": tables}

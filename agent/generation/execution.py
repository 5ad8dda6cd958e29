"""Execution of a statement, with the repairs that need no model."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from datasphinx.agent.errors import NamesUnknown, StatementError, StatementRefused
from datasphinx.agent.generation.calendar_rows import in_calendar_order
from datasphinx.agent.messages import Message
from datasphinx.agent.record.step import note
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import is_blank
from datasphinx.agent.sql.repair import repair
from datasphinx.agent.sql.validation import names_similar_value
from datasphinx.agent.types import Result


@dataclass(frozen=True)
class Execution:
    """The outcome of executing a statement: rows or an error."""

    sql: str
    """The executed statement, which may be a repaired one."""
    result: Result | None
    error: StatementError | None
    source: Source
    """The source, with a schema that was read again if it has changed."""
    unstored_values: tuple[str, ...] = ()
    """If the result is blank: texts in conditions that no row has, each with similar stored values."""

    @property
    def names_unknown(self) -> bool:
        """Whether the error is an unknown name."""
        if isinstance(self.error, StatementRefused):
            # Of the findings of the guard, only unknown tables are messages.
            return all(isinstance(finding, Message) for finding in self.error.findings)
        return isinstance(self.error, NamesUnknown) or getattr(self.error, "kind", "") == "unknown name"


def finds_nothing(result: Result) -> bool:
    """Return whether a result may come from no rows: it is blank, any 0 included."""
    return is_blank(result["rows"], zeros=range(len(result["columns"])))


def execute_with_repair(
    sql: str, source: Source, reload: Callable[[], Source | None], *, may_repair: bool, is_checked_only: bool
) -> Execution:
    """Execute `sql`; after an error, retry at most once with a reloaded schema and once with a repair.

    With `is_checked_only`, the statement is checked without executing it, so there is no result. `reload` reads the
    schema again and returns the source if the schema has changed. It is called if the statement uses an unknown name.
    """
    execution = _execute(source, sql, is_checked_only)
    if execution.names_unknown and (new_source := reload()):
        note("the schema has changed and was read again")
        execution = _execute(new_source, sql, is_checked_only)
    if execution.error and may_repair and (repaired := repair(sql, execution.source.catalog)):
        remaining = _execute(execution.source, repaired.sql, is_checked_only)
        if remaining.error is None:
            note(f"repaired without the model: {repaired.description}")
            execution = remaining
    result = execution.result
    warnings = execution.source.warnings_about(execution.sql) if result is not None and finds_nothing(result) else ()
    unstored_values = tuple(warning for warning in warnings if names_similar_value(warning))
    for warning in warnings:
        if result and not result["rows"]:
            note(f"no rows, and {warning}")
        elif warning in unstored_values:
            note(f"no rows match, and {warning}")
    return replace(execution, unstored_values=unstored_values)


def _execute(source: Source, sql: str, is_checked_only: bool) -> Execution:
    try:
        if is_checked_only:
            source.check(sql)
            return Execution(sql, None, None, source)
        return Execution(sql, in_calendar_order(source.execute(sql), sql, source.catalog.dialect), None, source)
    except StatementError as error:
        return Execution(sql, None, error, source)


def updated_selection(tables: Iterable[str], old: Catalog, new: Catalog) -> dict[str, list[str]]:
    """Return the relevant `tables` that still exist and all new tables, with all their columns."""
    keys = [key for key in tables if key in new.tables]
    keys += [key for key in new.tables if key not in old.tables and key not in keys]
    return new.selection(keys or None)

"""The effort of a question: which calls besides the generation of a statement it may cost, and their agreement."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from agent.errors import StatementError
from agent.record.step import note
from agent.schema.describe import one_line
from agent.settings import Settings
from agent.sources.source import Source
from agent.sql.compare import comparison_key
from agent.sql.guard import shared_trees
from agent.sql.names import referenced_names
from agent.state import State
from agent.types import Effort, Result, masked

_SHOWN_ROWS = 3
_MAX_ROW_CHARS = 300


def effort_of(state: State, settings: Settings) -> Effort:
    """Return the effort of the question, by default that of `settings`."""
    return state.get("effort") or settings.effort


def validation_of(state: State, settings: Settings) -> Literal["never", "if doubtful", "always"]:
    """Return when a statement is validated: as `enable_sql_validation` says, else if doubtful; never at low effort."""
    requested = state.get("enable_sql_validation")
    is_enabled = settings.enable_sql_validation if requested is None else requested
    if is_enabled is None:
        return "never" if effort_of(state, settings) == "low" else "if doubtful"
    return "always" if is_enabled else "never"


@dataclass
class ResultGroup:
    """The statements that return the same rows, and these rows."""

    result: Result
    statements: list[str] = field(default_factory=list)


def group_by_result(statements: Sequence[str], source: Source) -> list[ResultGroup]:
    """Execute `statements` under the limits of `source`; return the groups with equal rows, the largest first.

    A statement that fails is left out.

    Raises:
        Terminal: an error of the database that no other statement would avoid.
    """
    groups: dict[Hashable, ResultGroup] = {}
    for sql in dict.fromkeys(statements):
        try:
            result = source.execute(sql)
        except StatementError as error:
            note(f"a statement was not compared: {error}")
            continue
        groups.setdefault(comparison_key(result, ordered=False), ResultGroup(result)).statements.append(sql)
    return sorted(groups.values(), key=lambda group: -len(group.statements))


def summary_of(result: Result) -> str:
    """Return the number of rows and the first rows of a result for a prompt, without secret values."""
    if [[None]] == result["rows"]:
        return "one empty value"
    rows = [one_line(str(row), _MAX_ROW_CHARS) for row in masked(result)["rows"][:_SHOWN_ROWS]]
    count = f"{len(result['rows'])}{' or more' if result['truncated'] else ''} rows"
    return f"{count}, the first: {'; '.join(rows)}" if rows else "no rows"


def ends_of_dates(sql: str, source: Source) -> dict[str, str]:
    """Return the last value of each column of dates in the conditions of `sql`, by table and column.

    A value says nothing and is left out unless the conditions name a year or date after it. There are none if row rules
    hide some of them.
    """
    if source.access:
        return {}
    used = {name.lower() for name in referenced_names(sql, source.catalog).columns}
    trees = shared_trees(sql, source.catalog.dialect)
    wheres = [where for tree in trees for where in tree.find_all(exp.Where)]
    compared = {column.name.lower() for where in wheres for column in where.find_all(exp.Column)}
    literals = [literal.name for where in wheres for literal in where.find_all(exp.Literal)]
    latest = max((text for text in literals if text[:4].isdecimal() and text[4:5] in ("", "-")), default="")
    return {
        f"{table.key}.{column.name}": column.maximum
        for table in source.catalog.tables.values()
        for column in table.columns
        if column.type_class in ("date", "datetime") and column.maximum
        if column.name.lower() in compared and f"{table.key}.{column.name}".lower() in used
        if latest > column.maximum
    }

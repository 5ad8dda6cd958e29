"""The effort of a question: which calls besides the generation of a statement it may cost, and their agreement."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from datasphinx.agent.errors import StatementError
from datasphinx.agent.record.step import note
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.settings import Settings
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import comparison_key
from datasphinx.agent.sql.guard import shared_trees
from datasphinx.agent.sql.names import referenced_names
from datasphinx.agent.sql.output_columns import output_columns
from datasphinx.agent.state import State
from datasphinx.agent.types import Effort, Result, masked, masked_rows

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


def summary_of(result: Result, sql: str, source: Source) -> str:
    """Return the number of rows and the first rows of the result of `sql` for a prompt.

    Secret values, and those of columns whose values look personal, are masked.
    """
    if [[None]] == result["rows"]:
        return "one empty value"
    outputs, catalog = output_columns(sql, source.catalog), source.catalog
    stored = {at: output.stored for at, output in enumerate(outputs) if output.stored}
    personal = [at for at, place in stored.items() if personal_content(catalog, place.table, place.column)]
    first = masked_rows(masked(result)["rows"][:_SHOWN_ROWS], personal)
    rows = [one_line(str(row), _MAX_ROW_CHARS) for row in first]
    count = f"{len(result['rows'])}{' or more' if result['truncated'] else ''} rows"
    return f"{count}, the first: {'; '.join(rows)}" if rows else "no rows"


def ends_of_dates(sql: str, source: Source) -> dict[str, str]:
    """Return the last value of each column of dates of which the conditions of `sql` ask for later ones.

    The columns have their tables before them. There are none if row rules hide some of the values.
    """
    if source.access:
        return {}
    used = {name.lower() for name in referenced_names(sql, source.catalog).columns}
    bounds = [
        (column.name.lower(), literal.name)
        for tree in shared_trees(sql, source.catalog.dialect)
        for where in tree.find_all(exp.Where)
        for compared, bound in _lower_bounds(where)
        for column in compared.find_all(exp.Column)
        for literal in bound.find_all(exp.Literal)
        if literal.name[:4].isdecimal() and literal.name[4:5] in ("", "-")
    ]
    return {
        f"{table.key}.{column.name}": column.maximum
        for table in source.catalog.tables.values()
        for column in table.columns
        if column.type_class in ("date", "datetime") and column.maximum
        if f"{table.key}.{column.name}".lower() in used
        if any(name == column.name.lower() and bound > column.maximum for name, bound in bounds)
    }


def _lower_bounds(where: exp.Where) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield each side of a comparison that is at least as large as the other, and the other."""
    for node in where.find_all(exp.EQ, exp.GT, exp.GTE):
        yield node.this, node.expression
    for node in where.find_all(exp.LT, exp.LTE):
        yield node.expression, node.this
    for between in where.find_all(exp.Between):
        yield between.this, between.args["low"]

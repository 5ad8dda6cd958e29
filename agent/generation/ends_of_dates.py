"""Where the stored dates begin and end of which a statement asks for others: the usual reason why it finds nothing."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp

from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.guard import shared_nodes
from datasphinx.agent.sql.names import referenced_names
from datasphinx.agent.sql.summary import days_in


class EndOfDates(NamedTuple):
    """The first or last stored value of a column, which has its table before it."""

    column: str
    value: str
    is_last: bool


def ends_of_dates(sql: str, source: Source) -> list[EndOfDates]:
    """Return the ends of the columns of dates of which the conditions of `sql` ask for later or earlier ones.

    There are none if row rules hide some of the values.
    """
    if source.access:
        return []
    used = {name.lower() for name in referenced_names(sql, source.catalog).columns}
    bounds = [
        (column.name.lower(), literal.name, is_lower, is_excluded)
        for where in shared_nodes(sql, source.catalog.dialect, exp.Where)
        for compared, bound, is_lower, is_excluded in _bounds(where)
        for column in compared.find_all(exp.Column)
        for literal in bound.find_all(exp.Literal)
        if days_in(literal.name)
    ]
    return [
        EndOfDates(f"{table.key}.{column.name}", end, is_last)
        for table in source.catalog.tables.values()
        for column in table.columns
        if column.type_class != "number" and f"{table.key}.{column.name}".lower() in used
        for end, is_last in ((column.minimum, False), (column.maximum, True))
        if end
        and any(
            name == column.name.lower()
            and is_lower == is_last
            and _is_outside(bound, end, is_last=is_last, is_excluded=is_excluded)
            for name, bound, is_lower, is_excluded in bounds
        )
    ]


def _is_outside(bound: str, end: str, *, is_last: bool, is_excluded: bool) -> bool:
    """Return whether all values from `bound` on are after `end`, the last one, or all up to it before the first one."""
    bound, end = bound.replace("T", " "), end.replace("T", " ")
    if is_last:
        return bound > end
    first = f"{end} 00:00:00"[: len(bound)]
    return bound < first or (is_excluded and bound == first)


def _bounds(where: exp.Where) -> Iterator[tuple[exp.Expr, exp.Expr, bool, bool]]:
    """Yield what each comparison compares, with what, whether this is a lower bound, and whether it is excluded."""
    for node in where.find_all(exp.EQ, exp.GT, exp.GTE, exp.LT, exp.LTE):
        is_excluded = isinstance(node, exp.GT | exp.LT)
        if not isinstance(node, exp.LT | exp.LTE):
            yield node.this, node.expression, True, is_excluded
            yield node.expression, node.this, False, is_excluded
        if not isinstance(node, exp.GT | exp.GTE):
            yield node.this, node.expression, False, is_excluded
            yield node.expression, node.this, True, is_excluded
    for between in where.find_all(exp.Between):
        yield between.this, between.args["low"], True, False
        yield between.this, between.args["high"], False, False

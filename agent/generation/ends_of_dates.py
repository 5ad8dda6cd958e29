"""Where the stored dates begin and end of which a statement asks for others: the usual reason why it finds nothing."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.names import ColumnReference, ResolvedQuery, inner_outputs, resolved_query
from datasphinx.agent.sql.selects import RANGES
from datasphinx.agent.sql.summary import days_in

_MAX_DEPTH = 20


class EndOfDates(NamedTuple):
    """The first or last stored value of a column, which has its table before it."""

    column: str
    value: str
    is_last: bool


class _Bound(NamedTuple):
    """A date that a column is compared with."""

    value: str
    is_lower: bool
    is_excluded: bool


def ends_of_dates(sql: str, source: Source) -> list[EndOfDates]:
    """Return the ends of the columns of dates of which the conditions of `sql` ask for later or earlier ones.

    There are none if row rules hide some of the values.
    """
    query = None if source.access else resolved_query(sql, source.catalog)
    if query is None:
        return []
    bounds: dict[ColumnReference, list[_Bound]] = defaultdict(list)
    for scope in query.scopes:
        for compared, bound, *sides in _bounds(scope, query):
            dates = [literal.name for literal in bound.find_all(exp.Literal) if days_in(literal.name)]
            for column in _columns(compared, scope, query) if dates else ():
                bounds[column] += [_Bound(date, *sides) for date in dates]
    return [
        EndOfDates(str(found), end, is_last)
        for found, asked in bounds.items()
        for end, is_last in ((found.column.minimum, False), (found.column.maximum, True))
        if found.column.type_class != "number"
        and end
        and any(bound.is_lower == is_last and _is_outside(bound, end, is_last=is_last) for bound in asked)
    ]


def _columns(node: exp.Expr, scope: Scope, query: ResolvedQuery, depth: int = 0) -> Iterator[ColumnReference]:
    """Yield the stored columns of which `node` in `scope` is made, through the queries that it reads."""
    for column in node.find_all(exp.Column):
        if found := query.column_of(column, scope):
            yield found
        for output, inner in inner_outputs(column, scope) if depth < _MAX_DEPTH else ():
            yield from _columns(output, inner, query, depth + 1)


def _is_outside(bound: _Bound, end: str, *, is_last: bool) -> bool:
    """Return whether all values from `bound` on are after `end`, the last one, or all up to it before the first one."""
    value, end = bound.value.replace("T", " "), end.replace("T", " ")
    if is_last:
        return value > end
    first = f"{end} 00:00:00"[: len(value)]
    return value < first or (bound.is_excluded and value == first)


def _bounds(scope: Scope, query: ResolvedQuery) -> Iterator[tuple[exp.Expr, exp.Expr, bool, bool]]:
    """Yield what each comparison in WHERE compares, with what, whether this is a lower bound, and whether excluded."""
    for node in query.find_all(scope, exp.EQ, *RANGES, exp.Between):
        if not isinstance(node.find_ancestor(exp.Where, exp.Select), exp.Where):
            continue
        if isinstance(node, exp.Between):
            yield node.this, node.args["low"], True, False
            yield node.this, node.args["high"], False, False
            continue
        is_excluded = isinstance(node, exp.GT | exp.LT)
        if not isinstance(node, exp.LT | exp.LTE):
            yield node.this, node.expression, True, is_excluded
            yield node.expression, node.this, False, is_excluded
        if not isinstance(node, exp.GT | exp.GTE):
            yield node.this, node.expression, False, is_excluded
            yield node.expression, node.this, True, is_excluded

"""What each output of a statement is: the stored column that it shows, or the expression that computes it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.joined_rows import JoinedRows, Path
from datasphinx.agent.sql.names import (
    ColumnReference,
    ResolvedQuery,
    inner_output,
    inner_outputs,
    outputs_of,
    resolved_query,
)
from datasphinx.agent.sql.selects import is_aggregated
from datasphinx.agent.sql.statement_cache import StatementCache
from datasphinx.agent.sql.summary import YEARS, constant, period_unit, unwrapped

_MAX_DEPTH = 20
_WRAPPERS = (exp.Alias, exp.Paren, exp.Cast, exp.TryCast, exp.Round, exp.Coalesce)
_OF_ITS_UNIT = (*_WRAPPERS, exp.Min, exp.Max, exp.Avg, exp.Median, exp.AnyValue)
"""Functions whose value has the unit of their column."""
_OF_ITS_FORMAT = (*_OF_ITS_UNIT, exp.Sum, exp.Neg, exp.Abs, exp.Nullif, exp.Window, exp.Filter)
"""Those and others whose value has its decimal places."""

_CALCULATIONS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)


@dataclass(frozen=True)
class OutputColumn:
    """An output of a statement."""

    expression: exp.Expr
    """Its expression, with the columns of derived tables and CTEs replaced by what computes them."""
    stored: ColumnReference | None
    """The stored column whose values it has, also their minimum, maximum or average; None if it is computed."""
    shown: str
    """The format that a file shows of what it is, or is a sum of; empty if queries of a UNION differ."""
    averaged_decimals: int | None
    """The decimal places of the amounts of which it is an average that is not rounded; None for others."""
    is_of_years: bool = False
    """Whether it is computed from years and constants alone, as a decade is."""
    key: Sequence[int] = ()
    """The outputs that are the key of the rows whose values it has; none if they are not known."""
    siblings: Sequence[int] = ()
    """Other outputs of the same rows, from columns that their table has before its own."""


_outputs: StatementCache[Sequence[OutputColumn]] = StatementCache()


def output_columns(sql: str, catalog: Catalog) -> Sequence[OutputColumn]:
    """Return the outputs of `sql` in order, those of the first query of a UNION; none if they cannot be resolved.

    All callers share them and must not modify their expressions.
    """
    return _outputs.value(sql, catalog, lambda: _output_columns(sql, catalog))


def _output_columns(sql: str, catalog: Catalog) -> Sequence[OutputColumn]:
    query = resolved_query(sql, catalog, expand_stars=True)
    if query is None:
        return []
    queries = outputs_of(query.scopes[-1])
    if any(output.is_star for output, _ in queries[0]):
        return []
    found = [_output(column, query) for column in zip(*queries, strict=False)]
    return list(_with_keys(found, query.scopes[-1], query)) if len(queries) == 1 else found


def _output(column: Sequence[tuple[exp.Expr, Scope]], query: ResolvedQuery) -> OutputColumn:
    """Return what an output is, which `column` has in each query of a UNION."""
    node, scope = column[0]
    expression = _expanded(node.unalias(), scope)
    is_average = expression.find(exp.Avg, exp.Median, exp.Div) and not expression.find(exp.Round)
    decimals = _decimals(node, scope, query) if is_average else None
    formats = query.catalog.formats
    found = (each for output in column for each in _stored(*output, query, _OF_ITS_FORMAT))
    shown = {formats.get((each.table.key, each.column.name), "") if each else "" for each in found}
    stored = next(_stored(node, scope, query, _OF_ITS_UNIT))
    is_of_years = _is_of_years(node, scope, query)
    return OutputColumn(expression, stored, shown.pop() if len(shown) == 1 else "", decimals, is_of_years)


def _with_keys(outputs: Sequence[OutputColumn], scope: Scope, query: ResolvedQuery) -> Iterator[OutputColumn]:
    rows, items = JoinedRows(query, scope), [item for item, _ in outputs_of(scope)[0]]
    places = [rows.place(item) for item in items]
    read = [set[Path]() if item.find(exp.AggFunc) else rows.paths(item) for item in items]
    columns = [
        [found for one in item.find_all(exp.Column) if (found := rows.column(rows.place(one)))] for item in items
    ]
    first = [min((one.table.columns.index(one.column) for one in each), default=0) for each in columns]
    for at, (output, paths) in enumerate(zip(outputs, read, strict=True)):
        keys = [rows.key_among(path, places) for path in paths]
        if keys and all(keys) and not _describes(columns[at]):
            same = [other for other, one in enumerate(read) if one == paths and first[other] < first[at]]
            yield replace(output, key=sorted(set[int]().union(*(key or () for key in keys))), siblings=same)
        else:
            yield output


def _describes(columns: Sequence[ColumnReference]) -> bool:
    """Return whether each of `columns` is behind another text of its table that has more different values: its name."""
    return bool(columns) and all(
        any(
            other.type_class == "text" and (other.distinct or 0) > (column.distinct or math.inf)
            for other in table.columns[: table.columns.index(column)]
            if other.name not in table.key_columns
        )
        for table, column in columns
    )


def _expanded(node: exp.Expr, scope: Scope, depth: int = 0) -> exp.Expr:
    def replaced(part: exp.Expr) -> exp.Expr:
        inner = inner_output(part, scope) if depth < _MAX_DEPTH else None
        return exp.paren(_expanded(*inner, depth + 1), copy=False) if inner else part

    return node.copy().transform(replaced, copy=False)


def _stored(
    node: exp.Expr, scope: Scope, query: ResolvedQuery, kinds: tuple[type[exp.Expr], ...], depth: int = 0
) -> Iterator[ColumnReference | None]:
    """Yield the stored column that `node` is but for functions of `kinds`, in each query of a UNION; None if none."""
    while isinstance(node, kinds):
        node = node.this
    inner = inner_outputs(node, scope) if depth < _MAX_DEPTH else []
    for output in inner:
        yield from _stored(*output, query, kinds, depth + 1)
    if not inner:
        yield query.column_of(node, scope)


def _decimals(node: exp.Expr, scope: Scope, query: ResolvedQuery, depth: int = 0) -> int | None:
    """Return the decimal places of amounts, of averages those of what they average; None if they are not known."""

    def of(*parts: exp.Expr | None) -> list[int] | None:
        found = [_decimals(part, scope, query, depth + 1) for part in parts if part and not isinstance(part, exp.Null)]
        known = [each for each in found if each is not None]
        return known if known and len(known) == len(found) else None

    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, exp.Literal):
        return None if node.is_string else len(node.name.partition(".")[2].rstrip("0"))
    if isinstance(node, exp.Count):
        return 0
    if isinstance(node, exp.Mul):
        return sum(sides) if (sides := of(node.this, node.expression)) else None
    if isinstance(node, exp.Div):
        amount, divisor = of(node.this, node.expression) or (None, None)
        return amount if divisor == 0 else None
    if parts := _alternatives(node):
        return max(of(*parts) or (), default=None)
    if isinstance(node, _OF_ITS_FORMAT):
        return _decimals(node.this, scope, query, depth + 1)
    if inner := inner_output(node, scope):
        return _decimals(*inner, query, depth + 1)
    reference = query.column_of(node, scope)
    return reference.column.decimals if reference else None


def _is_of_years(node: exp.Expr, scope: Scope, query: ResolvedQuery, depth: int = 0) -> bool:
    """Return whether `node` is a year, or computed from years and constants."""
    while isinstance(node, (*_WRAPPERS, exp.Floor)):
        node = node.this
    if isinstance(node, _CALCULATIONS):
        sides = [side for side in (node.this, node.expression) if constant(side.unnest()) is None]
        return bool(sides) and depth < _MAX_DEPTH and all(_is_of_years(each, scope, query, depth + 1) for each in sides)
    if inner := inner_output(node, scope) if depth < _MAX_DEPTH else None:
        return _is_of_years(*inner, query, depth + 1)
    if not (found := query.column_of(node, scope)):
        return isinstance(node, exp.Extract | exp.Year) and period_unit(node) == "year"
    ends = found.column.minimum or "", found.column.maximum or ""
    return found.column.type_class == "number" and all(end.isdecimal() and int(end) in YEARS for end in ends)


def _alternatives(node: exp.Expr) -> list[exp.Expr | None]:
    """Return the parts of a sum, COALESCE or CASE that have its unit."""
    if isinstance(node, exp.Add | exp.Sub):
        return [node.this, node.expression]
    if isinstance(node, exp.Coalesce):
        return [node.this, *node.expressions]
    if isinstance(node, exp.Case):
        return [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
    return []


def additive_columns(sql: str, catalog: Catalog) -> list[int]:
    """Return the positions of the outputs of `sql` whose sum means something; none if they cannot be resolved."""
    query = resolved_query(sql, catalog)
    if query is None:
        return []
    scope = query.scopes[-1]
    outputs = scope.expression.expressions if isinstance(scope.expression, exp.Select) else []
    return [at for at, output in enumerate(outputs) if _is_additive(output, scope, query)]


def _is_additive(node: exp.Expr, scope: Scope, query: ResolvedQuery, depth: int = 0) -> bool:
    """Return whether an output of `scope` is a COUNT or SUM, or a plain column of rows that no join repeats.

    It may be converted to another unit by a constant factor, as cents to euros.
    """
    node, select = unwrapped(node), scope.expression
    node = node.this if isinstance(node, exp.Filter) else node
    if isinstance(node, exp.Count | exp.CountIf | exp.Sum):
        group = select.args.get("group")
        totals = group and (group.args.get("totals") or group.find(exp.Rollup, exp.Cube, exp.GroupingSets))
        return not totals and not isinstance(node.this, exp.Distinct)
    if depth > _MAX_DEPTH:
        return False
    if isinstance(node, exp.Add | exp.Sub):
        return all(_is_additive(side, scope, query, depth + 1) for side in (node.this, node.expression))
    # Where whole numbers have whole quotients, the remainders are missing in the sum.
    factors = float if node.args.get("typed") else int | float
    if isinstance(node, exp.Div | exp.Mul) and isinstance(constant(node.expression), factors):
        return _is_additive(node.this, scope, query, depth + 1)
    if isinstance(node, exp.Mul) and isinstance(constant(node.this), int | float):
        return _is_additive(node.expression, scope, query, depth + 1)
    if not isinstance(node, exp.Column) or not isinstance(select, exp.Select):
        return False
    if is_aggregated(select) or select.args.get("distinct"):
        return False
    rows = JoinedRows(query, scope)
    paths = rows.paths(node)
    if not rows.is_known or not paths or any(rows.determined([path]) != rows.sources.keys() for path in paths):
        return False
    source = scope.sources.get(node.table)
    if isinstance(source, Scope) and not isinstance(source.expression, exp.Select):
        return False
    inner = inner_output(node, scope)
    return _is_additive(*inner, query, depth + 1) if inner else True

"""What each output of a statement is: the stored column that it shows, or the expression that computes it."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.joined_rows import JoinedRows
from datasphinx.agent.sql.names import ColumnReference, ResolvedQuery, resolved_query
from datasphinx.agent.sql.selects import is_aggregated
from datasphinx.agent.sql.statement_cache import StatementCache
from datasphinx.agent.sql.summary import unwrapped

_MAX_DEPTH = 20
_WRAPPERS = (exp.Alias, exp.Paren, exp.Cast, exp.TryCast, exp.Round, exp.Coalesce)
_OF_ITS_UNIT = (exp.Min, exp.Max, exp.Avg, exp.Median, exp.AnyValue)
"""Functions whose value has the unit of their column."""


@dataclass(frozen=True)
class OutputColumn:
    """An output of a statement."""

    expression: exp.Expr
    """Its expression, with the columns of derived tables and CTEs replaced by what computes them."""
    stored: ColumnReference | None
    """The stored column whose values it has, also their minimum, maximum or average; None if it is computed."""


_outputs: StatementCache[Sequence[OutputColumn]] = StatementCache()


def output_columns(sql: str, catalog: Catalog) -> Sequence[OutputColumn]:
    """Return the outputs of `sql` in order, those of the first query of a UNION; none if they cannot be resolved.

    All callers share them and must not modify their expressions.
    """
    return _outputs.value(sql, catalog, lambda: _output_columns(sql, catalog))


def _output_columns(sql: str, catalog: Catalog) -> Sequence[OutputColumn]:
    try:
        query = resolved_query(sql, catalog, expand_stars=True)
    except ValueError:
        return []
    if query is None or not query.scopes:
        return []
    scope = _first(query.scopes[-1])
    outputs = scope.expression.selects if isinstance(scope.expression, exp.Select) else []
    if any(output.is_star for output in outputs):
        return []
    return [OutputColumn(_expanded(output.unalias(), scope), _stored(output, scope, query)) for output in outputs]


def _first(scope: Scope) -> Scope:
    while scope.set_operation_scopes:
        scope = scope.set_operation_scopes[0]
    return scope


def _inner(column: exp.Expr, scope: Scope) -> tuple[exp.Expr, Scope] | None:
    """Return the output of a derived table or CTE that `column` of `scope` is, with its scope."""
    source = scope.sources.get(column.table) if isinstance(column, exp.Column) else None
    if not isinstance(source, Scope):
        return None
    inner = _first(source)
    selects = inner.expression.selects if isinstance(inner.expression, exp.Select) else []
    found = (output for output in selects if output.alias_or_name.lower() == column.name.lower())
    return next(((output.unalias(), inner) for output in found), None)


def _expanded(node: exp.Expr, scope: Scope, depth: int = 0) -> exp.Expr:
    def replaced(part: exp.Expr) -> exp.Expr:
        inner = _inner(part, scope) if depth < _MAX_DEPTH else None
        return exp.paren(_expanded(*inner, depth + 1), copy=False) if inner else part

    return node.copy().transform(replaced, copy=False)


def _stored(node: exp.Expr, scope: Scope, query: ResolvedQuery, depth: int = 0) -> ColumnReference | None:
    while isinstance(node, _WRAPPERS + _OF_ITS_UNIT):
        node = node.this
    inner = _inner(node, scope)
    if inner:
        return _stored(*inner, query, depth + 1) if depth < _MAX_DEPTH else None
    return query.column_of(node, scope)


def additive_columns(sql: str, catalog: Catalog) -> list[int]:
    """Return the positions of the outputs of `sql` whose sum means something; none if they cannot be resolved."""
    try:
        query = resolved_query(sql, catalog)
    except ValueError:
        return []
    if query is None or not query.scopes:
        return []
    scope = query.scopes[-1]
    outputs = scope.expression.expressions if isinstance(scope.expression, exp.Select) else []
    return [at for at, output in enumerate(outputs) if _is_additive(output, scope, query)]


def _is_additive(node: exp.Expr, scope: Scope, query: ResolvedQuery, depth: int = 0) -> bool:
    """Return whether an output of `scope` is a COUNT or SUM, or a plain column of rows that no join repeats."""
    node, select = unwrapped(node), scope.expression
    if isinstance(node, exp.Count | exp.Sum):
        group = select.args.get("group")
        totals = group and (group.args.get("totals") or group.find(exp.Rollup, exp.Cube, exp.GroupingSets))
        return not totals and not isinstance(node.this, exp.Distinct)
    if isinstance(node, exp.Add | exp.Sub):
        return all(_is_additive(side, scope, query, depth) for side in (node.this, node.expression))
    if not isinstance(node, exp.Column) or not isinstance(select, exp.Select) or depth > _MAX_DEPTH:
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
    inner = _inner(node, scope)
    return _is_additive(*inner, query, depth + 1) if inner else True

"""Rankings of a statement: an order of which only the first rows count. Rows without a value belong at their end.

SQLite, MySQL and SQL Server sort NULL before all values, PostgreSQL and Snowflake after them, so that the first row of
an ascending or descending order may be one without a value.
"""

from collections.abc import Iterator
from functools import cache

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.engines import engine_of
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.dialects import exact_dialect, print_statement
from datasphinx.agent.sql.guard import parse, shared_nodes
from datasphinx.agent.sql.names import ResolvedQuery, inner_output, qualify_names
from datasphinx.agent.sql.selects import RANGES, conjuncts, output_of
from datasphinx.agent.sql.statement_cache import StatementCache

_LAST = "nulls_are_last"
_TERM = "ranking_term"
"""Meta key of a term of a ranking, with its number."""
_RANKS = (
    exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.FirstValue, exp.NthValue,
)  # fmt: skip
_LISTS = (exp.ArrayAgg, exp.GroupConcat)
_FILLED_BY_OPERANDS = (
    exp.Paren, exp.Alias, exp.Neg, exp.Abs, exp.Round, exp.Cast, exp.Add, exp.Sub, exp.Mul, exp.Lower, exp.Upper,
)  # fmt: skip
"""Expressions that are NULL only if an operand is."""
_OF_GROUP = (exp.Sum, exp.Avg, exp.Min, exp.Max)
_REJECTS_NULL = (exp.EQ, exp.NEQ, *RANGES, exp.Between, exp.Like)

_statements: StatementCache[str] = StatementCache()


@cache
def with_null_order(base: type[Dialect], order: str) -> Dialect:
    """Return the dialect `base` with another `NULL_ORDERING`, the place of NULL in an order that does not state it."""
    dialect: Dialect = type(f"{base.__name__}_{order}", (base,), {"NULL_ORDERING": order})()
    return dialect


def ending_with_nulls(sql: str, catalog: Catalog) -> str:
    """Return `sql` with NULL last in its rankings; unchanged if no ranking may start with NULL, or if it says so.

    Rankings are orders with a limit or DISTINCT ON, those of the window functions that rank or pick rows, and those of
    aggregated lists of which one element is taken. A term that cannot be NULL is left unchanged.
    """
    if exact_dialect(catalog.dialect).NULL_ORDERING == _LAST or "order" not in sql.lower():
        return sql

    def place() -> str:
        try:
            return _ending_with_nulls(sql, catalog)
        except (ValueError, SqlglotError, RecursionError):
            return sql

    return _statements.value(sql, catalog, place)


def _ending_with_nulls(sql: str, catalog: Catalog) -> str:
    dialect = catalog.dialect
    if not any(term.args.get("nulls_first") for term in shared_nodes(sql, dialect, exp.Ordered)):
        return sql
    (tree,) = parse(sql, dialect)
    # With this rule, NULL comes first only where the statement says so.
    (other,) = (each for each in with_null_order(type(exact_dialect(dialect)), _LAST).parse(sql) if each)
    pairs = zip(tree.find_all(exp.Ordered), other.find_all(exp.Ordered), strict=True)
    for number, (term, same) in enumerate(pairs):
        if term.args.get("nulls_first") and not same.args.get("nulls_first"):
            term.meta[_TERM] = number
    resolved = qualify_names(tree, catalog)
    nullable = {term.meta.get(_TERM) for term in null_terms(resolved)} if resolved else None
    changed = False
    for order in list(tree.find_all(exp.Order)):
        terms = []
        for term in order.expressions:
            number = term.meta.get(_TERM)
            if number is not None and (number in nullable if nullable is not None else _is_ranking(order)):
                if exact_dialect(dialect).generator_class.NULL_ORDERING_SUPPORTED is not None:
                    term.set("nulls_first", False)
                    changed = True
                elif key := _null_key(term, order, dialect):
                    terms.append(key)
                    changed = True
            terms.append(term)
        order.set("expressions", terms)
    return print_statement(tree, dialect) if changed else sql


def null_terms(query: ResolvedQuery) -> Iterator[exp.Ordered]:
    """Yield the terms of rankings that may be NULL and place NULL first."""
    for scope in query.scopes:
        for order in query.find_all(scope, exp.Order):
            placed: list[exp.Expr] = []
            for term in order.expressions if _is_ranking(order) else ():
                value = _value(term.this, order)
                # An earlier term, such as `amount IS NULL`, places the rows without a value.
                is_placed = not term.args.get("nulls_first") or term.this in placed or value in placed
                if not is_placed and _may_be_null(value, scope, query):
                    yield term
                placed += [test.this for test in term.find_all(exp.Is) if isinstance(test.expression, exp.Null)]


def _is_ranking(order: exp.Order) -> bool:
    owner = order.parent
    if isinstance(owner, exp.Query):
        distinct = owner.args.get("distinct")
        return bool(
            owner.args.get("limit")
            or owner.args.get("offset")
            or (isinstance(distinct, exp.Distinct) and distinct.args.get("on"))
        )
    if isinstance(owner, exp.Window):
        # A window with a name is used by functions elsewhere in the statement.
        named = isinstance(owner.this, exp.Identifier)
        windows = owner.root().find_all(exp.Window) if named else [owner]
        return any(_ranks(window) for window in windows if not named or window.text("alias") == owner.name)
    while isinstance(owner, (*_LISTS, exp.Paren, exp.Filter)):
        owner = owner.parent
    return isinstance(owner, exp.Bracket | exp.SubstringIndex | exp.Limit)


def _ranks(window: exp.Window) -> bool:
    function = window.this
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        function = function.this
    return isinstance(function, _RANKS)


def _value(node: exp.Expr, order: exp.Order) -> exp.Expr | None:
    """Return the output that `node` names by its position or alias, else `node`; None if there is no such output."""
    if not isinstance(order.parent, exp.Query):
        return node
    value = output_of(node, order.parent) if isinstance(order.parent, exp.Select) else node
    is_unknown = value.is_star or (value is node and isinstance(node, exp.Literal) and node.is_int)
    return None if is_unknown else value


def _may_be_null(value: exp.Expr | None, scope: Scope, query: ResolvedQuery) -> bool:
    if value is None:
        return True
    # An order of constants or of random numbers ranks nothing.
    return value.find(exp.Column, exp.Query) is not None and not _is_filled(value, scope, query)


def _is_filled(node: exp.Expr, scope: Scope, query: ResolvedQuery) -> bool:
    """Return whether `node` is certainly not NULL."""
    if isinstance(node, exp.Column):
        return _is_filled_column(node, scope, query)
    if isinstance(node, exp.Literal | exp.Count | exp.Boolean | exp.Is):
        return True
    if isinstance(node, exp.Window):
        return _ranks(node) or isinstance(node.this, exp.Count)
    if isinstance(node, exp.Coalesce):
        return any(_is_filled(each, scope, query) for each in node.iter_expressions())
    if isinstance(node, exp.Case):
        results = [*(case.args["true"] for case in node.args["ifs"]), node.args.get("default")]
        return all(each is not None and _is_filled(each, scope, query) for each in results)
    if isinstance(node, _OF_GROUP):
        # An aggregate over no rows is NULL; a group has rows.
        grouped = isinstance(scope.expression, exp.Select) and scope.expression.args.get("group")
        return bool(grouped) and _is_filled(node.this, scope, query)
    operands = [each for each in node.iter_expressions() if not isinstance(each, exp.DataType)]
    return isinstance(node, _FILLED_BY_OPERANDS) and all(_is_filled(each, scope, query) for each in operands)


def _is_filled_column(column: exp.Column, scope: Scope, query: ResolvedQuery) -> bool:
    select = scope.expression
    if any(column in _filled_by(condition) for condition in conjuncts(select.args.get("where"))):
        return True
    if any(join.side for join in select.args.get("joins") or ()) or select.find(exp.Rollup, exp.Cube, exp.GroupingSets):
        return False
    reference = query.column_of(column, scope)
    if reference:
        return not reference.column.nullable
    inner = scope.sources.get(column.table)
    # Another query of a UNION may have no value.
    is_one_query = isinstance(inner, Scope) and isinstance(inner.expression, exp.Select)
    found = inner_output(column, scope) if is_one_query else None
    return found is not None and _is_filled(*found, query)


def _filled_by(condition: exp.Expr) -> list[exp.Expr]:
    """Return the operands that are not NULL where `condition` is true."""
    if isinstance(condition, exp.Not) and isinstance(condition.this, exp.Is):
        return [condition.this.this] if isinstance(condition.this.expression, exp.Null) else []
    if isinstance(condition, exp.In):
        return [condition.this]
    return list(condition.iter_expressions()) if isinstance(condition, _REJECTS_NULL) else []


def _null_key(term: exp.Ordered, order: exp.Order, dialect: str) -> exp.Ordered | None:
    """Return a term that sorts NULL last, for engines without NULLS LAST; None if they would refuse it."""
    query, node = order.parent, term.this
    if engine_of(dialect).orders_distinct_by_outputs and isinstance(query, exp.Select) and query.args.get("distinct"):
        return None
    if isinstance(query, exp.SetOperation) and isinstance(node, exp.Literal):
        at = int(node.name) if node.is_int else 0
        names = query.named_selects
        value: exp.Expr | None = exp.column(names[at - 1], quoted=True) if 0 < at <= len(names) else None
    else:
        value = _value(node, order)
    if value is None:
        return None
    one, zero = exp.Literal.number(1), exp.Literal.number(0)
    is_null = exp.Is(this=value.copy(), expression=exp.null())
    return exp.Ordered(this=exp.Case().when(is_null, one).else_(zero), nulls_first=True)

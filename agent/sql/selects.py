"""Parts of a SELECT that several checks read: its conditions, its aggregates, and what its terms name."""

from collections.abc import Iterator
from itertools import chain

from sqlglot import exp

RANGES = (exp.GT, exp.GTE, exp.LT, exp.LTE)
COMPARISONS = (exp.EQ, exp.NEQ, *RANGES, exp.Between, exp.In)
PREDICATES = (*COMPARISONS, exp.Like, exp.ILike)
MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE,
}  # fmt: skip
"""The comparisons with their sides exchanged."""
_AROUND_AGGREGATE = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


def conjuncts(node: exp.Expr | None) -> Iterator[exp.Expr]:
    """Yield the conditions that AND connects in `node`, without parentheses around them."""
    if isinstance(node, exp.Where | exp.Having | exp.Qualify | exp.Paren):
        yield from conjuncts(node.this)
    elif isinstance(node, exp.And):
        for part in node.flatten():
            yield from conjuncts(part)
    elif node is not None:
        yield node


def conditions_in(select: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions in WHERE and in the joins of `select`."""
    clauses = [select.args.get("where"), *(join.args.get("on") for join in select.args.get("joins") or ())]
    return chain.from_iterable(map(conjuncts, clauses))


def operands_of(comparison: exp.Expr) -> list[exp.Expr]:
    """Return what `comparison` compares: its sides, the list of IN, the bounds of BETWEEN."""
    others = (comparison.args.get(name) for name in ("expression", "low", "high"))
    return [comparison.this, *comparison.expressions, *(each for each in others if each is not None)]


def aggregates_of(select: exp.Select) -> list[exp.Expr]:
    """Return the aggregates of `select` in outputs, HAVING and ORDER BY, without window functions and subqueries."""
    return [call for call in _calls_of(select) if window_of(call) is None]


def window_aggregates_of(select: exp.Select) -> list[exp.Expr]:
    """Return the aggregates of `select` that are window functions."""
    return [call for call in _calls_of(select) if window_of(call) is not None]


def window_of(call: exp.Expr) -> exp.Window | None:
    """Return the window over which `call` is computed; None if it is no window function."""
    parent = call.parent
    while isinstance(parent, _AROUND_AGGREGATE):
        parent = parent.parent
    return parent if isinstance(parent, exp.Window) else None


def _calls_of(select: exp.Select) -> Iterator[exp.Expr]:
    clauses = [*select.expressions, *(select.args[name] for name in ("having", "order") if select.args.get(name))]
    calls = (call for clause in clauses for call in clause.find_all(exp.AggFunc))
    return (call for call in calls if call.find_ancestor(exp.Query) is select)


def is_aggregated(select: exp.Select) -> bool:
    """Return whether the rows of `select` are groups: it has GROUP BY or an aggregate."""
    return bool(select.args.get("group")) or bool(aggregates_of(select))


def output_of(term: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return the output that a term of GROUP BY or ORDER BY names by its position or name, else `term`."""
    outputs: list[exp.Expr] = select.expressions
    if isinstance(term, exp.Literal) and term.is_int and 0 < int(term.name) <= len(outputs):
        return outputs[int(term.name) - 1].unalias()
    if isinstance(term, exp.Column) and not term.table:
        name = term.name.lower()
        return next((output.unalias() for output in outputs if output.alias_or_name.lower() == name), term)
    return term


def grouped_expressions(select: exp.Select) -> list[exp.Expr]:
    """Return the expressions of GROUP BY, none without one."""
    group = select.args.get("group")
    terms = (output_of(term, select) for term in (group.expressions if group else ()))
    return [part for term in terms for part in (term.flatten() if isinstance(term, exp.Tuple) else [term])]


def names_columns_by_values(pivot: exp.Pivot) -> bool:
    """Return whether `pivot` takes names of columns from the data, rather than from values that it lists."""
    keys = [] if pivot.args.get("unpivot") else pivot.args.get("fields") or pivot.expressions
    return not all(
        isinstance(key, exp.In)
        and key.expressions
        and all(isinstance(each.unalias(), exp.Literal) for each in key.expressions)
        for key in keys
    )

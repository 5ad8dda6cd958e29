"""What conditions connect in a FROM."""

from collections.abc import Iterable, Iterator

from sqlglot import exp

_OUTER = {"LEFT", "RIGHT", "FULL"}


def connected(names: Iterable[str], conditions: Iterable[set[str]]) -> list[set[str]]:
    """Return `names` in groups, each connected by `conditions`, which are the names that each condition speaks of."""
    groups = [{name} for name in names]
    for condition in conditions:
        touched = [group for group in groups if group & condition]
        if len(touched) > 1:
            groups = [group for group in groups if not group & condition] + [set().union(*touched)]
    return groups


def inner_conditions(select: exp.Expr) -> Iterator[exp.EQ]:
    """Return the equalities of two columns that hold for every row of `select`; none where a join is an outer one."""
    joins = select.args.get("joins") or ()
    if any(join.side in _OUTER for join in joins):
        return
    where = select.args.get("where")
    for condition in [*(join.args.get("on") for join in joins), where.this if where else None]:
        parts = condition.flatten() if isinstance(condition, exp.And) else [condition]
        for part in parts:
            if (
                isinstance(part, exp.EQ)
                and isinstance(part.this, exp.Column)
                and isinstance(part.expression, exp.Column)
            ):
                yield part

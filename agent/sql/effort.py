"""Rules on effort that the shape of a statement decides: recursion that never ends, products of whole tables."""

from collections.abc import Iterator

from sqlglot import exp

from agent.sql.finding import Finding, Statement, position_of
from agent.sql.sizes import constant

MAX_RECURSION = 1_000_000
"""Largest literal that a recursion may run up to."""
MAX_UNJOINED = 3
"""Tables that may stand side by side in one FROM with no condition between them."""

_COMPARISONS = (
    exp.EQ,
    exp.NEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.Between,
    exp.In,
    exp.Like,
    exp.NullSafeEQ,
    exp.Not,
)


def bounded_recursion(statement: Statement) -> Iterator[Finding]:
    """A recursive common table expression says when it ends: by a condition on its rows, a join, or a LIMIT."""
    for cte in (node for node in statement.nodes if isinstance(node, exp.CTE)):
        for arm in _recursive_arms(cte):
            if not _ends(arm, cte):
                text = f"the recursion of {cte.alias} has no condition that ends it soon"
                yield Finding("bounded_recursion", text, None, cte.alias, position_of(cte))


def bounded_joins(statement: Statement) -> Iterator[Finding]:
    """Not more than a few tables stand side by side with no condition between them."""
    for select in (node for node in statement.nodes if isinstance(node, exp.Select)):
        unjoined = _unjoined(select)
        if unjoined > MAX_UNJOINED:
            text = f"{unjoined} tables stand side by side with no condition between them, at most {MAX_UNJOINED} may"
            yield Finding("bounded_joins", text, None, "CROSS JOIN", position_of(select.args["from_"]))


def _recursive_arms(cte: exp.CTE) -> Iterator[exp.Select]:
    if not isinstance(cte.this, exp.SetOperation):
        return
    for select in cte.this.find_all(exp.Select):
        if any(table.name.lower() == cte.alias.lower() and not table.text("db") for table in _sources(select)):
            yield select


def _ends(arm: exp.Select, cte: exp.CTE) -> bool:
    limit = cte.this.args.get("limit")
    value = constant(limit.expression) if limit else None
    if value is not None and value <= MAX_RECURSION:
        return True
    conditions = _conditions(arm)
    if any(_is_far(condition) for condition in conditions):
        return False
    return any(isinstance(part, exp.Column) for condition in conditions for part in condition.walk()) or _has_using(arm)


def _is_far(condition: exp.Expr) -> bool:
    """True for a comparison with a number that would take too long to reach."""
    compared = (node for node in condition.walk() if isinstance(node, exp.Binary))
    values = [constant(side) for node in compared for side in (node.this, node.expression)]
    return any(value is not None and abs(value) > MAX_RECURSION for value in values)


def _conditions(select: exp.Select) -> list[exp.Expr]:
    """Return what a row of `select` has to meet: WHERE, and each ON."""
    where = select.args.get("where")
    found = [where.this] if where else []
    found += [join.args["on"] for join in select.args.get("joins", []) if join.args.get("on")]
    return [condition for condition in found if next(condition.find_all(*_COMPARISONS), None)]


def _has_using(select: exp.Select) -> bool:
    return any(join.args.get("using") or join.method == "NATURAL" for join in select.args.get("joins", []))


def _sources(select: exp.Select) -> list[exp.Expr]:
    first = select.args.get("from_")
    joined = [join.this for join in select.args.get("joins", [])]
    return [source for source in [first.this if first else None, *joined] if source is not None]


def _unjoined(select: exp.Select) -> int:
    """Return how many sources are left side by side when each condition between two columns has joined a pair."""
    sources = [source for source in _sources(select) if _is_large(source)]
    joins = select.args.get("joins", [])
    joined = sum(1 for join in joins if join.args.get("using") or join.method in {"NATURAL", "ASOF"} or _compares(join))
    where = select.args.get("where")
    pairs = {
        frozenset(column.table.lower() or column.sql() for column in node.find_all(exp.Column))
        for node in (
            where.find_all(exp.EQ, exp.LT, exp.GT, exp.LTE, exp.GTE, exp.Between, exp.In, exp.Like) if where else ()
        )
    }
    return len(sources) - joined - sum(len(pair) > 1 for pair in pairs)


def _compares(join: exp.Join) -> bool:
    condition = join.args.get("on")
    return condition is not None and next(condition.find_all(exp.Column), None) is not None


def _is_large(source: exp.Expr) -> bool:
    """False for what makes rows of a value, and for a subquery that makes one row."""
    if isinstance(source, exp.Table):
        return not isinstance(source.this, exp.Func)
    if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Select):
        select = source.this
        one = any(part.find(exp.AggFunc) for part in select.expressions) and not select.args.get("group")
        return bool(select.args.get("from_")) and not one
    return False

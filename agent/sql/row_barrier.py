"""Barrier subqueries: a query of the rows that a row rule permits, written so that the engine filters them first.

Each engine has a construct into which conditions are not pushed: see `Engine.with_barrier`.
"""

from sqlglot import exp

from datasphinx.agent.core.unused_name import unused_name
from datasphinx.agent.engines import engine_of


def permitted_rows(table: exp.Table, predicate: exp.Expr, dialect: str, cte: str) -> exp.Select:
    """Return a query of the rows of `table` that satisfy `predicate`.

    `cte` is the name for the common table expression, if the dialect needs one; it must not occur in the statement.

    Raises:
        KeyError: `dialect` has no barrier.
    """
    condition = exp.Where(this=exp.Paren(this=predicate.copy()))
    rows = exp.Select(expressions=[exp.Star()], from_=exp.From(this=table.copy()), where=condition)
    engine = engine_of(dialect)
    if not engine.has_barrier:
        raise KeyError(dialect)
    return engine.with_barrier(rows, cte)


def filtered_table(query: exp.Expr) -> exp.Table | None:
    """Return the table that `query` reads, if it has the structure of a result of `permitted_rows`."""
    clause = query.args.get("with_")
    body = clause.expressions[0].this if clause else query
    if isinstance(body, exp.Union):
        body = body.this
    source = body.args.get("from_")
    if source and isinstance(source.this, exp.Subquery) and source.this.args.get("sample"):
        source = source.this.this.args.get("from_")
    return source.this if source and isinstance(source.this, exp.Table) else None


def cte_name(tree: exp.Expr) -> str:
    """Return a name for the common table expressions of barriers that does not occur in `tree`."""
    return unused_name("permitted_rows", (identifier.name for identifier in tree.find_all(exp.Identifier)))

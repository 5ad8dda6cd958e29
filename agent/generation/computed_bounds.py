"""The dates that a statement computes and compares with, such as that of twelve months ago, by the database."""

from collections.abc import Iterator

from sqlglot import exp

from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.record.step import note
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.guard import shared_trees
from datasphinx.agent.sql.summary import OPERATORS, constant

_VARIABLE = (exp.Column, exp.Query, exp.AggFunc, exp.Window, exp.Placeholder, exp.Parameter)


def with_computed_bounds(sql: str, source: Source) -> str:
    """Return `sql` with the values that conditions compare with in place of the calls that compute them.

    The database computes them. Without such calls, or if it cannot, `sql` is returned as it is.
    """
    dialect = source.catalog.dialect
    trees = [tree.copy() for tree in shared_trees(sql, dialect)]
    bounds = [bound for tree in trees for bound in _computed(tree)]
    if len(trees) != 1 or not bounds:
        return sql
    query = exp.select(*(exp.alias_(bound.copy(), f"bound_{at}") for at, bound in enumerate(bounds)))
    try:
        (values,) = source.execute(query.sql(dialect))["rows"]
    except DatasphinxError as error:
        note(f"the dates that the statement compares with are not known: {error}")
        return sql
    for bound, value in zip(bounds, values, strict=True):
        if isinstance(value, str | int | float):
            bound.replace(exp.convert(value))
    return trees[0].sql(dialect)


def _computed(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the sides of comparisons that call functions, and have the same value for all rows."""
    for node in tree.find_all(*OPERATORS, exp.Between):
        names = ("low", "high") if isinstance(node, exp.Between) else ("this", "expression")
        for side in map(node.args.__getitem__, names):
            if constant(side) is None and side.find(exp.Func) and not side.find(*_VARIABLE):
                yield side

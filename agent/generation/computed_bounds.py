"""The dates that a statement computes and compares with, such as that of twelve months ago, by the database."""

from collections.abc import Iterable, Iterator

from sqlglot import exp

from datasphinx.agent.errors import DatasphinxError, StatementCancelled
from datasphinx.agent.record.step import current_step, not_recorded, note
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.guard import shared_nodes, shared_trees
from datasphinx.agent.sql.summary import OPERATORS, constant, days_in, period_unit

_COMPARISONS = (*OPERATORS, exp.Between)
_VARIABLE = (exp.Column, exp.Table, exp.AggFunc, exp.Window, exp.Placeholder, exp.Parameter)
_SIDES = [("this", "expression"), ("expression", "this")]


def with_computed_bounds(sql: str, source: Source) -> str:
    """Return `sql` with the dates that conditions compare with in place of the calls that compute them.

    The database computes them. Without such calls, or if it cannot, `sql` is returned as it is. The statement for them
    is not recorded: its rows depend on the clock, and a replay would report them.
    """
    dialect = source.catalog.dialect
    trees = shared_trees(sql, dialect)
    if len(trees) != 1 or not any(_computed(shared_nodes(sql, dialect, *_COMPARISONS))):
        return sql
    tree = trees[0].copy()
    bounds = list(_computed(tree.find_all(*_COMPARISONS)))
    query = exp.select(*(exp.alias_(bound.copy(), f"bound_{at}") for at, (bound, _) in enumerate(bounds)))
    step = current_step.get()
    try:
        with not_recorded():
            (values,) = source.execute(query.sql(dialect), step.cancellation if step else None)["rows"]
    except StatementCancelled:
        raise
    except DatasphinxError as error:
        note(f"the dates that the statement compares with are not known: {error}")
        return sql
    for (bound, compared), value in zip(bounds, values, strict=True):
        # A number beside something else than a year may be random.
        if (isinstance(value, str) or period_unit(compared)) and days_in(str(value)):
            bound.replace(exp.convert(value))
    return tree.sql(dialect)


def _computed(comparisons: Iterable[exp.Expr]) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield the sides of comparisons that call functions, and have the same value for all rows, with the other side."""
    for node in comparisons:
        sides = [("low", "this"), ("high", "this")] if isinstance(node, exp.Between) else _SIDES
        for bound, compared in ((node.args[one], node.args[other]) for one, other in sides):
            is_date = days_in(str(constant(bound)))
            if not is_date and bound.find(exp.Func) and not bound.find(*_VARIABLE):
                yield bound, compared

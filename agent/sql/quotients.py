"""Divisions and averages: their digits after those of a double are rounding of the engine."""

from decimal import Decimal

from sqlglot import exp

from agent.sql.guard import shared_trees
from agent.types import Result

_ROUNDED = (
    exp.Div, exp.Avg, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Sqrt, exp.Pow,
    exp.Ln, exp.Log, exp.Exp, exp.PercentileCont,
)  # fmt: skip
_TOLERANCE = Decimal("1e-9")


def with_quotients_as_numbers(result: Result, sql: str, dialect: str) -> Result:
    """Return `result` with decimals of divisions and averages as numbers, where a double differs by less than 1e-9.

    Sums and stored decimals keep all their digits, as text.
    """
    decimals = {at for at, kind in enumerate(result["types"]) if kind == "decimal"}
    if decimals:
        decimals &= _rounded_outputs(sql, dialect, len(result["columns"]))
    if not decimals:
        return result
    rows = [[_number(cell) if at in decimals else cell for at, cell in enumerate(row)] for row in result["rows"]]
    return {**result, "rows": rows}


def _number(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    exact = Decimal(cell)
    number = float(exact)
    return number if exact.is_finite() and abs(Decimal(number) - exact) < _TOLERANCE else cell


def _rounded_outputs(sql: str, dialect: str, width: int) -> set[int]:
    """Return the positions of outputs that contain a division or average, or come from a subquery with one."""
    (tree,) = shared_trees(sql, dialect)
    outputs = tree.selects if isinstance(tree, exp.Query) else []
    inner = [query for query in tree.find_all(exp.Subquery, exp.CTE) if query.find(*_ROUNDED)]
    if len(outputs) != width or isinstance(tree, exp.SetOperation):
        return set(range(width)) if tree.find(*_ROUNDED) else set()
    return {
        at
        for at, output in enumerate(outputs)
        if output.find(*_ROUNDED) or (inner and output.find(exp.Column, exp.Star))
    }

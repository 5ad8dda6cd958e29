"""Numbers of a result as JSON: numbers if they lose no digit or were computed, otherwise texts of all digits."""

import math
from decimal import Decimal

from sqlglot import exp

from datasphinx.agent.sql.guard import shared_trees
from datasphinx.agent.types import Result

_ROUNDED = (
    exp.Div, exp.Avg, exp.Median, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Sqrt,
    exp.Pow, exp.Ln, exp.Log, exp.Exp, exp.PercentileCont, exp.Quantile, exp.Corr,
)  # fmt: skip
"""Functions whose digits after those of a double are rounding of the engine."""
_EXACT = {"integer", "decimal"}


def with_numbers_alike(result: Result, sql: str, dialect: str) -> Result:
    """Return `result` with numbers, or texts of digits, in all rows of a column of integers or decimals.

    Divisions and averages are numbers. Sums and stored values are texts if a double does not hold one of them.
    """
    mixed = {
        at
        for at, kind in enumerate(result["types"])
        if kind in _EXACT and any(isinstance(row[at], str) for row in result["rows"])
    }
    if not mixed:
        return result
    computed = mixed & _rounded_outputs(sql, dialect, len(result["columns"]))
    rows = [
        [(_number if at in computed else _text)(cell) if at in mixed else cell for at, cell in enumerate(row)]
        for row in result["rows"]
    ]
    return {**result, "rows": rows}


def _number(cell: object) -> object:
    try:
        number = float(cell) if isinstance(cell, str) else math.nan
    except ValueError:
        return cell
    return number if math.isfinite(number) else cell


def _text(cell: object) -> object:
    return f"{Decimal(repr(cell)):f}" if isinstance(cell, int | float) and not isinstance(cell, bool) else cell


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

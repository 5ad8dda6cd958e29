"""The SQL of aggregations, from columns of rows that are selected first.

Engines lack different functions, and choose differently among equal values. What no common function computes is
therefore computed from windows over the rows of each group, in one or two further queries around the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from datasphinx.agent.engines.spelling import FORMULAS, Spelling, formula, literal
from datasphinx.agent.queryspec.clauses import BoundValues, order_term
from datasphinx.agent.queryspec.spec import Aggregation
from datasphinx.agent.queryspec.statement import row_number

_FUNCTIONS: dict[str, type[exp.AggFunc]] = {
    "sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max, "count": exp.Count, "nunique": exp.Count,
}  # fmt: skip

_VARIANCE = "SUM((value - mean) * (value - mean)) / NULLIF((COUNT(value) - 1), 0)"
"""The sum of squared distances from the mean, which is exact where a sum of squares is not."""
_DISTANCE = "ABS((place - 1) - p * (number - 1))"
"""The distance of a value from the place of a percentile."""
_FORMULAS = {
    "variance": _VARIANCE,
    "stddev": f"SQRT({_VARIANCE})",
    "percentile": f"SUM(CASE WHEN {_DISTANCE} < 1 THEN value * (1 - {_DISTANCE}) END)",
    "corr": "CASE WHEN MIN(value) < MAX(value) AND MIN(other) < MAX(other) "
    "THEN SUM((value - mean) * (other - other_mean)) / NULLIF((SQRT(SUM((value - mean) * (value - mean))) "
    "* SQRT(SUM((other - other_mean) * (other - other_mean)))), 0) END",
    "nunique": "COUNT(CASE WHEN is_counted THEN 1 END)",
    **dict.fromkeys(("mode", "first", "last"), "MAX(CASE WHEN place = 1 THEN value END)"),
}
"""Aggregations in the SQL of DuckDB over their columns `value` and `other`, and what windows over the rows add.

A percentile interpolates between the two values around its place: each weighs by its nearness. A correlation is that of
Pearson, NULL if one of the columns has a single value.
"""


@dataclass
class Windowed:
    """An aggregation computed from windows: those over the rows, those over the rows with the former, and the result.

    Windows are named by the columns that they add to the rows.
    """

    result: exp.Expr
    first: dict[str, exp.Expr] = field(default_factory=dict)
    second: dict[str, exp.Expr] = field(default_factory=dict)


def is_windowed(aggregation: Aggregation, spelling: Spelling) -> bool:
    """Return whether `aggregation` is computed from windows over the rows of a group."""
    own = {"corr", "mode", "first", "last"}
    return _name(aggregation) in own | spelling.lacks or len(aggregation.cols) > 1


def _name(aggregation: Aggregation) -> str:
    """Return the function of an aggregation; a median is a percentile."""
    return "percentile" if aggregation.agg == "median" else aggregation.agg


def aggregate(aggregation: Aggregation, node: exp.Expr, bound: BoundValues) -> exp.Expr:
    """Return an aggregation of `node` that is not computed from windows."""
    name = _name(aggregation)
    if name in FORMULAS:
        return bound.spelling.write(name, x=node, p=literal(_fraction(aggregation)))
    return _FUNCTIONS[name](this=exp.Distinct(expressions=[node]) if name == "nunique" else node)


def _fraction(aggregation: Aggregation) -> float:
    return 0.5 if aggregation.p is None else float(aggregation.p)


def windowed(
    aggregation: Aggregation, columns: Sequence[exp.Expr], keys: Sequence[exp.Expr], index: int, bound: BoundValues
) -> Windowed:
    """Return an aggregation of `columns`, columns of the rows, for each group of rows equal in `keys`.

    The second column of `first` and `last` is their order. `index` makes the names of the windows unique.
    """
    agg = _name(aggregation)
    added = {name: exp.column(f"{name}{index}", quoted=True) for name in ("place", "number", "mean", "other_mean")}
    parts = {"value": columns[0], "other": columns[-1], **added}
    values = [order_term(columns[0].copy(), is_descending=False)]

    def over(sql: str, within: Sequence[exp.Expr] = keys) -> exp.Expr:
        return exp.Window(this=formula(sql, **parts), partition_by=[key.copy() for key in within])

    def place(terms: Sequence[exp.Expr], within: Sequence[exp.Expr] = keys) -> exp.Expr:
        return row_number([key.copy() for key in within], terms)

    first, second = dict[str, exp.Expr](), dict[str, exp.Expr]()
    if agg in {"stddev", "variance", "corr"}:
        first["mean"] = over("AVG(value)")
        first |= {"other_mean": over("AVG(other)")} if agg == "corr" else {}
    elif agg == "percentile":
        first = {"number": over("COUNT(value)"), "place": place(values)}
        parts["p"] = bound.number(_fraction(aggregation))
    elif agg == "mode":
        first["number"] = over("COUNT(value)", [*keys, columns[0]])
        second["place"] = place([order_term(added["number"].copy(), is_descending=True), *values])
    elif agg == "nunique":
        first["place"] = place(values, [*keys, *columns])
        present = (formula("NOT value IS NULL", value=column) for column in columns)
        parts["is_counted"] = exp.and_(formula("place = 1", **added), *present, copy=False)
    else:
        first["place"] = place([order_term(columns[1].copy(), is_descending=agg == "last"), *values])
    named = [{f"{name}{index}": node for name, node in level.items()} for level in (first, second)]
    return Windowed(formula(_FORMULAS[agg], **parts), *named)

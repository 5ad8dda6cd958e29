"""The SQL of aggregations, from columns of rows that are selected first.

Engines lack different functions, and choose differently among equal values. What no common function computes is
therefore computed from windows over the rows of each group, in one or two further queries around the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from datasphinx.agent.engines.spelling import Spelling
from datasphinx.agent.queryspec.clauses import BoundValues, divide, order_term
from datasphinx.agent.queryspec.spec import Aggregation
from datasphinx.agent.queryspec.statement import row_number

_FUNCTIONS: dict[str, type[exp.AggFunc]] = {
    "sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max, "count": exp.Count, "nunique": exp.Count,
}  # fmt: skip


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
    if aggregation.agg in {"stddev", "variance"}:
        return not spelling.samples
    if aggregation.agg in {"median", "percentile"}:
        return not spelling.has_percentiles
    return aggregation.agg in {"corr", "mode", "first", "last"} or len(aggregation.cols) > 1


def aggregate(aggregation: Aggregation, node: exp.Expr, bound: BoundValues) -> exp.Expr:
    """Return an aggregation of `node` that is not computed from windows."""
    name = aggregation.agg
    if name in {"median", "percentile"}:
        return bound.spelling.percentile(node, _fraction(aggregation))
    if name in {"stddev", "variance"}:
        return bound.spelling.sample(name, node)
    return _FUNCTIONS[name](this=exp.Distinct(expressions=[node]) if name == "nunique" else node)


def _fraction(aggregation: Aggregation) -> float:
    return 0.5 if aggregation.p is None else float(aggregation.p)


def windowed(
    aggregation: Aggregation, columns: Sequence[exp.Expr], keys: Sequence[exp.Expr], index: int, bound: BoundValues
) -> Windowed:
    """Return an aggregation of `columns`, columns of the rows, for each group of rows equal in `keys`.

    The second column of `first` and `last` is their order. `index` makes the names of the windows unique.
    """
    rows = _Rows(columns, keys, index, bound)
    if aggregation.agg in {"stddev", "variance"}:
        return rows.variance(is_root=aggregation.agg == "stddev")
    if aggregation.agg in {"median", "percentile"}:
        return rows.percentile(_fraction(aggregation))
    if aggregation.agg == "corr":
        return rows.correlation()
    if aggregation.agg == "mode":
        return rows.mode()
    if aggregation.agg == "nunique":
        return rows.combinations()
    return rows.nearest(is_last=aggregation.agg == "last")


class _Rows:
    """The rows of one aggregation."""

    def __init__(self, columns: Sequence[exp.Expr], keys: Sequence[exp.Expr], index: int, bound: BoundValues) -> None:
        self.columns, self.keys, self.bound = columns, keys, bound
        self.names = {kind: f"{kind}{index}" for kind in ("place", "number", "mean", "other_mean")}

    def percentile(self, fraction: float) -> Windowed:
        """Interpolate between the two values around the place: each weighs by its nearness."""
        (value,) = self.columns
        number, place = (
            self._window(exp.Count(this=value.copy())),
            row_number([key.copy() for key in self.keys], [order_term(value.copy(), is_descending=False)]),
        )
        p = self.bound.number(fraction)
        position = _multiply(p, _minus_one(self._added("number")))
        distance = exp.Abs(this=exp.Sub(this=_minus_one(self._added("place")), expression=position))
        weight = exp.Paren(this=exp.Sub(this=_number(1), expression=distance))
        weighted = exp.Case().when(exp.LT(this=distance.copy(), expression=_number(1)), _multiply(value.copy(), weight))
        first = {self.names["number"]: number, self.names["place"]: place}
        return Windowed(exp.Sum(this=weighted), first)

    def variance(self, *, is_root: bool) -> Windowed:
        """Sum the squared distances from the mean, which is exact where a sum of squares is not."""
        (value,) = self.columns
        distance = _minus(value.copy(), self._added("mean"))
        squares = exp.Sum(this=_multiply(distance, distance.copy()))
        others = exp.Paren(this=exp.Sub(this=exp.Count(this=value.copy()), expression=_number(1)))
        variance = divide(squares, others)
        first = {self.names["mean"]: self._window(exp.Avg(this=value.copy()))}
        return Windowed(exp.Sqrt(this=variance) if is_root else variance, first)

    def correlation(self) -> Windowed:
        """Return Pearson's correlation; NULL if one of the columns has a single value."""
        left, right = self.columns
        x, y = _minus(left.copy(), self._added("mean")), _minus(right.copy(), self._added("other_mean"))
        squares = [exp.Sqrt(this=exp.Sum(this=_multiply(each.copy(), each.copy()))) for each in (x, y)]
        made = divide(exp.Sum(this=_multiply(x, y)), exp.Paren(this=_multiply(*squares)))
        varies = [
            exp.LT(this=exp.Min(this=each.copy()), expression=exp.Max(this=each.copy())) for each in (left, right)
        ]
        first = {
            self.names["mean"]: self._window(exp.Avg(this=left.copy())),
            self.names["other_mean"]: self._window(exp.Avg(this=right.copy())),
        }
        return Windowed(exp.Case().when(exp.and_(*varies, copy=False), made), first)

    def mode(self) -> Windowed:
        """Take the value of the most rows; the smallest of several."""
        (value,) = self.columns
        number = exp.Window(this=exp.Count(this=value.copy()), partition_by=[key.copy() for key in (*self.keys, value)])
        terms = [order_term(self._added("number"), is_descending=True), order_term(value.copy(), is_descending=False)]
        return Windowed(
            self._at_first_place(value),
            {self.names["number"]: number},
            {self.names["place"]: row_number([key.copy() for key in self.keys], terms)},
        )

    def nearest(self, *, is_last: bool) -> Windowed:
        """Take the value of the first or last row; the smallest of several."""
        value, order = self.columns
        terms = [order_term(order.copy(), is_descending=is_last), order_term(value.copy(), is_descending=False)]
        return Windowed(
            self._at_first_place(value), {self.names["place"]: row_number([key.copy() for key in self.keys], terms)}
        )

    def combinations(self) -> Windowed:
        """Count the first row of each combination without NULL."""
        keys = [key.copy() for key in (*self.keys, *self.columns)]
        place = row_number(keys, [order_term(self.columns[0].copy(), is_descending=False)])
        is_first = exp.EQ(this=self._added("place"), expression=_number(1))
        are_present = [exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null())) for column in self.columns]
        counted = exp.Case().when(exp.and_(is_first, *are_present, copy=False), _number(1))
        return Windowed(exp.Count(this=counted), {self.names["place"]: place})

    def _at_first_place(self, value: exp.Expr) -> exp.Expr:
        is_first = exp.EQ(this=self._added("place"), expression=_number(1))
        return exp.Max(this=exp.Case().when(is_first, value.copy()))

    def _window(self, of: exp.Expr) -> exp.Expr:
        return exp.Window(this=of, partition_by=[key.copy() for key in self.keys])

    def _added(self, kind: str) -> exp.Expr:
        """Return the column that a window adds to the rows."""
        return exp.column(self.names[kind], quoted=True)


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _minus(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Sub(this=left, expression=right))


def _minus_one(node: exp.Expr) -> exp.Expr:
    return _minus(node, _number(1))


def _multiply(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Mul(this=left, expression=right)

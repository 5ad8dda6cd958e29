"""The SQL of filters and derived columns, with every value bound.

Every number in a derived column is floating-point, so that no engine truncates a division.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlglot import exp

from agent.queryspec.dates import read_date, read_span
from agent.queryspec.dialect import (
    SpecDialect,
    as_comparable,
    cast,
    contains,
    contains_pattern,
    datetime_text,
    round_number,
)
from agent.queryspec.expressions import Binary, Call, Name, Negative, Node, Number
from agent.queryspec.spec import Between, Contains, Filter, In, IsNull
from agent.schema.catalog import TypeClass
from agent.sql.parameters import Value

_COMPARED: dict[str, type[exp.Binary]] = {
    "=": exp.EQ, "!=": exp.NEQ, ">": exp.GT, ">=": exp.GTE, "<": exp.LT, "<=": exp.LTE,
}  # fmt: skip
_OPERATORS: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}


class BoundValues:
    """Collects the values of a statement, named `v1`, `v2` and so on."""

    def __init__(self, dialect: SpecDialect) -> None:
        """Start without values."""
        self.dialect = dialect
        self.values: dict[str, Value] = {}

    def bind(self, value: Value) -> exp.Expr:
        """Bind `value` and return its placeholder."""
        name = f"v{len(self.values) + 1}"
        self.values[name] = value
        return exp.Placeholder(this=name)

    def number(self, value: int | float) -> exp.Expr:
        """Bind a number and return it cast to floating-point."""
        return cast(self.bind(value), "number", self.dialect)

    def date(self, text: str) -> exp.Expr:
        """Bind the ISO date `text` and return it cast to a date."""
        return cast(self.bind(read_date(text).isoformat()), "date", self.dialect)

    def datetime(self, time: datetime) -> exp.Expr:
        """Bind a time and return it cast to the engine's type."""
        return cast(self.bind(datetime_text(time, self.dialect)), "datetime", self.dialect)


Scalar = str | int | float | bool


def condition(spec_filter: Filter, node: exp.Expr, kind: TypeClass, bound: BoundValues) -> exp.Expr:
    """Return the checked filter `spec_filter` as SQL on `node`, a column of type `kind`."""
    if isinstance(spec_filter, IsNull):
        missing = exp.Is(this=node, expression=exp.Null())
        return missing if spec_filter.value else exp.Not(this=missing)
    plain = as_comparable(node, kind, bound.dialect)
    if isinstance(spec_filter, Contains):
        return contains(plain, bound.bind(contains_pattern(spec_filter.value, bound.dialect)), bound.dialect)
    if isinstance(spec_filter, Between):
        low, high = spec_filter.value
        return _and(_comparison(">=", plain, low, kind, bound), _comparison("<=", plain.copy(), high, kind, bound))
    if isinstance(spec_filter, In):
        return _in(spec_filter.value, plain, kind, bound)
    return _comparison(spec_filter.op, plain, spec_filter.value, kind, bound)


def _in(values: Sequence[Scalar], node: exp.Expr, kind: TypeClass, bound: BoundValues) -> exp.Expr:
    if kind == "datetime":
        return _or(*(_comparison("=", node.copy(), value, kind, bound) for value in values))
    return exp.In(this=node, expressions=[_place(value, kind, bound) for value in values])


def _comparison(op: str, node: exp.Expr, value: Scalar, kind: TypeClass, bound: BoundValues) -> exp.Expr:
    if kind == "datetime":
        return _compare_time(op, node, str(value), bound)
    return _COMPARED[op](this=node, expression=_place(value, kind, bound))


def _place(value: Scalar, kind: TypeClass, bound: BoundValues) -> exp.Expr:
    if kind == "date":
        return bound.date(str(value))
    return bound.bind(bool(value) if kind == "boolean" else value)


def _compare_time(op: str, node: exp.Expr, text: str, bound: BoundValues) -> exp.Expr:
    """Compare with a time, or with a whole day. "After a day" means from the next day on."""
    start, end = read_span(text)
    if end is None:
        return _COMPARED[op](this=node, expression=bound.datetime(start))
    if op == "=":
        return _and(exp.GTE(this=node, expression=bound.datetime(start)), _before(node, end, bound))
    if op == "!=":
        later = exp.GTE(this=node.copy(), expression=bound.datetime(end))
        return _or(exp.LT(this=node, expression=bound.datetime(start)), later)
    if op in {"<", "<="}:
        return _before(node, start if op == "<" else end, bound)
    return exp.GTE(this=node, expression=bound.datetime(start if op == ">=" else end))


def _before(node: exp.Expr, time: datetime, bound: BoundValues) -> exp.Expr:
    return exp.LT(this=node.copy(), expression=bound.datetime(time))


def _and(*conditions: exp.Expr) -> exp.Expr:
    return exp.and_(*conditions, copy=False)


def _or(*conditions: exp.Expr) -> exp.Expr:
    return exp.or_(*conditions, copy=False)


@dataclass(frozen=True)
class WindowOrder:
    """The row order of `change_from_previous`: the terms to sort by, among rows that are equal in `within`."""

    terms: Sequence[exp.Expr] = ()
    within: Sequence[exp.Expr] = ()


@dataclass(frozen=True)
class ExpressionWriter:
    """Writes expressions as SQL. `look_up` returns a name as a floating-point number."""

    look_up: Callable[[str], exp.Expr]
    bound: BoundValues
    order: WindowOrder = WindowOrder()

    def column(self, node: Node) -> tuple[exp.Expr, bool]:
        """Return `node` as a result column, and whether it is floating-point; only a rank is an integer."""
        if isinstance(node, Call) and node.function == "rank":
            return _rank(self.to_sql(node.arguments[0])), False
        return self.to_sql(node), True

    def to_sql(self, node: Node) -> exp.Expr:
        """Return `node` as SQL."""
        if isinstance(node, Number):
            return self.bound.number(node.value)
        if isinstance(node, Name):
            return self.look_up(node.name)
        if isinstance(node, Negative):
            return exp.Neg(this=self._operand(node.of))
        if isinstance(node, Call):
            return self._call(node)
        left, right = self._operand(node.left), self._operand(node.right)
        return divide(left, right) if node.operator == "/" else _OPERATORS[node.operator](this=left, expression=right)

    def _operand(self, node: Node) -> exp.Expr:
        inner = self.to_sql(node)
        return exp.Paren(this=inner) if isinstance(node, Binary | Negative) else inner

    def _call(self, node: Call) -> exp.Expr:
        first = self.to_sql(node.arguments[0])
        if node.function == "nullif":
            return exp.Nullif(this=first, expression=self.to_sql(node.arguments[1]))
        if node.function == "coalesce":
            return exp.Coalesce(this=first, expressions=[self.to_sql(argument) for argument in node.arguments[1:]])
        if node.function == "abs":
            return exp.Abs(this=first)
        if node.function == "round":
            return round_number(first, _digits(node), self.bound.dialect)
        return self._window(node.function, first)

    def _window(self, function: str, of: exp.Expr) -> exp.Expr:
        if function == "share_of_total":
            return divide(_parenthesize(of), exp.Window(this=exp.Sum(this=of.copy())))
        if function == "rank":
            return cast(_rank(of), "number", self.bound.dialect)
        order = exp.Order(expressions=[term.copy() for term in self.order.terms])
        within = [column.copy() for column in self.order.within]
        before = exp.Window(this=exp.Lag(this=of.copy()), partition_by=within, order=order)
        return exp.Paren(this=exp.Sub(this=_parenthesize(of), expression=before))


def divide(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return a division that is NULL if `right`, a floating-point number, is zero."""
    # With `typed`, sqlglot adds no casts; both operands are floating-point already.
    return exp.Div(this=left, expression=exp.Nullif(this=right, expression=exp.Literal.number(0)), typed=True)


def order_term(node: exp.Expr, *, is_descending: bool) -> exp.Expr:
    """Return `node` as a term of ORDER BY, with NULL last."""
    return exp.Ordered(this=node, desc=is_descending, nulls_first=False)


def as_number(node: exp.Expr, bound: BoundValues) -> exp.Expr:
    """Return `node` as a floating-point number."""
    return cast(node, "number", bound.dialect)


def _rank(of: exp.Expr) -> exp.Expr:
    order = exp.Order(expressions=[order_term(of.copy(), is_descending=True)])
    place = exp.Window(this=exp.Anonymous(this="RANK"), order=order)
    return exp.Case().when(exp.Not(this=exp.Is(this=_parenthesize(of), expression=exp.Null())), place)


def _parenthesize(node: exp.Expr) -> exp.Expr:
    """Return `node`, in parentheses if it is an operation."""
    return exp.Paren(this=node) if isinstance(node, exp.Binary | exp.Neg | exp.Is) else node


def _digits(node: Call) -> int:
    digits = node.arguments[1] if len(node.arguments) == 2 else None
    return int(digits.value) if isinstance(digits, Number) else 0

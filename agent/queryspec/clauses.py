"""The SQL of filters, with every value bound."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from sqlglot import exp

from datasphinx.agent.charts.calendar_names import calendar_places
from datasphinx.agent.engines.spelling import Spelling, formula, function_call
from datasphinx.agent.queryspec.dates import read_clock, read_date, read_span
from datasphinx.agent.queryspec.spec import (
    AllOf,
    AnyOf,
    Between,
    ComparedColumns,
    Condition,
    Contains,
    Filter,
    In,
    IsNull,
    Matches,
    members,
)
from datasphinx.agent.schema.catalog import TypeClass
from datasphinx.agent.sql.parameters import Value

_COMPARED: dict[str, type[exp.Binary]] = {
    "=": exp.EQ, "!=": exp.NEQ, ">": exp.GT, ">=": exp.GTE, "<": exp.LT, "<=": exp.LTE,
}  # fmt: skip


class Column(NamedTuple):
    """A column as SQL, with its type, and the order of its values if they are names of months or other periods."""

    sql: exp.Expr
    kind: TypeClass
    calendar: Mapping[str, int] = MappingProxyType({})


Scalar = str | int | float | bool


class BoundValues:
    """Collects the values of a statement, named `v1`, `v2` and so on."""

    def __init__(self, spelling: Spelling) -> None:
        self.spelling = spelling
        self.values: dict[str, Value] = {}

    def bind(self, value: Value) -> exp.Expr:
        """Bind `value` and return its placeholder."""
        name = f"v{len(self.values) + 1}"
        self.values[name] = value
        return exp.Placeholder(this=name)

    def text(self, value: str) -> exp.Expr:
        """Bind a text."""
        return self.spelling.bound_text(self.bind(value))

    def number(self, value: int | float) -> exp.Expr:
        """Bind a number and return it cast to floating-point."""
        return self.spelling.cast(self.bind(value), "number")

    def date(self, text: str) -> exp.Expr:
        """Bind the ISO date `text` and return it cast to a date."""
        return self.spelling.cast(self.bind(read_date(text).isoformat()), "date")

    def datetime(self, time: datetime) -> exp.Expr:
        """Bind a time and return it cast to the engine's type."""
        return self.spelling.cast(self.bind(self.spelling.datetime_text(time)), "datetime")


def filter_sql(spec_filter: Filter, look_up: Callable[[str], Column], bound: BoundValues) -> exp.Expr:
    """Return the checked filter `spec_filter` as SQL; `look_up` returns the column with a name."""
    if isinstance(spec_filter, AnyOf | AllOf):
        parts = [filter_sql(part, look_up, bound) for part in members(spec_filter)]
        combined = either(*parts) if isinstance(spec_filter, AnyOf) else _and(*parts)
        return exp.Paren(this=combined) if len(parts) > 1 else combined
    column = look_up(spec_filter.col)
    if isinstance(spec_filter, ComparedColumns):
        return _compare_columns(spec_filter.op, column, look_up(spec_filter.other), bound)
    return _condition(spec_filter, column, bound)


def _condition(spec_filter: Condition, column: Column, bound: BoundValues) -> exp.Expr:
    node, kind = column.sql, column.kind
    missing = formula("x IS NULL", x=node)
    if isinstance(spec_filter, IsNull):
        return missing if spec_filter.value else exp.Not(this=missing)
    plain = bound.spelling.as_comparable(node, kind)
    if isinstance(spec_filter, Contains):
        place = "contains" if spec_filter.op == "not_contains" else spec_filter.op
        pattern = bound.bind(bound.spelling.contains_pattern(spec_filter.value, place))
        found = bound.spelling.contains(plain, pattern)
        return _unless(found, missing) if spec_filter.op == "not_contains" else found
    if isinstance(spec_filter, Matches):
        return function_call(bound.spelling.match, plain, bound.bind(spec_filter.value))
    if isinstance(spec_filter, Between):
        low, high = spec_filter.value
        return _and(*(_compare(op, column, plain, value, bound) for op, value in ((">=", low), ("<=", high))))
    if isinstance(spec_filter, In):
        found = _in(spec_filter.value, plain, kind, bound)
        return _unless(found, missing) if spec_filter.op == "not_in" else found
    if isinstance(spec_filter, ComparedColumns):
        raise TypeError(spec_filter)
    made = _compare(spec_filter.op, column, plain, spec_filter.value, bound)
    return exp.Paren(this=either(made, missing.copy())) if spec_filter.op == "!=" else made


def _compare(op: str, column: Column, plain: exp.Expr, value: Scalar, bound: BoundValues) -> exp.Expr:
    """Compare a column with a value: names of months and other periods by the calendar, unless the value is none."""
    if column.calendar and op not in {"=", "!="} and (places := calendar_places([*column.calendar, str(value)])):
        place = exp.Literal.number(places[str(value)])
        return _COMPARED[op](this=place_in_calendar(plain.copy(), places, bound), expression=place)
    return compare(op, plain.copy(), value, column.kind, bound)


def place_in_calendar(node: exp.Expr, calendar: Mapping[str, int], bound: BoundValues) -> exp.Expr:
    """Return the place of a name of a month or another period; NULL for other values."""
    case = exp.Case(this=node)
    for name, place in sorted(calendar.items(), key=lambda item: (item[1], item[0])):
        case.append("ifs", exp.If(this=bound.text(name), true=exp.Literal.number(place)))
    return case


def name_in_calendar(node: exp.Expr, calendar: Mapping[str, int], bound: BoundValues) -> exp.Expr:
    """Return the name of a place that `place_in_calendar` returns."""
    names = {place: name for name, place in sorted(calendar.items(), reverse=True)}
    case = exp.Case(this=node)
    for place, name in sorted(names.items()):
        case.append("ifs", exp.If(this=exp.Literal.number(place), true=bound.text(name)))
    return case


def _unless(found: exp.Expr, missing: exp.Expr) -> exp.Expr:
    """Return the negation of `found`, which also holds for missing values."""
    return exp.Paren(this=either(exp.Not(this=exp.Paren(this=found)), missing.copy()))


def _compare_columns(op: str, left: Column, right: Column, bound: BoundValues) -> exp.Expr:
    """Compare two columns; a date and a time as dates."""
    kind: TypeClass = "date" if {left.kind, right.kind} == {"date", "datetime"} else left.kind
    sides = []
    for column in (left, right):
        node = bound.spelling.cast(column.sql, "date") if column.kind != kind else column.sql
        sides.append(bound.spelling.as_comparable(node, kind))
    made = differs(op, *sides)
    return exp.Paren(this=made) if isinstance(made, exp.Or) else made


def differs(op: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return a comparison; with `!=`, NULL differs from every value. It may be NULL instead of false."""
    if op != "!=":
        return _COMPARED[op](this=left, expression=right)
    for node, other in ((left, right), (right, left)):
        inner = node.unnest()
        if isinstance(inner.this if isinstance(inner, exp.Cast) else inner, exp.Placeholder | exp.Boolean):
            # A literal is not NULL.
            return formula("x <> y OR other IS NULL", x=left, y=right, other=other)
    return formula("x <> y OR (x IS NULL AND NOT y IS NULL) OR (y IS NULL AND NOT x IS NULL)", x=left, y=right)


def _in(values: Sequence[Scalar], node: exp.Expr, kind: TypeClass, bound: BoundValues) -> exp.Expr:
    if kind == "datetime":
        return either(*(compare("=", node.copy(), value, kind, bound) for value in values))
    return exp.In(this=node, expressions=[_place(value, kind, bound) for value in values])


def compare(op: str, node: exp.Expr, value: Scalar, kind: TypeClass, bound: BoundValues) -> exp.Expr:
    """Return a comparison of `node`, a comparable column of type `kind`, with a value."""
    if kind == "datetime":
        return _compare_time(op, node, str(value), bound)
    return _COMPARED[op](this=node, expression=_place(value, kind, bound))


def _place(value: Scalar, kind: TypeClass, bound: BoundValues) -> exp.Expr:
    if kind == "date":
        return bound.date(str(value))
    if kind == "time":
        return bound.number(read_clock(str(value)))
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
        return either(exp.LT(this=node, expression=bound.datetime(start)), later)
    if op in {"<", "<="}:
        return _before(node, start if op == "<" else end, bound)
    return exp.GTE(this=node, expression=bound.datetime(start if op == ">=" else end))


def _before(node: exp.Expr, time: datetime, bound: BoundValues) -> exp.Expr:
    return exp.LT(this=node.copy(), expression=bound.datetime(time))


def _and(*conditions: exp.Expr) -> exp.Expr:
    return exp.and_(*conditions, copy=False)


def either(*conditions: exp.Expr) -> exp.Expr:
    """Return the condition that at least one of `conditions` holds."""
    return exp.or_(*conditions, copy=False)


def divide(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return a division that is NULL if `right`, a floating-point number, is zero."""
    return formula("x / NULLIF(y, 0)", x=left, y=right)


def order_term(node: exp.Expr, *, is_descending: bool) -> exp.Expr:
    """Return `node` as a term of ORDER BY, with NULL last."""
    return exp.Ordered(this=node, desc=is_descending, nulls_first=False)

"""What is derived as SQL. Every number in it is floating-point, so that no division truncates on any engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from agent.queryspec.bound import Bound
from agent.queryspec.dialect import cast, rounded
from agent.queryspec.expressions import Binary, Call, Name, Negative, Node, Number

_OPERATORS: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}


@dataclass(frozen=True)
class Order:
    """What is before a row: the terms to sort by, among rows that are equal in `within`."""

    terms: Sequence[exp.Expr] = ()
    within: Sequence[exp.Expr] = ()


@dataclass(frozen=True)
class Numbers:
    """Writes expressions. `look_up` gives a name as a floating-point number."""

    look_up: Callable[[str], exp.Expr]
    bound: Bound
    order: Order = Order()

    def column(self, node: Node) -> tuple[exp.Expr, bool]:
        """Return `node` as a column of the result, and whether it is floating-point: a rank alone is a whole number."""
        if isinstance(node, Call) and node.function == "rank":
            return _ranked(self.written(node.arguments[0])), False
        return self.written(node), True

    def written(self, node: Node) -> exp.Expr:
        """Return `node` as SQL."""
        if isinstance(node, Number):
            return self.bound.number(node.value)
        if isinstance(node, Name):
            return self.look_up(node.name)
        if isinstance(node, Negative):
            return exp.Neg(this=self._operand(node.of))
        return self._binary(node) if isinstance(node, Binary) else self._call(node)

    def _operand(self, node: Node) -> exp.Expr:
        inner = self.written(node)
        return exp.Paren(this=inner) if isinstance(node, Binary | Negative) else inner

    def _binary(self, node: Binary) -> exp.Expr:
        left, right = self._operand(node.left), self._operand(node.right)
        if node.operator == "/":
            return divided(left, right)
        return _OPERATORS[node.operator](this=left, expression=right)

    def _call(self, node: Call) -> exp.Expr:
        first = self.written(node.arguments[0])
        if node.function == "nullif":
            return exp.Nullif(this=first, expression=self.written(node.arguments[1]))
        if node.function == "coalesce":
            return exp.Coalesce(this=first, expressions=[self.written(each) for each in node.arguments[1:]])
        if node.function == "abs":
            return exp.Abs(this=first)
        if node.function == "round":
            return rounded(first, _digits(node), self.bound.dialect)
        return self._window(node.function, first)

    def _window(self, function: str, of: exp.Expr) -> exp.Expr:
        if function == "share_of_total":
            return divided(_grouped(of), exp.Window(this=exp.Sum(this=of.copy())))
        if function == "rank":
            return cast(_ranked(of), "number", self.bound.dialect)
        order = exp.Order(expressions=[term.copy() for term in self.order.terms])
        within = [column.copy() for column in self.order.within]
        before = exp.Window(this=exp.Lag(this=of.copy()), partition_by=within, order=order)
        return exp.Paren(this=exp.Sub(this=_grouped(of), expression=before))


def divided(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return a division that is NULL where `right`, a floating-point number, is zero."""
    # Typed: as the engine does it, which has floating-point numbers on both sides.
    return exp.Div(this=left, expression=exp.Nullif(this=right, expression=exp.Literal.number(0)), typed=True)


def ordered(node: exp.Expr, *, is_descending: bool) -> exp.Expr:
    """Return `node` as a term of ORDER BY, NULL last."""
    return exp.Ordered(this=node, desc=is_descending, nulls_first=False)


def as_number(node: exp.Expr, bound: Bound) -> exp.Expr:
    """Return `node` as a floating-point number."""
    return cast(node, "number", bound.dialect)


def _ranked(of: exp.Expr) -> exp.Expr:
    order = exp.Order(expressions=[ordered(of.copy(), is_descending=True)])
    place = exp.Window(this=exp.Anonymous(this="RANK"), order=order)
    return exp.Case().when(exp.Not(this=exp.Is(this=_grouped(of), expression=exp.Null())), place)


def _grouped(node: exp.Expr) -> exp.Expr:
    """Return `node` so that an operator beside it takes all of it."""
    return exp.Paren(this=node) if isinstance(node, exp.Binary | exp.Neg | exp.Is) else node


def _digits(node: Call) -> int:
    digits = node.arguments[1] if len(node.arguments) == 2 else None
    return int(digits.value) if isinstance(digits, Number) else 0

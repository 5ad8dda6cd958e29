"""The SQL of derived columns. Every number is floating-point, so that no engine truncates a division."""

import calendar
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlglot import exp

from datasphinx.agent.engines.spelling import Spelling, formula
from datasphinx.agent.queryspec.clauses import BoundValues, compare, differs, divide, either, order_term
from datasphinx.agent.queryspec.expression_types import Finder, compared_type, type_of
from datasphinx.agent.queryspec.expressions import (
    BETWEEN,
    CALCULATIONS,
    COMPARISONS,
    DATE_PARTS,
    FISCAL,
    MATCHES,
    WINDOWS,
    Call,
    Node,
    is_number,
    is_text,
    name_of,
    number_of,
)
from datasphinx.agent.schema.catalog import TypeClass

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_SWAPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WHOLE = (*DATE_PARTS, *FISCAL, "days_between", "length", "rank")
"""Functions that give whole numbers."""
_BLANKS = ("\t", "\n", "\r", "\N{NO-BREAK SPACE}")
"""Characters that `normalize_space` treats as a space."""
_MARK = "\x01"
_OF_NUMBERS = {
    "abs": "ABS(x)",
    "floor": "FLOOR(x)",
    "ceil": "CEIL(x)",
    "sqrt": "SQRT(CASE WHEN x >= 0 THEN x END)",
    "log": "LN(CASE WHEN x > 0 THEN x END)",
}
"""Functions of one number in the SQL of DuckDB."""


@dataclass(frozen=True)
class WindowOrder:
    """The rows of a window function: the terms to sort by, among rows that are equal in `within`."""

    terms: Sequence[exp.Expr] = ()
    within: Sequence[exp.Expr] = ()


def _no_windows(call: Call) -> WindowOrder:
    raise ValueError(f"{call.function} needs the rows of a result")


@dataclass(frozen=True)
class ExpressionWriter:
    """Writes checked expressions as SQL.

    `look_up` returns the column with a name, with numbers as floating-point; `find` its type; `order` the rows of a
    window function.
    """

    look_up: Callable[[str], exp.Expr]
    find: Finder
    bound: BoundValues
    order: Callable[[Call], WindowOrder] = _no_windows

    @property
    def spelling(self) -> Spelling:
        """The spelling of the engine."""
        return self.bound.spelling

    def column(self, node: Node) -> tuple[exp.Expr, bool]:
        """Return `node` as a result column, and whether it is floating-point; some numbers are integers."""
        if isinstance(node, Call) and node.function in _WHOLE:
            return self._whole(node), False
        if isinstance(node, exp.Case) and _is_whole(node):
            return self.spelling.cast_to_integer(self.to_sql(node)), False
        return self.to_sql(node), self._type(node) == "number"

    def to_sql(self, node: Node) -> exp.Expr:
        """Return `node` as SQL."""
        if isinstance(node, exp.Literal):
            return self.bound.text(node.name) if is_text(node) else self.bound.number(number_of(node))
        if isinstance(node, exp.Null | exp.Boolean):
            return node.copy()
        if isinstance(node, exp.Column):
            return self.look_up(name_of(node))
        if isinstance(node, exp.Neg):
            return exp.Neg(this=self._operand(node.this))
        if isinstance(node, exp.Case):
            return self._case(node)
        if isinstance(node, CALCULATIONS):
            return _calculation(type(node), self._operand(node.this), self._operand(node.expression))
        if isinstance(node, Call) and node.function not in MATCHES:
            return self._call(node)
        return self._truth(node)

    def _type(self, node: Node) -> TypeClass | None:
        return type_of(node, self.find)

    def _operand(self, node: Node) -> exp.Expr:
        inner = self.to_sql(node)
        return exp.Paren(this=inner) if isinstance(node, (*CALCULATIONS, exp.Neg)) else inner

    def _case(self, node: exp.Case) -> exp.Expr:
        made = exp.Case()
        for branch in node.args["ifs"]:
            made = made.when(self._condition(branch.this), self.to_sql(branch.args["true"]), copy=False)
        default = node.args.get("default") or exp.null()
        return made if isinstance(default, exp.Null) else made.else_(self.to_sql(default), copy=False)

    def _condition(self, node: Node) -> exp.Expr:
        """Return the condition `node`, which may be NULL instead of false."""
        if isinstance(node, exp.Connector):
            left, right = exp.Paren(this=self._condition(node.this)), exp.Paren(this=self._condition(node.expression))
            return type(node)(this=left, expression=right)
        if isinstance(node, exp.Not):
            return exp.Not(this=exp.Paren(this=self._truth(node.this)))
        if isinstance(node, exp.Is):
            return formula("x IS NULL", x=self.to_sql(node.this))
        if isinstance(node, Call) and node.function in MATCHES:
            return self._text_call(node, self.to_sql(node.expressions[0]))
        return self._comparison(node) if isinstance(node, COMPARISONS) else self.to_sql(node)

    def _truth(self, node: Node) -> exp.Expr:
        """Return the condition `node`, which is false instead of NULL."""
        if isinstance(node, exp.Connector):
            left, right = exp.Paren(this=self._truth(node.this)), exp.Paren(this=self._truth(node.expression))
            return type(node)(this=left, expression=right)
        found = self._condition(node)
        return found if isinstance(node, exp.Not | exp.Is) else exp.Coalesce(this=found, expressions=[exp.false()])

    def _comparison(self, node: exp.Expr) -> exp.Expr:
        operator, left, right = _OPERATORS[type(node)], node.this, node.expression
        kind = compared_type(node, self.find)
        if kind in ("date", "datetime", "time") and is_text(left):
            operator, left, right = _SWAPPED[operator], right, left
        if kind in ("date", "datetime", "time") and is_text(right):
            plain = self.spelling.as_comparable(self.to_sql(left), kind)
            made = compare(operator, plain, right.name, kind, self.bound)
            return either(made, formula("x IS NULL", x=plain)) if operator == "!=" else made
        return differs(operator, self._comparable(left, kind), self._comparable(right, kind))

    def _comparable(self, node: Node, kind: TypeClass | None) -> exp.Expr:
        made = parenthesized(self.to_sql(node))
        if kind == "date" and self._type(node) == "datetime":
            made = self.spelling.cast(made, "date")
        return self.spelling.as_comparable(made, kind) if kind else made

    def _call(self, node: Call) -> exp.Expr:
        function = node.function
        if function in _WHOLE:
            return self.spelling.cast(self._whole(node), "number")
        if function == "today":
            return self.bound.date(datetime.now(UTC).date().isoformat())
        if function in BETWEEN:
            start, end = map(self._seconds, node.expressions)
            unit = self.bound.number(BETWEEN[function])
            return formula("(stop - start) / NULLIF(unit, 0)", start=start, stop=end, unit=unit)
        if function == "concat":
            return self.spelling.join_texts([self._text(argument) for argument in node.expressions])
        first = self.to_sql(node.expressions[0])
        if function in WINDOWS:
            return self._window(node, first)
        if function in {"nullif", "coalesce"}:
            others = [self.to_sql(argument) for argument in node.expressions[1:]]
            if function == "coalesce":
                return exp.Coalesce(this=first, expressions=others)
            return exp.Nullif(this=first, expression=others[0])
        if function in (*_OF_NUMBERS, "round", "mod"):
            return self._number_call(node, first)
        return self._text_call(node, first)

    def _seconds(self, node: Node) -> exp.Expr:
        kind, made = self._type(node), self.to_sql(node)
        if kind != "time":
            made, kind = self.spelling.cast(made, "datetime"), "datetime"
        return self.spelling.seconds(made, kind)

    def _number_call(self, node: Call, of: exp.Expr) -> exp.Expr:
        if node.function == "round":
            return self.spelling.round_number(of, _literal(node, 0))
        if node.function == "mod":
            return _calculation(exp.Mod, parenthesized(of), self._operand(node.expressions[1]))
        base = self.to_sql(node.expressions[1]) if len(node.expressions) == 2 else None
        if base:
            return formula("LN(CASE WHEN x > 0 THEN x END) / NULLIF(LN(base), 0)", x=of, base=base)
        return formula(_OF_NUMBERS[node.function], x=of)

    def _text_call(self, node: Call, first: exp.Expr) -> exp.Expr:
        function = node.function
        if function in MATCHES:
            pattern = self.spelling.contains_pattern(node.expressions[1].name, function)
            return self.spelling.contains(first, self.bound.bind(pattern))
        if function == "replace":
            old, new = (self.bound.text(argument.name) for argument in node.expressions[1:])
            return self.spelling.write("replace", x=first, old=old, new=new)
        if function == "normalize_space":
            return self._normalized(first)
        if function == "left":
            return self.spelling.write("left", x=first, n=exp.Literal.number(_literal(node, 1)))
        if function == "weekday_name":
            names = (f"WHEN {day} THEN '{name}'" for day, name in enumerate(calendar.day_name, 1))
            return formula(f"CASE weekday {' '.join(names)} END", weekday=self.spelling.write("weekday", x=first))
        if function == "initcap":
            return self.spelling.write("initcap", x=self.spelling.write("lower", x=first))
        return self.spelling.write(function, x=first) if function in {"lower", "upper"} else exp.Trim(this=first)

    def _normalized(self, text: exp.Expr) -> exp.Expr:
        """Return `text` with one space for each sequence of blanks, by replacements that every engine has.

        A mark after each space makes repeated ones recognizable: between two spaces stands mark and space.
        """
        for old, new in (*((blank, " ") for blank in _BLANKS), (" ", f" {_MARK}"), (f"{_MARK} ", ""), (_MARK, "")):
            text = self.spelling.write("replace", x=text, old=self.bound.text(old), new=self.bound.text(new))
        return exp.Trim(this=text)

    def _text(self, node: Node) -> exp.Expr:
        """Return a part of `concat` as text."""
        kind = self._type(node)
        if kind == "number":
            made, is_float = (self.to_sql(node), True) if is_number(node) else self.column(node)
            return self.spelling.number_text(made) if is_float else self.spelling.cast(made, "text")
        made = self.to_sql(node)
        return made if kind == "text" else self.spelling.period_text(made, "day")

    def _whole(self, node: Call) -> exp.Expr:
        """Return the call of a function that gives an integer."""
        if node.function == "rank":
            of = self.to_sql(node.expressions[0])
            within = [column.copy() for column in self.order(node).within] if node.within else []
            order = exp.Order(expressions=[order_term(of.copy(), is_descending=True)])
            place = exp.Window(this=exp.Anonymous(this="RANK"), partition_by=within, order=order)
            return formula("CASE WHEN NOT x IS NULL THEN place END", x=of, place=place)
        if node.function == "days_between":
            start, end = map(self._date, node.expressions)
            return self.spelling.write("days_between", start=start, stop=end)
        of = self.to_sql(node.expressions[0])
        if node.function in FISCAL:
            return self._fiscal(node.function, of, _literal(node, 1))
        return self.spelling.write(node.function, x=of)

    def _fiscal(self, function: str, of: exp.Expr, start: int) -> exp.Expr:
        """Return the year in which the fiscal year of a date ends, or the quarter of a date within it."""
        year, month = (self.spelling.write(part, x=of) for part in ("year", "month"))
        if function == "fiscal_year":
            sql = f"(year + CASE WHEN month >= {start} THEN 1 ELSE 0 END)" if start > 1 else "year"
            return formula(sql, year=year, month=month)
        quarters = [sorted((start - 1 + at) % 12 + 1 for at in range(first, first + 3)) for first in range(0, 12, 3)]
        cases = (f"WHEN month IN {tuple(months)} THEN {quarter}" for quarter, months in enumerate(quarters, 1))
        return formula(f"CASE {' '.join(cases)} END", month=month)

    def _date(self, node: Node) -> exp.Expr:
        if is_text(node):
            return self.bound.date(node.name[:10])
        made = self.to_sql(node)
        return self.spelling.as_comparable(self.spelling.cast(made, "date"), "date")

    def _window(self, node: Call, of: exp.Expr) -> exp.Expr:
        rows = self.order(node)
        within = [column.copy() for column in rows.within]
        if node.function in {"share", "share_of_total"}:
            total = exp.Window(this=exp.Sum(this=of.copy()), partition_by=within)
            return formula("x / NULLIF(total, 0)", x=of, total=total)
        order = exp.Order(expressions=[term.copy() for term in rows.terms])
        if node.function in {"cumulative", "moving_avg"}:
            order = exp.Order(expressions=self.spelling.nulls_last(rows.terms))
            is_sum = node.function == "cumulative"
            start = "UNBOUNDED" if is_sum else exp.Literal.number(_literal(node, 1) - 1)
            frame = exp.WindowSpec(kind="ROWS", start=start, start_side="PRECEDING", end="CURRENT ROW")
            aggregate = (exp.Sum if is_sum else exp.Avg)(this=of)
            return exp.Window(this=aggregate, partition_by=within, order=order, spec=frame)
        kind = self._type(node.expressions[0]) or "other"
        value = of.copy() if kind == "number" else self.spelling.nullable(of.copy(), kind)
        offset = exp.Literal.number(_literal(node, 1)) if len(node.expressions) == 2 else None
        before = exp.Window(this=exp.Lag(this=value, offset=offset), partition_by=within, order=order)
        if node.function == "lag":
            return before
        return formula("(x - before)", x=of, before=before)


def _calculation(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    if kind is exp.Div:
        return divide(left, right)
    if kind is exp.Mod:
        return formula("(x - y * FLOOR(x / NULLIF(y, 0)))", x=left, y=right)
    return kind(this=left, expression=right)


def _is_whole(node: Node | None) -> bool:
    """Return whether `node` is a choice among whole numbers."""
    if isinstance(node, exp.Case):
        return all(map(_is_whole, [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]))
    if isinstance(node, exp.Literal):
        return is_number(node) and node.name.isdecimal()
    is_null = node is None or isinstance(node, exp.Null)
    return is_null or (isinstance(node, Call) and node.function in _WHOLE)


def parenthesized(node: exp.Expr) -> exp.Expr:
    """Return `node`, in parentheses if it is an operation."""
    return exp.Paren(this=node) if isinstance(node, exp.Binary | exp.Neg | exp.Is | exp.Not) else node


def _literal(node: Call, default: int) -> int:
    literal = node.expressions[1] if len(node.expressions) == 2 else None
    return int(number_of(literal)) if literal is not None and is_number(literal) else default

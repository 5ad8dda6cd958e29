"""The expression language of `derived`: arithmetic, conditions, text, dates, and functions of several rows.

It is read by the parser of sqlglot, and has the names, operators, literals, CASE, IN, BETWEEN and IS NULL of SQL, and
the functions below, after whose arguments may come options: `within: a, b` and `order_by: c desc`.

A name is written bare, as letters, digits and underscores of any script with dots between, or in double quotes, where
a doubled quote stands for one. Text stands in single quotes, where a doubled quote stands for one. Words of the
language are in any case; `==` and `<>` mean `=` and `!=`, and `over (partition by a order by b)` after a call means its
options.

Numbers are floating-point, except those of dates and ranks. A value is NULL where it cannot be computed: division by
zero, a root or logarithm of an unsuitable number, and any arithmetic with NULL. A comparison with NULL is false, except
that NULL differs (`!=`) from every value. Conditions are therefore true or false, and `not` of a comparison with NULL
is true. Text in single quotes is a date where it is compared with one; compared with a time it stands for the whole
day.

- `if(condition, x, y)`, or without `y` NULL; `case(condition, x, condition, y, ..., z)`.
- `nullif(x, y)`, `coalesce(x, y, ...)`.
- `x % y` or `mod(x, y)`: the rest of a division, with the sign of y; `floor(x)`, `ceil(x)`.
- `abs(x)`, `sqrt(x)`, `log(x)` (natural), `log(x, base)`, `round(x)`, `round(x, digits)`, with 0 to 10 digits.
- `lower(x)`, `upper(x)`, `initcap(x)` (on SQLite of A to Z only): `initcap` has the first letter of each word between
  spaces in upper case, the others in lower case.
- `trim(x)` (spaces), `normalize_space(x)`, `replace(x, 'old', 'new')`; `concat(x, y, ...)` of texts, numbers and dates,
  where NULL is empty. `normalize_space` replaces tabs, line breaks and no-break spaces by spaces, repeated spaces by
  one, and trims.
- `length(x)`: number of characters; `left(x, n)`: the first n characters.
- `contains(x, 'text')`, `starts_with(x, 'text')`, `ends_with(x, 'text')`: conditions that ignore case.
- `year(x)`, `quarter(x)`, `month(x)`, `iso_week(x)`, `day(x)`, `weekday(x)` from 1 for Monday to 7;
  `hour(x)` and `minute(x)` of a time. `weekday_name(x)`: `Monday` to `Sunday`. `today()`: the date, in UTC.
- `fiscal_year(x, start_month)`: the year in which the fiscal year ends; `fiscal_quarter(x, start_month)`.
- `days_between(x, y)`: calendar days from x to y, negative if y is before x. `hours_between(x, y)`,
  `minutes_between(x, y)`: with fractions.

Functions of the rows of the result, before its limit:

- `share(x)`, or `share_of_total(x)`: x divided by the sum of x, from 0 to 1.
- `rank(x)`: 1 for the largest x; equal values share a rank, followed by a gap; NULL for NULL.
- `lag(x)`, `lag(x, n)`: the x of the row n rows before; `change_from_previous(x)`: x minus `lag(x)`.
- `cumulative(x)`: the sum of x up to the row. `moving_avg(x, n)`: the average of the row and the n - 1 rows before.

`within` names columns of the result: the function sees the rows that are equal in them. The functions of the last two
items follow `order_by`, else the time groups, else the sort. Without `within`, and with time groups as the order, they
see the rows that are equal in all other groups. Rows that are equal in the order follow each other in the order of the
groups.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import TokenType
from sqlglot.tokens import Tokenizer

from datasphinx.agent.queryspec.spec import MAX_EXPRESSION

MAX_DEPTH = 20
MAX_NODES = 200
"""Literals, names, operators and functions in one expression."""

MAX_DIGITS = 10
MAX_ROWS = 1_000
"""Maximum distance in rows of `lag` and `moving_avg`."""
ORDERED = ("lag", "moving_avg", "cumulative", "change_from_previous")
"""Functions that depend on the order of rows."""
WINDOWS = ("share_of_total", "share", "rank", *ORDERED)
MATCHES = ("contains", "starts_with", "ends_with")
CASES = ("lower", "upper", "initcap")
CLOCK_PARTS = ("hour", "minute")
DATE_PARTS = ("year", "quarter", "month", "iso_week", "day", "weekday", *CLOCK_PARTS)
BETWEEN = {"hours_between": 3600, "minutes_between": 60}
"""Functions of the time between two times, with the seconds of their unit."""
FISCAL = ("fiscal_year", "fiscal_quarter")
_MANY = 30
_ARGUMENTS = {
    "if": (2, 3), "case": (2, 2 * _MANY), "nullif": (2, 2), "coalesce": (2, _MANY),
    "round": (1, 2), "abs": (1, 1), "sqrt": (1, 1), "log": (1, 2),
    "floor": (1, 1), "ceil": (1, 1), "mod": (2, 2), "length": (1, 1), "left": (2, 2), "today": (0, 0),
    **dict.fromkeys((*CASES, "trim", "normalize_space"), (1, 1)), "replace": (3, 3), "concat": (2, _MANY),
    **dict.fromkeys(MATCHES, (2, 2)),
    **dict.fromkeys((*DATE_PARTS, "weekday_name"), (1, 1)), **dict.fromkeys(FISCAL, (2, 2)),
    **dict.fromkeys(("days_between", *BETWEEN), (2, 2)),
    **dict.fromkeys(WINDOWS, (1, 1)), "lag": (1, 2), "moving_avg": (2, 2),
}  # fmt: skip
FUNCTIONS = tuple(_ARGUMENTS)
CALCULATIONS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_WORDS = (
    "==", "<>", "!=", "<=", ">=", "AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "TRUE", "FALSE", "WHEN", "THEN",
    "ELSE", "END", "OVER", "PARTITION BY", "ORDER BY", "ASC", "DESC",
)  # fmt: skip
_OPTIONS = ("within", "order_by")

Node: TypeAlias = exp.Expr
"""An expression: literals, columns, calculations, comparisons, AND, OR, NOT, IS NULL, CASE and `Call`."""


class Call(exp.Expression):
    """A call of one of the functions; `within` and `order_by` are options of window functions."""

    arg_types = {"this": True, "expressions": False, "within": False, "order_by": False}

    @property
    def function(self) -> str:
        """The name of the function."""
        return self.name

    @property
    def within(self) -> tuple[str, ...]:
        """The columns in which the rows that the function sees are equal."""
        return tuple(map(name_of, self.args["within"]))

    @property
    def order_by(self) -> exp.Ordered | None:
        """The column that orders the rows."""
        return next(iter(self.args["order_by"]), None)


_AFTER_CASE = {TokenType.WHEN, TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER}
"""The token after CASE, where it is neither a function nor a name."""


class _Parser(Parser):
    """Parser without functions of its own, and with options among the arguments of a call."""

    FUNCTIONS = {}
    FUNCTION_PARSERS = {}
    NO_PAREN_FUNCTIONS = {}
    NO_PAREN_FUNCTION_PARSERS = {"CASE": lambda self: self._parse_case()}

    def _parse_case(self) -> exp.Expr | None:
        if self._match_set(_AFTER_CASE, advance=False):
            return super()._parse_case()
        # The function, or a name.
        self._retreat(self._index - 1)
        is_call = self._next.token_type == TokenType.L_PAREN
        return self._parse_function_call(optional_parens=False) if is_call else None

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
        option = self._curr.text.lower()
        if option not in _OPTIONS or self._next.token_type not in {TokenType.COLON, TokenType.EQ}:
            return self._parse_disjunction()
        self._advance(2)
        return exp.PropertyEQ(this=exp.var(option), expression=self._parse_ordered())


class _Language(Dialect):
    Parser = _Parser

    class Tokenizer(Tokenizer):
        COMMENTS = []
        KEYWORDS = {word: Tokenizer.KEYWORDS[word] for word in _WORDS}
        """A column may be called `date`, `order` or `left`."""


def parse(text: str) -> Node:
    """Return the syntax tree of `text`, with comparisons in place of IN and BETWEEN, and without parentheses.

    Raises:
        ValueError: The text is not a valid expression; the message gives the reason, and the position of wrong syntax.
    """
    if len(text) > MAX_EXPRESSION:
        raise ValueError(f"an expression has at most {MAX_EXPRESSION} characters")
    try:
        trees = _Language().parse(text)
        node = _checked(trees[0] if len(trees) == 1 else None)
    except ParseError as error:
        place, shown = error.errors[0], error.errors[0]["highlight"]
        at = max(place["col"] - len(shown), 0) + 1
        raise ValueError(f"it cannot be read from {shown!r} at character {at} on") from None
    except SqlglotError as error:
        raise ValueError(f"it cannot be read: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep") from None
    if len(parts_in(node)) > MAX_NODES:
        raise ValueError(f"it has more than {MAX_NODES} values, names, operators and functions")
    if _depth(node) > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
    return node


def name_of(column: exp.Expr) -> str:
    """Return the name in the spec that `column` stands for."""
    return ".".join(part.name for part in column.parts) if isinstance(column, exp.Column) else ""


def number_of(literal: exp.Expr) -> int | float:
    """Return the value of a number."""
    return int(literal.name) if literal.name.isdecimal() else float(literal.name)


def is_number(node: Node) -> bool:
    """Return whether `node` is a number."""
    return isinstance(node, exp.Literal) and not node.is_string


def is_text(node: Node) -> bool:
    """Return whether `node` is a text in single quotes."""
    return isinstance(node, exp.Literal) and bool(node.is_string)


def parts_in(node: Node) -> list[Node]:
    """Return the literals, names, operators and functions in `node`."""
    return [part for part in node.walk(bfs=False) if not isinstance(part, exp.Identifier | exp.If | exp.Ordered)]


def names_in(node: Node) -> tuple[str, ...]:
    """Return the distinct names in `node`, including those that its window functions are computed within or by."""
    return tuple(dict.fromkeys(map(name_of, node.find_all(exp.Column, bfs=False))))


def windows_in(node: Node) -> tuple[Call, ...]:
    """Return the window function calls in `node`."""
    return tuple(call for call in node.find_all(Call, bfs=False) if call.function in WINDOWS)


def _depth(node: Node) -> int:
    """Return how deep `node` is nested; the operands of a chain such as `a + b + c` are equally deep."""
    if isinstance(node, exp.Binary):
        return max(_depth(node.this), 1 + _depth(node.expression))
    return 1 + max(map(_depth, node.iter_expressions()), default=0)


def _checked(node: exp.Expr | None) -> Node:
    """Return a tree of the parser in the form of `parse`.

    Raises:
        ValueError: It has nodes that are no part of the language.
    """
    if isinstance(node, exp.Paren):
        return _checked(node.this)
    if isinstance(node, exp.Anonymous | exp.Window):
        return _call(node)
    if isinstance(node, exp.In) and node.expressions:
        equal = [exp.EQ(this=_checked(node.this), expression=_checked(each)) for each in node.expressions]
        return exp.or_(*equal, copy=False)
    if isinstance(node, exp.Between):
        low = exp.GTE(this=_checked(node.this), expression=_checked(node.args["low"]))
        high = exp.LTE(this=_checked(node.this), expression=_checked(node.args["high"]))
        return exp.And(this=low, expression=high)
    if isinstance(node, exp.Case):
        tests = [exp.EQ(this=node.this, expression=each.this) if node.this else each.this for each in node.args["ifs"]]
        values = [each.args["true"] for each in node.args["ifs"]]
        return _case(list(zip(tests, values, strict=True)), node.args.get("default"))
    if isinstance(node, (*CALCULATIONS, *COMPARISONS, exp.And, exp.Or)):
        return type(node)(this=_checked(node.this), expression=_checked(node.expression))
    if isinstance(node, exp.Not | exp.Neg) or (isinstance(node, exp.Is) and isinstance(node.expression, exp.Null)):
        return type(node)(this=_checked(node.this), expression=node.args.get("expression"))
    if node and is_number(node) and abs(number_of(node)) >= 2**63:
        raise ValueError(f"the number {node.name} is too large")
    is_name = isinstance(node, exp.Column) and all(
        isinstance(part, exp.Identifier) and part.name for part in node.parts
    )
    if node and (is_name or isinstance(node, exp.Literal | exp.Null | exp.Boolean)):
        return node.copy()
    raise ValueError(f"{node.sql()} is no expression of this language" if node else "it has to be one expression")


def _case(branches: Sequence[tuple[exp.Expr, exp.Expr]], otherwise: exp.Expr | None) -> exp.Case:
    ifs = [exp.If(this=_checked(condition), true=_checked(value)) for condition, value in branches]
    return exp.Case(ifs=ifs, default=None if otherwise is None else _checked(otherwise))


def _call(node: exp.Anonymous | exp.Window) -> Node:
    """Return a call with the right number of arguments, suitable literals and options; `if` and `case` as CASE."""
    call = node.this if isinstance(node, exp.Window) else node
    function = str(call.name).lower()
    if not isinstance(call, exp.Anonymous) or function not in _ARGUMENTS:
        raise ValueError(f"there is no function {call.name or call.sql()}, only {', '.join(FUNCTIONS)}")
    if node.args.get("alias") or node.args.get("spec"):
        raise ValueError("over takes partition by and order by alone")
    given, options = _arguments(node, call)
    if any(options.values()) and function not in WINDOWS:
        raise ValueError(f"{function} is computed for each row alone, without within and order_by")
    if options["order_by"] and function not in ORDERED:
        raise ValueError(f"{function} does not depend on the order of rows: leave order_by out")
    arguments, (fewest, most) = list(map(_checked, given)), _ARGUMENTS[function]
    if not fewest <= len(arguments) <= most:
        text = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise ValueError(f"{function} takes {text} argument{'' if most == 1 else 's'}")
    if function in {"if", "case"}:
        pairs = zip(given[::2], given[1::2], strict=False)
        return _case(list(pairs), given[-1] if len(given) % 2 else None)
    _check_literals(function, arguments)
    return Call(this=function, expressions=arguments, **options)


def _arguments(node: exp.Expr, call: exp.Anonymous) -> tuple[list[exp.Expr], dict[str, list[Any]]]:
    """Return the arguments of a call, and its options: those in it, and those of OVER around it."""
    order = node.args.get("order")
    options: dict[str, list[Any]] = {
        "within": node.args.get("partition_by") or [],
        "order_by": order.expressions if order else [],
    }
    given: list[exp.Expr] = []
    last = given
    for argument in call.expressions:
        if isinstance(argument, exp.PropertyEQ):
            last = options[argument.name]
            last.append(argument.expression.this if argument.name == "within" else argument.expression)
        elif last is given or (last is options["within"] and isinstance(argument, exp.Column)):
            last.append(argument)
        else:
            raise ValueError(f"within or order_by is expected, not {argument.sql()}")
    names = [*options["within"], *(each.this for each in options["order_by"])]
    if any(not isinstance(_checked(each), exp.Column) for each in names) or len(options["order_by"]) > 1:
        raise ValueError("within takes names, and order_by one name")
    return given, options


def _check_literals(function: str, arguments: Sequence[Node]) -> None:
    if function == "round" and len(arguments) == 2:
        _check_whole(arguments[1], "the digits of round", 0, MAX_DIGITS)
    if function in {"lag", "moving_avg"} and len(arguments) == 2:
        _check_whole(arguments[1], f"the rows of {function}", 1, MAX_ROWS)
    if function in FISCAL:
        _check_whole(arguments[1], f"the start month of {function}", 1, 12)
    if function == "left":
        _check_whole(arguments[1], "the characters of left", 1, MAX_ROWS)
    if function == "log" and len(arguments) == 2:
        base = number_of(arguments[1]) if is_number(arguments[1]) else 1
        if base <= 0 or base == 1:
            raise ValueError("the base of log must be a literal number above 0 other than 1")
    if function in {"replace", *MATCHES}:
        for argument in arguments[1:]:
            if not is_text(argument) or (argument is arguments[1] and not argument.name):
                raise ValueError(f"{function} takes text in single quotes after its first argument, such as 'a'")


def _check_whole(node: Node, what: str, lowest: int, highest: int) -> None:
    if not is_number(node) or not node.name.isdecimal() or not lowest <= number_of(node) <= highest:
        raise ValueError(f"{what} must be a literal whole number from {lowest} to {highest}")

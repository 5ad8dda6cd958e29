"""The expression language of `derived`: arithmetic, conditions, text, dates, and functions of several rows.

    expression = conjunct {"or" conjunct}
    conjunct   = negation {"and" negation}
    negation   = "not" negation | comparison
    comparison = sum [("=" | "!=" | "<" | "<=" | ">" | ">=") sum
                     | ["not"] "in" "(" sum {"," sum} ")" | ["not"] "between" sum "and" sum | "is" ["not"] "null"]
    sum        = product {("+" | "-") product}
    product    = factor {("*" | "/" | "%") factor}
    factor     = "-" factor | number | text | "null" | "true" | "false" | name | call | case | "(" expression ")"
    case       = "case" {"when" expression "then" expression} ["else" expression] "end"
    call       = function "(" [expression {"," expression} {"," option}] ")"
    option     = "within" ":" name {"," name} | "order_by" ":" name ["asc" | "desc"]

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

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

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
_COMPARISONS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_CONSTANTS = {"null": None, "true": True, "false": False}

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"
    r"|(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)"
    r'|"(?P<quoted>(?:[^"]|"")+)"'
    r"|'(?P<text>(?:[^']|'')*)'"
    r"|(?P<sign>==|!=|<>|<=|>=|[-+*/%(),=<>:]))",
)


@dataclass(frozen=True)
class Number:
    """A numeric literal."""

    value: int | float


@dataclass(frozen=True)
class Name:
    """A column of the result, or of the dataset."""

    name: str


@dataclass(frozen=True)
class Negative:
    """A negated expression."""

    of: "Node"


@dataclass(frozen=True)
class Binary:
    """`+`, `-`, `*`, `/` or `%` with two operands."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True)
class Text:
    """A text literal."""

    value: str


@dataclass(frozen=True)
class Constant:
    """`null`, `true` or `false`."""

    value: bool | None


@dataclass(frozen=True)
class Compare:
    """`=`, `!=`, `<`, `<=`, `>` or `>=` with two operands."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True)
class Logical:
    """`and` or `or` with two operands."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True)
class Not:
    """A negated condition."""

    of: "Node"


@dataclass(frozen=True)
class Missing:
    """The condition that a value is NULL."""

    of: "Node"


@dataclass(frozen=True)
class Case:
    """The value of the first condition that holds, else `otherwise`."""

    branches: tuple[tuple["Node", "Node"], ...]
    otherwise: "Node"


@dataclass(frozen=True)
class Order:
    """The column that orders the rows of a window function."""

    name: str
    desc: bool = False


@dataclass(frozen=True)
class Call:
    """A call of one of the functions; `within` and `order_by` are options of window functions."""

    function: str
    arguments: tuple["Node", ...]
    within: tuple[str, ...] | None = None
    order_by: Order | None = None


Node: TypeAlias = Number | Text | Constant | Name | Negative | Binary | Compare | Logical | Not | Missing | Case | Call


def parse(text: str) -> Node:
    """Return the syntax tree of `text`.

    Raises:
        ValueError: The text is not a valid expression; the message gives the reason and the position.
    """
    if len(text) > MAX_EXPRESSION:
        raise ValueError(f"an expression has at most {MAX_EXPRESSION} characters")
    return _Parser(text).whole()


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and all its descendants."""
    yield node
    for part in parts_of(node):
        yield from walk(part)


def parts_of(node: Node) -> tuple[Node, ...]:
    """Return the children of `node`."""
    if isinstance(node, Negative | Not | Missing):
        return (node.of,)
    if isinstance(node, Binary | Compare | Logical):
        return (node.left, node.right)
    if isinstance(node, Case):
        return (*(part for branch in node.branches for part in branch), node.otherwise)
    return node.arguments if isinstance(node, Call) else ()


def names_in(node: Node) -> tuple[str, ...]:
    """Return the distinct names in `node`, including those that its window functions are computed within or by."""
    parts = list(walk(node))
    names = [part.name for part in parts if isinstance(part, Name)]
    for call in (part for part in parts if isinstance(part, Call)):
        names += [*(call.within or ()), *([call.order_by.name] if call.order_by else [])]
    return tuple(dict.fromkeys(names))


def windows_in(node: Node) -> tuple[Call, ...]:
    """Return the window function calls in `node`."""
    return tuple(part for part in walk(node) if isinstance(part, Call) and part.function in WINDOWS)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind, text and position (from 1) of each token, then an end token."""
    text, at = text.rstrip(), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise ValueError(f"{text[start]!r} at character {start + 1} is not valid in an expression")
        kind = match.lastgroup or ""
        yield kind, match[kind], match.start(kind) + 1
        at = match.end()
    yield "end", "the end", len(text) + 1


class _Parser:
    """A recursive descent parser with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._expression()
        if self._kind != "end":
            raise self._unexpected("an operator or the end")
        if sum(1 for _ in walk(node)) > MAX_NODES:
            raise ValueError(f"it has more than {MAX_NODES} values, names, operators and functions")
        return node

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    @property
    def _text(self) -> str:
        return self._tokens[self._at][1]

    def _is(self, *signs: str) -> bool:
        return self._kind == "sign" and self._text in signs

    def _is_word(self, *words: str) -> bool:
        return self._kind == "name" and self._text.lower() in words

    def _next(self) -> str:
        text = self._text
        self._at += 1
        return text

    def _expect(self, sign: str) -> None:
        if not self._is(sign):
            raise self._unexpected(f"{sign!r}")
        self._at += 1

    def _expect_word(self, word: str) -> None:
        if not self._is_word(word):
            raise self._unexpected(word)
        self._at += 1

    def _unexpected(self, expected: str) -> ValueError:
        _, text, place = self._tokens[self._at]
        return ValueError(f"{expected} is expected at character {place}, not {text}")

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")

    def _expression(self) -> Node:
        self._deeper()
        node = self._conjunction()
        while self._is_word("or"):
            node = Logical(self._next().lower(), node, self._conjunction())
        self._depth -= 1
        return node

    def _conjunction(self) -> Node:
        node = self._negation()
        while self._is_word("and"):
            node = Logical(self._next().lower(), node, self._negation())
        return node

    def _negation(self) -> Node:
        if not self._is_word("not"):
            return self._comparison()
        kind, text, _ = self._tokens[self._at + 1]
        if kind == "end" or (kind == "sign" and text not in {"(", "-"}):
            # No operand follows: `not` is a name.
            return self._comparison()
        self._at += 1
        self._deeper()
        node = Not(self._negation())
        self._depth -= 1
        return node

    def _comparison(self) -> Node:
        node = self._sum()
        if self._is(*_COMPARISONS):
            return Compare(_COMPARISONS[self._next()], node, self._sum())
        if self._is_word("is"):
            self._at += 1
            is_negated = self._skip_word("not")
            self._expect_word("null")
            return Not(Missing(node)) if is_negated else Missing(node)
        if not self._is_word("not", "in", "between"):
            return node
        is_negated = self._skip_word("not")
        if self._skip_word("between"):
            low = Compare(">=", node, self._sum())
            self._expect_word("and")
            found: Node = Logical("and", low, Compare("<=", node, self._sum()))
        else:
            self._expect_word("in")
            found = self._one_of(node)
        return Not(found) if is_negated else found

    def _one_of(self, node: Node) -> Node:
        self._expect("(")
        found: Node = Compare("=", node, self._sum())
        while self._is(","):
            self._at += 1
            found = Logical("or", found, Compare("=", node, self._sum()))
        self._expect(")")
        return found

    def _skip_word(self, word: str) -> bool:
        is_there = self._is_word(word)
        self._at += is_there
        return is_there

    def _sum(self) -> Node:
        node = self._product()
        while self._is("+", "-"):
            node = Binary(self._next(), node, self._product())
        return node

    def _product(self) -> Node:
        node = self._factor()
        while self._is("*", "/", "%"):
            node = Binary(self._next(), node, self._factor())
        return node

    def _factor(self) -> Node:
        if self._is("-"):
            return self._negative()
        if self._is("("):
            self._at += 1
            node = self._expression()
            self._expect(")")
            return node
        if self._kind == "number":
            return Number(_number(self._next()))
        if self._kind == "text":
            return Text(self._next().replace("''", "'"))
        if self._kind == "quoted":
            return Name(self._next().replace('""', '"'))
        if self._kind == "name":
            return self._word()
        raise self._unexpected("a number, a name or '('")

    def _negative(self) -> Node:
        self._at += 1
        self._deeper()
        node = Negative(self._factor())
        self._depth -= 1
        return node

    def _word(self) -> Node:
        """Return the name, call, constant or `case` at a word."""
        word = self._next()
        if self._is("("):
            return self._call(word)
        if word.lower() == "case" and self._is_word("when"):
            return self._case()
        return Constant(_CONSTANTS[word.lower()]) if word.lower() in _CONSTANTS else Name(word)

    def _case(self) -> Node:
        branches = []
        while self._skip_word("when"):
            condition = self._expression()
            self._expect_word("then")
            branches.append((condition, self._expression()))
        otherwise = self._expression() if self._skip_word("else") else Constant(None)
        self._expect_word("end")
        return Case(tuple(branches), otherwise)

    def _call(self, name: str) -> Node:
        function = name.lower()
        if function not in _ARGUMENTS:
            raise ValueError(f"there is no function {name}, only {', '.join(FUNCTIONS)}")
        self._expect("(")
        arguments = [] if self._is(")") else [self._expression()]
        options: dict[str, Any] = {}
        while self._is(","):
            self._at += 1
            if self._is_option():
                self._option(options)
            elif options:
                raise self._unexpected("within or order_by")
            else:
                arguments.append(self._expression())
        self._expect(")")
        if self._is_word("over") and self._tokens[self._at + 1][1] == "(":
            self._over(options)
        if options and function not in WINDOWS:
            raise ValueError(f"{function} is computed for each row alone, without within and order_by")
        if "order_by" in options and function not in ORDERED:
            raise ValueError(f"{function} does not depend on the order of rows: leave order_by out")
        return _checked(Call(function, tuple(arguments), **options))

    def _is_option(self) -> bool:
        kind, text, _ = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        return self._is_word("within", "order_by") and kind == "sign" and text in {":", "="}

    def _option(self, options: dict[str, Any]) -> None:
        option = self._next().lower()
        self._at += 1
        if option == "order_by":
            options[option] = self._order()
            return
        names = [self._column()]
        while self._is(",") and self._tokens[self._at + 1][0] in {"name", "quoted"}:
            self._at += 1
            if self._is_option():
                self._at -= 1
                break
            names.append(self._column())
        options[option] = tuple(names)

    def _over(self, options: dict[str, Any]) -> None:
        """Read `over (partition by a, b order by c desc)`."""
        self._at += 2
        if self._skip_word("partition"):
            self._expect_word("by")
            names = [self._column()]
            while self._is(","):
                self._at += 1
                names.append(self._column())
            options["within"] = tuple(names)
        if self._skip_word("order"):
            self._expect_word("by")
            options["order_by"] = self._order()
        self._expect(")")

    def _order(self) -> Order:
        name = self._column()
        is_descending = self._is_word("desc")
        self._at += self._is_word("asc", "desc")
        return Order(name, is_descending)

    def _column(self) -> str:
        if self._kind not in {"name", "quoted"}:
            raise self._unexpected("a name")
        is_quoted = self._kind == "quoted"
        name = self._next()
        return name.replace('""', '"') if is_quoted else name


def _number(text: str) -> int | float:
    value = int(text) if text.isdecimal() else float(text)
    if abs(value) >= 2**63:
        raise ValueError(f"the number {text} is too large")
    return value


def _checked(call: Call) -> Node:
    """Return `call` with the right number of arguments and suitable literals; `if` and `case` as a `Case`."""
    function, arguments = call.function, call.arguments
    fewest, most = _ARGUMENTS[function]
    if not fewest <= len(arguments) <= most:
        text = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise ValueError(f"{function} takes {text} argument{'' if most == 1 else 's'}")
    if function in {"if", "case"}:
        pairs = range(0, len(arguments) - 1, 2)
        otherwise = arguments[-1] if len(arguments) % 2 else Constant(None)
        return Case(tuple((arguments[at], arguments[at + 1]) for at in pairs), otherwise)
    _check_literals(function, arguments)
    return call


def _check_literals(function: str, arguments: tuple[Node, ...]) -> None:
    if function == "round" and len(arguments) == 2:
        _check_whole(arguments[1], "the digits of round", 0, MAX_DIGITS)
    if function in {"lag", "moving_avg"} and len(arguments) == 2:
        _check_whole(arguments[1], f"the rows of {function}", 1, MAX_ROWS)
    if function in FISCAL:
        _check_whole(arguments[1], f"the start month of {function}", 1, 12)
    if function == "left":
        _check_whole(arguments[1], "the characters of left", 1, MAX_ROWS)
    if function == "log" and len(arguments) == 2:
        base = arguments[1]
        if not isinstance(base, Number) or base.value <= 0 or base.value == 1:
            raise ValueError("the base of log must be a literal number above 0 other than 1")
    if function in {"replace", *MATCHES}:
        for argument in arguments[1:]:
            if not isinstance(argument, Text) or (argument is arguments[1] and not argument.value):
                raise ValueError(f"{function} takes text in single quotes after its first argument, such as 'a'")


def _check_whole(node: Node, what: str, lowest: int, highest: int) -> None:
    if not isinstance(node, Number) or not isinstance(node.value, int) or not lowest <= node.value <= highest:
        raise ValueError(f"{what} must be a literal whole number from {lowest} to {highest}")

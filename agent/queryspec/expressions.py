"""The expression language of `derived`: arithmetic on numbers and names, and a few functions.

    expression = term {("+" | "-") term}
    term       = factor {("*" | "/") factor}
    factor     = "-" factor | number | name | call | "(" expression ")"
    call       = function "(" expression {"," expression} ")"

A name is written bare, as letters, digits and underscores of any script with dots between, or in double quotes, where
a doubled quote stands for one. Division by zero gives NULL. All numbers are floating-point.

- `nullif(x, y)`, `coalesce(x, y, ...)`, `abs(x)`, `round(x)`, `round(x, digits)`, with 0 to 10 digits.
- `share_of_total(x)`: x divided by the sum of x over all rows of the result before its limit, from 0 to 1.
- `rank(x)`: 1 for the largest x; equal values share a rank, followed by a gap; NULL for NULL.
- `change_from_previous(x)`: x minus the x of the previous row. Rows are ordered by the time groups, among rows that are
  equal in all other groups; without time groups by the sort. The first row has NULL.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from agent.queryspec.spec import MAX_EXPRESSION

MAX_DEPTH = 20
MAX_NODES = 100
"""Numbers, names, operators and functions in one expression."""

MAX_DIGITS = 10
WINDOWS = ("share_of_total", "rank", "change_from_previous")
_ARGUMENTS = {"nullif": (2, 2), "coalesce": (2, 10), "round": (1, 2), "abs": (1, 1), **dict.fromkeys(WINDOWS, (1, 1))}
FUNCTIONS = tuple(_ARGUMENTS)

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"
    r"|(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)"
    r'|"(?P<quoted>(?:[^"]|"")+)"'
    r"|(?P<sign>[-+*/(),]))",
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
    """`+`, `-`, `*` or `/` with two operands."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True)
class Call:
    """A call of one of the functions."""

    function: str
    arguments: tuple["Node", ...]


Node: TypeAlias = Number | Name | Negative | Binary | Call


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
    if isinstance(node, Negative):
        return (node.of,)
    if isinstance(node, Binary):
        return (node.left, node.right)
    return node.arguments if isinstance(node, Call) else ()


def names_in(node: Node) -> tuple[str, ...]:
    """Return the distinct names in `node`."""
    return tuple(dict.fromkeys(part.name for part in walk(node) if isinstance(part, Name)))


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
        node = self._sum()
        if self._kind != "end":
            raise self._unexpected("an operator or the end")
        if sum(1 for _ in walk(node)) > MAX_NODES:
            raise ValueError(f"it has more than {MAX_NODES} numbers, names, operators and functions")
        return node

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    @property
    def _text(self) -> str:
        return self._tokens[self._at][1]

    def _is(self, *signs: str) -> bool:
        return self._kind == "sign" and self._text in signs

    def _next(self) -> str:
        text = self._text
        self._at += 1
        return text

    def _expect(self, sign: str) -> None:
        if not self._is(sign):
            raise self._unexpected(f"{sign!r}")
        self._at += 1

    def _unexpected(self, expected: str) -> ValueError:
        _, text, place = self._tokens[self._at]
        return ValueError(f"{expected} is expected at character {place}, not {text}")

    def _sum(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
        node = self._product()
        while self._is("+", "-"):
            node = Binary(self._next(), node, self._product())
        self._depth -= 1
        return node

    def _product(self) -> Node:
        node = self._factor()
        while self._is("*", "/"):
            node = Binary(self._next(), node, self._factor())
        return node

    def _factor(self) -> Node:
        if self._is("-"):
            return self._negative()
        if self._is("("):
            self._at += 1
            node = self._sum()
            self._expect(")")
            return node
        if self._kind == "number":
            return Number(_number(self._next()))
        if self._kind == "quoted":
            return Name(self._next().replace('""', '"'))
        if self._kind == "name":
            name = self._next()
            return self._call(name) if self._is("(") else Name(name)
        raise self._unexpected("a number, a name or '('")

    def _negative(self) -> Node:
        self._at += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
        node = Negative(self._factor())
        self._depth -= 1
        return node

    def _call(self, name: str) -> Node:
        function = name.lower()
        if function not in _ARGUMENTS:
            raise ValueError(f"there is no function {name}, only {', '.join(FUNCTIONS)}")
        self._expect("(")
        arguments = [self._sum()]
        while self._is(","):
            self._at += 1
            arguments.append(self._sum())
        self._expect(")")
        return _check_arguments(Call(function, tuple(arguments)))


def _number(text: str) -> int | float:
    value = int(text) if text.isdecimal() else float(text)
    if not math.isfinite(value) or abs(value) >= 2**63:
        raise ValueError(f"the number {text} is too large")
    return value


def _check_arguments(call: Call) -> Call:
    fewest, most = _ARGUMENTS[call.function]
    if not fewest <= len(call.arguments) <= most:
        number = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise ValueError(f"{call.function} takes {number} argument{'' if most == 1 else 's'}")
    if call.function == "round" and len(call.arguments) == 2:
        digits = call.arguments[1]
        if not isinstance(digits, Number) or not isinstance(digits.value, int) or digits.value > MAX_DIGITS:
            raise ValueError(f"the digits of round must be a literal whole number from 0 to {MAX_DIGITS}")
    return call

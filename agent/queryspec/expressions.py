"""The language of `derived`: arithmetic on numbers and names, and a few named functions, read by a parser of its own.

    expression = term {("+" | "-") term}
    term       = factor {("*" | "/") factor}
    factor     = "-" factor | number | name | call | "(" expression ")"
    call       = function "(" expression {"," expression} ")"

A name is written bare, as letters, digits and underscores of any script with dots between, or in double quotes, where
two of them mean one. Whatever is divided by zero is NULL. All numbers are floating-point.

- `nullif(x, y)`, `coalesce(x, y, ...)`, `abs(x)`, `round(x)`, `round(x, digits)`, with 0 to 10 digits.
- `share_of_total(x)`: the part that x has in the sum of x over all rows of the result before its limit, from 0 to 1.
- `rank(x)`: 1 for the largest x, equal ranks for equal values, and gaps after them; NULL has none.
- `change_from_previous(x)`: x less the x of the row before, by the first group that is a period, among rows that are
  equal in all other groups; without such a group by the sort. The first row has NULL.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from agent.queryspec.spec import MAX_EXPRESSION

MAX_DEPTH = 20
MAX_NODES = 100
"""Numbers, names, operators and functions of one expression."""

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
    """A number that is written out."""

    value: int | float


@dataclass(frozen=True)
class Name:
    """A column of the result, or of the dataset."""

    name: str


@dataclass(frozen=True)
class Negative:
    """Minus something."""

    of: "Node"


@dataclass(frozen=True)
class Binary:
    """`+`, `-`, `*` or `/` of two."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True)
class Call:
    """One of the functions."""

    function: str
    arguments: tuple["Node", ...]


Node: TypeAlias = Number | Name | Negative | Binary | Call


def parse(text: str) -> Node:
    """Return what `text` says.

    Raises:
        ValueError: it is not of the language; the text says what and where.
    """
    if len(text) > MAX_EXPRESSION:
        raise ValueError(f"an expression has at most {MAX_EXPRESSION} characters")
    return _Parser(text).whole()


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and all that it is made of."""
    yield node
    for part in parts_of(node):
        yield from walk(part)


def parts_of(node: Node) -> tuple[Node, ...]:
    """Return what `node` is directly made of."""
    if isinstance(node, Negative):
        return (node.of,)
    if isinstance(node, Binary):
        return (node.left, node.right)
    return node.arguments if isinstance(node, Call) else ()


def names_in(node: Node) -> tuple[str, ...]:
    """Return the names in `node`, each once."""
    return tuple(dict.fromkeys(part.name for part in walk(node) if isinstance(part, Name)))


def windows_in(node: Node) -> tuple[Call, ...]:
    """Return the calls in `node` that look at other rows."""
    return tuple(part for part in walk(node) if isinstance(part, Call) and part.function in WINDOWS)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind, text and place (from 1) of each token, and an end."""
    text, at = text.rstrip(), 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise ValueError(f"{text[start]!r} at character {start + 1} is not of the language")
        kind = found.lastgroup or ""
        yield kind, found[kind], found.start(kind) + 1
        at = found.end()
    yield "end", "the end", len(text) + 1


class _Parser:
    """Recursive descent with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._sum()
        if self._kind != "end":
            raise self._unexpected("an operator or the end")
        if sum(1 for _ in walk(node)) > MAX_NODES:
            raise ValueError(f"it is made of more than {MAX_NODES} numbers, names, operators and functions")
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

    def _unexpected(self, wanted: str) -> ValueError:
        _, text, place = self._tokens[self._at]
        return ValueError(f"{wanted} is expected at character {place}, not {text}")

    def _sum(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
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
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
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
        return _checked(Call(function, tuple(arguments)))


def _number(text: str) -> int | float:
    value = int(text) if text.isdecimal() else float(text)
    if not math.isfinite(value) or abs(value) >= 2**63:
        raise ValueError(f"the number {text} is too large")
    return value


def _checked(call: Call) -> Call:
    fewest, most = _ARGUMENTS[call.function]
    if not fewest <= len(call.arguments) <= most:
        number = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise ValueError(f"{call.function} takes {number} argument{'' if most == 1 else 's'}")
    if call.function == "round" and len(call.arguments) == 2:
        digits = call.arguments[1]
        if not isinstance(digits, Number) or not isinstance(digits.value, int) or digits.value > MAX_DIGITS:
            raise ValueError(f"the digits of round are a whole number from 0 to {MAX_DIGITS}, written out")
    return call

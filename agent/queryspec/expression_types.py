"""Types of the expressions in `derived`: what each operator and function takes and gives."""

from collections.abc import Callable, Iterable

from datasphinx.agent.queryspec.dates import read_clock, read_span
from datasphinx.agent.queryspec.expressions import (
    BETWEEN,
    CASES,
    CLOCK_PARTS,
    DATE_PARTS,
    FISCAL,
    MATCHES,
    Binary,
    Call,
    Case,
    Compare,
    Constant,
    Logical,
    Missing,
    Name,
    Negative,
    Node,
    Not,
    Number,
    Text,
)
from datasphinx.agent.schema.catalog import TIMES, TypeClass

_TAKES: dict[str, tuple[tuple[TypeClass, ...], TypeClass]] = {
    **dict.fromkeys((*CASES, "trim", "normalize_space", "replace"), (("text",), "text")),
    **dict.fromkeys(MATCHES, (("text",), "boolean")),
    **dict.fromkeys((*DATE_PARTS, *FISCAL, "days_between"), (TIMES, "number")),
    **dict.fromkeys(CLOCK_PARTS, (("datetime", "time"), "number")),
    **dict.fromkeys(BETWEEN, ((*TIMES, "time"), "number")),
    "left": (("text",), "text"),
    "length": (("text",), "number"),
    "today": ((), "date"),
    "weekday_name": (TIMES, "text"),
    "concat": (("text", "number", "date"), "text"),
}
"""Types that functions take, and the type that they give; functions that are missing take and give numbers."""
_UNIFORM = ("coalesce", "nullif")
"""Functions that take values of one type and give that type."""

Finder = Callable[[str], TypeClass]
"""Returns the type of the column with a name."""


def type_of(node: Node, find: Finder) -> TypeClass | None:
    """Return the type of the values of `node`; None if it is always NULL.

    Raises:
        ValueError: An operator or a function is applied to a value of an unsuitable type; the message says which.
    """
    if isinstance(node, Number):
        return "number"
    if isinstance(node, Text):
        return "text"
    if isinstance(node, Constant):
        return None if node.value is None else "boolean"
    if isinstance(node, Name):
        return find(node.name)
    if isinstance(node, Negative):
        return _taken("-", node.of, ("number",), find) or "number"
    if isinstance(node, Binary):
        for part in (node.left, node.right):
            _taken(node.operator, part, ("number",), find)
        return "number"
    if isinstance(node, Case):
        for condition, _ in node.branches:
            _taken("a condition", condition, ("boolean",), find)
        return _common("if and case", [*(value for _, value in node.branches), node.otherwise], find)
    return _type_of_call(node, find) if isinstance(node, Call) else _type_of_condition(node, find)


def _type_of_condition(node: Compare | Logical | Not | Missing, find: Finder) -> TypeClass:
    if isinstance(node, Compare):
        kind = compared_type(node, find)
        if kind == "boolean" and node.operator not in {"=", "!="}:
            raise ValueError(f"{_words(node.left)} holds true or false, which cannot be ordered")
    elif isinstance(node, Logical):
        for part in (node.left, node.right):
            _taken(node.operator, part, ("boolean",), find)
    elif isinstance(node, Not):
        _taken("not", node.of, ("boolean",), find)
    else:
        type_of(node.of, find)
    return "boolean"


def compared_type(node: Compare, find: Finder) -> TypeClass | None:
    """Return the type as which the operands of `node` are compared. A date and a time are compared as dates.

    Raises:
        ValueError: The operands have different types, or text compared with a date is none.
    """
    if Constant(None) in (node.left, node.right):
        raise ValueError("a comparison with null is never true: write 'is null' or 'is not null'")
    kinds = type_of(node.left, find), type_of(node.right, find)
    for part, kind, other in ((node.left, kinds[0], kinds[1]), (node.right, kinds[1], kinds[0])):
        if isinstance(part, Text) and other == "time":
            read_clock(part.value)
            return other
        if kind not in {"number", "text", "boolean", "time", *TIMES, None}:
            raise ValueError(f"{_words(part)} holds {kind}, which cannot be compared")
        if isinstance(part, Text) and other in TIMES:
            _check_time(part, other)
            return other
    if set(kinds) == set(TIMES):
        return "date"
    known = [kind for kind in kinds if kind]
    if len(set(known)) > 1:
        left, right = _words(node.left), _words(node.right)
        raise ValueError(f"{left} ({kinds[0]}) cannot be compared with {right} ({kinds[1]}): the types differ")
    return known[0] if known else None


def _check_time(text: Text, kind: TypeClass) -> None:
    span = read_span(text.value)
    if kind == "date" and span.end is None:
        raise ValueError(f"'{text.value}' is a time, and a date such as '2024-03-31' is expected")


def _type_of_call(node: Call, find: Finder) -> TypeClass | None:
    function, arguments = node.function, node.arguments
    if function in _UNIFORM:
        return _common(function, arguments, find)
    if function == "lag":
        return type_of(arguments[0], find)
    takes, gives = _TAKES.get(function, (("number",), "number"))
    literals = arguments[1:] if function in FISCAL or function == "left" else ()
    for argument in arguments[: len(arguments) - len(literals)]:
        if function == "days_between" and isinstance(argument, Text):
            _check_time(argument, "datetime")
        else:
            _taken(function, argument, takes, find)
    return gives


def _taken(what: str, node: Node, takes: tuple[TypeClass, ...], find: Finder) -> TypeClass | None:
    kind = type_of(node, find)
    if kind is not None and kind not in takes:
        hint = ", and this column has only dates" if what in CLOCK_PARTS and kind == "date" else ""
        raise ValueError(f"{_words(node)} holds {kind}, but {what} takes {' or '.join(takes)}{hint}")
    return kind


def _common(what: str, nodes: Iterable[Node], find: Finder) -> TypeClass | None:
    """Return the type of all `nodes`; a time if some are dates and some times."""
    kinds = {kind for node in nodes if (kind := type_of(node, find))}
    if len(kinds) > 1 and not kinds <= set(TIMES):
        raise ValueError(f"the values of {what} have different types: {', '.join(sorted(kinds))}")
    return "datetime" if len(kinds) > 1 else next(iter(kinds), None)


def _words(node: Node) -> str:
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Call):
        return f"{node.function}(...)"
    return f"'{node.value}'" if isinstance(node, Text) else "an operand"

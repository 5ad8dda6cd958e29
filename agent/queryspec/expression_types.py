"""Types of the expressions in `derived`: what each operator and function takes and gives."""

from collections.abc import Callable, Iterable

from sqlglot import exp

from datasphinx.agent.queryspec.dates import read_clock, read_span
from datasphinx.agent.queryspec.expressions import (
    BETWEEN,
    CALCULATIONS,
    CASES,
    CLOCK_PARTS,
    COMPARISONS,
    DATE_PARTS,
    FISCAL,
    MATCHES,
    Call,
    Node,
    is_number,
    is_text,
    name_of,
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
_SIGNS = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_UNIFORM = ("coalesce", "nullif")
"""Functions that take values of one type and give that type."""

Finder = Callable[[str], TypeClass]
"""Returns the type of the column with a name."""


def type_of(node: Node, find: Finder) -> TypeClass | None:
    """Return the type of the values of `node`; None if it is always NULL.

    Raises:
        ValueError: An operator or a function is applied to a value of an unsuitable type; the message says which.
    """
    if isinstance(node, exp.Literal):
        return "number" if is_number(node) else "text"
    if isinstance(node, exp.Null | exp.Boolean):
        return "boolean" if isinstance(node, exp.Boolean) else None
    if isinstance(node, exp.Column):
        return find(name_of(node))
    if isinstance(node, exp.Neg):
        return _taken("-", node.this, ("number",), find) or "number"
    if isinstance(node, CALCULATIONS):
        for part in (node.this, node.expression):
            _taken(_SIGNS[type(node)], part, ("number",), find)
        return "number"
    if isinstance(node, exp.Case):
        for branch in node.args["ifs"]:
            _taken("a condition", branch.this, ("boolean",), find)
        values = [branch.args["true"] for branch in node.args["ifs"]]
        return _common("if and case", [*values, node.args.get("default") or exp.null()], find)
    return _type_of_call(node, find) if isinstance(node, Call) else _type_of_condition(node, find)


def _type_of_condition(node: Node, find: Finder) -> TypeClass:
    if isinstance(node, COMPARISONS):
        kind = compared_type(node, find)
        if kind == "boolean" and not isinstance(node, exp.EQ | exp.NEQ):
            raise ValueError(f"{_words(node.this)} holds true or false, which cannot be ordered")
    elif isinstance(node, exp.Is):
        type_of(node.this, find)
    else:
        for part in node.iter_expressions():
            _taken(node.key, part, ("boolean",), find)
    return "boolean"


def compared_type(node: Node, find: Finder) -> TypeClass | None:
    """Return the type as which the operands of a comparison are compared. A date and a time are compared as dates.

    Raises:
        ValueError: The operands have different types, or text compared with a date is none.
    """
    parts = (node.this, node.expression)
    if any(isinstance(part, exp.Null) for part in parts):
        raise ValueError("a comparison with null is never true: write 'is null' or 'is not null'")
    kinds = type_of(node.this, find), type_of(node.expression, find)
    for part, kind, other in zip(parts, kinds, kinds[::-1], strict=True):
        if is_text(part) and other == "time":
            read_clock(part.name)
            return other
        if kind not in {"number", "text", "boolean", "time", *TIMES, None}:
            raise ValueError(f"{_words(part)} holds {kind}, which cannot be compared")
        if is_text(part) and other in TIMES:
            _check_time(part, other)
            return other
    if set(kinds) == set(TIMES):
        return "date"
    known = [kind for kind in kinds if kind]
    if len(set(known)) > 1:
        left, right = map(_words, parts)
        raise ValueError(f"{left} ({kinds[0]}) cannot be compared with {right} ({kinds[1]}): the types differ")
    return known[0] if known else None


def _check_time(text: Node, kind: TypeClass) -> None:
    span = read_span(text.name)
    if kind == "date" and span.end is None:
        raise ValueError(f"'{text.name}' is a time, and a date such as '2024-03-31' is expected")


def _type_of_call(node: Call, find: Finder) -> TypeClass | None:
    function, arguments = node.function, node.expressions
    if function in _UNIFORM:
        return _common(function, arguments, find)
    if function == "lag":
        return type_of(arguments[0], find)
    takes, gives = _TAKES.get(function, (("number",), "number"))
    literals = arguments[1:] if function in FISCAL or function == "left" else ()
    for argument in arguments[: len(arguments) - len(literals)]:
        if function == "days_between" and is_text(argument):
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
    if isinstance(node, Call):
        return f"{node.function}(...)"
    return name_of(node) or (f"'{node.name}'" if is_text(node) else "an operand")

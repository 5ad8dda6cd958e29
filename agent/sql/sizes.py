"""Rules on effort: how many rows are made of nothing, how long a string may be made, how far a recursion may run.

They bound what the literals of a statement say; what the data decides is left to the limits of the connection.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from sqlglot import exp

from agent.sql.finding import Finding, Statement, position_of, shown
from agent.sql.functions import called_name

MAX_MADE_ROWS = 1_000_000
"""Rows that all generators of one statement may make together, as the product of their sizes."""
MAX_WIDTH = 10_000
"""Characters or elements that one call may be asked for."""
MAX_ARITHMETIC = 1_000_000
"""Largest number, and product of numbers, in a statement whose sizes the data decides."""

_GENERATORS = {"generate_series", "range", "sequence", "numbers", "generateseries", "generate_date_array"}
_WIDENERS = {
    "repeat", "lpad", "rpad", "space", "zeroblob", "randomblob", "printf", "format", "array_fill", "list_resize",
    "array_resize", "factorial", "bar", "array_repeat", "leftpad", "rightpad", "leftpadutf8", "rightpadutf8",
    "arrayresize", "arraywithconstant", "randomstring", "randomprintableascii", "tofixedstring", "replicate",
    "random_bytes", "sformat", "format_string", "makelist",
}  # fmt: skip
_FORMATS = {"printf", "format", "sformat", "format_string"}
_NUMBER_FORMAT = {"mysql"}
"""Where FORMAT writes a number, with at most 38 decimals."""
_POWERS = {"pow", "power", "exp", "factorial"}
_SECONDS = {
    "microsecond": 1e-6, "millisecond": 1e-3, "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800,
    "month": 2629800, "quarter": 7889400, "year": 31557600,
}  # fmt: skip


def bounded_rows(statement: Statement) -> Iterator[Finding]:
    """Generators make a limited number of rows, all of them together, as far as literals say how many."""
    total = 1.0
    for node in statement.nodes:
        if called_name(node, statement.dialect) not in _GENERATORS:
            continue
        rows = _rows_of(node)
        total *= max(rows or 1, 1)
        if (rows is None and not _is_tame(statement)) or (rows or 0) > MAX_MADE_ROWS or total > MAX_MADE_ROWS:
            text = f"{shown(node, statement.dialect)} makes too many rows, or does not say how many"
            yield Finding("bounded_rows", text, None, shown(node, statement.dialect), position_of(node))


def bounded_widths(statement: Statement) -> Iterator[Finding]:
    """Functions that make long strings and lists are asked for a limited length, and not of one another's results."""
    for node in statement.nodes:
        name = called_name(node, statement.dialect)
        if name not in _WIDENERS or (name == "format" and statement.dialect in _NUMBER_FORMAT):
            continue
        nested = node.find_ancestor(exp.Func)
        while nested and called_name(nested, statement.dialect) not in _WIDENERS - _FORMATS - {"bar"}:
            nested = nested.find_ancestor(exp.Func)
        if (nested and name not in _FORMATS) or not _is_narrow(node, name, statement):
            text = f"{shown(node, statement.dialect)} may become too long"
            yield Finding("bounded_widths", text, name.upper(), shown(node, statement.dialect), position_of(node))


def constant(node: exp.Expr | None) -> float | None:
    """Return the number that `node` is, where it is made of literals alone."""
    if isinstance(node, exp.Literal):
        return _number(str(node.this))
    if isinstance(node, exp.Paren | exp.Cast | exp.TryCast):
        return constant(node.this)
    if isinstance(node, exp.Neg):
        value = constant(node.this)
        return None if value is None else -value
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Pow | exp.BitwiseLeftShift):
        return _calculated(node, constant(node.this), constant(node.expression))
    return None


def _calculated(node: exp.Expr, left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    try:
        if isinstance(node, exp.Pow | exp.BitwiseLeftShift):
            return float(left**right) if isinstance(node, exp.Pow) else left * 2.0**right
        if isinstance(node, exp.Div | exp.Mul):
            return left / right if isinstance(node, exp.Div) else left * right
        return left + right if isinstance(node, exp.Add) else left - right
    except (OverflowError, ZeroDivisionError, TypeError):
        return float("inf")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _rows_of(node: exp.Expr) -> float | None:
    """Return how many rows a generator makes, None where its arguments are no literals."""
    start, end, step = _arguments(node)
    first, last, by = constant(start), constant(end), constant(step) if step is not None else 1.0
    if first is not None and end is None:
        return abs(first)
    if first is not None and last is not None and by is not None:
        return abs(last - first) / abs(by) + 1 if by else float("inf")
    dates, every = [_moment(start), _moment(end)], _interval(step)
    if all(dates) and every:
        return max(dates[1] - dates[0], 0) / every + 1  # type: ignore[operator]
    return None


def _arguments(node: exp.Expr) -> tuple[exp.Expr | None, exp.Expr | None, exp.Expr | None]:
    if isinstance(node, exp.GenerateSeries | exp.ExplodingGenerateSeries | exp.GenerateDateArray):
        arguments = [node.args.get("start"), node.args.get("end"), node.args.get("step")]
    else:
        arguments = [*node.expressions, None, None, None][:3]
    return arguments[0], arguments[1], arguments[2]


def _moment(node: exp.Expr | None) -> float | None:
    """Return the seconds of a literal date or timestamp."""
    while isinstance(node, exp.Cast | exp.Paren | exp.Date | exp.TsOrDsToDate | exp.Timestamp):
        node = node.this
    if not isinstance(node, exp.Literal):
        return None
    try:
        return datetime.fromisoformat(str(node.this)).replace(tzinfo=None).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _interval(node: exp.Expr | None) -> float | None:
    """Return the seconds of a literal interval."""
    while isinstance(node, exp.Cast | exp.Paren):
        node = node.this
    text = f"{node.this.name} {node.text('unit')}" if isinstance(node, exp.Interval) and node.this else ""
    text = text or (str(node.this) if isinstance(node, exp.Literal) else "")
    found = re.match(r"\s*(-?[\d.]+)\s*([a-z]+?)s?\b", text.lower())
    amount = _number(found[1]) if found else None
    return abs(amount) * _SECONDS.get(found[2], 1) if found and amount else None


def _is_narrow(node: exp.Expr, name: str, statement: Statement) -> bool:
    if name in _FORMATS:
        return _is_narrow_format(node)
    for part in _sizes(node, name):
        value = constant(part)
        if value is None and not _is_tame(statement):
            return False
        if value is not None and value > MAX_WIDTH:
            return False
    return True


def _sizes(node: exp.Expr, name: str) -> list[exp.Expr]:
    """Return the arguments that say how long the result is to be."""
    sizes: list[exp.Expr | None]
    if isinstance(node, exp.Repeat):
        sizes = [node.args.get("times")]
    elif isinstance(node, exp.Pad):
        sizes = [node.expression]
    elif isinstance(node, exp.Anonymous):
        sizes = list(node.expressions if name in {"array_fill", "arraywithconstant", "bar"} else node.expressions[1:])
        sizes = sizes or list(node.expressions)
    else:
        sizes = [node.this]
    flat = [item for size in sizes if size for item in (size.expressions if isinstance(size, exp.Array) else [size])]
    return [size for size in flat if not (isinstance(size, exp.Literal) and size.is_string and name != "factorial")]


def _is_narrow_format(node: exp.Expr) -> bool:
    pattern, *values = [part for part in node.iter_expressions() if isinstance(part, exp.Expr)] or [node]
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        return False
    text = str(pattern.this)
    widths = [int(digits) for digits in re.findall(r"\d+", text) if len(digits) < 20]
    wide = any(len(digits) >= 20 for digits in re.findall(r"\d+", text))
    numbers = [constant(value) for value in values if not (isinstance(value, exp.Literal) and value.is_string)]
    by_value = "*" in text.replace("%%", "") and any(number is None or number > MAX_WIDTH for number in numbers)
    nested = bool(re.search(r"\{[^}]*\{", text))
    return not wide and not by_value and not nested and all(width <= MAX_WIDTH for width in widths)


def _is_tame(statement: Statement) -> bool:
    """True where no number and no product of numbers in the statement is large: what the data decides then stays so."""
    for node in statement.nodes:
        if isinstance(node, exp.Pow | exp.Exp | exp.Factorial | exp.BitwiseLeftShift):
            return False
        if called_name(node, statement.dialect) in _POWERS:
            return False
        if isinstance(node, exp.Literal):
            value = _number(str(node.this))
            if value is not None and abs(value) > MAX_ARITHMETIC:
                return False
        if isinstance(node, exp.Mul) and not isinstance(node.parent, exp.Mul) and _product(node) > MAX_ARITHMETIC:
            return False
    return True


def _product(node: exp.Expr) -> float:
    """Return the product of the literals under a multiplication; a column counts as a thousand."""
    result = 1.0
    for part in node.walk(prune=lambda child: isinstance(child, exp.Column | exp.Query)):
        if isinstance(part, exp.Literal):
            result *= max(abs(_number(str(part.this)) or 1), 1)
        elif isinstance(part, exp.Column):
            result *= 1000
    return result

"""Rules on cost: generated rows, lengths of strings, recursion depth, cartesian products.

They limit costs that follow from the structure and the literals of a statement; the limits of the connection bound the
rest.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from sqlglot import exp

from datasphinx.agent.sql.guard.finding import Finding, Statement, position_of, sql_excerpt
from datasphinx.agent.sql.guard.functions import called_name
from datasphinx.agent.sql.selects import COMPARISONS, RANGES

MAX_GENERATED_ROWS = 1_000_000
"""Maximum number of rows that the generators of a statement may produce together: the product of their sizes."""
MAX_WIDTH = 10_000
"""Maximum number of characters or elements that a call may request."""
MAX_ARITHMETIC = 1_000_000
"""Largest number and product of numbers in a statement whose sizes depend on data."""

_ROW_GENERATORS = {
    "generate_series", "range", "sequence", "numbers", "generateseries", "generate_date_array", "generate_array",
    "generate_timestamp_array", "array_generate_range", "generator",
}  # fmt: skip
_WIDTH_FUNCTIONS = {
    "repeat", "lpad", "rpad", "space", "zeroblob", "randomblob", "printf", "format", "array_fill", "list_resize",
    "array_resize", "factorial", "bar", "array_repeat", "leftpad", "rightpad", "leftpadutf8", "rightpadutf8",
    "arrayresize", "arraywithconstant", "randomstring", "randomprintableascii", "tofixedstring", "replicate",
    "random_bytes", "sformat", "format_string", "makelist",
}  # fmt: skip
_FORMATS = {"printf", "format", "sformat", "format_string"}
_POWERS = {"pow", "power", "exp", "factorial"}
_SECONDS = {
    "microsecond": 1e-6, "millisecond": 1e-3, "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800,
    "month": 2629800, "quarter": 7889400, "year": 31557600,
}  # fmt: skip


MAX_RECURSION = 1_000_000
"""Largest literal that may bound a recursion."""
MAX_UNJOINED = 3
"""Maximum number of tables in one FROM without a condition between them."""
_COMPARISONS = (*COMPARISONS, exp.Like, exp.NullSafeEQ, exp.Not)


def bounded_rows(statement: Statement) -> Iterator[Finding]:
    """Reject row generators that together produce too many rows, or an unknown number."""
    total = 1.0
    for node in statement.nodes:
        if called_name(node, statement) not in _ROW_GENERATORS:
            continue
        rows = _rows_of(node)
        total *= max(rows or 1, 1)
        if (
            (rows is None and not _has_only_small_numbers(statement))
            or (rows or 0) > MAX_GENERATED_ROWS
            or total > MAX_GENERATED_ROWS
        ):
            text = f"{sql_excerpt(node, statement.dialect)} produces too many rows, or an unknown number"
            yield Finding("bounded_rows", text, None, sql_excerpt(node, statement.dialect), position_of(node))


def bounded_widths(statement: Statement) -> Iterator[Finding]:
    """Reject functions whose results may become too long, and nested calls of such functions."""
    for node in statement.nodes:
        name = called_name(node, statement)
        if name not in _WIDTH_FUNCTIONS or (name == "format" and statement.engine.format_takes_number):
            continue
        nested = node.find_ancestor(exp.Func)
        while nested and called_name(nested, statement) not in _WIDTH_FUNCTIONS - _FORMATS - {"bar"}:
            nested = nested.find_ancestor(exp.Func)
        if (nested and name not in _FORMATS) or not _has_limited_width(node, name, statement):
            text = f"{sql_excerpt(node, statement.dialect)} may become too long"
            yield Finding("bounded_widths", text, name.upper(), sql_excerpt(node, statement.dialect), position_of(node))


def constant(node: exp.Expr | None) -> float | None:
    """Return the numeric value of `node` if it consists only of literals, otherwise None.

    >>> from sqlglot import parse_one
    >>> constant(parse_one("2 * -3"))
    -6.0
    >>> constant(parse_one("2 * a")) is None
    True
    """
    if isinstance(node, exp.Literal):
        return _number(str(node.this))
    if isinstance(node, exp.Paren | exp.Cast | exp.TryCast):
        return constant(node.this)
    if isinstance(node, exp.Neg):
        value = constant(node.this)
        return None if value is None else -value
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Pow | exp.BitwiseLeftShift):
        return _calculate(node, constant(node.this), constant(node.expression))
    return None


def _calculate(node: exp.Expr, left: float | None, right: float | None) -> float | None:
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
    """Return the number of rows of a generator; None if its arguments are not literals."""
    named = {part.name.lower(): part.expression for part in node.expressions if isinstance(part, exp.Kwarg)}
    if named:
        # Snowflake's GENERATOR(ROWCOUNT => n, TIMELIMIT => s).
        return constant(named["rowcount"]) if "rowcount" in named else float("inf")
    start, end, step = _arguments(node)
    first, last, by = constant(start), constant(end), constant(step) if step is not None else 1.0
    if first is not None and end is None:
        return abs(first)
    if first is not None and last is not None and by is not None:
        return abs(last - first) / abs(by) + 1 if by else float("inf")
    dates, interval = [_timestamp(start), _timestamp(end)], _interval(step)
    if all(dates) and interval:
        return max(dates[1] - dates[0], 0) / interval + 1  # type: ignore[operator]
    return None


def _arguments(node: exp.Expr) -> tuple[exp.Expr | None, exp.Expr | None, exp.Expr | None]:
    if isinstance(
        node, exp.GenerateSeries | exp.ExplodingGenerateSeries | exp.GenerateDateArray | exp.GenerateTimestampArray
    ):
        arguments = [node.args.get("start"), node.args.get("end"), node.args.get("step")]
    else:
        arguments = [*node.expressions, None, None, None][:3]
    return arguments[0], arguments[1], arguments[2]


def _timestamp(node: exp.Expr | None) -> float | None:
    """Return a literal date or timestamp in seconds."""
    while isinstance(node, exp.Cast | exp.Paren | exp.Date | exp.TsOrDsToDate | exp.Timestamp):
        node = node.this
    if not isinstance(node, exp.Literal):
        return None
    try:
        return datetime.fromisoformat(str(node.this)).replace(tzinfo=None).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _interval(node: exp.Expr | None) -> float | None:
    """Return the length of a literal interval in seconds."""
    while isinstance(node, exp.Cast | exp.Paren):
        node = node.this
    text = f"{node.this.name} {node.text('unit')}" if isinstance(node, exp.Interval) and node.this else ""
    text = text or (str(node.this) if isinstance(node, exp.Literal) else "")
    match = re.match(r"\s*(-?[\d.]+)\s*([a-z]+?)s?\b", text.lower())
    amount = _number(match[1]) if match else None
    return abs(amount) * _SECONDS.get(match[2], 1) if match and amount else None


def _has_limited_width(node: exp.Expr, name: str, statement: Statement) -> bool:
    if name in _FORMATS:
        return _has_limited_format(node)
    for part in _sizes(node, name):
        value = constant(part)
        if value is None and not _has_only_small_numbers(statement):
            return False
        if value is not None and value > MAX_WIDTH:
            return False
    return True


def _sizes(node: exp.Expr, name: str) -> list[exp.Expr]:
    """Return the arguments that determine the length of the result."""
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


def _has_limited_format(node: exp.Expr) -> bool:
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


def _has_only_small_numbers(statement: Statement) -> bool:
    """Return whether all numbers and products are small, so that sizes computed from data stay small too."""
    for node in statement.nodes:
        if isinstance(node, exp.Pow | exp.Exp | exp.Factorial | exp.BitwiseLeftShift):
            return False
        if called_name(node, statement) in _POWERS:
            return False
        if isinstance(node, exp.Literal):
            value = _number(str(node.this))
            if value is not None and abs(value) > MAX_ARITHMETIC:
                return False
        if isinstance(node, exp.Mul) and not isinstance(node.parent, exp.Mul) and _product(node) > MAX_ARITHMETIC:
            return False
    return True


def _product(node: exp.Expr) -> float:
    """Return the product of the literals in a multiplication; a column counts as 1000."""
    result = 1.0
    for part in node.walk(prune=lambda child: isinstance(child, exp.Column | exp.Query)):
        if isinstance(part, exp.Literal):
            result *= max(abs(_number(str(part.this)) or 1), 1)
        elif isinstance(part, exp.Column):
            result *= 1000
    return result


def bounded_recursion(statement: Statement) -> Iterator[Finding]:
    """Reject recursive common table expressions without an end: a condition on rows, a join, or a LIMIT."""
    for cte in (node for node in statement.nodes if isinstance(node, exp.CTE)):
        for arm in cte.this.find_all(exp.Select) if isinstance(cte.this, exp.SetOperation) else ():
            tables = [table for table in _sources(arm) if table.name.lower() == cte.alias.lower()]
            is_recursive = any(not table.text("db") for table in tables)
            if is_recursive and not _is_limited(arm, cte):
                text = f"the recursion of {cte.alias} has no condition that limits it"
                yield Finding("bounded_recursion", text, None, cte.alias, position_of(cte))


def bounded_joins(statement: Statement) -> Iterator[Finding]:
    """Reject SELECTs with too many tables that no condition connects."""
    for select in (node for node in statement.nodes if isinstance(node, exp.Select)):
        unjoined = _count_unjoined(select)
        if unjoined > MAX_UNJOINED:
            text = f"{unjoined} tables have no condition between them, at most {MAX_UNJOINED} are allowed"
            yield Finding("bounded_joins", text, None, "CROSS JOIN", position_of(select.args["from_"]))


def _is_limited(arm: exp.Select, cte: exp.CTE) -> bool:
    limit = cte.this.args.get("limit")
    value = constant(limit.expression) if limit else None
    if value is not None and value <= MAX_RECURSION:
        return True
    conditions = _conditions(arm)
    compared = [node for condition in conditions for node in condition.walk() if isinstance(node, exp.Binary)]
    bounds = [constant(side) for node in compared for side in (node.this, node.expression)]
    if any(bound is not None and abs(bound) > MAX_RECURSION for bound in bounds):
        return False
    if any(isinstance(part, exp.Column) for condition in conditions for part in condition.walk()):
        return True
    return any(join.args.get("using") or join.method == "NATURAL" for join in arm.args.get("joins", []))


def _conditions(select: exp.Select) -> list[exp.Expr]:
    """Return the conditions of `select` that contain comparisons: WHERE and ON."""
    where = select.args.get("where")
    conditions = [where.this] if where else []
    conditions += [join.args["on"] for join in select.args.get("joins", []) if join.args.get("on")]
    return [condition for condition in conditions if next(condition.find_all(*_COMPARISONS), None)]


def _sources(select: exp.Select) -> list[exp.Expr]:
    first = select.args.get("from_")
    join_sources = [join.this for join in select.args.get("joins", [])]
    return [source for source in [first.this if first else None, *join_sources] if source is not None]


def _count_unjoined(select: exp.Select) -> int:
    """Return the number of unconnected sources, assuming that each condition on two columns connects a pair."""
    sources = [source for source in _sources(select) if _is_large(source)]
    joins = select.args.get("joins", [])
    joined = sum(1 for join in joins if join.args.get("using") or join.method in {"NATURAL", "ASOF"} or _compares(join))
    where = select.args.get("where")
    pairs = {
        frozenset(column.table.lower() or column.sql() for column in node.find_all(exp.Column))
        for node in (where.find_all(exp.EQ, *RANGES, exp.Between, exp.In, exp.Like) if where else ())
    }
    return len(sources) - joined - sum(len(pair) > 1 for pair in pairs)


def _compares(join: exp.Join) -> bool:
    condition = join.args.get("on")
    return condition is not None and next(condition.find_all(exp.Column), None) is not None


def _is_large(source: exp.Expr) -> bool:
    """Return whether `source` is a table or a subquery that may return more than one row."""
    if isinstance(source, exp.Table):
        return not isinstance(source.this, exp.Func)
    if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Select):
        select = source.this
        is_one_row = any(part.find(exp.AggFunc) for part in select.expressions) and not select.args.get("group")
        return bool(select.args.get("from_")) and not is_one_row
    return False

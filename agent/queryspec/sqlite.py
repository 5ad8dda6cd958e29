"""SQL constructs for SQLite, which stores dates and times as text and has no decimals."""

from datetime import datetime
from functools import reduce

from sqlglot import exp

from agent.queryspec.spec import Period
from agent.schema.catalog import TypeClass

_DATETIME_FORMAT = "%Y-%m-%d %H:%M:%f"
_PARTS = {"year": "%Y", "month": "%m", "day": "%d", "hour": "%H", "minute": "%M"}
_FORMATS: dict[Period, str] = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}


def function_call(name: str, *arguments: exp.Expr | str | int) -> exp.Expr:
    """Return a call of the function `name`; text and number arguments become literals."""
    return exp.Anonymous(this=name, expressions=list(map(_literal, arguments)))


def as_comparable(node: exp.Expr, kind: TypeClass) -> exp.Expr:
    """Return a date or time in the one form used for comparison, however it is stored; other types unchanged."""
    if kind == "date":
        return function_call("DATE", node)
    return function_call("STRFTIME", _DATETIME_FORMAT, node) if kind == "datetime" else node


def datetime_text(time: datetime) -> str:
    """Return a time in that form."""
    return time.isoformat(sep=" ", timespec="milliseconds")


def period(node: exp.Expr, by: Period) -> exp.Expr:
    """Return the period of a date or time as text; NULL for NULL."""
    if by in _FORMATS:
        return function_call("STRFTIME", _FORMATS[by], node)
    if by == "quarter":
        number = _divide(exp.Add(this=_integer("%m", node), expression=_literal(2)), 3)
        return _join_texts(function_call("STRFTIME", "%Y", node.copy()), _literal("-Q"), exp.Paren(this=number))
    padded = function_call("SUBSTR", _join_texts(_literal("0"), exp.Paren(this=_iso_week(node.copy()))), -2)
    return _join_texts(function_call("STRFTIME", "%Y", _thursday(node)), _literal("-W"), padded)


def date_part(node: exp.Expr, part: str) -> exp.Expr:
    """Return a part of a date or time as an integer."""
    if part == "iso_week":
        return exp.Paren(this=_iso_week(node))
    if part == "quarter":
        return _divide(exp.Add(this=_integer("%m", node), expression=_literal(2)), 3)
    if part == "weekday":
        day = exp.Add(this=_integer("%w", node), expression=_literal(6))
        return exp.Paren(
            this=exp.Add(this=exp.Mod(this=exp.Paren(this=day), expression=_literal(7)), expression=_literal(1))
        )
    return _integer(_PARTS[part], node)


def days_between(start: exp.Expr, end: exp.Expr) -> exp.Expr:
    """Return the days from one date to another as an integer."""
    days = exp.Sub(this=function_call("JULIANDAY", end), expression=function_call("JULIANDAY", start))
    return exp.cast(days, "INTEGER", copy=False)


def seconds(node: exp.Expr, *, is_clock: bool) -> exp.Expr:
    """Return the seconds of a time of day, or those of a date and time since 1970."""
    made = _integer("%s", node)
    start = exp.cast(function_call("STRFTIME", "%s", "00:00"), "INTEGER", copy=False)
    return exp.Paren(this=exp.Sub(this=made, expression=start)) if is_clock else made


def clock_text(node: exp.Expr) -> exp.Expr:
    """Return a number of seconds as text, such as `37:45:00`."""
    parts: list[exp.Expr] = [
        exp.cast(
            exp.Div(this=exp.Paren(this=node.copy()), expression=_literal(size), typed=True), "INTEGER", copy=False
        )
        for size in (3600, 60, 1)
    ]
    parts[1:] = [exp.Mod(this=part, expression=_literal(60)) for part in parts[1:]]
    missing = exp.Is(this=exp.Paren(this=node), expression=exp.Null())
    return exp.Case().when(exp.Not(this=missing), function_call("PRINTF", "%d:%02d:%02d", *parts))


def _thursday(node: exp.Expr) -> exp.Expr:
    """Return the Thursday of a date's week: a week belongs to the year of its Thursday (ISO 8601)."""
    return function_call("DATE", node, "-3 days", "weekday 4")


def _iso_week(node: exp.Expr) -> exp.Expr:
    days = exp.Sub(this=_integer("%j", _thursday(node)), expression=_literal(1))
    return exp.Add(this=_divide(days, 7), expression=_literal(1))


def pattern(text: str) -> str:
    """Return the GLOB pattern that matches `text` in any case; LIKE and LOWER handle only ASCII."""
    parts = []
    for character in text:
        cases = dict.fromkeys((character, character.lower(), character.upper()))
        single = [variant for variant in cases if len(variant) == 1]
        parts.append(f"[{''.join(single)}]" if len(single) > 1 or character in "*?[" else character)
    return "".join(parts)


def round_number(node: exp.Expr, digits: int) -> exp.Expr:
    """Return `node` rounded half away from zero, like a decimal with ten decimal places."""
    if not digits:
        return exp.Round(this=exp.Round(this=node, decimals=_literal(10)))
    scale = _literal(float(10**digits))
    shifted = exp.Mul(this=exp.Paren(this=node), expression=scale)
    whole = exp.Round(this=exp.Round(this=shifted, decimals=_literal(10 - digits)))
    return exp.Paren(this=exp.Div(this=whole, expression=scale.copy(), typed=True))


def is_number(text: exp.Expr) -> exp.Expr:
    """Return the condition that `text` is a decimal number: digits with at most one point, and a sign before them."""
    rest = function_call("LTRIM", text, "+-")
    # LTRIM removes all signs, so at most one is allowed.
    is_short = exp.LTE(
        this=exp.Sub(this=function_call("LENGTH", text.copy()), expression=function_call("LENGTH", rest)),
        expression=_literal(1),
    )
    patterns = (("*[^0-9.]*", False), ("[0-9]*", True), ("*.*.*", False))
    globs: list[exp.Expr] = []
    for pattern_text, is_wanted in patterns:
        glob = exp.Glob(this=rest.copy(), expression=_literal(pattern_text))
        globs.append(glob if is_wanted else exp.Not(this=glob))
    return exp.and_(is_short, *globs, copy=False)


def _literal(value: exp.Expr | str | int | float) -> exp.Expr:
    if isinstance(value, exp.Expr):
        return value
    return exp.Literal.string(value) if isinstance(value, str) else exp.Literal.number(value)


def _integer(part: str, node: exp.Expr) -> exp.Expr:
    return exp.cast(function_call("STRFTIME", part, node), "INTEGER", copy=False)


def _divide(node: exp.Expr, by: int) -> exp.Expr:
    return exp.Div(this=exp.Paren(this=node), expression=_literal(by), typed=True)


def _join_texts(*texts: exp.Expr) -> exp.Expr:
    return reduce(lambda head, text: exp.DPipe(this=head, expression=text), texts)

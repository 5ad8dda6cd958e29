"""SQL constructs that differ between engines."""

import re
from datetime import datetime
from typing import Literal, get_args

from sqlglot import exp

from agent.errors import ConfigurationError
from agent.messages import Message
from agent.queryspec import sqlite
from agent.queryspec.spec import Period
from agent.schema.catalog import Column, TypeClass

SpecDialect = Literal["duckdb", "postgres", "mysql", "sqlite", "clickhouse"]
DIALECTS: tuple[SpecDialect, ...] = get_args(SpecDialect)

_FORMATTERS = {"duckdb": "STRFTIME", "postgres": "TO_CHAR", "mysql": "DATE_FORMAT", "clickhouse": "formatDateTime"}
_ISO_FORMATS: dict[Period, str] = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}
_FORMATS: dict[str, dict[Period, str]] = {
    "duckdb": _ISO_FORMATS,
    "clickhouse": {**_ISO_FORMATS, "quarter": "%Y-Q%Q"},
    "mysql": {**_ISO_FORMATS, "week": "%x-W%v"},
    "postgres": {
        "day": "YYYY-MM-DD",
        "week": 'IYYY-"W"IW',
        "month": "YYYY-MM",
        "quarter": 'YYYY-"Q"Q',
        "year": "YYYY",
    },
}
_TYPES: dict[str, dict[TypeClass, str]] = {
    "duckdb": {"number": "DOUBLE", "date": "DATE", "datetime": "TIMESTAMP", "text": "TEXT"},
    "postgres": {"number": "DOUBLE PRECISION", "date": "DATE", "datetime": "TIMESTAMP", "text": "TEXT"},
    "mysql": {"number": "DOUBLE", "date": "DATE", "datetime": "DATETIME(6)", "text": "CHAR"},
    "sqlite": {"number": "REAL", "text": "TEXT"},
    "clickhouse": {
        "number": "Nullable(Float64)",
        "date": "Nullable(Date32)",
        "datetime": "Nullable(DateTime64(6))",
        "text": "Nullable(String)",
    },
}
_EXACT = {"duckdb": "DECIMAL(38, 10)", "postgres": "DECIMAL", "mysql": "DECIMAL(38, 10)"}
_EXACT_CLICKHOUSE = "Nullable(Decimal(38, 10))"
_PLAIN_TEXT = re.compile(r"char|text|string|clob", re.IGNORECASE)
_NULLABLE: tuple[TypeClass, ...] = ("number", "text", "date", "datetime", "boolean")
_BACKSLASH = "\\"


def spec_dialect(dialect: str) -> SpecDialect:
    """Return the dialect of a source as one that specs can be compiled to.

    Raises:
        ConfigurationError: Specs cannot be compiled to this dialect.
    """
    supported = next((name for name in DIALECTS if name == dialect), None)
    if supported is None:
        raise ConfigurationError(
            "DATASPHINX_SOURCES", Message("spec_engine_not_supported", supported=", ".join(DIALECTS), engine=dialect)
        )
    return supported


def function_call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """Return a call of the engine-specific function `name`."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def cast(node: exp.Expr, kind: TypeClass, dialect: SpecDialect) -> exp.Expr:
    """Return `node` cast to the engine's type for `kind`; unchanged if the engine has none."""
    name = _TYPES[dialect].get(kind)
    return exp.cast(node, exp.DataType.build(name, dialect=dialect), copy=False) if name else node


def as_comparable(node: exp.Expr, kind: TypeClass, dialect: SpecDialect) -> exp.Expr:
    """Return `node` in a form that can be compared with a bound value."""
    return sqlite.as_comparable(node, kind) if dialect == "sqlite" else node


def datetime_text(time: datetime, dialect: SpecDialect) -> str:
    """Return a time as the text to bind."""
    return sqlite.datetime_text(time) if dialect == "sqlite" else time.isoformat(sep=" ")


def as_text(node: exp.Expr, column: Column, dialect: SpecDialect) -> exp.Expr:
    """Return a text column cast to text if the engine has another type for it, such as an enum or a UUID."""
    return node if _PLAIN_TEXT.search(column.type) else cast(node, "text", dialect)


def period_key(node: exp.Expr, by: Period, dialect: SpecDialect) -> exp.Expr:
    """Return the expression to group by: the period's text, or on DuckDB its first day, which is faster."""
    return (
        function_call("DATE_TRUNC", exp.Literal.string(by), node) if dialect == "duckdb" else _period(node, by, dialect)
    )


def period(node: exp.Expr, by: Period, dialect: SpecDialect) -> exp.Expr:
    """Return the period as text, such as `2024-03`, from the result of `period_key`; NULL for NULL."""
    return _period(node, by, dialect) if dialect == "duckdb" else node


def _period(node: exp.Expr, by: Period, dialect: SpecDialect) -> exp.Expr:
    if dialect == "sqlite":
        return sqlite.period(node, by)
    formats = _FORMATS[dialect]
    if by in formats:
        return function_call(_FORMATTERS[dialect], node, exp.Literal.string(formats[by]))
    year = function_call(_FORMATTERS[dialect], node.copy(), exp.Literal.string("%Y"))
    parts = [year, exp.Literal.string("-Q"), function_call("QUARTER", node)]
    if dialect == "mysql":
        return function_call("CONCAT", *parts)
    # DuckDB's CONCAT skips NULL.
    return exp.DPipe(this=exp.DPipe(this=parts[0], expression=parts[1]), expression=parts[2])


def contains(node: exp.Expr, pattern: exp.Expr, dialect: SpecDialect) -> exp.Expr:
    """Return a case-insensitive match of `node` with `pattern`, which `contains_pattern` has made."""
    if dialect == "clickhouse":
        # ClickHouse's LOWER handles only ASCII, and its LIKE has no ESCAPE.
        return exp.Like(this=function_call("lowerUTF8", node), expression=function_call("lowerUTF8", pattern))
    if dialect == "sqlite":
        return exp.Glob(this=node, expression=pattern)
    like = exp.Like(this=exp.Lower(this=node), expression=exp.Lower(this=pattern))
    return exp.Escape(this=like, expression=exp.Literal.string("!"))


def contains_pattern(text: str, dialect: SpecDialect) -> str:
    """Return the pattern that matches `text` anywhere."""
    if dialect == "sqlite":
        return sqlite.pattern(text)
    sign = _BACKSLASH if dialect == "clickhouse" else "!"
    for special in (sign, "%", "_"):
        text = text.replace(special, sign + special)
    return f"%{text}%"


def round_number(node: exp.Expr, digits: int, dialect: SpecDialect) -> exp.Expr:
    """Return `node` rounded half away from zero, since engines differ in rounding binary fractions."""
    if dialect == "sqlite":
        return sqlite.round_number(node, digits)
    name = _EXACT_CLICKHOUSE if dialect == "clickhouse" else _EXACT[dialect]
    exact = exp.cast(node, exp.DataType.build(name, dialect=dialect), copy=False)
    return cast(exp.Round(this=exact, decimals=exp.Literal.number(digits)), "number", dialect)


def nullable(node: exp.Expr, kind: TypeClass, dialect: SpecDialect) -> exp.Expr:
    """Return `node` as nullable: ClickHouse otherwise has 0 or '' instead of NULL for missing values."""
    return function_call("toNullable", node) if dialect == "clickhouse" and kind in _NULLABLE else node

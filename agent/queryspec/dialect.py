"""SQL constructs that differ between engines."""

import calendar
import re
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from typing import Literal, get_args

import sqlglot
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
_INTEGERS = {
    "duckdb": "BIGINT", "postgres": "BIGINT", "mysql": "SIGNED", "sqlite": "INTEGER", "clickhouse": "Nullable(Int64)",
}  # fmt: skip
_CLICKHOUSE_PARTS = {
    "year": "toYear", "quarter": "toQuarter", "month": "toMonth", "iso_week": "toISOWeek", "day": "toDayOfMonth",
    "weekday": "toDayOfWeek", "hour": "toHour", "minute": "toMinute",
}  # fmt: skip
_EXACT = {"duckdb": "DECIMAL(38, 10)", "postgres": "DECIMAL", "mysql": "DECIMAL(38, 10)"}
_EXACT_CLICKHOUSE = "Nullable(Decimal(38, 10))"
_PLAIN_TEXT = re.compile(r"char|text|string|clob", re.IGNORECASE)
_NULLABLE: tuple[TypeClass, ...] = ("number", "text", "date", "datetime", "boolean")
_BACKSLASH = "\\"
_INITCAP: dict[SpecDialect, str] = {
    "duckdb": "ARRAY_TO_STRING(LIST_TRANSFORM(STR_SPLIT(lower_text, ' '), "
    "LAMBDA word : UPPER(SUBSTRING(word, 1, 1)) || SUBSTRING(word, 2)), ' ')",
    # An array is never NULL.
    "clickhouse": "CASE WHEN lower_text IS NOT NULL THEN arrayStringConcat(arrayMap(word -> "
    "concat(upperUTF8(substringUTF8(word, 1, 1)), substringUTF8(word, 2)), splitByString(' ', lower_text)), ' ') END",
    # An empty text has no words.
    "postgres": "COALESCE((SELECT STRING_AGG(UPPER(SUBSTRING(word, 1, 1)) || SUBSTRING(word, 2), ' ' ORDER BY place) "
    "FROM UNNEST(STRING_TO_ARRAY(lower_text, ' ')) WITH ORDINALITY AS words(word, place)), lower_text)",
    "mysql": "(SELECT GROUP_CONCAT(CONCAT(UPPER(SUBSTRING(word, 1, 1)), SUBSTRING(word, 2)) ORDER BY place SEPARATOR "
    "' ') FROM JSON_TABLE(CONCAT('[', REPLACE(JSON_QUOTE(lower_text), ' ', '\",\"'), ']'), '$[*]' COLUMNS(place FOR "
    "ORDINALITY, word TEXT PATH '$')) AS words)",
    "sqlite": "(SELECT GROUP_CONCAT(UPPER(SUBSTRING(value, 1, 1)) || SUBSTRING(value, 2), ' ') FROM "
    "JSON_EACH('[' || REPLACE(JSON_QUOTE(lower_text), ' ', '\",\"') || ']'))",
}
"""`lower_text` with the first letters of its words in upper case."""


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


def typed_null(kind: str, dialect: SpecDialect) -> exp.Expr:
    """Return NULL in place of a column of the type `kind` in a union; PostgreSQL takes NULL without a type as text."""
    if dialect != "postgres":
        return exp.null()
    return exp.cast(exp.null(), exp.DataType.build(kind, dialect=dialect, udt=True), copy=False)


def as_comparable(node: exp.Expr, kind: TypeClass, dialect: SpecDialect) -> exp.Expr:
    """Return `node` in a form that can be compared with a bound value."""
    if kind == "time":
        return seconds(node, kind, dialect)
    return sqlite.as_comparable(node, kind) if dialect == "sqlite" else node


def seconds(node: exp.Expr, kind: TypeClass, dialect: SpecDialect) -> exp.Expr:
    """Return the seconds of a time of day or a duration, or those of a date and time since a fixed day."""
    if dialect in {"duckdb", "postgres"}:
        return cast(exp.Extract(this=exp.Var(this="EPOCH"), expression=node), "number", dialect)
    if dialect == "mysql":
        return function_call("TIME_TO_SEC" if kind == "time" else "TO_SECONDS", node)
    if dialect == "clickhouse":
        return exp.Div(
            this=function_call("toUnixTimestamp64Micro", cast(node, "datetime", dialect)),
            expression=exp.Literal.number(1_000_000),
        )
    return sqlite.seconds(node, is_clock=kind == "time")


def duration(node: exp.Expr, dialect: SpecDialect) -> exp.Expr:
    """Return a number of seconds as a duration, for which SQLite and ClickHouse have text, such as `37:45:00`."""
    if dialect == "duckdb":
        return function_call("TO_SECONDS", node)
    if dialect == "postgres":
        return exp.Mul(this=exp.Paren(this=node), expression=exp.Interval(this=exp.Literal.string("1 second")))
    return function_call("SEC_TO_TIME", node) if dialect == "mysql" else sqlite.clock_text(node)


def text_length(node: exp.Expr, dialect: SpecDialect) -> exp.Expr:
    """Return the number of characters of a text."""
    names = {"mysql": "CHAR_LENGTH", "clickhouse": "lengthUTF8"}
    return function_call(names.get(dialect, "LENGTH"), node)


def first_characters(node: exp.Expr, count: int, dialect: SpecDialect) -> exp.Expr:
    """Return the first characters of a text."""
    names = {"sqlite": "SUBSTR", "clickhouse": "substringUTF8"}
    one, number = exp.Literal.number(1), exp.Literal.number(count)
    return function_call(names.get(dialect, "SUBSTRING"), node, one, number)


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


def contains_pattern(text: str, dialect: SpecDialect, place: str = "contains") -> str:
    """Return the pattern that matches `text` anywhere, or at the place that `starts_with` or `ends_with` names."""
    if dialect == "sqlite":
        text, any_text = sqlite.pattern(text), "*"
    else:
        sign, any_text = _BACKSLASH if dialect == "clickhouse" else "!", "%"
        for special in (sign, "%", "_"):
            text = text.replace(special, sign + special)
    before, after = any_text * (place != "starts_with"), any_text * (place != "ends_with")
    return f"{before}{text}{after}"


def matches(node: exp.Expr, pattern: exp.Expr, dialect: SpecDialect) -> exp.Expr:
    """Return whether a regular expression matches somewhere in `node`, on an engine with RE2."""
    return function_call("match" if dialect == "clickhouse" else "REGEXP_MATCHES", node, pattern)


def cast_to_integer(node: exp.Expr, dialect: SpecDialect) -> exp.Expr:
    """Return `node` cast to a 64-bit integer."""
    return exp.cast(node, exp.DataType.build(_INTEGERS[dialect], dialect=dialect), copy=False)


def case_changed(node: exp.Expr, function: str, dialect: SpecDialect) -> exp.Expr:
    """Return `node` in lower or upper case; on SQLite only letters from A to Z change."""
    if dialect == "clickhouse":
        return function_call(f"{function}UTF8", node)
    return (exp.Lower if function == "lower" else exp.Upper)(this=node)


def initcap(node: exp.Expr, dialect: SpecDialect) -> exp.Expr:
    """Return `node` with the first letter of each word between spaces in upper case and the others in lower case.

    The functions of this name differ in what ends a word, and three engines have none: the words are split, changed and
    joined instead.
    """
    lower = case_changed(node, "lower", dialect)
    form = sqlglot.parse_one(_INITCAP[dialect], dialect=dialect)
    return form.transform(lambda part: lower.copy() if part == exp.column("lower_text") else part, copy=False)


def replace_text(node: exp.Expr, old: exp.Expr, new: exp.Expr, dialect: SpecDialect) -> exp.Expr:
    """Return `node` with every `old` replaced by `new`."""
    return function_call("replaceAll" if dialect == "clickhouse" else "REPLACE", node, old, new)


def join_texts(texts: Sequence[exp.Expr], dialect: SpecDialect) -> exp.Expr:
    """Return `texts` one after the other, where NULL is empty."""
    parts: list[exp.Expr] = [exp.Coalesce(this=text, expressions=[exp.Literal.string("")]) for text in texts]
    if dialect in {"mysql", "clickhouse"}:
        return function_call("CONCAT" if dialect == "mysql" else "concat", *parts)
    return exp.Paren(this=reduce(lambda left, right: exp.DPipe(this=left, expression=right), parts))


def number_text(node: exp.Expr, dialect: SpecDialect) -> exp.Expr:
    """Return a floating-point number as text, without decimals if it is whole."""
    whole = cast(cast_to_integer(node.copy(), dialect), "text", dialect)
    floor, size = exp.Floor(this=node.copy()), exp.Abs(this=node.copy())
    is_whole = exp.and_(
        exp.EQ(this=exp.Paren(this=node.copy()), expression=floor),
        exp.LT(this=size, expression=exp.Literal.number(10**15)),
    )
    return exp.Case().when(is_whole, whole).else_(cast(node, "text", dialect))


def date_part(node: exp.Expr, part: str, dialect: SpecDialect) -> exp.Expr:
    """Return a part of a date or time as an integer: see `agent.queryspec.expressions`; `iso`: the date as text."""
    if part == "iso":
        return _period(node, "day", dialect)
    if dialect == "sqlite":
        return sqlite.date_part(node, part)
    if dialect in {"duckdb", "postgres"}:
        field = {"iso_week": "WEEK", "weekday": "ISODOW"}.get(part, part.upper())
        return cast_to_integer(exp.Extract(this=exp.Var(this=field), expression=node), dialect)
    if dialect == "clickhouse":
        return cast_to_integer(function_call(_CLICKHOUSE_PARTS[part], node), dialect)
    if part == "iso_week":
        return function_call("WEEK", node, exp.Literal.number(3))
    if part == "weekday":
        return exp.Paren(this=exp.Add(this=function_call("WEEKDAY", node), expression=exp.Literal.number(1)))
    return function_call(part.upper(), node)


def weekday_name(node: exp.Expr, dialect: SpecDialect) -> exp.Expr:
    """Return the English name of the weekday of a date."""
    names = [exp.Literal.string(name) for name in calendar.day_name]
    return exp.Case(
        this=date_part(node, "weekday", dialect),
        ifs=[exp.If(this=exp.Literal.number(day), true=name) for day, name in enumerate(names, 1)],
    )


def fiscal_year(node: exp.Expr, start_month: int, dialect: SpecDialect) -> exp.Expr:
    """Return the year in which the fiscal year of a date ends, as an integer."""
    year = date_part(node, "year", dialect)
    if start_month == 1:
        return year
    month = date_part(node.copy(), "month", dialect)
    is_next = exp.GTE(this=month, expression=exp.Literal.number(start_month))
    added = exp.Case().when(is_next, exp.Literal.number(1)).else_(exp.Literal.number(0))
    return exp.Paren(this=exp.Add(this=year, expression=added))


def fiscal_quarter(node: exp.Expr, start_month: int, dialect: SpecDialect) -> exp.Expr:
    """Return the quarter of a date within its fiscal year, from 1 to 4."""
    month = date_part(node, "month", dialect)
    made = exp.Case()
    for quarter in range(1, 5):
        months = [(start_month - 1 + 3 * (quarter - 1) + offset) % 12 + 1 for offset in range(3)]
        is_within = exp.In(this=month.copy(), expressions=[exp.Literal.number(each) for each in sorted(months)])
        made = made.when(is_within, exp.Literal.number(quarter), copy=False)
    return made


def days_between(start: exp.Expr, end: exp.Expr, dialect: SpecDialect) -> exp.Expr:
    """Return the days from one date to another, both without a time, as an integer."""
    if dialect == "sqlite":
        return sqlite.days_between(start, end)
    if dialect == "mysql":
        return function_call("DATEDIFF", end, start)
    if dialect == "clickhouse":
        # The unit of dateDiff does not survive parsing. As integers, dates are days since 1970.
        start, end = cast_to_integer(start, dialect), cast_to_integer(end, dialect)
    return exp.Paren(this=exp.Sub(this=end, expression=start))


def nulls_last(terms: Sequence[exp.Expr], dialect: SpecDialect) -> list[exp.Expr]:
    """Return the terms of an order with NULL last; MariaDB has no NULLS LAST, and sqlglot no translation in windows."""
    if dialect != "mysql":
        return [term.copy() for term in terms]
    made: list[exp.Expr] = []
    for term in terms:
        if not term.args.get("desc"):
            is_null = exp.Case().when(exp.Is(this=term.this.copy(), expression=exp.Null()), exp.Literal.number(1))
            made.append(exp.Ordered(this=is_null.else_(exp.Literal.number(0)), nulls_first=True))
        made.append(
            exp.Ordered(this=term.this.copy(), desc=term.args.get("desc"), nulls_first=not term.args.get("desc"))
        )
    return made


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

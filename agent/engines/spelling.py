"""How an engine spells what query specs compute, as SQL nodes."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, reduce
from typing import ClassVar

import sqlglot
from sqlglot import exp

ISO_FORMATS = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}
_NUMBER = r"^[+-]?[0-9]{1,28}([.][0-9]{0,10})?$"
"""Text that equals a number. More digits than this fit into no decimal."""
_PLAIN_TEXT = re.compile(r"char|text|string|clob", re.IGNORECASE)


def function_call(name: str, *arguments: exp.Expr | str | float) -> exp.Expr:
    """Return a call of the engine-specific function `name`; text and number arguments become literals."""
    return exp.Anonymous(this=name, expressions=list(map(literal, arguments)))


def literal(value: exp.Expr | str | float) -> exp.Expr:
    """Return a text or number as a node; nodes unchanged."""
    if isinstance(value, exp.Expr):
        return value
    return exp.Literal.string(value) if isinstance(value, str) else exp.Literal.number(value)


def formula(sql: str, dialect: str = "duckdb", /, **parts: exp.Expr) -> exp.Expr:
    """Return the expression or query `sql` as a tree, in which columns and tables named as `parts` stand for those.

    A division in it is one of floating-point numbers, so that no engine needs a cast.
    """

    def filled(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column | exp.Table) or node.name not in parts or node.args["this"].quoted:
            return node
        part = parts[node.name].copy()
        if isinstance(node, exp.Table):
            return exp.Subquery(this=part, alias=node.args.get("alias"))
        is_operand = isinstance(node.parent, exp.Binary | exp.Neg | exp.Not)
        return exp.Paren(this=part) if is_operand and isinstance(part, exp.Binary | exp.Neg | exp.Not) else part

    return _parsed(sql, dialect).copy().transform(filled, copy=False)


@lru_cache(maxsize=1_000)
def _parsed(sql: str, dialect: str) -> exp.Expr:
    tree = sqlglot.parse_one(sql, dialect=dialect)
    for division in tree.find_all(exp.Div):
        division.set("typed", True)
        division.set("safe", False)
    return tree


FORMULAS: Mapping[str, str] = {
    "year": "CAST(EXTRACT(YEAR FROM x) AS BIGINT)",
    "quarter": "CAST(EXTRACT(QUARTER FROM x) AS BIGINT)",
    "month": "CAST(EXTRACT(MONTH FROM x) AS BIGINT)",
    "iso_week": "CAST(EXTRACT(WEEK FROM x) AS BIGINT)",
    "day": "CAST(EXTRACT(DAY FROM x) AS BIGINT)",
    "weekday": "CAST(EXTRACT(ISODOW FROM x) AS BIGINT)",
    "hour": "CAST(EXTRACT(HOUR FROM x) AS BIGINT)",
    "minute": "CAST(EXTRACT(MINUTE FROM x) AS BIGINT)",
    "seconds_of_time": "CAST(EXTRACT(EPOCH FROM x) AS DOUBLE)",
    "seconds": "CAST(EXTRACT(EPOCH FROM x) AS DOUBLE)",
    "duration": "TO_SECONDS(x)",
    "days_between": "(stop - start)",
    "length": "LENGTH(x)",
    "left": "SUBSTRING(x, 1, n)",
    "replace": "REPLACE(x, old, new)",
    "lower": "LOWER(x)",
    "upper": "UPPER(x)",
    "initcap": "ARRAY_TO_STRING(LIST_TRANSFORM(STR_SPLIT(x, ' '), "
    "LAMBDA word : UPPER(SUBSTRING(word, 1, 1)) || SUBSTRING(word, 2)), ' ')",
    "stddev": "STDDEV_SAMP(x)",
    "variance": "VAR_SAMP(x)",
    "percentile": "QUANTILE_CONT(x, p)",
}
"""What query specs compute, in the SQL of DuckDB; see `datasphinx.agent.queryspec.expressions`.

Parts of dates and lengths are integers. `seconds_of_time` is of a time of day or a duration, `seconds` of a date and
time since a fixed day, and `duration` the reverse of the former: text such as `37:45:00` where there is no type for it.
`days_between` takes dates without a time. `initcap` takes a text in lower case: the functions of this name differ in
what ends a word, and three engines have none. `stddev` and `variance` are of a sample, NULL for a single value.
"""
TEXT_OF_SECONDS = (
    "CASE WHEN NOT x IS NULL THEN PRINTF('%d:%02d:%02d', CAST((x) / 3600 AS INTEGER), "
    "CAST((x) / 60 AS INTEGER) % 60, CAST((x) / 1 AS INTEGER) % 60) END"
)
"""The formula of a duration without a type for it."""


class Spelling:
    """The spelling of most engines. A `kind` is a class of types of the catalog, `by` a period of a query spec."""

    dialect: ClassVar[str] = ""
    """The name of the dialect in sqlglot."""
    types: ClassVar[Mapping[str, str]] = {"number": "DOUBLE", "date": "DATE", "datetime": "TIMESTAMP", "text": "TEXT"}
    """Types to cast to, by kind; other kinds are not cast."""
    integer: ClassVar[str] = "BIGINT"
    decimal: ClassVar[str] = "DECIMAL(38, 10)"
    formatter: ClassVar[str] = "STRFTIME"
    """Function that writes a date or time in a format."""
    formats: ClassVar[Mapping[str, str]] = ISO_FORMATS
    """Its formats by period; without one for quarters there is a function QUARTER."""
    formulas: ClassVar[Mapping[str, str]] = {}
    """Those of `FORMULAS` that sqlglot does not print for the engine, in its own SQL."""
    lacks: ClassVar[frozenset[str]] = frozenset()
    """Aggregations of `FORMULAS` that the engine has no function for."""
    match: ClassVar[str] = ""
    """Function that matches a regular expression in time linear in the text, if there is one."""
    pattern_escape: ClassVar[str] = "!"
    any_text: ClassVar[str] = "%"
    """The sign of a pattern that stands for any text."""
    fills_unmatched: ClassVar[bool] = False
    """Whether rows without a match have 0 or '' in columns that are not nullable."""
    widens_numbers: ClassVar[bool] = True
    """Whether a union of numbers has a type that holds all of them exactly."""
    crowds_windows: ClassVar[bool] = False
    """Whether some windows are computed wrongly beside others in the same query."""

    def formula(self, sql: str, **parts: exp.Expr) -> exp.Expr:
        """Return `sql`, in the dialect of the engine, as a tree; see `formula`."""
        return formula(sql, self.dialect, **parts)

    def write(self, name: str, **parts: exp.Expr) -> exp.Expr:
        """Return the formula `name`, one of `FORMULAS`, of `parts`."""
        own = self.formulas.get(name)
        return formula(own, self.dialect, **parts) if own else formula(FORMULAS[name], **parts)

    def cast(self, node: exp.Expr, kind: str) -> exp.Expr:
        """Return `node` cast to the type for `kind`; unchanged if the engine has none."""
        return self._cast(node, self.types[kind]) if kind in self.types else node

    def cast_to_integer(self, node: exp.Expr) -> exp.Expr:
        """Return `node` cast to a 64-bit integer."""
        return self._cast(node, self.integer)

    def _cast(self, node: exp.Expr, name: str) -> exp.Expr:
        return exp.cast(node, exp.DataType.build(name, dialect=self.dialect), copy=False)

    def typed_null(self, name: str) -> exp.Expr:
        """Return NULL in place of a column of the type `name` in a union."""
        return exp.null()

    def bound_text(self, placeholder: exp.Expr) -> exp.Expr:
        """Return the placeholder of a text."""
        return placeholder

    def nullable(self, node: exp.Expr, kind: str) -> exp.Expr:
        """Return `node` as nullable."""
        return node

    def as_text(self, node: exp.Expr, name: str) -> exp.Expr:
        """Return a text column of the type `name` cast to text if it is another one, such as an enum or a UUID."""
        return node if _PLAIN_TEXT.search(name) else self.cast(node, "text")

    def as_date(self, node: exp.Expr) -> exp.Expr:
        """Return a date or time as a date."""
        return self.cast(node, "date")

    def as_decimal(self, node: exp.Expr) -> exp.Expr:
        """Return a number as a decimal, which compares long identifiers exactly; NULL for others, where possible."""
        return self._cast(node, self.decimal)

    def as_comparable(self, node: exp.Expr, kind: str) -> exp.Expr:
        """Return `node` in a form that can be compared with a bound value."""
        return self.seconds(node, kind) if kind == "time" else node

    def datetime_text(self, time: datetime) -> str:
        """Return a time as the text to bind."""
        return time.isoformat(sep=" ")

    def seconds(self, node: exp.Expr, kind: str) -> exp.Expr:
        """Return the seconds of a time of day or a duration, or those of a date and time since a fixed day."""
        return self.write("seconds_of_time" if kind == "time" else "seconds", x=node)

    def concatenate(self, parts: Sequence[exp.Expr]) -> exp.Expr:
        """Return texts one after the other; NULL if one of them is."""
        return reduce(lambda left, right: exp.DPipe(this=left, expression=right), parts)

    def join_texts(self, texts: Sequence[exp.Expr]) -> exp.Expr:
        """Return `texts` one after the other, where NULL is empty."""
        made = self.concatenate([exp.Coalesce(this=text, expressions=[literal("")]) for text in texts])
        return made if isinstance(made, exp.Anonymous) else exp.Paren(this=made)

    def number_text(self, node: exp.Expr) -> exp.Expr:
        """Return a floating-point number as text, without decimals if it is whole."""
        whole = self.cast(self.cast_to_integer(node.copy()), "text")
        return self.formula(
            "CASE WHEN (x) = FLOOR(x) AND ABS(x) < 1000000000000000 THEN whole ELSE written END",
            x=node,
            whole=whole,
            written=self.cast(node.copy(), "text"),
        )

    def contains(self, node: exp.Expr, pattern: exp.Expr) -> exp.Expr:
        """Return a case-insensitive match of `node` with `pattern`, which `contains_pattern` has made."""
        like = exp.Like(this=exp.Lower(this=node), expression=exp.Lower(this=pattern))
        return exp.Escape(this=like, expression=literal(self.pattern_escape))

    def contains_pattern(self, text: str, place: str = "contains") -> str:
        """Return the pattern that matches `text` anywhere, or at the place that `starts_with` or `ends_with` names."""
        before, after = self.any_text * (place != "starts_with"), self.any_text * (place != "ends_with")
        return f"{before}{self.pattern(text)}{after}"

    def pattern(self, text: str) -> str:
        """Return the pattern that matches `text`."""
        for special in (self.pattern_escape, "%", "_"):
            text = text.replace(special, self.pattern_escape + special)
        return text

    def is_number(self, text: exp.Expr, bind: Callable[[str], exp.Expr]) -> exp.Expr:
        """Return the condition that `text` is a decimal number; `bind` returns the placeholder of a value."""
        pattern = bind(_NUMBER)
        return function_call(self.match, text, pattern) if self.match else exp.RegexpLike(this=text, expression=pattern)

    def period_key(self, node: exp.Expr, by: str) -> exp.Expr:
        """Return the expression to group by for periods of a date."""
        return self.period_text(node, by)

    def period(self, key: exp.Expr, by: str) -> exp.Expr:
        """Return the period as text, such as `2024-03`, from the result of `period_key`; NULL for NULL."""
        return key

    def period_text(self, node: exp.Expr, by: str) -> exp.Expr:
        """Return the period of a date as text; NULL for NULL."""
        if by in self.formats:
            return function_call(self.formatter, node, self.formats[by])
        year = function_call(self.formatter, node.copy(), self.formats["year"])
        return self.concatenate([year, literal("-Q"), function_call("QUARTER", node)])

    def nulls_last(self, terms: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Return the terms of an order with NULL last."""
        return [term.copy() for term in terms]

    def round_number(self, node: exp.Expr, digits: int) -> exp.Expr:
        """Return `node` rounded half away from zero, since engines differ in rounding binary fractions."""
        rounded = exp.Round(this=self._cast(node, self.decimal), decimals=literal(digits))
        return self.cast(rounded, "number")

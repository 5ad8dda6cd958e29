"""Readings of a statement in other dialects, written down in the one of the source.

sqlglot does the translation; what it has no word for in SQLite, parts of dates and ends of texts, is added here. A
reading in which anything got lost is none.
"""

import re
from collections.abc import Callable, Iterator

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokenizer_core import TokenType

ORDER = ("mysql", "postgres", "sqlite", "tsql", "bigquery", "snowflake", "duckdb")
"""The dialects that models mix up most, in the order in which they are tried."""

_TEXT_IN_DOUBLE_QUOTES = {"mysql", "bigquery"}
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.ILike, exp.In, exp.Between)
_QUOTED_TABLE = re.compile(r'(?i)\b(from|join)\s+"')
_LITERAL_TOKENS = {TokenType.STRING, TokenType.NUMBER}
_KEPT_AS = (exp.Literal, exp.Var, exp.Interval)

_FORMATS = {"YEAR": "%Y", "MONTH": "%m", "DAY": "%d", "HOUR": "%H", "MINUTE": "%M", "SECOND": "%S", "DOW": "%w"}
_STARTS = {"YEAR": "%Y-01-01", "MONTH": "%Y-%m-01", "DAY": "%Y-%m-%d"}


def readings(sql: str, dialect: str) -> Iterator[tuple[str, exp.Expr]]:
    """Return the dialects in which `sql` can be read, each with the tree, ready to be written as `dialect`.

    The own dialect comes first, unless the quotes of its tables say that it was not meant.
    """
    ansi = dialect in _TEXT_IN_DOUBLE_QUOTES and _QUOTED_TABLE.search(sql)
    own = [] if ansi else [dialect]
    for name in [*own, *(name for name in ORDER if name != dialect and not (ansi and name in _TEXT_IN_DOUBLE_QUOTES))]:
        tree = _read(sql, name, dialect)
        if tree is not None:
            yield name, _adapted(tree, dialect)


def is_foreign(sql: str, dialect: str) -> bool:
    """Return whether quotes say that `sql` was written for another dialect, where sqlglot would misread it."""
    return dialect in _TEXT_IN_DOUBLE_QUOTES and bool(_QUOTED_TABLE.search(sql))


def written(tree: exp.Expr, dialect: str) -> str | None:
    """Return `tree` as SQL of `dialect`; None where something in it cannot be said there."""
    try:
        return tree.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.RAISE)
    except (SqlglotError, RecursionError, ValueError):
        return None


def _read(sql: str, name: str, dialect: str) -> exp.Expr | None:
    if name == "mysql" and dialect != "mysql" and "||" in sql:
        # There it would be OR.
        return None
    try:
        trees = sqlglot.parse(sql, dialect=name)
        literals = sum(token.token_type in _LITERAL_TOKENS for token in Dialect.get_or_raise(name).tokenize(sql))
    except (SqlglotError, RecursionError, ValueError):
        return None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        return None
    kept = sum(1 for _ in trees[0].find_all(*_KEPT_AS))
    return trees[0] if literals <= kept and (name == dialect or _quotes_are_values(sql, trees[0], name)) else None


def _quotes_are_values(sql: str, tree: exp.Expr, name: str) -> bool:
    """True where texts in double quotes are compared with something, and so were not meant as names."""
    if name not in _TEXT_IN_DOUBLE_QUOTES:
        return True
    quoted = set(re.findall(r'"([^"]*)"', sql))
    texts = (node for node in tree.find_all(exp.Literal) if node.is_string and node.name in quoted)
    return all(isinstance(node.parent, _COMPARED) for node in texts)


def _adapted(tree: exp.Expr, dialect: str) -> exp.Expr:
    return tree.transform(_for_sqlite) if dialect == "sqlite" else tree


def _for_sqlite(node: exp.Expr) -> exp.Expr:
    rewrite = _SQLITE.get(type(node))
    return (rewrite(node) if rewrite else None) or node


def _call(name: str, *arguments: exp.Expr | str) -> exp.Expr:
    given = [exp.Literal.string(argument) if isinstance(argument, str) else argument for argument in arguments]
    return exp.Anonymous(this=name, expressions=given)


def _part(node: exp.Expr) -> exp.Expr | None:
    """EXTRACT(part FROM x), YEAR(x) and the like."""
    is_extract = isinstance(node, exp.Extract)
    pattern = _FORMATS.get(node.name.upper() if is_extract else node.key.upper())
    moment = node.expression if is_extract else node.this
    return exp.cast(_call("STRFTIME", pattern, moment), "INTEGER") if pattern else None


def _start(node: exp.Expr) -> exp.Expr | None:
    """DATE_TRUNC: the first day of a year or month, as SQLite writes dates."""
    unit = node.args.get("unit")
    pattern = _STARTS.get(unit.name.upper() if unit else "")
    return _call("STRFTIME", pattern, node.this) if pattern else None


def _left(node: exp.Expr) -> exp.Expr:
    return _call("SUBSTR", node.this, exp.Literal.number(1), node.expression)


def _right(node: exp.Expr) -> exp.Expr:
    return _call("SUBSTR", node.this, exp.Neg(this=node.expression))


_SQLITE: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr | None]] = {
    **dict.fromkeys((exp.Extract, exp.Year, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.Second), _part),
    **dict.fromkeys((exp.DateTrunc, exp.TimestampTrunc), _start),
    exp.Left: _left,
    exp.Right: _right,
}

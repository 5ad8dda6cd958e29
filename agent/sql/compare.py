"""Comparison of SQL statements and of query results.

Results are compared by the text of their values, so that 1, 1.0 and "1" are equal (some databases store numbers as
text). Floats are rounded to four decimals. NULL equals only NULL. A row is a multiset of values, so the order of
columns does not matter; nor do column names and types.
"""

import json
from collections.abc import Callable, Container, Hashable, Sequence
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from typing_extensions import TypedDict

from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.guard import parse, shared_trees
from datasphinx.agent.types import Result

_DECIMALS = 4


def is_blank(rows: Sequence[Sequence[Any]], zeros: Container[int] = ()) -> bool:
    """Return whether a result has no rows, or a single row as aggregates return for none.

    All its values are NULL or, in the columns `zeros`, 0.

    >>> is_blank([]), is_blank([[None]]), is_blank([[0]]), is_blank([[0]], zeros=[0])
    (True, True, False, True)
    """
    return not rows or (
        len(rows) == 1 and all(cell is None or (cell == 0 and at in zeros) for at, cell in enumerate(rows[0]))
    )


@lru_cache(maxsize=256)
def canonical_sql(sql: str, dialect: str) -> str:
    """Return a text that is equal for statements with the same tree, whatever their whitespace, comments and case.

    A statement that cannot be parsed is returned with its whitespace normalised.

    >>> canonical_sql("select  A from T -- all", "sqlite")
    'SELECT a FROM t'
    """
    try:
        trees = [normalize_identifiers(tree, dialect=dialect) for tree in parse(sql, dialect)]
        return "; ".join(print_statement(tree, dialect, normalize_functions="upper") for tree in trees)
    except (ValueError, SqlglotError, RecursionError):
        return " ".join(sql.split())


Cell = tuple[bool | str, str]
"""A comparable value: a tag that separates values with the same text, such as NULL and '', and the text."""


class Rows(TypedDict):
    """The compared part of a result; `Result` and `AnswerTable` both match it."""

    columns: list[str]
    rows: list[list[Any]]


def is_ordered(sql: str, dialect: str) -> bool:
    """Return whether `sql` orders its rows: it has an ORDER BY outside of every subquery.

    Return False for a statement that cannot be parsed.

    >>> is_ordered("SELECT a FROM t ORDER BY a", "sqlite")
    True
    >>> is_ordered("SELECT a FROM (SELECT a FROM t ORDER BY a) AS s", "sqlite")
    False
    """
    try:
        trees = shared_trees(sql, dialect)
    except ValueError:
        return False
    tree = trees[0] if len(trees) == 1 else None
    while isinstance(tree, exp.Subquery) and not tree.args.get("order"):
        tree = tree.this
    return tree is not None and bool(tree.args.get("order"))


def comparison_key(result: Rows, *, ordered: bool) -> Hashable:
    """Return a key that is equal for results with the same rows; the order of rows counts if `ordered`."""
    rows = sort_cells(result, _cell)
    return len(result["columns"]), tuple(rows if ordered else sorted(rows))


def sort_cells(result: Rows, cell: Callable[[Any], Cell]) -> list[tuple[Cell, ...]]:
    """Return the rows with their values converted by `cell` and sorted within each row."""
    return [tuple(sorted(map(cell, row))) for row in result["rows"]]


def _cell(value: Any) -> Cell:
    if value is None:
        return False, ""
    if isinstance(value, str):
        return True, value
    if isinstance(value, float):
        number = round(value, _DECIMALS)
        return True, str(int(number)) if number.is_integer() else repr(number)
    return True, str(int(value)) if isinstance(value, int) else json.dumps(value, sort_keys=True)


def names_in(result: Result | None) -> set[str]:
    """Return the texts in the rows of `result`, if there is one, as far as they have letters."""
    texts = (cell for row in (result["rows"] if result else ()) for cell in row)
    return {cell for cell in texts if isinstance(cell, str) and any(map(str.isalpha, cell))}

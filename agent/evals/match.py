"""Execution match: whether two statements gave the same answer.

The rule is the one of the project's benchmark data (`shared/benchmarks/README.md`, section "Execution match"): equal
number of rows and of columns; each row as a multiset of values, floats to four decimals; the rows as a multiset, or in
order where the reference statement has an ORDER BY at its top level. It follows the execution accuracy of Spider (Yu et
al. 2018) in that the order of columns is free, and is stricter in the order of rows. The rule is silent on types; the
figure that it states for its recorded statements (457 of 533) is reached only where 98 and the text "98" are equal.
"""

import json
from collections import Counter
from typing import Any

from sqlglot import exp
from typing_extensions import TypedDict

from agent.sql.guard import parse

_DECIMALS = 4

Cell = tuple[bool, str]
"""A value as it is compared: whether there is one, and how it is written."""


class Rows(TypedDict):
    """What is compared of a result: `Result` and `AnswerTable` both have it."""

    columns: list[str]
    rows: list[list[Any]]


def is_ordered(sql: str, dialect: str) -> bool:
    """Return whether the rows of `sql` have an order: an ORDER BY at its top level, outside every subquery.

    A statement that cannot be parsed has none.
    """
    try:
        trees = parse(sql, dialect)
    except ValueError:
        return False
    return len(trees) == 1 and _has_order(trees[0])


def matches(reference: Rows, answer: Rows, *, ordered: bool) -> bool:
    """Return whether `answer` holds what `reference` holds; with `ordered` also in its order.

    Names and types of columns do not count: a value is what it is written as, so that 1, 1.0 and "1" are equal, as they
    have to be where a database stores numbers as text. NULL equals NULL alone.
    """
    if len(reference["rows"]) != len(answer["rows"]) or len(reference["columns"]) != len(answer["columns"]):
        return False
    wanted, given = [[_row(row) for row in side["rows"]] for side in (reference, answer)]
    return wanted == given if ordered else Counter(wanted) == Counter(given)


def _has_order(tree: exp.Expr) -> bool:
    if tree.args.get("order"):
        return True
    return isinstance(tree, exp.Subquery) and _has_order(tree.this)


def _row(row: list[Any]) -> tuple[Cell, ...]:
    return tuple(sorted(_cell(value) for value in row))


def _cell(value: Any) -> Cell:
    if value is None:
        return False, ""
    if isinstance(value, str):
        return True, value
    if isinstance(value, float):
        return True, _number(round(value, _DECIMALS))
    return True, str(int(value)) if isinstance(value, int) else json.dumps(value, sort_keys=True)


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)

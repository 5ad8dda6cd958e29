"""Values that are bound to the named places of a statement, `:name` in every dialect, and never written into it.

The guard judges a statement as if the values stood in it, so that no wall is lower for a value that is bound.
"""

import re
from collections.abc import Mapping
from secrets import token_hex
from typing import TypeAlias

from sqlglot import exp

from agent.sql.dialects import print_statement

Value: TypeAlias = str | int | float | bool | None
"""What can be bound on every engine, and sent to a worker as it is."""

_MARKER = re.compile(r"bound_[0-9a-f]{16}_\d+")


def with_literals(tree: exp.Expr, values: Mapping[str, Value]) -> exp.Expr:
    """Return `tree` with the values in their places; a place without a value is left as it is.

    Raises:
        ValueError: a value is of a kind that cannot be bound.
    """
    for name, value in values.items():
        if not isinstance(value, str | int | float | bool | None):
            raise ValueError(f"the value of {name} is neither text, a number, true, false nor NULL")
    return _replaced(tree, {name: exp.convert(value) for name, value in values.items()})


def mark(sql: str, tree: exp.Expr, dialect: str, values: Mapping[str, Value]) -> tuple[str, dict[str, Value]]:
    """Return `sql`, whose tree is `tree`, with a column in each place, and the values by the names of these columns.

    The names cannot be guessed, so that nothing else in the statement has one of them.
    """
    markers = {name: f"bound_{token_hex(8)}_{index}" for index, name in enumerate(values)}
    used = {node.name for node in tree.find_all(exp.Placeholder)}
    if not used:
        return sql, {}
    marked = _replaced(tree, {name: exp.column(marker) for name, marker in markers.items()})
    return print_statement(marked, dialect), {markers[name]: values[name] for name in values if name in used}


def without_markers(tree: exp.Expr) -> exp.Expr:
    """Return a copy of `tree` with a question mark in the place of each column that `mark` has made."""

    def shown(node: exp.Expr) -> exp.Expr:
        is_marker = isinstance(node, exp.Column) and _MARKER.fullmatch(node.name)
        return exp.Var(this="?") if is_marker else node

    changed: exp.Expr = tree.transform(shown)
    return changed


def escape(sql: str) -> str:
    """Return `sql` for SQLAlchemy's `text()`, no colon of it beginning a parameter."""
    return sql.replace(":", "\\:")


def place(sql: str, names: Mapping[str, str]) -> str:
    """Return `sql` with a parameter in the place of each marker, named as `names` says."""
    for marker, name in names.items():
        sql = re.sub(rf"[\"`]?{marker}[\"`]?", f":{name}", sql)
    return sql


def _replaced(tree: exp.Expr, by_name: Mapping[str, exp.Expr]) -> exp.Expr:
    def replacement(node: exp.Expr) -> exp.Expr:
        is_place = isinstance(node, exp.Placeholder) and not node.args.get("kind")
        return by_name[node.name].copy() if is_place and node.name in by_name else node

    changed: exp.Expr = tree.transform(replacement)
    return changed

"""Named parameters of statements, `:name` in every dialect, bound and never inserted into the text.

The guard checks a statement with the values in place of the parameters, so binding a value bypasses no rule.
"""

import re
from collections.abc import Mapping
from secrets import token_hex
from typing import TypeAlias

from sqlglot import exp

from datasphinx.agent.sql.dialects import print_statement

Value: TypeAlias = str | int | float | bool | None
"""Types that every engine can bind and that can be sent to a worker as JSON."""

_MARKER = re.compile(r"bound_[0-9a-f]{16}_\d+")


def with_literals(tree: exp.Expr, values: Mapping[str, Value]) -> exp.Expr:
    """Return `tree` with the values of its parameters, if any. Raise ValueError for a value of another type."""
    for name, value in values.items():
        if not isinstance(value, str | int | float | bool | None):
            raise ValueError(f"the value of {name} is neither text, a number, true, false nor NULL")
    return _replace_placeholders(tree, {name: exp.convert(value) for name, value in values.items()})


def insert_markers(sql: str, tree: exp.Expr, dialect: str, values: Mapping[str, Value]) -> tuple[str, dict[str, Value]]:
    """Replace each parameter with a marker column; return the new text, and the values by marker name.

    `tree` is the tree of `sql`. Marker names are random, so nothing else in the statement has one.
    """
    markers = {name: f"bound_{token_hex(8)}_{index}" for index, name in enumerate(values)}
    used = {node.name for node in tree.find_all(exp.Placeholder)}
    if not used:
        return sql, {}
    marked = _replace_placeholders(tree, {name: exp.column(marker) for name, marker in markers.items()})
    return print_statement(marked, dialect), {markers[name]: values[name] for name in values if name in used}


def without_markers(tree: exp.Expr) -> exp.Expr:
    """Return a copy of `tree` with a question mark in place of each marker column of `insert_markers`."""

    def hide_marker(node: exp.Expr) -> exp.Expr:
        is_marker = isinstance(node, exp.Column) and _MARKER.fullmatch(node.name)
        return exp.Var(this="?") if is_marker else node

    changed: exp.Expr = tree.transform(hide_marker)
    return changed


def escape(sql: str) -> str:
    r"""Return `sql` for SQLAlchemy's `text()`, with all colons escaped so that none begins a parameter.

    >>> print(escape("SELECT a::text FROM t"))
    SELECT a\:\:text FROM t
    """
    return sql.replace(":", "\\:")


def insert_parameters(sql: str, names: Mapping[str, str]) -> str:
    """Return `sql` with the marker columns replaced by parameters; `names` maps markers to parameter names."""
    for marker, name in names.items():
        sql = re.sub(rf"[\"`]?{marker}[\"`]?", f":{name}", sql)
    return sql


def _replace_placeholders(tree: exp.Expr, by_name: Mapping[str, exp.Expr]) -> exp.Expr:
    def replacement(node: exp.Expr) -> exp.Expr:
        is_place = isinstance(node, exp.Placeholder) and not node.args.get("kind")
        return by_name[node.name].copy() if is_place and node.name in by_name else node

    changed: exp.Expr = tree.transform(replacement)
    return changed

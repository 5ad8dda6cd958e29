"""What a server expects of a statement before it runs: the rows that its plan goes through at the widest place."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

EXPLAIN = {"postgres": "EXPLAIN (FORMAT JSON) ", "mysql": "EXPLAIN "}
"""By dialect, what put before a statement makes the server tell its plan instead of running it."""


def planned_rows(dialect: str, plan: Sequence[Any]) -> float:
    """Return the largest number of rows that any step of `plan` is expected to yield.

    `plan` is what EXPLAIN gave: on PostgreSQL one row with a tree in JSON, on MySQL and MariaDB a row for each table,
    whose estimates multiply within one SELECT.
    """
    if dialect == "postgres":
        return max(float(node["Plan Rows"]) for node in _nodes(plan[0][0][0]["Plan"]))
    selects: dict[Any, list[float]] = {}
    for row in plan:
        selects.setdefault(row.id, []).append(float(row.rows or 1))
    return max(map(prod, selects.values()), default=0.0)


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)

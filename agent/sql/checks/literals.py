"""Literals that occur in no value of the column that they are compared with."""

from collections.abc import Iterator
from typing import Protocol

from sqlglot import exp

from agent.catalog.describe import one_line
from agent.sql.checks.remark import Remark
from agent.sql.resolved import Resolved

_MOST = 20
"""Literals that are looked up for one statement."""


class KnownValues(Protocol):
    """What has to be known of stored values; `agent.catalog.value_index.ValueIndex` is one."""

    def contains(self, table: str, column: str, literal: str) -> bool | None:
        """Return whether the column holds `literal`; None where that is not known."""

    def nearest(self, table: str, column: str, literal: str, limit: int = 3) -> list[str]:
        """Return up to `limit` values of the column that `literal` may stand for."""


def compares_text(query: Resolved) -> bool:
    """Return whether any literal could be looked up."""
    return bool(_wanted(query))


def literals(query: Resolved, values: KnownValues) -> Iterator[Remark]:
    """What `=` and IN look for in a text column that does not hold it, with the nearest values that it does.

    An empty result may be the right answer, so that this is never a problem.
    """
    for table, column, literal in _wanted(query)[:_MOST]:
        if values.contains(table, column, literal) is False:
            nearest = ", ".join(repr(one_line(value)) for value in values.nearest(table, column, literal))
            hint = f"; nearest: {nearest}" if nearest else ""
            yield Remark(f"no row of {table} has {one_line(literal)!r} in {column}{hint}")


def _wanted(query: Resolved) -> list[tuple[str, str, str]]:
    found = []
    for scope, _ in query.selects():
        for node in scope.find_all(exp.EQ, exp.In):
            parts = node.expressions if isinstance(node, exp.In) else [node.this, node.expression]
            place = next((place for part in (node.this, *parts) if (place := query.place(part, scope))), None)
            if place and place.column.type_class == "text" and not place.column.secret:
                strings = [part.name for part in parts if isinstance(part, exp.Literal) and part.is_string]
                found += [(place.table.key, place.column.name, text) for text in strings]
    return list(dict.fromkeys(found))

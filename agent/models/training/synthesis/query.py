"""A SELECT in its parts, so that a question and its statement can be put together side by side."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot.dialects.sqlite import SQLite

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = {word.lower() for word in SQLite.Tokenizer.KEYWORDS if word.isalpha()}


def quoted(name: str) -> str:
    """Return `name` as a statement may hold it, in double quotes where it cannot stand bare."""
    if _PLAIN.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """Return `value` as a literal."""
    return "'" + value.replace("'", "''") + "'"


@dataclass(frozen=True)
class Query:
    """The parts of a SELECT; `joins` are whole clauses, the others lists of expressions."""

    select: tuple[str, ...]
    table: str
    joins: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    having: str = ""
    qualify: str = ""
    order: tuple[str, ...] = ()
    limit: int = 0
    distinct: bool = False

    def sql(self) -> str:
        """Return the statement."""
        clauses = (
            (f"SELECT {'DISTINCT ' if self.distinct else ''}", ", ".join(self.select)),
            ("FROM ", " ".join([self.table, *dict.fromkeys(self.joins)])),
            ("WHERE ", " AND ".join(self.where)),
            ("GROUP BY ", ", ".join(self.group)),
            ("HAVING ", self.having),
            ("QUALIFY ", self.qualify),
            ("ORDER BY ", ", ".join(self.order)),
            ("LIMIT ", str(self.limit or "")),
        )
        return " ".join(f"{word}{body}" for word, body in clauses if body)

    def without_filter(self) -> "Query":
        """Return the query over all rows."""
        return replace(self, where=())

    def joined(self, joins: Iterable[str]) -> "Query":
        """Return the query with more joins."""
        return replace(self, joins=(*self.joins, *joins))

"""Static checks of the SELECTs of a statement, and their remarks about it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.messages import Message
from datasphinx.agent.sql.joined_rows import JoinedRows
from datasphinx.agent.sql.names import ResolvedQuery

Effect = Literal["problem", "warning", "doubt", "note"]
"""What follows from a remark.

A "problem" is a construct that the database would reject. A "warning" is a likely mistake, told to the model that
reviews the statement. A "doubt" is told to the model as well and, if the statement stays, to the user. A "note" says
which rows a figure counts or leaves out and is told to the user only.
"""


@dataclass(frozen=True)
class Remark:
    """The text of a remark and what follows from it."""

    text: Message
    effect: Effect = "warning"
    probe: str = ""
    """A query that has a row if the remark is true of the data; empty if that is certain or expensive to find out."""
    least_rows: int = 0
    """The remark is false if the statement returns fewer rows than this, so that the probe need not run."""


@dataclass(frozen=True)
class CheckedQuery(ResolvedQuery):
    """A resolved query with the joined rows of its scopes."""

    @cached_property
    def _rows(self) -> dict[int, JoinedRows]:
        return {}

    def rows(self, scope: Scope) -> JoinedRows:
        """Return the joined rows of a scope, which are computed once."""
        if id(scope) not in self._rows:
            self._rows[id(scope)] = JoinedRows(self, scope)
        return self._rows[id(scope)]

    @cached_property
    def read(self) -> frozenset[str]:
        """The columns that the SELECTs read, as `table.column`; by their lower-case name where the table is unknown."""
        columns = ((self.rows(scope), each) for scope, _ in self.selects() for each in self.find_all(scope, exp.Column))
        found = ((rows.column(rows.place(column)), column.name.lower()) for rows, column in columns)
        return frozenset(str(reference) if reference else name for reference, name in found)


Check = Callable[[CheckedQuery, Scope, exp.Select], Iterator[Remark]]
"""Remarks about one SELECT of a query."""

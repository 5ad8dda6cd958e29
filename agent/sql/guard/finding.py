"""Input and output of the guard's rules: statements and findings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from time import thread_time
from typing import NamedTuple

from sqlglot import exp

from datasphinx.agent.engines import engine_of
from datasphinx.agent.engines.base import Engine
from datasphinx.agent.schema.catalog import ReadableNames
from datasphinx.agent.sql.dialects import exact_dialect

_NODES_PER_CLOCK = 256


class Position(NamedTuple):
    """Line and column in the text of a statement, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Finding:
    """A reason to reject a statement.

    `stop_word` is the forbidden operation, if any; `token` is the offending text, and `position` its position, if
    known.
    """

    rule: str
    explanation: str
    stop_word: str | None = None
    token: str | None = None
    position: Position | None = None

    def __str__(self) -> str:
        return f"{self.rule}: {self.explanation}"


class GuardTimeout(Exception):
    """The time limit for checking a statement was exceeded."""


@dataclass(frozen=True)
class Statement:
    """A parsed statement and the names that it may use; `deadline` is a CPU time of the thread, in seconds."""

    trees: tuple[exp.Expr, ...]
    names: ReadableNames
    dialect: str = "sqlite"
    deadline: float = inf
    called_names: dict[int, tuple[exp.Expr, str | None]] = field(default_factory=dict, compare=False, repr=False)
    """The names of called functions, which several rules read, with their nodes by id; see `called_name`."""
    walked: tuple[exp.Expr, ...] = field(default=(), compare=False, repr=False)
    """The nodes of the trees, if these were walked."""

    @property
    def engine(self) -> Engine:
        """The engine of the dialect."""
        return engine_of(self.dialect)

    @property
    def nodes(self) -> Iterator[exp.Expr]:
        """Every node of every tree. Raise GuardTimeout if the deadline has passed."""
        for start in range(0, len(self._nodes), _NODES_PER_CLOCK):
            if thread_time() > self.deadline:
                raise GuardTimeout()
            yield from self._nodes[start : start + _NODES_PER_CLOCK]

    @cached_property
    def _nodes(self) -> tuple[exp.Expr, ...]:
        return self.walked or tuple(node for tree in self.trees for node in tree.walk())


Rule = Callable[[Statement], Iterator[Finding]]


def position_of(node: exp.Expr) -> Position | None:
    """Return the position of the first name in `node`; None if unknown, as for keywords."""
    # Parts of a quoted name of BigQuery may have no end.
    metas = [part.meta for part in node.walk() if part.meta.get("end") is not None]
    if not metas:
        return None
    first = min(metas, key=lambda meta: int(meta["start"]))
    return Position(first["line"], max(first["col"] - (first["end"] - first["start"]), 1))


def sql_excerpt(node: exp.Expr, dialect: str) -> str:
    """Return `node` as SQL on one line, cut to 60 characters."""
    text = " ".join(node.sql(dialect=exact_dialect(dialect), comments=False).split())
    return text if len(text) <= 60 else text[:59] + "…"

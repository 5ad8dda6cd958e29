"""What the rules of the guard look at and what they find."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import NamedTuple

from sqlglot import exp

from agent.catalog.schema import ReadableNames
from agent.sql.dialects import faithful


class Position(NamedTuple):
    """A place in the text of a statement, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Finding:
    """Why a statement is refused.

    `stop_word` is the forbidden operation, where there is one; `token` is the text that offends, and `position` where
    it stands, where the parser knows.
    """

    rule: str
    explanation: str
    stop_word: str | None = None
    token: str | None = None
    position: Position | None = None

    def __str__(self) -> str:
        return f"{self.rule}: {self.explanation}"


class GuardTimeout(Exception):
    """The rules took longer on one statement than they may."""


@dataclass(frozen=True)
class Statement:
    """A parsed statement with the names that it may use; rules stop at `deadline`, a time of the monotonic clock."""

    trees: tuple[exp.Expr, ...]
    names: ReadableNames
    dialect: str = "sqlite"
    deadline: float = inf

    @property
    def nodes(self) -> Iterator[exp.Expr]:
        """Every node of every tree.

        Raises:
            GuardTimeout: the deadline has passed.
        """
        for tree in self.trees:
            for index, node in enumerate(tree.walk()):
                if index % _NODES_PER_CLOCK == 0 and monotonic() > self.deadline:
                    raise GuardTimeout()
                yield node


_NODES_PER_CLOCK = 256

Rule = Callable[[Statement], Iterator[Finding]]


def position_of(node: exp.Expr) -> Position | None:
    """Return where the first name in `node` begins, as far as the parser keeps places; keywords have none."""
    known = [part.meta for part in node.walk() if "line" in part.meta]
    if not known:
        return None
    first = min(known, key=lambda meta: int(meta["start"]))
    return Position(first["line"], max(first["col"] - (first["end"] - first["start"]), 1))


def shown(node: exp.Expr, dialect: str, limit: int = 60) -> str:
    """Return `node` as SQL on one line, cut to `limit` characters."""
    text = " ".join(node.sql(dialect=faithful(dialect), comments=False).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"

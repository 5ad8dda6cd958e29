"""Which of the tables and columns that a statement names its reference names too."""

from dataclasses import dataclass

from agent.catalog.schema import Catalog
from agent.sql.named_in import Names, names_in


@dataclass(frozen=True)
class Overlap:
    """How many things were named, how many were wanted, and how many were both."""

    both: int = 0
    named: int = 0
    wanted: int = 0

    def __add__(self, other: "Overlap") -> "Overlap":
        return Overlap(self.both + other.both, self.named + other.named, self.wanted + other.wanted)

    @property
    def precision(self) -> float | None:
        """The share of what was named that was wanted; None where nothing was named."""
        return self.both / self.named if self.named else None

    @property
    def recall(self) -> float | None:
        """The share of what was wanted that was named; None where nothing was wanted."""
        return self.both / self.wanted if self.wanted else None


def overlaps(sql: str | None, reference: str, catalog: Catalog) -> tuple[Overlap, Overlap]:
    """Return how the tables and the columns that `sql` names overlap with those of `reference`.

    Without `sql` nothing was named; a reference that cannot be read counts for nothing, whatever was named.
    """
    wanted = names_in(reference, catalog)
    if not wanted.tables:
        return Overlap(), Overlap()
    named = names_in(sql, catalog) if sql else Names()
    return _overlap(named.tables, wanted.tables), _overlap(named.columns, wanted.columns)


def _overlap(named: frozenset[str], wanted: frozenset[str]) -> Overlap:
    return Overlap(len(named & wanted), len(named), len(wanted))

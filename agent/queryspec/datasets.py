"""The datasets that a spec speaks of, and what the names in it mean."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agent.catalog import spelling
from agent.catalog.schema import Column, Table
from agent.queryspec.spec import QuerySpec

_CUTOFF = 50.0
_SHOWN = 12


@dataclass(frozen=True)
class Datasets:
    """Tables by the names that specs have for them; `main` is the one that is asked, the others can be joined."""

    main: str
    tables: Mapping[str, Table]


class Place(NamedTuple):
    """A column of a dataset that a spec reads."""

    dataset: str
    column: Column


class Scope:
    """The datasets that a spec reads, in their order, and their columns by name."""

    def __init__(self, datasets: Datasets, joined: Iterable[str] = ()) -> None:
        """Read the main dataset, and after it those of `joined` that exist."""
        names = dict.fromkeys([datasets.main, *(name for name in joined if name in datasets.tables)])
        self.tables = {name: datasets.tables[name] for name in names}
        self.main = datasets.main

    def places(self, name: str) -> Sequence[Place]:
        """Return what `name` may mean: one place, none where it is unknown, several where joined datasets have it."""
        in_main = self._in(self.main, name)
        if in_main:
            return in_main
        for dataset in self.tables:
            if name.startswith(f"{dataset}."):
                found = self._in(dataset, name.removeprefix(f"{dataset}."))
                if found:
                    return found
        return [place for dataset in self.tables for place in self._in(dataset, name)]

    def place(self, name: str) -> Place | None:
        """Return the one place that `name` means; None where there is none, or more than one."""
        places = self.places(name)
        return places[0] if len(places) == 1 else None

    @property
    def columns(self) -> dict[str, Place]:
        """Every column by the name it has in a result that shows the rows as they are."""
        return {
            column.name if dataset == self.main else f"{dataset}.{column.name}": Place(dataset, column)
            for dataset, table in self.tables.items()
            for column in table.columns
        }

    def _in(self, dataset: str, name: str) -> list[Place]:
        return [Place(dataset, column) for column in self.tables[dataset].columns if column.name == name]


def scope_of(spec: QuerySpec, datasets: Datasets) -> Scope:
    """Return the datasets that `spec` reads."""
    return Scope(datasets, (join.dataset for join in spec.joins))


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three of `known` whose spelling is closest to `name`; the first twelve where none is close."""
    names = list(known)
    return spelling.nearest(name, names, _CUTOFF) or tuple(names[:_SHOWN])

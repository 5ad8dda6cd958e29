"""The datasets that a spec reads, and the columns its names refer to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agent.queryspec.spec import QuerySpec
from agent.schema import spelling
from agent.schema.catalog import Column, Table

_CUTOFF = 50.0
_SHOWN = 12


@dataclass(frozen=True)
class Datasets:
    """Tables by their names in specs. `main` is the dataset that is queried; the others can be joined."""

    main: str
    tables: Mapping[str, Table]


class ColumnRef(NamedTuple):
    """A column of a dataset that a spec reads."""

    dataset: str
    column: Column


class Scope:
    """The datasets that a spec reads, in order, and their columns by name."""

    def __init__(self, datasets: Datasets, joined: Iterable[str] = ()) -> None:
        """Read the main dataset, then those of `joined` that exist."""
        names = dict.fromkeys([datasets.main, *(name for name in joined if name in datasets.tables)])
        self.tables = {name: datasets.tables[name] for name in names}
        self.main = datasets.main

    def find_columns(self, name: str) -> Sequence[ColumnRef]:
        """Return the columns that `name` can refer to: none if unknown, several if joined datasets share it."""
        main_columns = self._in(self.main, name)
        if main_columns:
            return main_columns
        for dataset in self.tables:
            if name.startswith(f"{dataset}."):
                columns = self._in(dataset, name.removeprefix(f"{dataset}."))
                if columns:
                    return columns
        return [place for dataset in self.tables for place in self._in(dataset, name)]

    def find_column(self, name: str) -> ColumnRef | None:
        """Return the column that `name` refers to; None if unknown or ambiguous."""
        columns = self.find_columns(name)
        return columns[0] if len(columns) == 1 else None

    @property
    def columns(self) -> dict[str, ColumnRef]:
        """All columns, by their names in a result of ungrouped rows."""
        return {
            column.name if dataset == self.main else f"{dataset}.{column.name}": ColumnRef(dataset, column)
            for dataset, table in self.tables.items()
            for column in table.columns
        }

    def _in(self, dataset: str, name: str) -> list[ColumnRef]:
        return [ColumnRef(dataset, column) for column in self.tables[dataset].columns if column.name == name]


def scope_of(spec: QuerySpec, datasets: Datasets) -> Scope:
    """Return the scope of the datasets that `spec` reads."""
    return Scope(datasets, (join.dataset for join in spec.joins))


def nearest(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """Return up to three of `candidates` with a spelling similar to `name`; the first twelve if none is similar."""
    names = list(candidates)
    return spelling.nearest(name, names, _CUTOFF) or tuple(names[:_SHOWN])

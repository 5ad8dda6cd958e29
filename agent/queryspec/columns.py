"""The columns that the names of a spec refer to: those of its datasets, and those of its result."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from agent.queryspec.expressions import Node, names_in, parse
from agent.queryspec.spec import Bucket, QuerySpec, output_name
from agent.schema.catalog import Column, Table, TypeClass


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


TIMES: tuple[TypeClass, ...] = ("date", "datetime")


class Output(NamedTuple):
    """A column of a result."""

    name: str
    type_class: TypeClass


def parse_derived(spec: QuerySpec) -> dict[str, Node]:
    """Return the syntax trees of the derived columns by name, without invalid ones."""
    nodes: dict[str, Node] = {}
    for derived in spec.derived:
        with suppress(ValueError):
            nodes.setdefault(derived.name, parse(derived.expr))
    return nodes


def row_level_names(spec: QuerySpec, nodes: Mapping[str, Node], scope: Scope) -> set[str]:
    """Return the names of derived columns computed for each row: those aggregated, and those they use."""
    names: set[str] = set()
    todo = [aggregation.col for aggregation in spec.aggregations]
    while todo:
        name = todo.pop()
        if name in nodes and name not in names and not scope.find_columns(name):
            names.add(name)
            todo += names_in(nodes[name])
    return names


def base_outputs(spec: QuerySpec, scope: Scope) -> list[Output]:
    """Return the result columns before derived ones; an unknown column has type "other"."""
    if not spec.is_grouped:
        return [Output(name, place.column.type_class) for name, place in scope.columns.items()]
    columns = [
        Output(output_name(group), "text" if isinstance(group, Bucket) else _class_of(group, scope))
        for group in spec.group_by
    ]
    for aggregation in spec.aggregations:
        keeps_type = aggregation.agg in {"min", "max"} and bool(scope.find_columns(aggregation.col))
        columns.append(Output(aggregation.name, _class_of(aggregation.col, scope) if keeps_type else "number"))
    return columns


def outputs(spec: QuerySpec, scope: Scope) -> list[Output]:
    """Return the result columns in order."""
    rows = row_level_names(spec, parse_derived(spec), scope)
    derived = [Output(column.name, "number") for column in spec.derived if column.name not in rows]
    return [*base_outputs(spec, scope), *derived]


def filterable_names(spec: QuerySpec, scope: Scope) -> dict[str, TypeClass]:
    """Return the names that filters can use besides dataset columns, with types: result and row-level columns."""
    rows = row_level_names(spec, parse_derived(spec), scope)
    return {**{output.name: output.type_class for output in outputs(spec, scope)}, **dict.fromkeys(rows, "number")}


def time_groups(spec: QuerySpec, scope: Scope) -> list[str]:
    """Return the result names of the groups that are periods, dates or times."""
    return [
        output_name(group) for group in spec.group_by if isinstance(group, Bucket) or _class_of(group, scope) in TIMES
    ]


def _class_of(name: str, scope: Scope) -> TypeClass:
    place = scope.find_column(name)
    return place.column.type_class if place else "other"

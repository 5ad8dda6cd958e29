"""The columns that the names of a spec refer to: those of its datasets, and those of its result."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from sqlglot import exp

from datasphinx.agent.charts.calendar_names import calendar_places
from datasphinx.agent.queryspec.expression_types import Finder, type_of
from datasphinx.agent.queryspec.expressions import Node, name_of, names_in, parse
from datasphinx.agent.queryspec.spec import (
    Bucket,
    Filter,
    QuerySpec,
    Union,
    columns_of,
    conditions,
    grouped_column,
    output_name,
)
from datasphinx.agent.schema.catalog import TIMES, Column, ColumnKey, Table, TypeClass

UNION = "union"
"""The name of a union as a dataset."""

_TYPES: dict[TypeClass, str] = {
    "number": "DOUBLE", "text": "TEXT", "date": "DATE", "datetime": "TIMESTAMP", "boolean": "BOOLEAN", "time": "TIME",
}  # fmt: skip
"""The types of computed columns of a result."""


@dataclass(frozen=True)
class Datasets:
    """Tables by their names in specs, and earlier results, which are read like tables.

    `main` is read by specs without `from`. A result is the spec that computes it, with its `from`; names of results
    differ from those of tables. `repeated` has the columns of a result that hold the values of a row several times, so
    that they cannot be aggregated (see `datasphinx.agent.queryspec.fan_out`). `values` has the sampled values of text
    columns of tables, by which names of months and other periods are known and put in the order of the calendar.
    """

    main: str
    tables: Mapping[str, Table]
    results: Mapping[str, QuerySpec] = field(default_factory=dict)
    repeated: Mapping[str, frozenset[str]] = field(default_factory=dict)
    values: Mapping[ColumnKey, Sequence[str]] = field(default_factory=dict)
    _relations: dict[str, Table] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tables and results."""
        return (*self.tables, *self.results)

    def relation(self, name: str) -> Table:
        """Return the table or result `name` as a table. Raise KeyError if there is none, or it depends on itself."""
        if name in self.tables:
            return self.tables[name]
        if name not in self._relations:
            self._relations[name] = Table(name, tuple(_result_columns(self.results[name], self._without(name))))
        return self._relations[name]

    def values_of(self, name: str, column: str) -> Sequence[str]:
        """Return all values of a column of the table or result `name`; empty if some are not known."""
        if name in self.tables:
            values = self.values.get((self.tables[name].key, column), ())
            return values if len(values) == self.tables[name].column(column).distinct else ()
        names = Names(self.results[name], self._without(name))
        place = names.passed_on(column)
        return names.values_of(place) if place else ()

    def _without(self, name: str) -> "Datasets":
        others = {other: spec for other, spec in self.results.items() if other != name}
        return Datasets(self.main, self.tables, others, values=self.values)


class ColumnRef(NamedTuple):
    """A column of a dataset that a spec reads."""

    dataset: str
    column: Column


class Scope:
    """The datasets that a spec reads, in order, and their columns by name; the first is the main dataset."""

    def __init__(self, tables: Mapping[str, Table], other_names: Collection[str] | None = None) -> None:
        """With the names that the spec defines, a name in another case than the only such column's refers to it."""
        self.tables = tables
        self._other_names = None if other_names is None else {name.casefold() for name in other_names}
        self.main = next(iter(tables))

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
        return [place for dataset in self.tables for place in self._in(dataset, name)] or self._in_other_case(name)

    def _in_other_case(self, name: str) -> list[ColumnRef]:
        """Return the only column of all datasets whose name is `name` in another case; none for names of the spec."""
        key = name.casefold()
        if self._other_names is None or key in self._other_names:
            return []
        places = {ColumnRef(dataset, column) for dataset in self.tables for column in self.tables[dataset].columns}
        names = ((place, place.column.name, f"{place.dataset}.{place.column.name}") for place in places)
        found = [place for place, *spellings in names if key in map(str.casefold, spellings)]
        return found if len(found) == 1 else []

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


def main_name(spec: QuerySpec, datasets: Datasets) -> str:
    """Return the name of the main dataset of `spec`."""
    return UNION if isinstance(spec.source, Union) else spec.source or datasets.main


def main_relation(spec: QuerySpec, datasets: Datasets) -> Table:
    """Return the main dataset of `spec`: a table, a result, or a union with its label. Raise KeyError if unknown."""
    if not isinstance(spec.source, Union):
        return datasets.relation(main_name(spec, datasets))
    columns = [united.column for united in united_columns(spec.source, datasets)]
    return Table(UNION, (Column(spec.source.label, _TYPES["text"]), *columns))


class UnitedColumn(NamedTuple):
    """A column of a union, and the column that each part has for it, in order; None where a part lacks it."""

    column: Column
    parts: tuple[Column | None, ...]

    @property
    def is_converted(self) -> bool:
        """Whether the parts have different types for it."""
        return len({part.type for part in self.parts if part}) > 1

    @property
    def first_type(self) -> str:
        """The type in the first part that has it."""
        return next(part.type for part in self.parts if part)


def united_columns(union: Union, datasets: Datasets) -> list[UnitedColumn]:
    """Return the columns of a union, matched by name without case, in the spelling of the first part that has each.

    Columns of one type keep it. Numbers of different types become floating-point numbers, days and times become times,
    and other types text. Names that only differ in case within a part are matched with case.

    Raises:
        KeyError: A part does not exist.
    """
    tables = [datasets.relation(part.source) for part in union.parts]
    counts = [Counter(name.casefold() for name in table.column_names) for table in tables]
    ambiguous = {name for count in counts for name, number in count.items() if number > 1}
    found: dict[str, list[Column | None]] = {}
    for at, table in enumerate(tables):
        for column in table.columns:
            key = column.name if column.name.casefold() in ambiguous else column.name.casefold()
            found.setdefault(key, [None] * len(tables))[at] = column
    return [UnitedColumn(_common([part for part in parts if part]), tuple(parts)) for parts in found.values()]


def _common(columns: Sequence[Column]) -> Column:
    first, kinds = columns[0], {column.type_class for column in columns}
    if len({column.type for column in columns}) == 1:
        return first
    kind: TypeClass = first.type_class if len(kinds) == 1 else "datetime" if kinds == set(TIMES) else "text"
    return Column(first.name, _TYPES.get(kind, _TYPES["text"]))


def scope_of(spec: QuerySpec, datasets: Datasets) -> Scope:
    """Return the scope of the datasets of `spec`, without unknown joined ones. Raise KeyError without a main one."""
    joined = {join.dataset: datasets.relation(join.dataset) for join in spec.joins if join.dataset in datasets.names}
    main = main_name(spec, datasets)
    tables = {main: main_relation(spec, datasets), **{name: joined[name] for name in joined if name != main}}
    return Scope(tables, {*(each.name for each in spec.aggregations), *(each.name for each in spec.derived)})


def sources_of(spec: QuerySpec, datasets: Datasets) -> list[str]:
    """Return the names of the tables and results that `spec` reads, without those that its results read."""
    parts = [part.source for part in spec.source.parts] if isinstance(spec.source, Union) else None
    return list(dict.fromkeys([*(parts or [main_name(spec, datasets)]), *(join.dataset for join in spec.joins)]))


class Names:
    """What the names in a spec mean: columns of its datasets and of its result, and derived columns.

    Invalid derived columns are missing, and have the type "other", as unknown columns do.
    """

    def __init__(self, spec: QuerySpec, datasets: Datasets) -> None:
        """Read the derived columns. Raise KeyError if the main dataset does not exist."""
        self.spec, self.datasets, self.scope = spec, datasets, scope_of(spec, datasets)
        self.nodes: dict[str, Node] = {}
        """The syntax trees of the derived columns."""
        for derived in spec.derived:
            with suppress(ValueError):
                self.nodes.setdefault(derived.name, self.read(derived.expr))

    def read(self, expression: str) -> Node:
        """Return the syntax tree of the expression of a derived column, whose names are columns of the result.

        In rows that are not grouped, they are read as columns of the datasets are.

        Raises:
            ValueError: as `parse` does.
        """
        node = parse(expression)
        if not self.spec.is_grouped:
            own = {place: name for name, place in self.scope.columns.items()}
            known = {*own.values(), *(derived.name for derived in self.spec.derived)}
            for column in node.find_all(exp.Column):
                place = None if name_of(column) in known else self.scope.find_column(name_of(column))
                if place:
                    column.set("this", exp.to_identifier(own[place], quoted=True))
                    column.set("table", None)
        return node

    @cached_property
    def over_aggregates(self) -> set[str]:
        """The names of aggregations and of columns derived from them, unless they name dataset columns."""
        find = self.scope.find_columns
        names = {each.name for each in self.spec.aggregations if not find(each.name)}
        for _ in self.nodes:
            names |= {name for name, node in self.nodes.items() if names & set(names_in(node)) and not find(name)}
        return names

    @cached_property
    def of_rows(self) -> set[str]:
        """The derived columns computed for each row of the data; see `datasphinx.agent.queryspec.spec`."""
        names: set[str] = set()
        todo = [name for aggregation in self.spec.aggregations for name in aggregation.names]
        todo += map(grouped_column, self.spec.group_by)
        todo += self._filtered_rows() if self.spec.is_grouped else []
        while todo:
            name = todo.pop()
            if name in self.nodes and name not in names and not self.scope.find_columns(name):
                names.add(name)
                todo += names_in(self.nodes[name])
        return names

    def _filtered_rows(self) -> list[str]:
        """Return the derived columns in filters that use columns of the rows that the result lacks."""
        find = self.scope.find_columns
        result = {*map(output_name, self.spec.group_by), *(each.name for each in self.spec.aggregations)}
        lacking = {name for name in self.nodes if not find(name)} - self.over_aggregates
        uses_rows: set[str] = set()
        for _ in self.nodes:
            for name in lacking - uses_rows:
                used = set(names_in(self.nodes[name]))
                if used & uses_rows or any(find(each) for each in used - result):
                    uses_rows.add(name)
        names = [name for condition in conditions(self.spec.filters) for name in columns_of(condition)]
        return [name for name in names if name in uses_rows]

    @cached_property
    def row_types(self) -> dict[str, TypeClass]:
        """The types of the derived columns computed for each row."""
        types: dict[str, TypeClass] = {}
        for name, node in self.nodes.items():
            if name in self.of_rows:
                types[name] = _type_of(node, lambda name: self._class_of(name, types))
        return types

    def class_of(self, name: str) -> TypeClass:
        """Return the type of a column of the rows, or of one derived for each row."""
        return self._class_of(name, self.row_types)

    def _class_of(self, name: str, types: Mapping[str, TypeClass]) -> TypeClass:
        place = self.scope.find_column(name)
        return place.column.type_class if place else types.get(name, "other")

    @cached_property
    def base_outputs(self) -> dict[str, TypeClass]:
        """The types of the result columns before derived ones."""
        if not self.spec.is_grouped:
            return {name: place.column.type_class for name, place in self.scope.columns.items()}
        columns: dict[str, TypeClass] = {
            output_name(group): "text" if isinstance(group, Bucket) else self.class_of(group)
            for group in self.spec.group_by
        }
        for each in self.spec.aggregations:
            name = each.cols[0]
            is_known = name in self.row_types or self.scope.find_columns(name)
            kind = self.class_of(name) if is_known else "number"
            keeps = {"min", "max", "mode", "first", "last", *({"sum", "avg"} if kind == "time" else ())}
            columns[each.name] = kind if each.agg in keeps else "number"
        return columns

    @cached_property
    def outputs(self) -> dict[str, TypeClass]:
        """The types of the result columns, in order."""
        columns = dict(self.base_outputs)
        for name, node in self.nodes.items():
            if name not in self.of_rows:
                columns.setdefault(name, _type_of(node, lambda name: columns.get(name, "other")))
        return columns

    def is_on_result(self, spec_filter: Filter) -> bool:
        """Return whether a filter selects rows of the result: one of its names is only a column of the result."""
        names = {name for condition in conditions([spec_filter]) for name in columns_of(condition)}
        return not all(self.scope.find_columns(name) for name in names - self.row_types.keys())

    @property
    def row_filters(self) -> list[Filter]:
        """The filters that select rows of the data."""
        return [part for part in self.spec.filters if not self.is_on_result(part)]

    @cached_property
    def time_groups(self) -> list[str]:
        """The result names of the groups that are periods, dates or times, names of these, or enumerations."""
        return [
            output_name(group)
            for group in self.spec.group_by
            if isinstance(group, Bucket)
            or self.class_of(group) in TIMES
            or ((place := self.scope.find_column(group)) and (_is_enumeration(place.column) or self.calendar(place)))
        ]

    def passed_on(self, output: str) -> ColumnRef | None:
        """Return the column of the datasets that is the result column `output` as it is; None for a computed one."""
        if not self.spec.is_grouped:
            return self.scope.columns.get(output)
        return self.scope.find_column(output) if output in self.spec.group_by else None

    def values_of(self, place: ColumnRef) -> Sequence[str]:
        """Return all values of a column, those of each part for a union; empty if some are not known."""
        union, name = self.spec.source, place.column.name
        if not isinstance(union, Union) or place.dataset != self.scope.main:
            return self.datasets.values_of(place.dataset, name)
        parts = [each.parts for each in united_columns(union, self.datasets) if each.column.name == name]
        own = [(part.source, column) for row in parts for part, column in zip(union.parts, row, strict=True) if column]
        known = [self.datasets.values_of(source, column.name) for source, column in own]
        return [value for values in known for value in values] if all(known) else ()

    def calendar(self, place: ColumnRef) -> Mapping[str, int]:
        """Return the order of the values of a column that all are names of periods, such as months; else empty."""
        if place.column.type_class != "text" or place.column.secret:
            return {}
        places = calendar_places(self.values_of(place)) or {}
        return places if len(places) > 1 else {}

    def sorts_as_text(self, place: ColumnRef) -> bool:
        """Return whether a text column has the order of its texts; enumerations that a table stores have their own."""
        return not _is_enumeration(place.column) or place.dataset not in self.datasets.tables


def _is_enumeration(column: Column) -> bool:
    return column.type.upper().startswith("ENUM")


def _type_of(node: Node, find: Finder) -> TypeClass:
    try:
        return type_of(node, find) or "other"
    except ValueError:
        return "other"


def _result_columns(spec: QuerySpec, datasets: Datasets) -> Iterator[Column]:
    """Yield the columns of the result of `spec`; a column that is only passed on keeps its type."""
    names = Names(spec, datasets)
    for name, type_class in names.outputs.items():
        place = names.passed_on(name)
        kind = place.column.type if place else _TYPES.get(type_class, type_class.upper())
        yield Column(name, kind, secret=bool(place and place.column.secret))

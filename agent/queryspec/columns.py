"""The columns that the names of a spec refer to: those of its datasets, and those of its result."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from datasphinx.agent.queryspec.expression_types import Finder, type_of
from datasphinx.agent.queryspec.expressions import Node, names_in, parse
from datasphinx.agent.queryspec.spec import Bucket, Filter, QuerySpec, Union, columns_of, conditions, output_name
from datasphinx.agent.schema.catalog import TIMES, Column, Table, TypeClass

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
    that they cannot be aggregated (see `datasphinx.agent.queryspec.fan_out`).
    """

    main: str
    tables: Mapping[str, Table]
    results: Mapping[str, QuerySpec] = field(default_factory=dict)
    repeated: Mapping[str, frozenset[str]] = field(default_factory=dict)
    _relations: dict[str, Table] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tables and results."""
        return (*self.tables, *self.results)

    def relation(self, name: str) -> Table:
        """Return the table `name`, or the columns of the result `name` as a table.

        Raises:
            KeyError: There is no such table or result, or the result depends on itself.
        """
        if name in self.tables:
            return self.tables[name]
        if name not in self._relations:
            others = {other: spec for other, spec in self.results.items() if other != name}
            inner = Datasets(self.main, self.tables, others)
            self._relations[name] = Table(name, tuple(_result_columns(self.results[name], inner)))
        return self._relations[name]


class ColumnRef(NamedTuple):
    """A column of a dataset that a spec reads."""

    dataset: str
    column: Column


class Scope:
    """The datasets that a spec reads, in order, and their columns by name; the first is the main dataset."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        """Read `tables`."""
        self.tables = tables
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


def main_name(spec: QuerySpec, datasets: Datasets) -> str:
    """Return the name of the main dataset of `spec`."""
    return UNION if isinstance(spec.source, Union) else spec.source or datasets.main


def main_relation(spec: QuerySpec, datasets: Datasets) -> Table:
    """Return the main dataset of `spec`: a table, a result, or a union with its label as the first column.

    Raises:
        KeyError: It, or a part of the union, does not exist.
    """
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
    """Return the scope of the datasets that `spec` reads, without unknown joined ones.

    Raises:
        KeyError: The main dataset does not exist.
    """
    joined = {join.dataset: datasets.relation(join.dataset) for join in spec.joins if join.dataset in datasets.names}
    main = main_name(spec, datasets)
    return Scope({main: main_relation(spec, datasets), **{name: joined[name] for name in joined if name != main}})


def sources_of(spec: QuerySpec, datasets: Datasets) -> list[str]:
    """Return the names of the tables and results that `spec` reads, without those that its results read."""
    parts = [part.source for part in spec.source.parts] if isinstance(spec.source, Union) else None
    return list(dict.fromkeys([*(parts or [main_name(spec, datasets)]), *(join.dataset for join in spec.joins)]))


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


def names_over_aggregates(spec: QuerySpec, nodes: Mapping[str, Node], scope: Scope) -> set[str]:
    """Return the names of aggregations and of columns derived from them, unless they name dataset columns."""
    names = {aggregation.name for aggregation in spec.aggregations if not scope.find_columns(aggregation.name)}
    for _ in nodes:
        names |= {name for name, node in nodes.items() if names & set(names_in(node)) and not scope.find_columns(name)}
    return names


def row_level_names(spec: QuerySpec, nodes: Mapping[str, Node], scope: Scope) -> set[str]:
    """Return the names of derived columns computed for each row of the data; see `datasphinx.agent.queryspec.spec`."""
    names: set[str] = set()
    todo = [name for aggregation in spec.aggregations for name in aggregation.names]
    todo += [group.col if isinstance(group, Bucket) else group for group in spec.group_by]
    todo += _filtered_rows(spec, nodes, scope) if spec.is_grouped else []
    while todo:
        name = todo.pop()
        if name in nodes and name not in names and not scope.find_columns(name):
            names.add(name)
            todo += names_in(nodes[name])
    return names


def _filtered_rows(spec: QuerySpec, nodes: Mapping[str, Node], scope: Scope) -> list[str]:
    """Return the derived columns in filters that use columns of the rows that the result lacks."""
    result = {*map(output_name, spec.group_by), *(aggregation.name for aggregation in spec.aggregations)}
    lacking = {name for name in nodes if not scope.find_columns(name)} - names_over_aggregates(spec, nodes, scope)
    uses_rows: set[str] = set()
    for _ in nodes:
        for name in lacking - uses_rows:
            used = set(names_in(nodes[name]))
            if used & uses_rows or any(scope.find_columns(each) for each in used - result):
                uses_rows.add(name)
    names = [name for condition in conditions(spec.filters) for name in columns_of(condition)]
    return [name for name in names if name in uses_rows]


def is_on_result(spec_filter: Filter, rows: Iterable[str], scope: Scope) -> bool:
    """Return whether a filter selects rows of the result: one of its names is only a column of the result."""
    names = {name for condition in conditions([spec_filter]) for name in columns_of(condition)} - set(rows)
    return not all(scope.find_columns(name) for name in names)


def row_types(spec: QuerySpec, scope: Scope) -> dict[str, TypeClass]:
    """Return the types of the derived columns computed for each row; "other" for an invalid one."""
    nodes = parse_derived(spec)
    names = row_level_names(spec, nodes, scope)
    types: dict[str, TypeClass] = {}
    for name in nodes:
        if name in names:
            types[name] = _type_of(nodes[name], lambda name: _class_of(name, types, scope))
    return types


def base_outputs(spec: QuerySpec, scope: Scope) -> list[Output]:
    """Return the result columns before derived ones; an unknown column has type "other"."""
    if not spec.is_grouped:
        return [Output(name, place.column.type_class) for name, place in scope.columns.items()]
    types = row_types(spec, scope)
    columns = [
        Output(output_name(group), "text" if isinstance(group, Bucket) else _class_of(group, types, scope))
        for group in spec.group_by
    ]
    for each in spec.aggregations:
        name = each.cols[0]
        is_known = name in types or scope.find_columns(name)
        kind = _class_of(name, types, scope) if is_known else "number"
        keeps = {"min", "max", "mode", "first", "last", *({"sum", "avg"} if kind == "time" else ())}
        columns.append(Output(each.name, kind if each.agg in keeps else "number"))
    return columns


def outputs(spec: QuerySpec, scope: Scope) -> list[Output]:
    """Return the result columns in order; a derived column that is invalid has type "other"."""
    nodes = parse_derived(spec)
    rows = row_level_names(spec, nodes, scope)
    columns = {output.name: output.type_class for output in base_outputs(spec, scope)}
    for name, node in nodes.items():
        if name not in rows:
            columns.setdefault(name, _type_of(node, lambda name: columns.get(name, "other")))
    return [Output(name, kind) for name, kind in columns.items()]


def filterable_names(spec: QuerySpec, scope: Scope) -> dict[str, TypeClass]:
    """Return the names that filters can use besides dataset columns, with types: result and row-level columns."""
    return {**{output.name: output.type_class for output in outputs(spec, scope)}, **row_types(spec, scope)}


def time_groups(spec: QuerySpec, scope: Scope) -> list[str]:
    """Return the result names of the groups that are periods, dates or times, or enumerations, such as of months."""
    types = row_types(spec, scope)
    return [
        output_name(group)
        for group in spec.group_by
        if isinstance(group, Bucket) or _class_of(group, types, scope) in TIMES or _is_enumeration(group, scope)
    ]


def _is_enumeration(name: str, scope: Scope) -> bool:
    place = scope.find_column(name)
    return place is not None and place.column.type.upper().startswith("ENUM")


def _type_of(node: Node, find: Finder) -> TypeClass:
    try:
        return type_of(node, find) or "other"
    except ValueError:
        return "other"


def _class_of(name: str, types: Mapping[str, TypeClass], scope: Scope) -> TypeClass:
    place = scope.find_column(name)
    return place.column.type_class if place else types.get(name, "other")


def _result_columns(spec: QuerySpec, datasets: Datasets) -> Iterator[Column]:
    """Yield the columns of the result of `spec`; a column that is only passed on keeps its type."""
    scope = scope_of(spec, datasets)
    groups = {group for group in spec.group_by if isinstance(group, str)}
    for output in outputs(spec, scope):
        place = scope.find_column(output.name) if output.name in groups else None
        if not spec.is_grouped:
            place = scope.columns.get(output.name)
        kind = place.column.type if place else _TYPES.get(output.type_class, output.type_class.upper())
        yield Column(output.name, kind, secret=bool(place and place.column.secret))

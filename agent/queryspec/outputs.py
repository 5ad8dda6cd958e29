"""The columns of a spec's result, and the derived columns that are computed for each row."""

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from agent.queryspec.datasets import Scope
from agent.queryspec.expressions import Node, names_in, parse
from agent.queryspec.spec import Bucket, QuerySpec, output_name
from agent.schema.catalog import TypeClass

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

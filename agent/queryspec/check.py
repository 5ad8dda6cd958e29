"""Check a spec against its datasets: names, types of values, aggregations, derived columns, and sizes."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from datasphinx.agent.engines.spelling import Spelling
from datasphinx.agent.errors import QuerySpecInvalid, SpecProblem
from datasphinx.agent.queryspec.check_sources import check_sources
from datasphinx.agent.queryspec.columns import ColumnRef, Datasets, Names, Scope, main_name, main_relation
from datasphinx.agent.queryspec.dates import read_clock, read_date, read_span
from datasphinx.agent.queryspec.expression_types import type_of
from datasphinx.agent.queryspec.expressions import ORDERED, Call, Node, name_of, names_in, parts_in, windows_in
from datasphinx.agent.queryspec.keys import can_be_compared
from datasphinx.agent.queryspec.spec import (
    MAX_VALUES,
    Aggregation,
    AllOf,
    AnyOf,
    Between,
    Bucket,
    ComparedColumns,
    Condition,
    Contains,
    Derived,
    Filter,
    IsNull,
    Join,
    Matches,
    QuerySpec,
    columns_of,
    conditions,
    grouped_column,
    members,
    nearest,
    output_name,
)
from datasphinx.agent.schema.catalog import TIMES, TypeClass

_COMPARED: tuple[TypeClass, ...] = ("number", "text", "date", "datetime", "time")


MAX_COLUMNS = 500
"""Maximum number of columns of a result."""
_NAME_BYTES = 63
"""Length up to which PostgreSQL distinguishes names."""
_GROUPED: tuple[TypeClass, ...] = ("number", "text", "date", "datetime", "boolean", "time")
_TAKES: dict[str, tuple[TypeClass, ...]] = {
    **dict.fromkeys(("sum", "avg"), ("number", "time")),
    **dict.fromkeys(("min", "max"), ("number", "text", "time", *TIMES)),
    "nunique": _GROUPED,
    **dict.fromkeys(("median", "percentile", "stddev", "variance", "corr"), ("number",)),
    **dict.fromkeys(("mode", "first", "last"), ("number", "text", *TIMES)),
}
"""Types that an aggregation accepts; a count accepts all."""


MAX_EXPANDED = 300
"""Maximum number of parts of a row-level expression after the derived columns in it are expanded."""
MAX_LAYERS = 6
"""Maximum depth of derived columns that use other derived columns of the result."""
MAX_NESTED = 3
"""Maximum depth of `any` and `all` in each other."""


def value_problems(condition: Condition, kind: TypeClass, path: str) -> Iterator[SpecProblem]:
    """Yield the problems of `condition`, at `path`, on a column of type `kind`."""
    if isinstance(condition, IsNull):
        return
    if reason := _operator_problem(condition, kind):
        yield SpecProblem(f"{path}.op", reason)
        return
    if isinstance(condition, ComparedColumns):
        return
    values = condition.value if isinstance(condition.value, list) else [condition.value]
    problems = [(index, reason) for index, value in enumerate(values) if (reason := _value_problem(value, kind))]
    for index, reason in problems:
        place = f"{path}.value[{index}]" if isinstance(condition.value, list) else f"{path}.value"
        yield SpecProblem(place, f"{condition.col} holds {kind}: {reason}")
    if isinstance(condition, Between) and not problems and _is_reversed(condition, kind):
        yield SpecProblem(f"{path}.value", "the lowest value comes first, then the highest")
    if isinstance(condition, Matches):
        try:
            re.compile(condition.value)
        except re.error as error:
            yield SpecProblem(f"{path}.value", f"the regular expression is invalid: {error}")


def _operator_problem(condition: Condition, kind: TypeClass) -> str | None:
    if kind not in (*_COMPARED, "boolean"):
        return f"{condition.col} holds {kind}, which supports only is_null"
    if isinstance(condition, Contains | Matches) and kind != "text":
        return f"{condition.col} holds {kind}, and {condition.op} applies only to text"
    if kind == "boolean" and condition.op not in {"=", "!=", "in", "not_in"}:
        return f"{condition.col} holds true or false, which cannot be ordered"
    return None


def _value_problem(value: str | int | float | bool, kind: TypeClass) -> str | None:
    if kind == "boolean":
        return None if isinstance(value, bool) or value in (0, 1) else "true or false is expected"
    if kind == "number":
        return None if isinstance(value, int | float) and not isinstance(value, bool) else "a number is expected"
    if not isinstance(value, str):
        return "a text is expected" if kind == "text" else "a date as text, such as 2024-03-31, is expected"
    try:
        if kind != "text":
            {"date": read_date, "time": read_clock}.get(kind, read_span)(value)
    except ValueError as error:
        return str(error)
    return None


def _is_reversed(condition: Between, kind: TypeClass) -> bool:
    low, high = condition.value
    if kind == "text":
        return False
    if kind == "number":
        return low > high  # type: ignore[operator]
    if kind == "time":
        return read_clock(str(low)) > read_clock(str(high))
    return read_span(str(low)).start > read_span(str(high)).start


def check(spec: QuerySpec, datasets: Datasets) -> None:
    """Raise QuerySpecInvalid, with all problems, if `spec` cannot be computed from `datasets`."""
    if problems := _problems(spec, datasets):
        raise QuerySpecInvalid(tuple(problems))


def _problems(spec: QuerySpec, datasets: Datasets) -> list[SpecProblem]:
    unknown = [*check_sources(spec, datasets)]
    if unknown:
        return unknown
    names = Names(spec, datasets)
    problems = [
        *_joins(spec, datasets),
        *_filters(names),
        *_groups(names),
        *_aggregations(names),
        *_DerivedChecker(names).problems(),
        *_sorts(names),
        *_rows_per_group(names),
        *_duplicates(names),
    ]
    if not problems and len(names.outputs) > MAX_COLUMNS:
        text = f"the result has more than {MAX_COLUMNS} columns; name those that are needed in group_by"
        problems.append(SpecProblem("group_by", text))
    return list(dict.fromkeys(problems))


def check_engine(spec: QuerySpec, spelling: Spelling) -> None:
    """Check that the engine of `spelling` can compute `spec`.

    Raises:
        QuerySpecInvalid: A regular expression, on an engine whose time for one is not linear in the text.
    """
    if spelling.match:
        return
    lists = {"filters": spec.filters}
    lists |= {f"aggregations[{at}].where": each.where or [] for at, each in enumerate(spec.aggregations)}
    reason = (
        "regular expressions need DuckDB or ClickHouse, and this is "
        f"{spelling.dialect}: use contains, starts_with, ends_with"
    )
    problems = [
        SpecProblem(f"{path}.op", reason)
        for name, filters in lists.items()
        for condition, path in _located(filters, name)
        if isinstance(condition, Matches)
    ]
    if problems:
        raise QuerySpecInvalid(tuple(problems))


def _joins(spec: QuerySpec, datasets: Datasets) -> Iterator[SpecProblem]:
    joined = [main_name(spec, datasets)]
    tables = {joined[0]: main_relation(spec, datasets)}
    for index, join in enumerate(spec.joins):
        path = f"joins[{index}]"
        if join.dataset in joined:
            yield SpecProblem(f"{path}.dataset", f"the dataset {join.dataset} is already read")
            continue
        right = Scope({join.dataset: datasets.relation(join.dataset)})
        yield from _keys(join, path, Scope(dict(tables)), right)
        joined.append(join.dataset)
        tables[join.dataset] = datasets.relation(join.dataset)


def _keys(join: Join, path: str, left_scope: Scope, right_scope: Scope) -> Iterator[SpecProblem]:
    for name in join.cast:
        if name not in join.on:
            yield SpecProblem(f"{path}.cast", f"{name} is not a left key of on", tuple(join.on))
    for left, right in join.on.items():
        unknown = [
            problem
            for name, scope in ((left, left_scope), (right, right_scope))
            for problem in _unknown(f"{path}.on", name, scope.find_columns(name), scope)
        ]
        yield from unknown
        if unknown:
            continue
        columns = left_scope.find_columns(left)[0].column, right_scope.find_columns(right)[0].column
        if not can_be_compared(join, left, *columns):
            types = [column.type_class for column in columns]
            text = f"{left} ({types[0]}) cannot be compared with {right} ({types[1]})"
            fitting = [
                name
                for scope, kind in ((right_scope, types[0]), (left_scope, types[1]))
                for name, place in scope.columns.items()
                if place.column.type_class == kind
            ]
            yield SpecProblem(f"{path}.on", f"{text}: the types differ", tuple(fitting[:3]))


def _unknown(
    path: str, name: str, places: Iterable[ColumnRef], scope: Scope, others: Iterable[str] = ()
) -> Iterator[SpecProblem]:
    candidates = list(places)
    if not candidates:
        yield SpecProblem(path, f"there is no column {name}", nearest(name, dict.fromkeys([*scope.columns, *others])))
    elif len(candidates) > 1:
        full = tuple(f"{place.dataset}.{name}" for place in candidates)
        yield SpecProblem(path, f"more than one joined dataset has a column {name}", full)


def _filters(names: Names) -> Iterator[SpecProblem]:
    spec, scope = names.spec, names.scope
    result_names = {**names.outputs, **names.row_types}
    spec_names = {part.name for part in spec.aggregations} | {part.name for part in spec.derived}
    for condition, path in _located(spec.filters, "filters"):
        kinds: list[TypeClass | None] = []
        for name, field in zip(columns_of(condition), ("col", "other"), strict=False):
            places = scope.find_columns(name)
            if places and name in spec_names:
                text = f"{name} is a column of the rows and a name in this spec: rename the latter, or name the dataset"
                yield SpecProblem(f"{path}.{field}", text, tuple(f"{place.dataset}.{name}" for place in places))
            elif len(places) == 1 or (not places and name in result_names):
                kinds.append(places[0].column.type_class if places else result_names[name])
            else:
                yield from _unknown(f"{path}.{field}", name, places, scope, result_names)
        yield from _kind_problems(condition, kinds, path, spec)
    yield from _levels(names)
    yield from _filter_sizes(spec)


def _located(filters: Iterable[Filter], path: str) -> Iterator[tuple[Condition, str]]:
    for index, each in enumerate(filters):
        place = f"{path}[{index}]"
        if isinstance(each, AnyOf | AllOf):
            yield from _located(members(each), f"{place}.{'any' if isinstance(each, AnyOf) else 'all'}")
        else:
            yield each, place


def _kind_problems(
    condition: Condition, kinds: list[TypeClass | None], path: str, spec: QuerySpec
) -> Iterator[SpecProblem]:
    """Yield the problems of a condition on columns of these types, if all of them are known."""
    derived = {part.name for part in spec.derived}
    if len(kinds) < len(columns_of(condition)) or (kinds[0] == "other" and condition.col in derived):
        return
    yield from value_problems(condition, kinds[0] or "other", path)
    if isinstance(condition, ComparedColumns) and kinds[0] != kinds[1] and not set(kinds) <= set(TIMES):
        text = f"{condition.col} ({kinds[0]}) cannot be compared with {condition.other} ({kinds[1]}): the types differ"
        yield SpecProblem(f"{path}.other", text)


def _levels(names: Names) -> Iterator[SpecProblem]:
    """Yield a problem for each filter that selects rows of the data and of the result."""
    result = names.outputs
    for index, each in enumerate(names.spec.filters):
        only_rows = [
            name
            for condition in conditions([each])
            for name in columns_of(condition)
            if name not in result and (name in names.row_types or names.scope.find_columns(name))
        ]
        if only_rows and names.is_on_result(each):
            text = f"{only_rows[0]} is not in the result, and other columns here are only there: use separate filters"
            yield SpecProblem(f"filters[{index}]", text, nearest(only_rows[0], result))


def _filter_sizes(spec: QuerySpec) -> Iterator[SpecProblem]:
    lists = [spec.filters, *(each.where or [] for each in spec.aggregations)]
    values = [getattr(condition, "value", 0) for filters in lists for condition in conditions(filters)]
    if sum(len(value) if isinstance(value, list) else 1 for value in values) > MAX_VALUES:
        yield SpecProblem("filters", f"the filters have more than {MAX_VALUES} values in total")
    if any(_depth(each) > MAX_NESTED for filters in lists for each in filters):
        yield SpecProblem("filters", f"any and all are nested more than {MAX_NESTED} levels deep")


def _depth(spec_filter: Filter) -> int:
    return 1 + max(map(_depth, members(spec_filter))) if members(spec_filter) else 0


def _groups(names: Names) -> Iterator[SpecProblem]:
    spec, scope, rows = names.spec, names.scope, names.row_types
    for index, group in enumerate(spec.group_by):
        is_bucket, name = isinstance(group, Bucket), grouped_column(group)
        path = f"group_by[{index}]{'.col' if is_bucket else ''}"
        places = scope.find_columns(name)
        if name in names.over_aggregates:
            yield SpecProblem(path, f"{name} is computed from aggregations, so it cannot be a group")
            continue
        if name not in rows:
            yield from _unknown(path, name, places, scope, rows)
        kind = places[0].column.type_class if len(places) == 1 else rows.get(name)
        if kind and is_bucket and kind not in TIMES:
            dates = [name for name, place in scope.columns.items() if place.column.type_class in TIMES]
            yield SpecProblem(path, f"{name} holds {kind}, and only dates have periods", tuple(dates[:3]))
        elif kind and kind not in _GROUPED and name not in rows:
            yield SpecProblem(path, f"{name} holds {kind}, which cannot be grouped by")


def _aggregations(names: Names) -> Iterator[SpecProblem]:
    for index, aggregation in enumerate(names.spec.aggregations):
        path = f"aggregations[{index}]"
        yield from _options(aggregation, path)
        if aggregation.cols == ("*",):
            if aggregation.agg != "count":
                yield SpecProblem(f"{path}.col", f"{aggregation.agg} needs a column; only count takes *")
        else:
            is_list = isinstance(aggregation.col, list)
            places = [
                (name, f"{path}.col[{at}]" if is_list else f"{path}.col") for at, name in enumerate(aggregation.cols)
            ]
            takes = _TAKES.get(aggregation.agg)
            for name, place in places:
                yield from _aggregated_name(name, place, aggregation.agg, takes, names)
        if aggregation.order_by:
            order = ("number", "text", *TIMES)
            yield from _aggregated_name(aggregation.order_by, f"{path}.order_by", "order_by", order, names)
        for condition, place in _located(aggregation.where or (), f"{path}.where"):
            kinds: list[TypeClass | None] = []
            for name, field in zip(columns_of(condition), ("col", "other"), strict=False):
                found = list(_aggregated_name(name, f"{place}.{field}", "where", None, names))
                yield from found
                if not found:
                    kinds.append(names.class_of(name))
            yield from _kind_problems(condition, kinds, place, names.spec)


def _options(aggregation: Aggregation, path: str) -> Iterator[SpecProblem]:
    """Yield a problem for each option that an aggregation lacks, or does not take."""
    agg, number = aggregation.agg, len(aggregation.cols)
    if (agg == "percentile") != (aggregation.p is not None):
        reason = "percentile needs p, such as 0.9" if agg == "percentile" else f"only percentile takes p, not {agg}"
        yield SpecProblem(f"{path}.p", reason)
    if (agg in {"first", "last"}) != (aggregation.order_by is not None):
        is_missing = aggregation.order_by is None
        reason = f"{agg} needs order_by, a column of the rows" if is_missing else "only first and last take order_by"
        yield SpecProblem(f"{path}.order_by", reason)
    if agg == "corr" and number != 2:
        yield SpecProblem(f"{path}.col", 'corr takes two columns, such as ["price", "quantity"]')
    elif number > 1 and agg not in {"nunique", "corr"}:
        yield SpecProblem(f"{path}.col", f"{agg} takes one column; only nunique and corr take several")


def _aggregated_name(
    name: str, path: str, what: str, takes: tuple[TypeClass, ...] | None, names: Names
) -> Iterator[SpecProblem]:
    """Yield the problems of a name in an aggregation, which is a column of the rows or derived from them."""
    scope, rows = names.scope, names.row_types
    if name in names.over_aggregates:
        text = f"{name} is already an aggregation, and an aggregation of an aggregation is not supported"
        yield SpecProblem(path, text, nearest(name, scope.columns))
        return
    places = scope.find_columns(name)
    if name not in rows:
        yield from _unknown(path, name, places, scope, rows)
    kind = rows.get(name) or (places[0].column.type_class if len(places) == 1 else None)
    # An invalid derived column, of type "other", is a problem of its own.
    if kind and takes and kind not in takes and not (name in rows and kind == "other"):
        yield SpecProblem(path, f"{name} holds {kind}, and {what} takes {', '.join(takes)}")


def _sorts(names: Names) -> Iterator[SpecProblem]:
    columns = names.outputs
    # An invalid derived column, of type "other", is a problem of its own.
    invalid = {name for name in names.nodes if columns.get(name) == "other"}
    for index, sort in enumerate(names.spec.sort):
        path = f"sort[{index}].by"
        if sort.by not in columns:
            yield SpecProblem(path, f"the result has no column {sort.by}", nearest(sort.by, columns))
        elif not names.spec.is_grouped and columns[sort.by] not in _GROUPED and sort.by not in invalid:
            yield SpecProblem(path, f"{sort.by} holds {columns[sort.by]}, which cannot be ordered")


def _rows_per_group(names: Names) -> Iterator[SpecProblem]:
    spec, columns = names.spec, names.outputs
    if spec.limit_per_group is None:
        return
    for index, name in enumerate(spec.limit_per_group.by):
        if name not in columns:
            path = f"limit_per_group.by[{index}]"
            yield SpecProblem(path, f"the result has no column {name}", nearest(name, columns))
    if not spec.sort:
        yield SpecProblem("sort", "limit_per_group needs a sort, which says which rows come first")


def _duplicates(known: Names) -> Iterator[SpecProblem]:
    """Yield a problem for each duplicate name of a column or step, and for each repeated sort.

    Names count as equal if any supported engine treats them as equal.
    """
    spec = known.spec
    names = [(f"group_by[{index}]", output_name(group)) for index, group in enumerate(spec.group_by)]
    names += [(f"aggregations[{index}].as", part.name) for index, part in enumerate(spec.aggregations)]
    # A derived column that is a group is one column.
    grouped = {name for _, name in names} & known.row_types.keys()
    names += [
        (f"derived[{index}].as", part.name) for index, part in enumerate(spec.derived) if part.name not in grouped
    ]
    occurrences = Counter(() if spec.is_grouped else map(_name_key, known.base_outputs))
    for path, name in names:
        if occurrences[_name_key(name)]:
            yield SpecProblem(path, f"there is a column {name} already")
        occurrences[_name_key(name)] += 1
    sorts = Counter(sort.by for sort in spec.sort)
    for index, sort in enumerate(spec.sort):
        if sorts[sort.by] > 1:
            yield SpecProblem(f"sort[{index}].by", f"the sort names {sort.by} more than once")


def _name_key(name: str) -> bytes:
    return name.casefold().encode("utf-8", "replace")[:_NAME_BYTES]


class _DerivedChecker:
    """Checks the derived columns of one spec, in their order."""

    def __init__(self, names: Names) -> None:
        self._names, self._spec, self._scope, self._nodes = names, names.spec, names.scope, names.nodes
        self._rows = names.of_rows - names.over_aggregates
        self._base = names.base_outputs
        self._size: dict[str, int] = {}
        """Expanded sizes of the row-level columns checked so far."""
        self._types: dict[str, TypeClass] = {}
        """Types of the valid columns checked so far."""
        self._layer: dict[str, int] = {}
        """Dependency depths of the result columns checked so far."""

    def problems(self) -> Iterator[SpecProblem]:
        for index, derived in enumerate(self._spec.derived):
            yield from self._problems(f"derived[{index}].expr", derived)

    def _problems(self, path: str, derived: Derived) -> Iterator[SpecProblem]:
        try:
            node = self._names.read(derived.expr)
        except ValueError as error:
            yield SpecProblem(path, str(error))
            return
        is_row = derived.name in self._rows
        for name in names_in(node):
            yield from (
                self._row_name_problems(name, derived, path)
                if is_row
                else self._result_name_problems(name, derived, path)
            )
        yield from self._windows(node, derived, path, is_row)
        yield from self._sizes(node, derived, path, is_row)
        yield from self._types_of(node, derived, path, is_row)

    def _types_of(self, node: Node, derived: Derived, path: str, is_row: bool) -> Iterator[SpecProblem]:
        """Yield the first value of an unsuitable type, if the types of all names are known."""

        def find(name: str) -> TypeClass:
            if not is_row:
                return self._base[name] if name in self._base else self._types[name]
            place = self._scope.find_column(name)
            return place.column.type_class if place else self._types[name]

        try:
            kind = type_of(node, find)
        except KeyError:
            return
        except ValueError as error:
            yield SpecProblem(path, str(error))
            return
        if kind is None:
            yield SpecProblem(path, "it is always empty")
        elif kind not in _GROUPED:
            yield SpecProblem(path, f"it holds {kind}, which expressions cannot use")
        else:
            self._types[derived.name] = kind

    def _row_name_problems(self, name: str, derived: Derived, path: str) -> Iterator[SpecProblem]:
        places = self._scope.find_columns(name)
        if places:
            yield from _unknown(path, name, places, self._scope)
        elif name not in self._size:
            yield self._unknown(name, derived, path, {**dict.fromkeys(self._scope.columns), **self._size})

    def _result_name_problems(self, name: str, derived: Derived, path: str) -> Iterator[SpecProblem]:
        if name in self._layer or name in self._base:
            return
        if name in self._rows:
            yield SpecProblem(
                path, f"{name} is computed for each row and is not in the result: aggregate it", tuple(self._base)
            )
        elif self._spec.is_grouped and self._scope.find_columns(name):
            text = f"{name} is a column of the rows and not in the result: group by it or aggregate it"
            yield SpecProblem(path, text, nearest(name, self._base))
        else:
            yield self._unknown(name, derived, path, {**self._base, **self._layer})

    def _unknown(self, name: str, derived: Derived, path: str, candidates: Mapping[str, object]) -> SpecProblem:
        if name == derived.name or derived.name in self._dependencies(name):
            return SpecProblem(path, f"{derived.name} depends on itself")
        if name in self._nodes:
            return SpecProblem(path, f"{name} is derived later: put it before {derived.name}")
        return SpecProblem(path, f"there is no column {name}", nearest(name, candidates))

    def _dependencies(self, name: str) -> set[str]:
        """Return all names that the derived column `name` depends on, directly or indirectly."""
        names: set[str] = set()
        todo = [name]
        while todo:
            node = self._nodes.get(todo.pop())
            new = set(names_in(node)) - names if node else set()
            names |= new
            todo += new
        return names

    def _windows(self, node: Node, derived: Derived, path: str, is_row: bool) -> Iterator[SpecProblem]:
        for call in windows_in(node):
            if is_row:
                text = (
                    f"{call.function} applies to the result, but {derived.name} is aggregated, so computed for each row"
                )
                yield SpecProblem(path, text)
            if any(inner is not call and inner in windows_in(call) for inner in windows_in(call)):
                text = f"{call.function} contains a window function: derive that first, as a separate column"
                yield SpecProblem(path, text)
            if call.function in ORDERED and not call.order_by and not is_row:
                yield from self._order(call, derived, path)

    def _order(self, call: Call, derived: Derived, path: str) -> Iterator[SpecProblem]:
        if self._names.time_groups:
            return
        later = [sort.by for sort in self._spec.sort if sort.by not in self._base and sort.by not in self._layer]
        if not self._spec.sort:
            yield SpecProblem(
                path, f"{call.function} needs a group that is a period, a sort, or order_by, for the order of rows"
            )
        elif later:
            text = f"{call.function} uses the sort, but {later[0]} is not defined before {derived.name}"
            yield SpecProblem(path, text)

    def _sizes(self, node: Node, derived: Derived, path: str, is_row: bool) -> Iterator[SpecProblem]:
        names = names_in(node)
        if is_row:
            size = sum(self._size.get(name_of(part), 1) for part in parts_in(node))
            self._size[derived.name] = min(size, MAX_EXPANDED)
            if size > MAX_EXPANDED:
                yield SpecProblem(path, f"with its derived columns expanded it has more than {MAX_EXPANDED} parts")
            return
        layer = 1 + max((self._layer.get(name, 0) for name in names), default=0)
        self._layer[derived.name] = layer
        if layer > MAX_LAYERS:
            yield SpecProblem(path, f"its chain of derived columns has more than {MAX_LAYERS} steps")

"""Compile a spec to one SELECT, with all names quoted and all values bound as `:v1`, `:v2` and so on, and run it.

The same spec over the same datasets always gives the same text. Columns derived from the result are computed in a query
around it; those derived from other derived columns, in a further query around that.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any

from sqlglot import exp

from agent.core.cancellation import Cancellation
from agent.errors import QuerySpecInvalid
from agent.queryspec.check import check
from agent.queryspec.clauses import ExpressionWriter, WindowOrder, as_number, condition, order_term
from agent.queryspec.columns import (
    TIMES,
    ColumnRef,
    Datasets,
    Output,
    outputs,
    parse_derived,
    row_level_names,
    scope_of,
    time_groups,
)
from agent.queryspec.dialect import SpecDialect, as_text, cast, nullable, period, period_key, spec_dialect
from agent.queryspec.expressions import names_in, windows_in
from agent.queryspec.fan_out import FanOut
from agent.queryspec.fill import ZERO_IF_EMPTY, Gaps, filled_groups
from agent.queryspec.keys import as_date, join_key, key_type
from agent.queryspec.spec import DEFAULT_LIMIT, Aggregation, Bucket, Filter, IsNull, Join, QuerySpec, Union, output_name
from agent.queryspec.statement import StatementParts, row_number, unused_name
from agent.schema.catalog import TypeClass
from agent.sources.source import Source
from agent.sql.parameters import Value
from agent.types import Result

_AGGREGATES: dict[str, type[exp.AggFunc]] = {
    "sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max, "count": exp.Count, "nunique": exp.Count,
}  # fmt: skip


@dataclass(frozen=True)
class Compiled:
    """A statement, its parameter values by name, and its result columns."""

    sql: str
    parameters: Mapping[str, Value]
    columns: tuple[Output, ...]


def compile_spec(spec: QuerySpec, datasets: Datasets, dialect: SpecDialect) -> Compiled:
    """Return the statement that computes `spec` in `dialect`.

    If the spec has no limit, the statement requests one row more than the default, to detect truncation. Results that
    it reads are computed in its WITH clause, from the data of now and without the default limit.

    Raises:
        QuerySpecInvalid: The spec does not fit the datasets.
    """
    check(spec, datasets)
    parts = StatementParts(dialect, datasets)
    compiler = _Compiler(spec, datasets, parts)
    query = compiler.select(is_ordered=True).limit(spec.limit or DEFAULT_LIMIT + 1, copy=False)
    return Compiled(parts.print(query), parts.bound.values, tuple(outputs(spec, compiler.scope)))


class _Compiler:
    """Compiler of one spec; holds the query so far and the expression of each result column."""

    def __init__(self, spec: QuerySpec, datasets: Datasets, parts: StatementParts) -> None:
        self.spec, self.datasets, self.dialect, self.parts = spec, datasets, parts.dialect, parts
        self.scope = scope_of(spec, datasets)
        self.bound = parts.bound
        self.nodes = parse_derived(spec)
        self.rows = row_level_names(spec, self.nodes, self.scope)
        self.aliases = {name: f"t{index}" for index, name in enumerate(self.scope.tables)}
        self.columns: dict[str, exp.Expr] = {}
        self.query = exp.Select()
        self.layers = 0
        self.numbers: set[str] = set()
        """Columns that are already floating-point."""
        self.numbers_rows = False
        """Whether each dataset has a further column with the number of its row."""

    def select(self, *, is_ordered: bool) -> exp.Select:
        """Return the query for the rows, without the limit."""
        self._read()
        if self.spec.is_grouped:
            self._group()
            self._fill()
        else:
            self.columns = {name: self._column(place) for name, place in self.scope.columns.items()}
        self._derive()
        if not self._filter_result() and any(sort.by in self.nodes for sort in self.spec.sort):
            self._wrap()
        self._limit_per_group()
        query, terms = self._selected(), self._terms()
        if terms and is_ordered:
            query.order_by(*terms, copy=False)
        return query

    def _column(self, place: ColumnRef) -> exp.Expr:
        return exp.column(place.column.name, table=self.aliases[place.dataset], quoted=True)

    def _read(self) -> None:
        """Start with the rows: the joined and filtered datasets."""
        self.query = exp.select().from_(self._table(self.scope.main), copy=False)
        for join in self.spec.joins:
            self._join(join)
        row_filters = [part for part in self.spec.filters if not self._is_on_result(part)]
        self.query.where(*map(self._condition, row_filters), copy=False)

    def _is_on_result(self, spec_filter: Filter) -> bool:
        return not self.scope.find_columns(spec_filter.col) and spec_filter.col not in self.rows

    def _condition(self, spec_filter: Filter) -> exp.Expr:
        if not self.scope.find_columns(spec_filter.col):
            return condition(spec_filter, self._row_number(spec_filter.col), "number", self.bound)
        place = self._resolve(spec_filter.col)
        node, kind = self._column(place), place.column.type_class
        if kind == "text" and not isinstance(spec_filter, IsNull):
            node = as_text(node, place.column, self.dialect)
        return condition(spec_filter, node, kind, self.bound)

    def _table(self, dataset: str, *, is_optional: bool = False) -> exp.Expr:
        """Return a dataset for FROM or JOIN; one that `is_optional` has NULL in rows without a match."""
        alias = exp.to_identifier(self.aliases[dataset], quoted=True)
        node = exp.alias_(self._relation(dataset), alias, table=True)
        # ClickHouse fills unmatched rows with 0 or '' unless columns are nullable.
        needs_nullable = is_optional and self.dialect == "clickhouse"
        if not needs_nullable and not self.numbers_rows:
            return node
        columns: dict[str, exp.Expr] = {}
        for column in self.scope.tables[dataset].columns:
            inner = self._column(ColumnRef(dataset, column))
            columns[column.name] = nullable(inner, column.type_class, self.dialect) if needs_nullable else inner
        if self.numbers_rows:
            columns[self._row_number_name(dataset)] = nullable(row_number([], []), "number", self.dialect)
        selected = [exp.alias_(column, name, quoted=True) for name, column in columns.items()]
        return exp.select(*selected).from_(node, copy=False).subquery(alias.copy())

    def _relation(self, dataset: str) -> exp.Expr:
        """Return the table of a dataset, or the CTE of a result or union."""
        if isinstance(self.spec.source, Union) and dataset == self.scope.main:
            return self.parts.add("union", self._union(self.spec.source))
        return self._named_relation(dataset)

    def _named_relation(self, name: str) -> exp.Expr:
        if name in self.datasets.tables:
            table = self.datasets.tables[name]
            return exp.table_(table.name, db=table.schema, quoted=True)
        if name not in self.parts.results:
            spec = self.datasets.results[name]
            query = _Compiler(spec, self.datasets, self.parts).select(is_ordered=spec.limit is not None)
            query = query.limit(spec.limit, copy=False) if spec.limit else query
            self.parts.results[name] = self.parts.add(f"result_{name}", query)
        return self.parts.results[name].copy()

    def _union(self, union: Union) -> exp.Query:
        """Return the rows of all parts of a union; columns of different types are converted to a common one."""
        columns = self.scope.tables[self.scope.main].columns[1:]
        relations = {part.source: self.datasets.relation(part.source) for part in union.parts}
        kept_types = [
            column
            for column in columns
            if len({other.type for table in relations.values() for other in table.columns if other.name == column.name})
            == 1
        ]
        selects: list[exp.Query] = []
        for part in union.parts:
            label = cast(self.bound.bind(part.name or part.source), "text", self.dialect)
            nodes = [exp.alias_(label, union.label, quoted=True)]
            for column in columns:
                node: exp.Expr = exp.column(column.name, quoted=True)
                node = node if column in kept_types else cast(node, column.type_class, self.dialect)
                nodes.append(exp.alias_(node, column.name, quoted=True))
            selects.append(exp.select(*nodes).from_(self._named_relation(part.source), copy=False))
        return reduce(lambda head, select: exp.union(head, select, distinct=False, copy=False), selects)

    def _join(self, join: Join) -> None:
        pairs = [exp.EQ(this=left, expression=right) for left, right in self._keys(join)]
        is_left = join.how == "left"
        source = self._table(join.dataset, is_optional=is_left)
        on = exp.and_(*pairs, copy=False)
        self.query.join(source, on=on, join_type="left" if is_left else "inner", copy=False)

    def _keys(self, join: Join) -> list[tuple[exp.Expr, exp.Expr]]:
        """Return the two sides of each key of a join, in the form in which they are compared."""
        right_columns = {column.name: column for column in self.scope.tables[join.dataset].columns}
        pairs = []
        for left, right in join.on.items():
            places = self._resolve(left), ColumnRef(join.dataset, right_columns[right])
            kind = key_type(join, left, places[0].column, places[1].column)
            # Columns of one type are compared as they are, so that an index serves.
            is_plain = kind is None and places[0].column.type == places[1].column.type
            sides = [
                self._column(place)
                if is_plain
                else join_key(self._column(place), place.column, kind or place.column.type_class, self.bound)
                for place in places
            ]
            pairs.append((sides[0], sides[1]))
        return pairs

    def _row_number_name(self, dataset: str) -> str:
        return unused_name("row_number", self.scope.tables[dataset].column_names)

    def row_counts(self) -> exp.Select:
        """Return the query for how often the rows of each dataset occur among the joined and filtered rows.

        Its one row has, for each dataset in the order of the scope, the number of joined rows with a row of this
        dataset, and the number of its distinct rows among them.
        """
        self.numbers_rows = True
        self._read()
        for index, (dataset, alias) in enumerate(self.aliases.items()):
            number = exp.column(self._row_number_name(dataset), table=alias, quoted=True)
            distinct = exp.Count(this=exp.Distinct(expressions=[number.copy()]))
            columns = [exp.alias_(exp.Count(this=number), f"n{index}"), exp.alias_(distinct, f"d{index}")]
            self.query.select(*columns, copy=False)
        return self.query

    def key_counts(self) -> exp.Select:
        """Return the query whose one row has for each join the most rows of its dataset that share a key."""
        figures = []
        for index, join in enumerate(self.spec.joins):
            keys = [right for _, right in self._keys(join)]
            is_known = exp.and_(*(exp.Not(this=exp.Is(this=key.copy(), expression=exp.Null())) for key in keys))
            counted = (
                exp.select(exp.alias_(exp.Count(this=exp.Star()), "n"))
                .from_(self._table(join.dataset), copy=False)
                .where(is_known, copy=False)
                .group_by(*keys, copy=False)
            )
            largest = exp.select(exp.Max(this=exp.column("n"))).from_(counted.subquery("k"), copy=False)
            figures.append(exp.alias_(largest.subquery(), f"n{index}"))
        return exp.select(*figures)

    def _resolve(self, name: str) -> ColumnRef:
        place = self.scope.find_column(name)
        if place is None:
            raise KeyError(name)
        return place

    def _group(self) -> None:
        groups: dict[str, exp.Expr] = {}
        keys = []
        for group in self.spec.group_by:
            key = self._column(self._resolve(group.col if isinstance(group, Bucket) else group))
            if isinstance(group, Bucket):
                key = period_key(key, group.by, self.dialect)
            keys.append(key.copy())
            groups[output_name(group)] = period(key, group.by, self.dialect) if isinstance(group, Bucket) else key
        aggregates = {aggregation.name: self._aggregate(aggregation) for aggregation in self.spec.aggregations}
        self.columns = {**groups, **aggregates}
        self.numbers = {
            aggregation.name
            for aggregation in self.spec.aggregations
            if aggregation.agg == "avg" or aggregation.col in self.rows
        }
        self.query.group_by(*keys, copy=False)

    def _fill(self) -> None:
        """Add the periods without rows; see `agent.queryspec.fill`."""
        bucket = next((group for group in self.spec.group_by if isinstance(group, Bucket) and group.fill), None)
        if bucket is None:
            return
        moment = self._column(self._resolve(bucket.col))
        columns, zeros = list(self.columns), {each.name for each in self.spec.aggregations if each.agg in ZERO_IF_EMPTY}
        day = as_date(moment, self.dialect)
        first, last = (unused_name(name, columns) for name in ("first_day", "last_day"))
        self.columns |= {first: exp.Min(this=day), last: exp.Max(this=day.copy())}
        groups = self.parts.add("groups", self._selected())
        names = [output_name(group) for group in self.spec.group_by]
        gaps = Gaps(names, output_name(bucket), bucket.by, (first, last), zeros)
        filled = self.parts.add("filled", filled_groups(gaps, columns, groups, self.parts))
        self._continue_from(exp.alias_(filled, f"r{self.layers}", table=True, quoted=True), columns)

    def _limit_per_group(self) -> None:
        limit = self.spec.limit_per_group
        if limit is None:
            return
        self._wrap()
        number = unused_name("row_number", self.columns)
        self.columns[number] = row_number([self.columns[name].copy() for name in limit.by], self._terms())
        self._wrap()
        place = self.columns.pop(number)
        self.query.where(exp.LTE(this=place, expression=self.bound.bind(limit.n)), copy=False)

    def _aggregate(self, aggregation: Aggregation) -> exp.Expr:
        if aggregation.col == "*":
            return exp.Count(this=exp.Star())
        if aggregation.col in self.rows:
            return _aggregate(aggregation.agg, self._row_number(aggregation.col).unnest())
        place = self._resolve(aggregation.col)
        node, kind = self._column(place), place.column.type_class
        if aggregation.agg == "avg":
            # Engines differ in the precision of an average of integers.
            node = as_number(node, self.bound)
        elif aggregation.agg not in {"count", "nunique"}:
            text = as_text(node, place.column, self.dialect) if kind == "text" else node
            node = nullable(text, kind, self.dialect)
        return _aggregate(aggregation.agg, node)

    def _row_number(self, name: str) -> exp.Expr:
        """Return a column of the rows, or one derived from them, as a number."""
        if name in self.rows and not self.scope.find_columns(name):
            sql = ExpressionWriter(self._row_number, self.bound).to_sql(self.nodes[name])
            return exp.Paren(this=sql) if isinstance(sql, exp.Binary | exp.Neg) else sql
        return as_number(self._column(self._resolve(name)), self.bound)

    def _derive(self) -> None:
        """Add the columns derived from the result, with one outer query for each level of dependency."""
        level_names: set[str] = set()
        result_columns = [derived for derived in self.spec.derived if derived.name not in self.rows]
        if result_columns and self.spec.is_grouped:
            self._wrap()
        for derived in result_columns:
            node = self.nodes[derived.name]
            is_ordered = any(call.function == "change_from_previous" for call in windows_in(node))
            sorts = [sort.by for sort in self.spec.sort if is_ordered]
            if level_names & {*names_in(node), *sorts}:
                self._wrap()
                level_names = set()
            column, is_float = ExpressionWriter(self._number, self.bound, self._order()).column(node)
            self.columns[derived.name] = column
            self.numbers |= {derived.name} if is_float else set()
            level_names.add(derived.name)

    def _filter_result(self) -> bool:
        """Apply the filters on the result; return whether that required an outer query."""
        kinds = {output.name: output.type_class for output in outputs(self.spec, self.scope)}
        filters = [part for part in self.spec.filters if self._is_on_result(part)]
        aggregates = {aggregation.name for aggregation in self.spec.aggregations}
        # MariaDB does not allow grouping expressions in HAVING.
        is_plain = not self.layers and all(part.col in aggregates for part in filters)
        if filters and not is_plain:
            self._wrap()
        conditions = [condition(part, self.columns[part.col].copy(), kinds[part.col], self.bound) for part in filters]
        self.query = (self.query.having if is_plain else self.query.where)(*conditions, copy=False)
        return bool(filters) and not is_plain

    def _number(self, name: str) -> exp.Expr:
        node = self.columns[name].copy()
        return node if name in self.numbers else as_number(node, self.bound)

    def _order(self) -> WindowOrder:
        """Return the order of rows for `change_from_previous`: by the time groups, or else by the sort."""
        times = time_groups(self.spec, self.scope)
        if not times:
            return WindowOrder(self._terms())
        others = [output_name(group) for group in self.spec.group_by if output_name(group) not in times]
        terms = [order_term(self.columns[name].copy(), is_descending=False) for name in times]
        return WindowOrder(terms, [self.columns[name].copy() for name in others])

    def _terms(self) -> list[exp.Expr]:
        """Return the terms of the sort, followed by the groups, so that the order is unique."""
        sorts = _order(self.spec, self.datasets)
        available = {name: desc for name, desc in sorts.items() if name in self.columns}
        return [order_term(self.columns[name].copy(), is_descending=desc) for name, desc in available.items()]

    def _selected(self) -> exp.Select:
        columns = [exp.alias_(node.copy(), name, quoted=True) for name, node in self.columns.items()]
        return self.query.select(*columns, copy=False)

    def _wrap(self) -> None:
        """Make the query so far the source of the next one."""
        alias = exp.to_identifier(f"r{self.layers}", quoted=True)
        self._continue_from(self._selected().subquery(alias, copy=False), list(self.columns))

    def _continue_from(self, source: exp.Expr, columns: Sequence[str]) -> None:
        """Start the next query, over `source` with the alias of this layer."""
        alias = f"r{self.layers}"
        self.layers += 1
        self.query = exp.select().from_(source, copy=False)
        self.columns = {name: exp.column(name, table=alias, quoted=True) for name in columns}


def _order(spec: QuerySpec, datasets: Datasets) -> dict[str, bool]:
    """Return the columns that order a result, and whether they descend; rows of an earlier result keep its order."""
    sorts = {sort.by: sort.desc for sort in spec.sort}
    for group in spec.group_by:
        sorts.setdefault(output_name(group), False)
    if sorts or spec.is_grouped or not isinstance(spec.source, str) or spec.source not in datasets.results:
        return sorts
    return _order(datasets.results[spec.source], datasets)


def _aggregate(name: str, node: exp.Expr) -> exp.Expr:
    if name == "nunique":
        node = exp.Distinct(expressions=[node])
    return _AGGREGATES[name](this=node)


def run(spec: QuerySpec, datasets: Datasets, source: Source, cancellation: Cancellation | None = None) -> Result:
    """Return the rows of `spec` from `source`, whose catalog has the tables of `datasets`.

    The columns have the spec's names. Truth values, dates and times have the same form on every engine. `truncated` is
    True if the spec has no limit and there are more rows than the default, or if the source's row limit cut them.

    Raises:
        QuerySpecInvalid: The spec does not fit the datasets, or a join would make an aggregation count rows repeatedly.
        ConfigurationError: Specs cannot be compiled to the SQL of the source.
        DatasphinxError: Any error of `agent.sql.execute.execute`.
    """
    compiled = compile_spec(spec, datasets, spec_dialect(source.catalog.dialect))
    if spec.is_grouped:
        find_fan_out(spec, datasets, source, cancellation)
    result = source.execute(compiled.sql, cancellation, parameters=compiled.parameters)
    limit = spec.limit or DEFAULT_LIMIT
    classes = [output.type_class for output in compiled.columns]
    # Engines that lack these types return truth values as integers, and dates and times as text.
    stored_as = {"boolean": "integer", **dict.fromkeys(TIMES, "string")}
    types = [
        kind if engine_type == stored_as.get(kind) else engine_type
        for kind, engine_type in zip(classes, result["types"], strict=True)
    ]
    return {
        **result,
        "columns": [output.name for output in compiled.columns],
        "types": types,
        "rows": [list(map(_value, row, classes)) for row in result["rows"][:limit]],
        "truncated": result["truncated"] or len(result["rows"]) > limit,
    }


def find_fan_out(
    spec: QuerySpec, datasets: Datasets, source: Source, cancellation: Cancellation | None = None
) -> frozenset[str]:
    """Return the columns of an ungrouped result of `spec` that hold values of a row several times, because of a join.

    `spec` has been checked. One statement counts the rows for each join key; if keys repeat, another the joined rows.

    Raises:
        QuerySpecInvalid: An aggregation would count values several times.
        ConfigurationError: Specs cannot be compiled to the SQL of the source.
        DatasphinxError: Any error of `agent.sql.execute.execute`.
    """
    unique = list(scope_of(spec, datasets).tables)
    if FanOut(spec, datasets).joins_to_look_up():
        most = _count(spec, datasets, source, cancellation, _Compiler.key_counts)
        if any(number is not None and number > 1 for number in most):
            counts = _count(spec, datasets, source, cancellation, _Compiler.row_counts)
            unique = [name for at, name in enumerate(unique) if counts[2 * at] == counts[2 * at + 1]]
    fan_out = FanOut(spec, datasets, unique)
    problems = tuple(fan_out.problems())
    if problems:
        raise QuerySpecInvalid(problems)
    return fan_out.repeated_columns()


def _count(
    spec: QuerySpec,
    datasets: Datasets,
    source: Source,
    cancellation: Cancellation | None,
    query_of: Callable[["_Compiler"], exp.Select],
) -> list[Any]:
    """Return the one row of the query that `query_of` returns for the compiler of `spec`."""
    parts = StatementParts(spec_dialect(source.catalog.dialect), datasets)
    sql = parts.print(query_of(_Compiler(spec, datasets, parts)))
    rows: list[list[Any]] = source.execute(sql, cancellation, parameters=parts.bound.values)["rows"]
    return rows[0]


def _value(value: Any, kind: TypeClass) -> Any:
    """Return a truth value for an engine's 0 or 1, and a time in ISO 8601; other values unchanged."""
    if kind == "boolean" and value in (0, 1):
        return bool(value)
    if kind == "datetime" and isinstance(value, str):
        with suppress(ValueError):
            return datetime.fromisoformat(value).isoformat()
    return value

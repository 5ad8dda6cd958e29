"""Compile a spec to one SELECT, with all names quoted and all values bound as `:v1`, `:v2` and so on, and run it.

The same spec over the same datasets always gives the same text. Columns derived from the result are computed in a query
around it; those derived from other derived columns, in a further query around that.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlglot import exp

from agent.core.cancellation import Cancellation
from agent.queryspec.check import check
from agent.queryspec.clauses import BoundValues, ExpressionWriter, WindowOrder, as_number, condition, order_term
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
from agent.queryspec.dialect import SpecDialect, as_text, nullable, period, period_key, spec_dialect
from agent.queryspec.expressions import names_in, windows_in
from agent.queryspec.spec import DEFAULT_LIMIT, Aggregation, Bucket, Filter, IsNull, Join, QuerySpec, output_name
from agent.schema.catalog import TypeClass
from agent.sources.source import Source
from agent.sql.dialects import print_statement
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

    If the spec has no limit, the statement requests one row more than the default, to detect truncation.

    Raises:
        QuerySpecInvalid: The spec does not fit the datasets.
    """
    check(spec, datasets)
    compiler = _Compiler(spec, datasets, dialect)
    sql = print_statement(compiler.statement(), dialect)
    return Compiled(sql, compiler.bound.values, tuple(outputs(spec, compiler.scope)))


class _Compiler:
    """Compiler of one spec; holds the query so far and the expression of each result column."""

    def __init__(self, spec: QuerySpec, datasets: Datasets, dialect: SpecDialect) -> None:
        self.spec, self.dialect = spec, dialect
        self.scope = scope_of(spec, datasets)
        self.bound = BoundValues(dialect)
        self.nodes = parse_derived(spec)
        self.rows = row_level_names(spec, self.nodes, self.scope)
        self.aliases = {name: f"t{index}" for index, name in enumerate(self.scope.tables)}
        self.columns: dict[str, exp.Expr] = {}
        self.query = exp.Select()
        self.layers = 0
        self.numbers: set[str] = set()
        """Columns that are already floating-point."""

    def statement(self) -> exp.Select:
        """Return the complete statement."""
        self._read()
        if self.spec.is_grouped:
            self._group()
        else:
            self.columns = {name: self._column(place) for name, place in self.scope.columns.items()}
        self._derive()
        if not self._filter_result() and any(sort.by in self.nodes for sort in self.spec.sort):
            self._wrap()
        query, terms = self._selected(), self._terms()
        if terms:
            query.order_by(*terms, copy=False)
        return query.limit(self.spec.limit or DEFAULT_LIMIT + 1, copy=False)

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

    def _table(self, dataset: str) -> exp.Expr:
        table = self.scope.tables[dataset]
        node = exp.table_(table.name, db=table.schema, quoted=True)
        return exp.alias_(node, self.aliases[dataset], table=True, quoted=True)

    def _join(self, join: Join) -> None:
        table = self.scope.tables[join.dataset]
        columns = {column.name: ColumnRef(join.dataset, column) for column in table.columns}
        pairs = [
            exp.EQ(this=self._column(self._resolve(left)), expression=self._column(columns[right]))
            for left, right in join.on.items()
        ]
        is_left = join.how == "left"
        source = self._nullable_table(join) if is_left and self.dialect == "clickhouse" else self._table(join.dataset)
        on = exp.and_(*pairs, copy=False)
        self.query.join(source, on=on, join_type="left" if is_left else "inner", copy=False)

    def _nullable_table(self, join: Join) -> exp.Expr:
        """Return the dataset with nullable columns: ClickHouse otherwise fills unmatched rows with 0 or ''."""
        columns = self.scope.tables[join.dataset].columns
        source = self._table(join.dataset)
        alias = exp.to_identifier(self.aliases[join.dataset], quoted=True)
        outer = [
            exp.alias_(
                nullable(self._column(place), place.column.type_class, self.dialect), place.column.name, quoted=True
            )
            for place in (ColumnRef(join.dataset, column) for column in columns)
        ]
        return exp.select(*outer).from_(source, copy=False).subquery(alias)

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
        sorts = {sort.by: sort.desc for sort in self.spec.sort}
        for group in self.spec.group_by:
            sorts.setdefault(output_name(group), False)
        available = {name: desc for name, desc in sorts.items() if name in self.columns}
        return [order_term(self.columns[name].copy(), is_descending=desc) for name, desc in available.items()]

    def _selected(self) -> exp.Select:
        columns = [exp.alias_(node.copy(), name, quoted=True) for name, node in self.columns.items()]
        return self.query.select(*columns, copy=False)

    def _wrap(self) -> None:
        """Make the query so far the source of the next one."""
        alias = f"r{self.layers}"
        inner = self._selected().subquery(exp.to_identifier(alias, quoted=True), copy=False)
        self.layers += 1
        self.query = exp.select().from_(inner, copy=False)
        self.columns = {name: exp.column(name, table=alias, quoted=True) for name in self.columns}


def _aggregate(name: str, node: exp.Expr) -> exp.Expr:
    if name == "nunique":
        node = exp.Distinct(expressions=[node])
    return _AGGREGATES[name](this=node)


def run(spec: QuerySpec, datasets: Datasets, source: Source, cancellation: Cancellation | None = None) -> Result:
    """Return the rows of `spec` from `source`, whose catalog has the tables of `datasets`.

    The columns have the spec's names. Truth values, dates and times have the same form on every engine. `truncated` is
    True if the spec has no limit and there are more rows than the default, or if the source's row limit cut them.

    Raises:
        QuerySpecInvalid: The spec does not fit the datasets.
        ConfigurationError: Specs cannot be compiled to the SQL of the source.
        DatasphinxError: Any error of `agent.sql.execute.execute`.
    """
    compiled = compile_spec(spec, datasets, spec_dialect(source.catalog.dialect))
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


def _value(value: Any, kind: TypeClass) -> Any:
    """Return a truth value for an engine's 0 or 1, and a time in ISO 8601; other values unchanged."""
    if kind == "boolean" and value in (0, 1):
        return bool(value)
    if kind == "datetime" and isinstance(value, str):
        with suppress(ValueError):
            return datetime.fromisoformat(value).isoformat()
    return value

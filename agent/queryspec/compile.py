"""Compile a spec to one SELECT, with all names quoted and all values bound as `:v1`, `:v2` and so on, and run it.

The same spec over the same datasets always gives the same text. Columns derived from the result are computed in a query
around it; those derived from other derived columns, in a further query around that.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any

from sqlglot import exp

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.unused_name import unused_name
from datasphinx.agent.engines.spelling import formula
from datasphinx.agent.errors import QuerySpecInvalid
from datasphinx.agent.queryspec.aggregates import aggregate, is_windowed, windowed
from datasphinx.agent.queryspec.check import check, check_engine
from datasphinx.agent.queryspec.clauses import Column, filter_sql, name_in_calendar, order_term, place_in_calendar
from datasphinx.agent.queryspec.columns import ColumnRef, Datasets, Names, united_columns
from datasphinx.agent.queryspec.expression_sql import ExpressionWriter, WindowOrder, parenthesized
from datasphinx.agent.queryspec.expressions import ORDERED, Call, name_of, names_in, windows_in
from datasphinx.agent.queryspec.fan_out import FanOut
from datasphinx.agent.queryspec.keys import join_key, key_type
from datasphinx.agent.queryspec.spec import (
    DEFAULT_LIMIT,
    Aggregation,
    Bucket,
    Join,
    QuerySpec,
    Union,
    columns_of,
    conditions,
    grouped_column,
    output_name,
)
from datasphinx.agent.queryspec.statement import StatementParts, row_number, spelling_of
from datasphinx.agent.schema.catalog import TIMES, TypeClass
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.parameters import Value, with_literals
from datasphinx.agent.types import Result

_OF_FLOATS = {"avg", "median", "percentile", "stddev", "variance", "corr"}
"""Aggregations that are computed from floating-point numbers, and give such."""


@dataclass(frozen=True)
class Compiled:
    """A statement for an engine, its parameter values by name, and the types of its result columns."""

    tree: exp.Select
    dialect: str
    parameters: Mapping[str, Value]
    columns: Mapping[str, TypeClass]

    @property
    def sql(self) -> str:
        """The text of the statement, with parameters as `:v1`."""
        return print_statement(self.tree, self.dialect)

    @property
    def sql_with_values(self) -> str:
        """The text of the statement with the values in place of the parameters, which can run alone."""
        return print_statement(with_literals(self.tree, self.parameters), self.dialect)


def compile_spec(spec: QuerySpec, datasets: Datasets, dialect: str) -> Compiled:
    """Return the statement that computes `spec` in `dialect`.

    If the spec has no limit, the statement requests one row more than the default, to detect truncation. Results that
    it reads are computed in its WITH clause, from the data of now and without the default limit.

    Raises:
        QuerySpecInvalid: The spec does not fit the datasets, or the engine lacks a function for it.
    """
    check(spec, datasets)
    parts = StatementParts(spelling_of(dialect), datasets)
    check_engine(spec, parts.spelling)
    compiler = _Compiler(spec, datasets, parts)
    query = compiler.select(is_ordered=True).limit(spec.limit or DEFAULT_LIMIT + 1, copy=False)
    return Compiled(parts.complete(query), dialect, parts.bound.values, compiler.names.outputs)


class _Compiler:
    """Compiler of one spec; holds the query so far and the expression of each result column."""

    def __init__(self, spec: QuerySpec, datasets: Datasets, parts: StatementParts) -> None:
        self.spec, self.datasets, self.spelling, self.parts = spec, datasets, parts.spelling, parts
        self.names = Names(spec, datasets)
        self.scope, self.nodes, self.row_types = self.names.scope, self.names.nodes, self.names.row_types
        self.bound = parts.bound
        self.aliases = {name: f"t{index}" for index, name in enumerate(self.scope.tables)}
        self.columns: dict[str, exp.Expr] = {}
        self.query = exp.Select()
        self.layers = 0
        self.numbers: set[str] = set()
        """Columns that are already floating-point."""
        self.durations: set[str] = set()
        self.calendars: dict[str, Mapping[str, int]] = {}
        """The names of months or other periods of aggregations that are computed from their places."""
        self.numbers_rows = False
        """Whether each dataset has a further column with the number of its row."""

    def select(self, *, is_ordered: bool) -> exp.Select:
        """Return the query for the rows, without the limit."""
        self._read()
        if self.spec.is_grouped:
            self._group()
        else:
            self.columns = {name: self._column(place) for name, place in self.scope.columns.items()}
        self._derive()
        if not self._filter_result() and any(sort.by in self.nodes for sort in self.spec.sort):
            self._wrap()
        self._limit_per_group()
        query, terms = self._selected(), self._terms(_order(self.spec, self.datasets))
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
        self.query.where(*(filter_sql(part, self._row, self.bound) for part in self.names.row_filters), copy=False)

    def _table(self, dataset: str, *, is_optional: bool = False) -> exp.Expr:
        """Return a dataset for FROM or JOIN; one that `is_optional` has NULL in rows without a match."""
        alias = exp.to_identifier(self.aliases[dataset], quoted=True)
        relation: exp.Expr
        if isinstance(self.spec.source, Union) and dataset == self.scope.main:
            relation = self.parts.add("union", self._union(self.spec.source))
        else:
            relation = self._named_relation(dataset)
        node = exp.alias_(relation, alias, table=True)
        needs_nullable = is_optional and self.spelling.fills_unmatched
        if not needs_nullable and not self.numbers_rows:
            return node
        columns: dict[str, exp.Expr] = {}
        for column in self.scope.tables[dataset].columns:
            inner = self._column(ColumnRef(dataset, column))
            columns[column.name] = self.spelling.nullable(inner, column.type_class) if needs_nullable else inner
        if self.numbers_rows:
            columns[self._row_number_name(dataset)] = self.spelling.nullable(row_number([], []), "number")
        selected = [exp.alias_(column, name, quoted=True) for name, column in columns.items()]
        return exp.select(*selected).from_(node, copy=False).subquery(alias.copy())

    def _named_relation(self, name: str) -> exp.Expr:
        """Return the table of a dataset, or the CTE of a result."""
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
        """Return the rows of all parts of a union; see `united_columns`. A column that a part lacks is NULL."""
        columns = united_columns(union, self.datasets)
        selects: list[exp.Query] = []
        for at, part in enumerate(union.parts):
            label = self.spelling.cast(self.bound.bind(part.name or part.source), "text")
            nodes = [exp.alias_(label, union.label, quoted=True)]
            for united in columns:
                own, column = united.parts[at], united.column
                node = exp.column(own.name, quoted=True) if own else self.spelling.typed_null(united.first_type)
                if united.is_converted and not (column.type_class == "number" and self.spelling.widens_numbers):
                    node = self.spelling.cast(node, column.type_class)
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
            is_known = exp.and_(*(formula("NOT x IS NULL", x=key) for key in keys))
            counted = (
                exp.select(exp.alias_(exp.Count(this=exp.Star()), "n"))
                .from_(self._table(join.dataset), copy=False)
                .where(is_known, copy=False)
                .group_by(*keys, copy=False)
            )
            largest = formula("SELECT MAX(n) FROM counted AS k", counted=counted)
            figures.append(exp.alias_(exp.Subquery(this=largest), f"n{index}"))
        return exp.select(*figures)

    def _resolve(self, name: str) -> ColumnRef:
        place = self.scope.find_column(name)
        if place is None:
            raise KeyError(name)
        return place

    def _row(self, name: str) -> Column:
        """Return a column of the rows, or one derived from them."""
        if name in self.row_types:
            sql, _ = self._row_writer().column(self.nodes[name])
            return Column(parenthesized(sql), self.row_types[name])
        place = self._resolve(name)
        node, kind = self._column(place), place.column.type_class
        text = self.spelling.as_text(node, place.column.type) if kind == "text" else node
        return Column(text, kind, self.names.calendar(place))

    def _row_writer(self) -> ExpressionWriter:
        return ExpressionWriter(self._row_operand, self.names.class_of, self.bound)

    def _row_operand(self, name: str) -> exp.Expr:
        """Return a column of the rows, or one derived from them, with a number as floating-point."""
        if name in self.row_types:
            return parenthesized(self._row_writer().to_sql(self.nodes[name]))
        column = self._row(name)
        return self.spelling.cast(column.sql, "number") if column.kind == "number" else column.sql

    def _group(self) -> None:
        """Group the rows. Derived groups, and aggregations over windows, need the rows in a query of their own."""
        aggregations, groups = self.spec.aggregations, self.spec.group_by
        keys = [
            self.spelling.period_key(node, group.by) if isinstance(group, Bucket) else node
            for group, node in zip(groups, map(self._grouped, groups), strict=True)
        ]
        columns = [self._aggregated(aggregation) for aggregation in aggregations]
        windows = [at for at, each in enumerate(aggregations) if is_windowed(each, self.spelling)]
        is_derived = [grouped_column(group) in self.row_types for group in groups]
        if windows or any(is_derived):
            keys, columns = self._select_rows(keys, columns)
        made = {at: windowed(aggregations[at], columns[at], keys, at, self.bound) for at in windows}
        for level in ("first", "second"):
            added = {name: node for each in made.values() for name, node in getattr(each, level).items()}
            if added:
                self.columns |= {name: self._qualified(node) for name, node in added.items()}
                self._wrap()
        aggregates = [
            made[at].result if at in made else aggregate(each, columns[at][0], self.bound)
            for at, each in enumerate(aggregations)
        ]
        if self.layers:
            keys, aggregates = list(map(self._qualified, keys)), list(map(self._qualified, aggregates))
        self.columns = {
            output_name(group): self.spelling.period(key.copy(), group.by) if isinstance(group, Bucket) else key.copy()
            for group, key in zip(groups, keys, strict=True)
        }
        self.columns |= {
            each.name: self._restored(each.name, node) for each, node in zip(aggregations, aggregates, strict=True)
        }
        self.query.group_by(*keys, copy=False)

    def _restored(self, aggregation: str, node: exp.Expr) -> exp.Expr:
        """Return a computed aggregation in the type of its column."""
        if aggregation in self.durations:
            return self.spelling.write("duration", x=node)
        calendar = self.calendars.get(aggregation)
        return name_in_calendar(node, calendar, self.bound) if calendar else node

    def _grouped(self, group: str | Bucket) -> exp.Expr:
        """Return the column that `group` names, or the one derived for each row."""
        name = grouped_column(group)
        if name not in self.row_types:
            return self._column(self._resolve(name))
        sql, _ = self._row_writer().column(self.nodes[name])
        return sql

    def _limit_per_group(self) -> None:
        limit = self.spec.limit_per_group
        if limit is None:
            return
        self._wrap()
        number = unused_name("row_number", self.columns)
        self.columns[number] = row_number(
            [self.columns[name].copy() for name in limit.by], self._terms(_order(self.spec, self.datasets))
        )
        self._wrap()
        place = self.columns.pop(number)
        self.query.where(exp.LTE(this=place, expression=self.bound.bind(limit.n)), copy=False)

    def _aggregated(self, aggregation: Aggregation) -> list[exp.Expr]:
        """Return the columns that an aggregation reads: NULL in rows that it leaves out."""
        selected = [filter_sql(part, self._row, self.bound) for part in aggregation.where or ()]
        if aggregation.col == "*":
            return [_where(exp.Literal.number(1), selected) if selected else exp.Star()]
        columns = [self._argument(name, aggregation) for name in aggregation.cols]
        if aggregation.order_by:
            order = self._row(aggregation.order_by)
            plain = self.spelling.as_comparable(order.sql, order.kind)
            columns.append(place_in_calendar(plain, order.calendar, self.bound) if order.calendar else plain)
        if aggregation.agg == "nunique" or len(columns) == 1:
            return [_where(column, selected) for column in columns]
        present = [formula("NOT (x) IS NULL", x=column) for column in columns]
        return [_where(column, [*selected, present[1 - at]]) for at, column in enumerate(columns)]

    def _argument(self, name: str, aggregation: Aggregation) -> exp.Expr:
        """Return a column as an aggregation needs it."""
        is_float = aggregation.agg in _OF_FLOATS
        if name in self.row_types:
            node, is_number = self._row_writer().column(self.nodes[name])
            kind = self.row_types[name]
            if is_number and aggregation.agg not in {"count", "nunique"}:
                self.numbers.add(aggregation.name)
            if is_float and not is_number:
                node = self.spelling.cast(node, "number")
        else:
            place = self._resolve(name)
            node, kind = self._column(place), place.column.type_class
            # Engines differ in the precision of an average of integers.
            node = self.spelling.cast(node, "number") if is_float and kind != "time" else node
            if kind == "text" and aggregation.agg not in {"count", "nunique"}:
                node = self.spelling.as_text(node, place.column.type)
            if aggregation.agg in {"min", "max"} and (calendar := self.names.calendar(place)):
                self.calendars[aggregation.name] = calendar
                return place_in_calendar(node, calendar, self.bound)
        if kind == "time" and aggregation.agg in {"sum", "avg"}:
            self.durations.add(aggregation.name)
            return self.spelling.seconds(node, kind)
        self.numbers |= {aggregation.name} if is_float else set()
        keeps = is_float or aggregation.agg in {"count", "nunique"} or name in self.row_types and kind == "number"
        return node if keeps else self.spelling.nullable(node, kind)

    def _select_rows(
        self, keys: list[exp.Expr], columns: list[list[exp.Expr]]
    ) -> tuple[list[exp.Expr], list[list[exp.Expr]]]:
        """Select the rows as a query of their own; return its columns in place of `keys` and `columns`."""
        named = {f"key{at}": key for at, key in enumerate(keys)}
        names: list[list[str]] = []
        for at, nodes in enumerate(columns):
            names.append([f"value{at}" if index == 0 else f"value{at}_{index}" for index in range(len(nodes))])
            named |= dict(zip(names[at], nodes, strict=True))
        self.columns = {name: node for name, node in named.items() if not isinstance(node, exp.Star)}
        self._wrap()
        read = {name: exp.column(name, quoted=True) if name in self.columns else exp.Star() for name in named}
        return [read[f"key{at}"] for at in range(len(keys))], [[read[name] for name in each] for each in names]

    def _qualified(self, node: exp.Expr) -> exp.Expr:
        """Return a copy of `node` whose columns are those of the last query."""
        node = node.copy()
        for column in node.find_all(exp.Column):
            column.set("table", exp.to_identifier(f"r{self.layers - 1}", quoted=True))
        return node

    def _derive(self) -> None:
        """Add the columns derived from the result, with one outer query for each level of dependency."""
        level_names: set[str] = set()
        windowed_names: set[str] = set()
        result_columns = [derived for derived in self.spec.derived if derived.name not in self.row_types]
        if result_columns and self.spec.is_grouped:
            self._wrap()
        for derived in result_columns:
            node = self.nodes[derived.name]
            is_ordered = any(call.function in ORDERED and not call.order_by for call in windows_in(node))
            sorts = [sort.by for sort in self.spec.sort if is_ordered]
            is_crowded = self.spelling.crowds_windows and bool(windows_in(node)) and windowed_names & level_names
            if is_crowded or level_names & {*names_in(node), *sorts}:
                self._wrap()
                level_names = set()
            windowed_names |= {derived.name} if windows_in(node) else set()
            column, is_float = ExpressionWriter(
                self._operand, self.names.outputs.__getitem__, self.bound, self._order
            ).column(node)
            self.columns[derived.name] = column
            self.numbers |= {derived.name} if is_float else set()
            level_names.add(derived.name)

    def _filter_result(self) -> bool:
        """Apply the filters on the result; return whether that required an outer query."""
        filters = [part for part in self.spec.filters if self.names.is_on_result(part)]
        aggregates = {aggregation.name for aggregation in self.spec.aggregations}
        # MariaDB does not allow grouping expressions in HAVING.
        names = {name for each in conditions(filters) for name in columns_of(each)}
        is_plain = not self.layers and names <= aggregates
        if filters and not is_plain:
            self._wrap()
        made = [filter_sql(part, self._output, self.bound) for part in filters]
        self.query = (self.query.having if is_plain else self.query.where)(*made, copy=False)
        return bool(filters) and not is_plain

    def _output(self, name: str) -> Column:
        place = self.names.passed_on(name)
        calendar = self.names.calendar(place) if place else {}
        return Column(self.columns[name].copy(), self.names.outputs[name], calendar)

    def _operand(self, name: str) -> exp.Expr:
        """Return a column of the result, with a number as floating-point."""
        node = self.columns[name].copy()
        is_other = self.names.outputs[name] != "number" or name in self.numbers
        return node if is_other else self.spelling.cast(node, "number")

    def _order(self, call: Call) -> WindowOrder:
        """Return the rows of a window function: in the order that it names, of the time groups, or of the sort."""
        within: Sequence[str] = call.within
        if call.function not in ORDERED:
            return WindowOrder((), [self.columns[name].copy() for name in within])
        groups = [output_name(group) for group in self.spec.group_by]
        times = self.names.time_groups
        if call.order_by:
            sorts = {name_of(call.order_by.this): bool(call.order_by.args.get("desc"))}
        elif times:
            sorts = dict.fromkeys(times, False)
            within = within or [name for name in groups if name not in times]
        else:
            sorts = {sort.by: sort.desc for sort in self.spec.sort}
        return WindowOrder(
            self._terms({name: desc for name, desc in sorts.items() if name not in within}, within),
            [self.columns[name].copy() for name in within],
        )

    def _terms(self, sorts: Mapping[str, bool], within: Collection[str] = ()) -> list[exp.Expr]:
        """Return the terms of a sort, followed by the groups outside `within`, so that the order is unique."""
        complete = dict(sorts)
        for group in self.spec.group_by:
            if output_name(group) not in within:
                complete.setdefault(output_name(group), False)
        available = {name: desc for name, desc in complete.items() if name in self.columns}
        return [
            order_term(node, is_descending=desc) for name, desc in available.items() for node in self._sort_keys(name)
        ]

    def _sort_keys(self, name: str) -> list[exp.Expr]:
        """Return a result column as it is sorted: names of months and other periods first by their place."""
        node, place = self.columns[name].copy(), self.names.passed_on(name)
        calendar = self.names.calendar(place) if place and self.names.sorts_as_text(place) else {}
        if place is None or not calendar:
            return [node]
        text = self.spelling.as_text(node.copy(), place.column.type)
        return [place_in_calendar(text, calendar, self.bound), node]

    def _selected(self) -> exp.Select:
        columns = [exp.alias_(node.copy(), name, quoted=True) for name, node in self.columns.items()]
        return self.query.select(*columns, copy=False)

    def _wrap(self) -> None:
        """Make the query so far the source of the next one."""
        alias = exp.to_identifier(f"r{self.layers}", quoted=True)
        self.query = exp.select().from_(self._selected().subquery(alias, copy=False), copy=False)
        self.columns = {name: exp.column(name, table=alias.name, quoted=True) for name in self.columns}
        self.layers += 1


def _order(spec: QuerySpec, datasets: Datasets) -> dict[str, bool]:
    """Return the columns that order a result, and whether they descend; rows of an earlier result keep its order."""
    sorts = {sort.by: sort.desc for sort in spec.sort}
    for group in spec.group_by:
        sorts.setdefault(output_name(group), False)
    if sorts or spec.is_grouped or not isinstance(spec.source, str) or spec.source not in datasets.results:
        return sorts
    return _order(datasets.results[spec.source], datasets)


def _where(node: exp.Expr, selected: Sequence[exp.Expr]) -> exp.Expr:
    """Return `node` where all conditions hold, else NULL."""
    return exp.Case().when(exp.and_(*selected), node.copy()) if selected else node


def run(spec: QuerySpec, datasets: Datasets, source: Source, cancellation: Cancellation | None = None) -> Result:
    """Return the rows of `spec` from `source`, whose catalog has the tables of `datasets`.

    The columns have the spec's names. Truth values, dates and times have the same form on every engine. `truncated` is
    True if the spec has no limit and there are more rows than the default, or if the source's row limit cut them.

    Raises:
        QuerySpecInvalid: The spec does not fit the datasets, or a join would make an aggregation count rows repeatedly.
    """
    compiled = compile_spec(spec, datasets, source.catalog.dialect)
    if spec.is_grouped:
        find_fan_out(spec, datasets, source, cancellation)
    result = source.execute(compiled.sql, cancellation, parameters=compiled.parameters)
    limit = spec.limit or DEFAULT_LIMIT
    classes = list(compiled.columns.values())
    # Engines that lack these types return truth values as integers, and dates and times as text.
    stored_as = {"boolean": "integer", **dict.fromkeys(TIMES, "string")}
    types = [
        kind if engine_type == stored_as.get(kind) else engine_type
        for kind, engine_type in zip(classes, result["types"], strict=True)
    ]
    return {
        **result,
        "columns": list(compiled.columns),
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
    """
    names = Names(spec, datasets)
    unique = list(names.scope.tables)
    if FanOut(names).joins_to_look_up():
        most = _count(spec, datasets, source, cancellation, _Compiler.key_counts)
        if any(number is not None and number > 1 for number in most):
            counts = _count(spec, datasets, source, cancellation, _Compiler.row_counts)
            unique = [name for at, name in enumerate(unique) if counts[2 * at] == counts[2 * at + 1]]
    fan_out = FanOut(names, unique)
    if problems := tuple(fan_out.problems()):
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
    parts = StatementParts(spelling_of(source.catalog.dialect), datasets)
    sql = print_statement(parts.complete(query_of(_Compiler(spec, datasets, parts))), parts.spelling.dialect)
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

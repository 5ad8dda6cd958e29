"""The rows over which a metric is aggregated, and how they are grouped and filtered."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import islice
from typing import NamedTuple

from sqlglot import exp

from datasphinx.agent.knowledge.references import (
    Definition,
    Unresolved,
    column_of,
    find_column,
    find_table,
    has_aggregate,
    is_nested,
    join_condition,
    other_groups,
    parse_condition,
    table_of,
    tables_in,
)
from datasphinx.agent.llm.schemas import PERIODS
from datasphinx.agent.schema.catalog import Catalog, ForeignKey
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.sql.summary import unwrapped

_UNAFFECTED = (exp.Min, exp.Max)
"""Aggregations that repeated rows do not change."""
_MAX_MEMBERS, _MAX_DIMENSIONS = 50, 12
"""Values of a column by which a change may be broken down, and such columns, if the metric does not say by which."""
_Step = tuple[str, ForeignKey]
"""A table and its foreign key that is followed."""


class Period(NamedTuple):
    """The days from `since` up to but excluding `before`."""

    since: date
    before: date

    def __str__(self) -> str:
        """Return a calendar year, quarter or month as `2024`, `2024-Q1` or `2024-03`, any other period by its days."""
        months = (self.before.year - self.since.year) * 12 + self.before.month - self.since.month
        year, month = self.since.year, self.since.month
        if self.since.day == self.before.day == 1 and months in (1, 3, 12) and (month - 1) % months == 0:
            return {12: f"{year}", 3: f"{year}-Q{month // 3 + 1}", 1: f"{year}-{month:02}"}[months]
        return f"{self.since}/{self.before - timedelta(days=1)}"


@dataclass
class MetricRows:
    """The rows over which a metric is aggregated: those of one table, with what they refer to."""

    definition: Definition
    catalog: Catalog
    table: str
    """The key of the table whose rows they are."""
    steps: list[_Step] = field(default_factory=list)
    """The foreign keys that are followed, from this table on."""

    @classmethod
    def of(cls, definition: Definition, catalog: Catalog) -> "MetricRows":
        """Return the rows of a metric.

        Raises:
            Unresolved: they are not those of one table, or its expression counts rows of another table several times.
        """
        for table in definition.tables:
            rows = cls(definition, catalog, find_table(table, catalog))
            try:
                for other in definition.tables:
                    rows.reach(other)
            except Unresolved:
                continue
            rows._check_aggregates()
            return rows
        raise Unresolved(f"no table of {', '.join(definition.tables)} refers to all others of the metric")

    @property
    def value(self) -> exp.Expr:
        """The expression of the metric."""
        assert self.definition.expression is not None, "a metric has an expression"
        return self._qualified(self.definition.expression)

    def groups(self, dimensions: Sequence[str]) -> list[exp.Expr]:
        """Return what rows are grouped by for columns, as `column` reads them, and for periods of their date.

        Raises:
            Unresolved: the metric may not be grouped like this, a column cannot be reached, or it has no date.
        """
        if self.definition.additivity == "semi-additive" and "day" not in dimensions:
            raise Unresolved("the values of a semi-additive metric must not be added over time")
        engine = self.catalog.engine
        groups = [engine.period(self.dated_by, text) if text in PERIODS else self.column(text) for text in dimensions]
        columns = {f"{_key_of(group, self.catalog)}.{group.name}" for group in groups if isinstance(group, exp.Column)}
        others = other_groups(columns, self.definition, self.catalog)
        if others:
            raise Unresolved(f"the metric may not be grouped by {', '.join(others)}")
        return groups

    def condition(self, text: str) -> exp.Expr:
        """Return an SQL condition on columns that the rows reach. Raise Unresolved if it is none, or aggregates."""
        condition = parse_condition(text, self.catalog.dialect)
        if has_aggregate(condition):
            raise Unresolved(f"the condition `{text}` is not one on the columns of a row")
        if condition.find(exp.Query):
            for key in tables_in(condition, self.catalog):
                self.reach(key)
        return _with_columns(condition, lambda column: self.column(".".join(part.name for part in column.parts)))

    def within(self, since: date | None, before: date | None) -> list[exp.Expr]:
        """Return the conditions that the date of a row is at least `since` and less than `before`.

        Raises:
            Unresolved: the metric has no date.
        """
        bounds = [(exp.GTE, since), (exp.LT, before)]
        return [
            kind(this=self.dated_by, expression=self.catalog.engine.day(day.isoformat())) for kind, day in bounds if day
        ]

    @property
    def dated_by(self) -> exp.Column:
        """The date of a row. Raise Unresolved if the metric has none."""
        if self.definition.date_column is None:
            raise Unresolved("the metric has no date column")
        return self.column(self.definition.date_column)

    def column(self, name: str) -> exp.Column:
        """Return the column called `table.column`, after following the foreign keys to its table.

        `other.table.column` is reached through `other`, where keys lead to `table` in several ways.

        Raises:
            Unresolved: there is no such column, or no foreign keys lead to it, or more than one way does.
        """
        through, _, rest = name.partition(".")
        way = self.catalog.key_of(through) if rest.count(".") else None
        key, column = find_column(rest if way else name, self.catalog)
        self.reach(key, way)
        return column_of(key, column, self.catalog)

    def reach(self, goal: str, through: str | None = None) -> None:
        """Follow the shortest way of foreign keys to the table `goal`, past `through` if it is given.

        Of several ways, the one whose keys every row has is followed.

        Raises:
            Unresolved: there is none, or none is the only one.
        """
        steps = [*self._way(self.table, through), *self._way(through, goal)] if through else self._way(self.table, goal)
        for step in steps:
            if any(foreign.target == step[1].target and (key, foreign) != step for key, foreign in self.steps):
                raise Unresolved(f"the table `{step[1].target}` is reached in two ways")
            if step not in self.steps:
                self.steps.append(step)

    def _way(self, start: str, goal: str) -> list[_Step]:
        ways: list[tuple[str, list[_Step]]] = [(start, [])]
        visited = {start}
        while ways:
            found = [steps for end, steps in ways if end == goal]
            if found:
                whole = [steps for steps in found if not any(self._is_optional(*step) for step in steps)]
                if len(found) > 1 and len(whole) != 1:
                    raise Unresolved(f"the table `{goal}` is reached in several ways")
                return (whole or found)[0]
            ways = [
                (foreign.target, [*steps, (end, foreign)])
                for end, steps in ways
                for foreign in self.catalog.tables[end].foreign_keys
                if foreign.likely and foreign.target in self.catalog.tables and foreign.target not in visited
            ]
            visited |= {end for end, _ in ways}
        raise Unresolved(f"no foreign keys lead from `{start}` to `{goal}`")

    def _is_optional(self, key: str, foreign: ForeignKey) -> bool:
        return foreign.inferred or any(self.catalog.tables[key].column(name).nullable for name in foreign.columns)

    def grouped(self, groups: Mapping[str, exp.Expr], conditions: Iterable[exp.Expr]) -> exp.Select:
        """Return the query of the groups by the names of their outputs, without the value of the metric.

        A row that refers to nothing belongs to the group NULL.
        """
        query = exp.select(*(exp.alias_(group.copy(), name, quoted=True) for name, group in groups.items()))
        query = query.from_(table_of(self.table, self.catalog))
        for key, foreign in self.steps:
            query = query.join(
                table_of(foreign.target, self.catalog),
                on=join_condition(key, foreign, self.catalog),
                join_type="LEFT" if self._is_optional(key, foreign) else "",
            )
        own = map(self._qualified, self.definition.conditions)
        return query.where(*own, *conditions).group_by(*(group.copy() for group in groups.values()))

    def of_periods(
        self, dimensions: Mapping[str, str], periods: Sequence[Period], filters: Iterable[str]
    ) -> exp.Select:
        """Return the query of the groups of `grouped` by the named dimensions and `period`, 0 or 1.

        Raises:
            Unresolved: see `groups` and `condition`; the periods overlap.
        """
        first, second = periods
        if first.since < second.before and second.since < first.before:
            raise Unresolved("the periods overlap")
        groups = dict(zip(dimensions, self.groups(list(dimensions.values())), strict=True))
        conditions = [exp.and_(*self.within(*period)) for period in periods]
        number = exp.case().when(conditions[1], exp.Literal.number(1)).else_(exp.Literal.number(0))
        return self.grouped({**groups, "period": number}, [*map(self.condition, filters), exp.or_(*conditions)])

    def candidates(self) -> list[str]:
        """Return the columns by which a change of the metric may be broken down, as `table.column`.

        These are its dimensions; for a metric without, the first texts of few values in the tables that its rows refer
        to, directly or not, without keys and personal data.
        """
        if self.definition.dimensions:
            return list(self.definition.dimensions)
        tables = [self.catalog.tables[self.table]]
        for table in tables:
            targets = (self.catalog.tables.get(foreign.target) for foreign in table.foreign_keys if foreign.likely)
            tables += [each for each in targets if each and each not in tables]
        found = (
            f"{table.key}.{column.name}"
            for table in tables
            for column in table.columns
            if column.type_class == "text" and 1 < (column.distinct or 0) <= _MAX_MEMBERS
            if not column.secret and column.name not in table.key_columns
            if not personal_content(self.catalog, table, column)
        )
        return list(islice(found, _MAX_DIMENSIONS))

    def _qualified(self, tree: exp.Expr) -> exp.Expr:
        """Return `tree` with the table of the rows for columns that name none."""
        own = self.catalog.tables[self.table].column_names

        def qualified(column: exp.Column) -> exp.Column:
            names_own = not column.table and column.name in own
            return column_of(self.table, column.name, self.catalog) if names_own else column

        return _with_columns(tree.copy(), qualified)

    def _check_aggregates(self) -> None:
        """Raise Unresolved if an aggregate function is not of the rows: `COUNT(*)` is of those of the first table."""
        for call in self.value.find_all(exp.AggFunc):
            named = {_key_of(column, self.catalog) for column in call.find_all(exp.Column)}
            is_affected = not isinstance(call, _UNAFFECTED) and not call.find(exp.Distinct)
            if is_affected and self.table not in (named or self.definition.tables[:1]):
                raise Unresolved(f"`{call.sql(dialect=self.catalog.dialect)}` would count rows several times")


def rows_of_parts(definition: Definition, parts: Sequence[exp.Expr], catalog: Catalog) -> list[MetricRows]:
    """Return the rows over which parts of the expression of a metric are aggregated: all the same, or each its own.

    Raises:
        Unresolved: the rows of a part are not those of one table; see `MetricRows.of`.
    """
    try:
        rows = MetricRows.of(definition, catalog)
    except Unresolved:
        if len(parts) == 1:
            raise
        conditions = [key for tree in definition.conditions for key in tables_in(tree, catalog)]
        own = [tuple(tables_in(part, catalog)) or definition.tables[:1] for part in parts]
        return [
            MetricRows.of(
                replace(definition, expression=part, tables=tuple(dict.fromkeys([*tables, *conditions]))), catalog
            )
            for part, tables in zip(parts, own, strict=True)
        ]
    return [replace(rows, definition=replace(definition, expression=part), steps=[*rows.steps]) for part in parts]


def ratio_parts(definition: Definition, catalog: Catalog) -> list[exp.Expr]:
    """Return what a metric is computed of: a sum over rows and no other one, or the two sums of a ratio.

    Raises:
        Unresolved: it is neither, such as a number of distinct values or an extreme.
    """
    assert definition.expression is not None, "a metric has an expression"
    value = unwrapped(definition.expression)
    parts = [value]
    if isinstance(value, exp.Avg):
        parts = [exp.Sum(this=value.this.copy()), exp.Count(this=value.this.copy())]
    elif isinstance(value, exp.Div) and value.expression.find(exp.AggFunc):
        divisor = unwrapped(value.expression)
        parts = [value.this, unwrapped(divisor.this) if isinstance(divisor, exp.Nullif) else divisor]
    has_default = any(each.find(exp.AggFunc) for each in definition.expression.find_all(exp.Coalesce))
    if has_default or not all(map(_is_additive, parts)):
        sql = value.sql(dialect=catalog.dialect)
        raise Unresolved(f"`{sql}` is no sum and no ratio of sums, so that its values cannot be added up")
    return parts


def _with_columns(tree: exp.Expr, replaced: Callable[[exp.Column], exp.Column]) -> exp.Expr:
    """Return `tree` with other columns, except within its subqueries."""
    columns = {id(column) for column in tree.find_all(exp.Column) if not is_nested(column, tree)}
    return tree.transform(
        lambda node: replaced(node) if isinstance(node, exp.Column) and id(node) in columns else node, copy=False
    )


def _is_additive(node: exp.Expr) -> bool:
    """Return whether the values of an expression for groups of rows sum to its value for all of them."""
    node = unwrapped(node)
    if isinstance(node, exp.Add | exp.Sub):
        return _is_additive(node.this) and _is_additive(node.expression)
    if isinstance(node, exp.Mul | exp.Div):
        factors = [node.this, node.expression] if isinstance(node, exp.Mul) else [node.expression]
        constant = next((one for one in factors if not one.find(exp.Column, exp.AggFunc)), None)
        return constant is not None and _is_additive(node.expression if constant is node.this else node.this)
    return isinstance(node, exp.Sum | exp.Count | exp.CountIf) and not node.find(exp.Distinct)


def _key_of(column: exp.Column, catalog: Catalog) -> str | None:
    return catalog.key_of(f"{column.db}.{column.table}" if column.db else column.table)

"""Barrier subqueries: a query of the rows that a row rule permits, written so that the engine filters them first.

Each engine has a construct into which conditions are not pushed: see `Engine.with_barrier`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from sqlglot import exp

from datasphinx.agent.engines import engine_of
from datasphinx.agent.schema.catalog import Catalog, Column

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_CLAUSES = {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct"}
_INTEGER = re.compile(r"(TINY|SMALL|MEDIUM|BIG)?INT(EGER)?(\(\d+\))?|INT[248]", re.IGNORECASE)
_SHORT_NUMBER = re.compile(
    r"(SMALL|TINY|MEDIUM)?INT(EGER)?(\(\d+\))?|INT[24]|(NUMERIC|DECIMAL)\((1[0-8]|[1-9])(, ?\d+)?\)", re.IGNORECASE
)
_TEXT = re.compile(r"(TEXT|VARCHAR|CHARACTER VARYING)(\(\d+\))?", re.IGNORECASE)
_DATE = re.compile(r"DATE|DATETIME|TIMESTAMP", re.IGNORECASE)
_MAX_DIGITS = 9


def is_leakproof(
    tree: exp.Expr, predicates: Sequence[exp.Expr], catalog: Catalog, parameters: Mapping[str, Any]
) -> bool:
    """Return whether no expression of `tree` can raise an error, whatever its tables contain; it then needs no barrier.

    A leakproof rule compares columns with literals and parameters, also in subqueries. A leakproof statement is one
    SELECT over catalog tables joined by conditions. It compares columns with literals or with columns of the same type,
    and outputs columns, counts, minima, maxima, and sums of numbers too short to overflow. All columns are stored, not
    generated or those of views, and parameters have the type of their column. PostgreSQL marks these comparisons
    LEAKPROOF; in the other engines they are defined for all values.

    `predicates` are the row rules of its tables; they must be leakproof too, since the conditions of the statement may
    decide on which rows they are evaluated. `parameters` are the values of their parameters.
    """
    if not catalog.engine.has_safe_comparisons or not isinstance(tree, exp.Select):
        return False
    for node in (node for query in (tree, *predicates) for node in query.find_all(exp.Table)):
        tables = [catalog.tables[key] for key in catalog.keys_named(node.name)]
        if not tables or any(table.is_view or table.shares_rows or table.computes_columns for table in tables):
            return False
    rule = _Statement(tree, catalog, parameters, allows_subqueries=True)
    return _Statement(tree, catalog, parameters).is_leakproof() and all(map(rule.is_condition, predicates))


class _Statement:
    """A SELECT with the types of the columns that its names may refer to."""

    def __init__(
        self,
        tree: exp.Select,
        catalog: Catalog,
        parameters: Mapping[str, Any],
        outer: "_Statement | None" = None,
        *,
        allows_subqueries: bool = False,
    ) -> None:
        self._tree, self._catalog = tree, catalog
        self._parameters = parameters
        self._allows_subqueries = allows_subqueries
        self._sources = [tree.args.get("from_"), *tree.args.get("joins", ())]
        self._columns: dict[str, list[Column]] = {}
        if outer:
            self._columns.update((name, list(columns)) for name, columns in outer._columns.items())
        tables = chain.from_iterable(catalog.keys_named(table.name) for table in tree.find_all(exp.Table))
        for column in chain.from_iterable(catalog.tables[key].columns for key in dict.fromkeys(tables)):
            self._columns.setdefault(column.name.lower(), []).append(column)
        self._names = {table.alias_or_name.lower() for table in tree.find_all(exp.Table)}
        if allows_subqueries:
            # A rule refers to its table by name, even if the statement gives the table an alias.
            self._names |= {table.name.lower() for table in tree.find_all(exp.Table)} | (
                outer._names if outer else set()
            )
        self._aliases = {output.alias.lower() for output in tree.expressions if output.alias}

    def is_leakproof(self) -> bool:
        tree = self._tree
        if {name for name, value in tree.args.items() if value} - _CLAUSES or not tree.args.get("from_"):
            return False
        if self._aliases & (self._columns.keys() | self._names):
            # Engines resolve such a name differently, and so compare different types.
            return False
        distinct, where, having = (tree.args.get(name) for name in ("distinct", "where", "having"))
        if distinct is not None and distinct.args.get("on"):
            return False
        return (
            all(self._is_table(source) for source in self._sources)
            and all(self._is_output(output.unalias()) for output in tree.expressions)
            and all(self.is_condition(clause.this) for clause in (where, having) if clause)
            and all(map(self._is_output, self._keys()))
            and all(_is_count(tree.args[name].expression) for name in ("limit", "offset") if tree.args.get(name))
        )

    def _keys(self) -> Iterable[exp.Expr]:
        """Return the keys of GROUP BY and ORDER BY, except aliases of outputs; ROLLUP and the like as a whole."""
        group, order = self._tree.args.get("group"), self._tree.args.get("order")
        if group and {name for name, value in group.args.items() if value} != {"expressions"}:
            return [group]
        keys = [*(group.expressions if group else ()), *(key.this for key in (order.expressions if order else ()))]
        return [
            key
            for key in keys
            if not (isinstance(key, exp.Column) and not key.table and key.name.lower() in self._aliases)
        ]

    def _is_table(self, source: exp.Expr) -> bool:
        allowed = {"this"} if isinstance(source, exp.From) else {"this", "on", "side", "kind"}
        table, condition = source.this, source.args.get("on")
        return (
            isinstance(table, exp.Table)
            and isinstance(table.this, exp.Identifier)
            and not {name for name, value in table.args.items() if value} - {"this", "db", "alias"}
            and not table.alias_column_names
            and not {name for name, value in source.args.items() if value} - allowed
            and (condition is None or self.is_condition(condition))
        )

    def is_condition(self, node: exp.Expr) -> bool:
        """Return whether `node` is a condition on table columns that cannot raise an error."""
        if isinstance(node, exp.And | exp.Or):
            return self.is_condition(node.this) and self.is_condition(node.expression)
        if isinstance(node, exp.Not | exp.Paren):
            return self.is_condition(node.this)
        if isinstance(node, exp.Is):
            return self._is_column(node.this) and isinstance(node.expression, exp.Null)
        if isinstance(node, _COMPARISONS):
            return self._are_comparable(node.this, node.expression)
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            return all(self._are_comparable(node.this, node.args[end]) for end in ("low", "high"))
        if isinstance(node, exp.In) and {name for name, value in node.args.items() if value} == {"this", "expressions"}:
            return all(self._are_comparable(node.this, item) for item in node.expressions)
        if self._allows_subqueries and isinstance(node, exp.Exists | exp.In):
            return self._is_leakproof_subquery(node)
        return False

    def _is_leakproof_subquery(self, node: exp.Exists | exp.In) -> bool:
        """Return whether a rule's EXISTS (SELECT ...) or column IN (SELECT column ...) cannot raise an error."""
        query = node.this if isinstance(node, exp.Exists) else node.args.get("query")
        query = query.this if isinstance(query, exp.Subquery) else query
        if not isinstance(query, exp.Select):
            return False
        inner = _Statement(query, self._catalog, self._parameters, self, allows_subqueries=True)
        is_comparable = isinstance(node, exp.Exists) or (
            len(query.expressions) == 1 and inner._are_comparable(node.this, query.expressions[0].unalias())
        )
        return is_comparable and inner.is_leakproof()

    def _are_comparable(self, left: exp.Expr, right: exp.Expr) -> bool:
        if isinstance(left, exp.Literal):
            left, right = right, left
        if isinstance(left, exp.Count) and self._is_output(left):
            return _is_count(right)
        types = self._types(left)
        if isinstance(right, exp.Column):
            has_same_type = len(types) == 1 and types == self._types(right)
            return has_same_type and any(
                pattern.fullmatch(name) for pattern in (_INTEGER, _TEXT, _DATE) for name in types
            )
        if isinstance(right, exp.Placeholder):
            return _fits(self._parameters.get(right.name), types)
        if not isinstance(right, exp.Literal):
            return False
        if right.is_string:
            return _fits(right.name, types)
        return _is_count(right) and _fits(int(right.name), types)

    def _is_output(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Star):
            return not {name for name, value in node.args.items() if value}
        if isinstance(node, exp.Column):
            return isinstance(node.this, exp.Star) or self._is_column(node)
        if isinstance(node, exp.Literal):
            return True
        extra = {name for name, value in node.args.items() if value} - {"this", "big_int"}
        inner = node.this
        if isinstance(node, exp.Count) and isinstance(inner, exp.Distinct):
            is_plain = not inner.args.get("on") and len(inner.expressions) == 1
            return not extra and is_plain and self._is_column(inner.expressions[0])
        if isinstance(node, exp.Count | exp.Min | exp.Max):
            return not extra and (
                isinstance(inner, exp.Column) or (isinstance(node, exp.Count) and inner == exp.Star())
            )
        if isinstance(node, exp.Sum | exp.Avg) and self._catalog.engine.enforces_types:
            types = self._types(inner)
            return not extra and bool(types) and all(_SHORT_NUMBER.fullmatch(name) for name in types)
        return False

    def _is_column(self, node: exp.Expr | None) -> bool:
        """Return whether `node` is a column of a table of the statement, and not a field of a value."""
        return (
            isinstance(node, exp.Column)
            and isinstance(node.this, exp.Identifier)
            and node.name.lower() in self._columns
            and not node.args.get("db")
            and (not node.table or node.table.lower() in self._names)
        )

    def _types(self, node: exp.Expr) -> set[str]:
        """Return the types that column `node` may have in any table of the statement; empty for other nodes."""
        return {column.type for column in self._columns[node.name.lower()]} if self._is_column(node) else set()


def _fits(value: Any, types: set[str]) -> bool:
    """Return whether every engine compares `value` with columns of `types` without converting the columns."""
    if not types:
        return False
    if isinstance(value, str):
        return all(_TEXT.fullmatch(name) for name in types) or (
            all(_DATE.fullmatch(name) for name in types) and _is_date(value, with_time="DATE" not in types)
        )
    is_short = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_MAX_DIGITS
    return is_short and all(_INTEGER.fullmatch(name) for name in types)


def _is_count(node: exp.Expr) -> bool:
    """Return whether `node` is a whole number within the range of every integer type."""
    is_number = isinstance(node, exp.Literal) and not node.is_string
    return is_number and node.name.isdecimal() and len(node.name) <= _MAX_DIGITS


def _is_date(text: str, *, with_time: bool) -> bool:
    """Return whether every engine parses `text` as a date, with or without a time of day."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?" if with_time else r"\d{4}-\d\d-\d\d", text):
        return False
    try:
        return datetime.fromisoformat(text).year > 0
    except ValueError:
        return False


def permitted_rows(
    table: exp.Table, predicate: exp.Expr, dialect: str, cte: str, *, needs_barrier: bool = True
) -> exp.Select:
    """Return a query of the rows of `table` that satisfy `predicate`.

    `cte` is the name for the common table expression, if the dialect needs one; it must not occur in the statement.
    Without a barrier the query is `SELECT * FROM table WHERE (predicate)`, into which an engine may push other
    conditions.

    Raises:
        KeyError: `dialect` has no barrier.
    """
    condition = exp.Where(this=exp.Paren(this=predicate.copy()))
    rows = exp.Select(expressions=[exp.Star()], from_=exp.From(this=table.copy()), where=condition)
    if not needs_barrier:
        return rows
    engine = engine_of(dialect)
    if not engine.has_barrier:
        raise KeyError(dialect)
    return engine.with_barrier(rows, cte)


def filtered_table(query: exp.Expr) -> exp.Table | None:
    """Return the table that `query` reads, if it has the structure of a result of `permitted_rows`."""
    clause = query.args.get("with_")
    body = clause.expressions[0].this if clause else query
    if isinstance(body, exp.Union):
        body = body.this
    source = body.args.get("from_")
    if source and isinstance(source.this, exp.Subquery) and source.this.args.get("sample"):
        source = source.this.this.args.get("from_")
    return source.this if source and isinstance(source.this, exp.Table) else None


def cte_name(tree: exp.Expr) -> str:
    """Return a name for the common table expressions of barriers that does not occur in `tree`."""
    names_in_use = {identifier.name.lower() for identifier in tree.find_all(exp.Identifier)}
    name, number = "permitted_rows", 0
    while name in names_in_use:
        number += 1
        name = f"permitted_rows_{number}"
    return name

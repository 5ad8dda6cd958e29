"""The conditions of a query in words, its groups and its order."""

import json
import re
from calendar import monthrange
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from datetime import date, timedelta
from itertools import chain, product
from typing import Any, NamedTuple

from sqlglot import exp

from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.codes import codes_of, codes_without_signs
from datasphinx.agent.schema.words import readable
from datasphinx.agent.sql.guard import shared_trees
from datasphinx.agent.sql.meaning import has_times as holds_times
from datasphinx.agent.sql.selects import MIRRORED, conditions_in, conjuncts, is_aggregated, operands_of
from datasphinx.agent.types import QueryCondition, QuerySummary

EMPTY_SUMMARY = QuerySummary(keys=[], conditions=[], more_conditions=False)
OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "≠", exp.LT: "<", exp.LTE: "≤", exp.GT: ">", exp.GTE: "≥",
}  # fmt: skip
AGGREGATES: dict[type[exp.Expr], str] = {exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max"}
"""Aggregate functions of a column, as message codes name them."""
_NEGATED = {
    "=": "≠", "≠": "=", "<": "≥", "≥": "<", ">": "≤", "≤": ">", "missing": "present", "present": "missing",
    "contains": "lacks", "with": "without", "without": "with",
}  # fmt: skip
_HOLDS: dict[str, Callable[[int, Sequence[int]], bool]] = {
    "=": lambda value, given: value in given, "≠": lambda value, given: value in given,
    "<": lambda value, given: value < given[0], "≤": lambda value, given: value <= given[0],
    ">": lambda value, given: value > given[0], "≥": lambda value, given: value >= given[0],
    "between": lambda value, given: given[0] <= value <= given[1],
}  # fmt: skip
_WRAPPERS = (
    exp.Paren, exp.Cast, exp.TryCast, exp.Lower, exp.Upper, exp.Trim, exp.Date, exp.TsOrDsToDate, exp.TsOrDsToTimestamp,
)  # fmt: skip
"""Functions that a comparison in words may leave out."""
_OF_DATES = (
    *_WRAPPERS, exp.AtTimeZone, exp.DateTrunc, exp.Div, exp.Hour, exp.Month, exp.StrToDate, exp.StrToTime,
    exp.TimeToStr, exp.TimestampTrunc, exp.UnixToTime, exp.Year,
)  # fmt: skip
"""Functions that convert dates, or seconds since 1970, without another date, or return a part of one."""
_EPOCHS = {"auto", "unixepoch"}
"""The arguments of SQLite's functions that tell what a number means."""
_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
_TESTS = {"SEMI", "ANTI"}
"""The kinds of joins that only ask whether there is a row."""
_IN_ARRAY: dict[type[exp.Expr] | str, str] = {
    exp.ArrayContains: "", exp.Contains: "", exp.JSONBContainsTopKey: "",
    exp.ArrayOverlaps: "contains", exp.JSONBContainsAnyTopKeys: "contains",
    exp.ArrayContainsAll: "contains all", exp.JSONBContainsAllTopKeys: "contains all",
    "JSON_OVERLAPS": "contains", "ARRAYS_OVERLAP": "contains", "LIST_HAS_ANY": "contains", "ARRAY_HAS_ANY": "contains",
    "HASANY": "contains", "JSON_CONTAINS": "contains all", "LIST_HAS_ALL": "contains all",
    "ARRAY_HAS_ALL": "contains all", "HASALL": "contains all",
}  # fmt: skip
"""Tests of an array, by class or name, with what they ask of several elements; "" of those for one."""
_POSITION = "FIND_IN_SET"
"""The function for the place of an element in a text of several; 0 if it is not there."""
_TRANSPARENT = (exp.Alias, exp.Paren, exp.Round, exp.Coalesce, exp.Cast, exp.TryCast)
_GENERIC_NAMES = {"name", "title", "label", "code", "id"}
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ]00:00(?::00(?:\.0+)?)?)?")
_PERIOD_PREFIX = re.compile(r"\d{4}(?:-\d{2})?-?")
_PERIOD = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?!\d).*)?)?", re.DOTALL)
_HOURS = 24
_MAX_DEPTH, _MAX_LEVEL = 20, 3
_RESHAPED = ("joins", "laterals", "having", "qualify", "offset", "pivots")
FIRST_MOMENT = ", 00:00"
"""Behind a day of which a condition means no more."""
YEARS = range(1500, 2101)
"""Whole numbers that may be years."""


def summarize_query(sql: str, catalog: Catalog, *, names_tables: bool = True) -> QuerySummary:
    """Return the summary of `sql`; without `names_tables`, it contains no names of tables (those of datasets are ids).

    Of a condition that has no other words, it names the columns and tables, unless a column is secret. A statement that
    cannot be parsed has an empty summary with more conditions.
    """
    try:
        (tree,) = shared_trees(sql, catalog.dialect)
    except ValueError:
        return {**EMPTY_SUMMARY, "more_conditions": True}
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    reader = QueryReader(tree, catalog, names_tables=names_tables)
    if not isinstance(tree, exp.Select):
        has_more = tree.find(exp.Where, exp.Having) is not None
        return {**EMPTY_SUMMARY, "more_conditions": has_more}
    reader.read(tree)
    outputs = tree.expressions
    if len(outputs) == 1 and isinstance(outputs[0].unalias().unnest(), exp.Predicate | exp.Not | exp.Connector):
        queries = [query for query in outputs[0].find_all(exp.Select) if query.parent_select is tree]
        # What several queries select is not all of it one row.
        if len(queries) == 1:
            reader.read(queries[0])
        else:
            reader.has_more = reader.has_more or any(query.find(exp.Where, exp.Having) for query in queries)
    keys = [at for at, output in enumerate(outputs) if not output.find(exp.AggFunc)]
    others = [reader.read_by(*each) for each in reader.others]
    named = [QueryCondition(column="", operator="on", values=names) for names in others if names]
    return QuerySummary(
        keys=keys if tree.args.get("group") else [],
        conditions=[*merged(reader.conditions), *(each for at, each in enumerate(named) if each not in named[:at])],
        more_conditions=reader.has_more or not all(others),
    )


class _Origin(NamedTuple):
    """The table and column that a column of a query comes from."""

    table: str
    column: str


class QueryReader:
    """Reader of the conditions on the rows of a query and of the queries that it reads."""

    def __init__(self, tree: exp.Expr, catalog: Catalog, *, names_tables: bool = True) -> None:
        """Read queries of the statement `tree`; `names_tables` as for `summarize_query`."""
        self.catalog = catalog
        self.names_tables = names_tables
        self.ctes = {cte.alias.lower(): cte.this for cte in tree.find_all(exp.CTE)}
        self._secret_names = _with_aliases(catalog.secret_names, tree)
        self._level = 0
        self._found: dict[tuple[int, int], tuple[exp.Column, exp.Select, Any]] = {}
        self._told: list[tuple[QueryCondition, set[_Origin | int]]] = []
        """The conditions with words, each with where its columns come from."""
        self.others: list[tuple[exp.Expr, exp.Select]] = []
        """The conditions without words, with the queries that they belong to."""
        self.has_more = False
        """Whether there are conditions in queries that are not read, or a limit of one that is read."""

    def sources(self, select: exp.Select) -> dict[str, exp.Expr | str]:
        """Return the sources of `select` by alias: the query of a derived table, or the name of a stored table."""
        sources: dict[str, exp.Expr | str] = {}
        from_ = select.args.get("from_")
        for node in [*([from_.this] if from_ else []), *(join.this for join in select.args.get("joins") or ())]:
            if isinstance(node, exp.Subquery):
                sources[node.alias.lower()] = node.unnest()
            elif isinstance(node, exp.Table):
                cte = None if node.db else self.ctes.get(node.name.lower())
                sources[node.alias_or_name.lower()] = cte or node.name
        return sources

    def read(self, select: exp.Select, depth: int = 0) -> None:
        """Collect the conditions on the rows of `select`."""
        if depth > _MAX_DEPTH:
            self.has_more = True
            return
        tests = self._tests(select)
        tested = {join.alias_or_name.lower() for join in tests.values()}
        for source in (source for alias, source in self.sources(select).items() if alias not in tested):
            self._read_source(source, depth + 1)
        for join in select.args.get("joins") or ():
            for part in conjuncts(join.args.get("on")) if join.alias_or_name.lower() not in tested else ():
                self._add(part, select, is_wordless=bool(join.side) and not self._limits_found(part, join, select))
        for clause in ("where", "having", "qualify"):
            for part in conjuncts(select.args.get(clause)):
                self._add(tests.pop(id(part), part), select)
        for join in tests.values():
            self._add(join, select)

    def _read_source(self, source: exp.Expr | str, depth: int) -> None:
        if isinstance(source, exp.Select):
            self.has_more = self.has_more or source.args.get("limit") is not None
            self.read(source, depth)
        elif isinstance(source, exp.Expr):
            self.has_more = self.has_more or self._has_conditions(source, depth)

    def _tests(self, select: exp.Select) -> dict[int, exp.Join]:
        """Return the joins that only ask whether there is a row, by the identity of their condition.

        They are semi and anti joins, and outer ones without a row of which `column IS NULL` leaves the others out.
        """
        joins = select.args.get("joins") or ()
        outer = {join.alias_or_name.lower(): join for join in joins if join.side == "LEFT" and not join.kind}
        found = {id(join): join for join in joins if join.kind in _TESTS}
        for part in conjuncts(select.args.get("where")):
            column = part.this.unnest() if isinstance(part, exp.Is) and isinstance(part.expression, exp.Null) else part
            join = outer.get(column.table.lower()) if isinstance(column, exp.Column) else None
            if join is not None and column.name.lower() in self._filled(join):
                found[id(part)] = join
        return found

    def _limits_found(self, part: exp.Expr, join: exp.Join, select: exp.Select) -> bool:
        """Return whether `part` of the condition of an outer join says which rows of its table are found, and no more.

        If the query asks for rows that found none, it says which ones it leaves out.
        """
        alias, where = join.alias_or_name.lower(), select.args.get("where")
        nulls = [node for node in where.find_all(exp.Is) if isinstance(node.expression, exp.Null)] if where else []
        asks_for_none = any(self._owners(each, select) == [alias] for one in nulls for each in one.find_all(exp.Column))
        columns = list(part.find_all(exp.Column))
        is_of_table = bool(columns) and all(self._owners(column, select) == [alias] for column in columns)
        return join.side == "LEFT" and is_of_table and not asks_for_none

    def _filled(self, join: exp.Join) -> set[str]:
        """Return the columns that have a value in each row that `join` finds: those that it compares, and its key."""
        equations = [part for part in conjuncts(join.args.get("on")) if isinstance(part, exp.EQ)]
        columns = [_column(side) for part in equations for side in (part.this, part.expression)]
        names = [each.name for each in columns if each and each.table.lower() == join.alias_or_name.lower()]
        names += [each.name for each in join.args.get("using") or ()]
        table = self.table(join.this.name) if isinstance(join.this, exp.Table) else None
        return {name.lower() for name in (*names, *(table.primary_key if table else ()))}

    def _has_conditions(self, query: exp.Expr, depth: int) -> bool:
        """Return whether `query`, or a CTE that it reads, has conditions."""
        if depth > _MAX_DEPTH or query.find(exp.Where, exp.Having):
            return True
        ctes = [self.ctes.get(table.name.lower()) for table in query.find_all(exp.Table) if not table.db]
        return any(self._has_conditions(cte, depth + 1) for cte in ctes if cte)

    @property
    def conditions(self) -> list[QueryCondition]:
        """The conditions with words."""
        return [condition for condition, _ in self._told]

    def _add(self, node: exp.Expr, select: exp.Select, *, is_wordless: bool = False) -> None:
        if self._only_joins(node, select):
            return
        condition = None if is_wordless else self._condition(node, select)
        if condition is None:
            self.others.append((node, select))
        elif condition not in self.conditions:
            origins = self._origins(node, select)
            if any(of != origins and _range(each, condition) for each, of in self._told):
                # Columns of two tables that have the same words have no range together.
                self.others.append((node, select))
            else:
                self._told.append((condition, origins))

    def _only_joins(self, node: exp.Expr, select: exp.Select) -> bool:
        """Return whether `node` only says which rows belong together: along a key, or alone between two tables.

        An equation with a computed value, such as the last day of each group, leaves out other rows.
        """
        if not _joins_columns(node):
            return False
        columns = list(node.find_all(exp.Column))
        if any(self._source_of(column, select) is None for column in columns) or self._is_along_key(node, select):
            return True
        if not all(isinstance(self.resolved(column, select)[0], exp.Column) for column in columns):
            return False
        pair, joins = {column.table for column in columns}, select.args.get("joins") or ()
        return not any(join.args.get("using") and join.alias_or_name in pair for join in joins) and not any(
            {column.table for column in part.find_all(exp.Column)} == pair and self._is_along_key(part, select)
            for part in conditions_in(select)
        )

    def _is_along_key(self, node: exp.Expr, select: exp.Select) -> bool:
        """Return whether `node` equates columns of which one refers to the other, or that refer to the same column.

        Columns with the same name count as well: a key of several columns need not be declared.
        """
        sides = [_column(side) for side in (node.this, node.expression)] if isinstance(node, exp.EQ) else [None]
        origins = [self.origin(side, select) if side else None for side in sides]
        ends = [self._ends(origin) for origin in origins if origin]
        names = {origin.column.lower() for origin in origins if origin}
        return len(ends) == len(sides) and (len(names) == 1 or not ends[0].isdisjoint(ends[1]))

    def _ends(self, origin: _Origin) -> set[tuple[str, str]]:
        """Return the table and column of `origin`, and those that it refers to."""
        found = {(origin.table.lower(), origin.column.lower())}
        for column, table in self._columns_of(origin):
            for foreign in table.foreign_keys:
                if column.name in foreign.columns and (target := self.catalog.tables.get(foreign.target)):
                    end = foreign.target_columns[foreign.columns.index(column.name)]
                    found.add((target.name.lower(), end.lower()))
        return found

    def _condition(self, node: exp.Expr, select: exp.Select) -> QueryCondition | None:
        node = _as_test(_as_in(node.unnest()))
        if isinstance(node, exp.Not):
            if isinstance(node.this.unnest(), exp.Column):
                return self._on_column(node.this.unnest(), select, "=", [False])
            condition = self._condition(node.this, select)
            is_one = condition and not condition.get("or_missing")
            return {**condition, "operator": negated(condition["operator"])} if condition and is_one else None
        if isinstance(node, exp.Or):
            return self._alternatives(node, select)
        if isinstance(node, exp.Join | exp.Exists) or isinstance(node, exp.In) and node.args.get("query"):
            return self._existence(node, select)
        if node.find(exp.Query):
            return None
        if isinstance(node, exp.Column):
            return self._on_column(node, select, "=", [True])
        if isinstance(node, exp.Is):
            is_null = isinstance(node.expression, exp.Null)
            values = [] if is_null else [constant(node.expression)]
            return self._on_column(node.this, select, "missing" if is_null else "=", values)
        escape = node.expression.name if isinstance(node, exp.Escape) else ""
        like = node.this if isinstance(node, exp.Escape) else node
        if isinstance(like, exp.Like | exp.ILike):
            return self._like(like, escape, select)
        return self._comparison(node, select)

    def _existence(self, node: exp.Expr, select: exp.Select) -> QueryCondition | None:
        """Return the condition that a query of one table, or of joined ones, has a row, for its join, EXISTS or IN."""
        query = node.this if isinstance(node, exp.Exists) else node.args.get("query")
        operator = "without" if isinstance(node, exp.Join) and node.kind != "SEMI" else "with"
        if isinstance(node, exp.Join):
            if node.side == "RIGHT":
                return None
            on = node.args.get("on")
            where = exp.Where(this=on.copy()) if on else None
            query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=node.this.copy()), where=where)
        query = query.unnest() if query else None
        if not isinstance(query, exp.Select) or self.is_secret(node) or self._level > _MAX_LEVEL:
            return None
        if isinstance(node, exp.Exists) and (element := _unnested(query)):
            return self._on_column(element[0], select, "contains", element[1])
        if query.args.get("joins"):
            query = self._nested(query, is_in=isinstance(node, exp.In)) or query
        selected = [self.resolved(one.unalias(), query)[0] for one in query.selects]
        is_any_row = not query.args.get("limit") and all(isinstance(one, exp.Column) for one in selected)
        table = self._only_table(query) if is_any_row or not isinstance(node, exp.In) else None
        others = [source for alias, source in self.sources(select).items() if alias != node.alias_or_name.lower()]
        if table is None or not self.names_tables or table in map(self.table, others):
            return None
        inner = copy(self)
        inner._told, inner.others, inner.has_more, inner._level = [], [], False, self._level + 1
        inner.read(query)
        if inner.others or inner.has_more:
            return None
        # What IN compares is never NULL.
        given = [inner.name(one.unalias(), query) for one in query.selects] if isinstance(node, exp.In) else []
        told = [one for one in merged(inner.conditions) if one["operator"] != "present" or one["column"] not in given]
        return QueryCondition(column=readable(table.name), operator=operator, values=told)

    def _nested(self, query: exp.Select, *, is_in: bool) -> exp.Select | None:
        """Return `query` of joined tables as one of the table that is asked for, with EXISTS for each other one.

        That table is compared with the query around it, or selected for IN. None unless equations lead from it to each
        of the others in one way, and each other condition is about one of them.
        """
        joins = query.args.get("joins") or ()
        nodes = {
            node.alias_or_name.lower(): node for node in (query.args["from_"].this, *(each.this for each in joins))
        }
        is_plain = (not any(map(join.args.get, ("side", "method", "using"))) for join in joins)
        if not all(is_plain) or not {join.kind for join in joins} <= {"", "INNER", "CROSS"}:
            return None
        tests: dict[str, list[exp.Expr]] = {alias: [] for alias in nodes}
        links: dict[frozenset[str], list[exp.Expr]] = defaultdict(list)
        roots: set[str] = set()
        for column in chain.from_iterable(each.find_all(exp.Column) for each in query.selects if is_in):
            roots.update(self._owners(column, query))
        for part in conditions_in(query):
            owners = [self._owners(column, query) for column in part.find_all(exp.Column)]
            inner = {alias for aliases in owners for alias in aliases}
            is_clear = all(len(aliases) < 2 for aliases in owners) and not part.find(exp.Query)
            if is_clear and len(inner) == 1:
                tests[min(inner)].append(part)
                roots |= set() if all(owners) else inner
            elif is_clear and len(inner) == 2 and all(owners) and _joins_columns(part):
                links[frozenset(inner)].append(part)
            else:
                return None
        order, start_of = list(roots), dict[str, str]()
        if len(roots) != 1:
            return None
        for start in order:
            ends = {end for pair in links if start in pair for end in pair}.difference(order)
            start_of |= dict.fromkeys(ends, start)
            order += sorted(ends)
        if not len(order) == len(nodes) == len(links) + 1:
            return None
        for end in order[:0:-1]:
            where = exp.and_(*tests[end], *links[frozenset((end, start_of[end]))])
            tests[start_of[end]].append(exp.Exists(this=exp.select("*").from_(nodes[end].copy()).where(where)))
        nested = query.copy()
        nested.set("joins", None)
        nested.set("from_", exp.From(this=nodes[order[0]].copy()))
        nested.set("where", exp.Where(this=exp.and_(*tests[order[0]])))
        return nested

    def _owners(self, column: exp.Column, select: exp.Select) -> list[str]:
        """Return the aliases of the sources of `select` that may have `column`; none of one of a query around it."""
        sources = self.sources(select)
        if column.table:
            return [alias for alias in sources if alias == column.table.lower()]
        return [alias for alias in sources if self._source_of(exp.column(column.name, table=alias), select) is not None]

    def _only_table(self, query: exp.Expr | None, depth: int = 0) -> Table | None:
        """Return the stored table of which `query` has a row for each row that its conditions select, if it is one."""
        if not isinstance(query, exp.Select) or depth > _MAX_DEPTH or _is_reshaped(query):
            return None
        sources = list(self.sources(query).values())
        if len(sources) != 1:
            return None
        return self.table(sources[0]) if isinstance(sources[0], str) else self._only_table(sources[0], depth + 1)

    def _alternatives(self, node: exp.Or, select: exp.Select) -> QueryCondition | None:
        """Return a condition for several values or periods of one column, or a negated one that holds of NULL too."""
        if len(self._origins(node, select)) > 1:
            return None
        parts = [self._all_of(part, select) for part in node.flatten()]
        missing = [part for part in parts if part and part["operator"] == "missing"]
        others = [part for part in parts if part and part["operator"] != "missing"]
        if len(missing) == len(others) == 1 and len(parts) == 2:
            (other,) = others
            if _subject(other) != _subject(missing[0]) or other["operator"] in {"present", "first", "with", "without"}:
                return None
            return other if other["operator"] in {"≠", "lacks"} else {**other, "or_missing": True}
        conditions = [part for part in parts if part and part["operator"] in {"=", "during", "month", "contains"}]
        kinds = {(*_subject(condition), condition["operator"]) for condition in conditions}
        if len(conditions) < len(parts) or len(kinds) > 1:
            return None
        return {**conditions[0], "values": [value for condition in conditions for value in condition["values"]]}

    def _all_of(self, node: exp.Expr, select: exp.Select) -> QueryCondition | None:
        """Return one condition for all that `node` joins by AND, such as the two ends of a range."""
        found = [self._condition(part, select) for part in conjuncts(node)]
        joint = merged([condition for condition in found if condition])
        return joint[0] if None not in found and len(joint) == 1 else None

    def _comparison(self, node: exp.Expr, select: exp.Select) -> QueryCondition | None:
        if array := _array(node):
            return self._on_column(array[0], select, *array[1:])
        if isinstance(node, exp.In):
            return self._on_column(node.this, select, "=", [constant(item) for item in node.expressions] or [None])
        if isinstance(node, exp.Between):
            bounds = [constant(node.args["low"]), constant(node.args["high"])]
            return self._on_column(node.this, select, "between", bounds)
        operator = OPERATORS.get(type(node))
        if operator is None:
            return None
        left, right = node.this, node.expression
        if isinstance(left.unnest(), exp.Column) and isinstance(right.unnest(), exp.Column):
            names = [self.name(side.unnest(), select) for side in (left, right)]
            if not all(names) or names[0] == names[1]:
                return None
            return QueryCondition(column=names[0] or "", operator=operator, values=names[1:], are_columns=True)
        if constant(right) is None:
            left, right, operator = right, left, OPERATORS[MIRRORED[type(node)]]
        return self._on_column(left, select, operator, [constant(right)])

    def _like(self, node: exp.Like | exp.ILike, escape: str, select: exp.Select) -> QueryCondition | None:
        """Return a condition for a pattern with `%` at its ends only; `escape` is the escape character, if any."""
        pattern = constant(node.expression)
        if not isinstance(pattern, str):
            return None
        # Each character is either escaped, hence literal, or itself.
        parts = re.findall(rf"{re.escape(escape)}.|." if escape else ".", pattern, re.DOTALL)
        begins, ends = parts[:1] == ["%"], parts[-1:] == ["%"]
        inner = parts[begins : len(parts) - ends]
        if not inner or {"%", "_", "\\"} & set(inner):
            return None
        text = "".join(part[-1] for part in inner)
        is_period = ends and not begins and _PERIOD_PREFIX.fullmatch(text) and self._holds_dates(node.this, select)
        if is_period and (days := days_in(text.rstrip("-"))):
            return self._on_column(node.this, select, "during", [day.isoformat() for day in days])
        operator = {(True, True): "contains", (False, True): "starts", (True, False): "ends"}.get((begins, ends), "=")
        return self._on_column(node.this, select, operator, [text])

    def _on_column(self, node: exp.Expr, select: exp.Select, operator: str, values: list[Any]) -> QueryCondition | None:
        """Return a condition on the column that `node` is, or whose year, month, text or rank it is."""
        if any(value is None for value in values):
            return None
        node, select = self.resolved(node.unnest(), select)
        condition = self._on_rank if isinstance(node, exp.Window) else self._on_value
        return condition(node, select, operator, values)

    def _on_value(self, node: exp.Expr, select: exp.Select, operator: str, values: list[Any]) -> QueryCondition | None:
        dated = _dated_column(node)
        if dated is not None and (of_part := _of_part(node, operator, values)):
            name = self.name(dated, select)
            return QueryCondition(column=name, operator=of_part[0], values=of_part[1]) if name else None
        if dated is not None and (unit := period_unit(node)):
            operator, values = _in_days(unit, operator, values, are_texts=node.find(exp.TimeToStr) is not None)
            if not values:
                return None
            node = dated
        compared = node.this if isinstance(node, exp.AggFunc) else node
        has_times = any(holds_times(*each, self.catalog) for each in self._stored(compared, select))
        while isinstance(node, _WRAPPERS):
            if isinstance(node, exp.Cast | exp.TryCast) and node.to.is_type(*exp.DataType.INTEGER_TYPES):
                # Several values of the column have this whole number.
                return None
            node = node.this
        is_figure = isinstance(node, exp.AggFunc)
        name, figure = self._figure_of(node, select) if is_figure else (self.name(node, select), "")
        if not name:
            return None
        if has_times and operator in {"between", "≤", "=", ">", "≠"} and _is_date(values[-1]):
            # Of the last day, only its first moment is meant.
            values = [*values[:-1], f"{values[-1][:10]}{FIRST_MOMENT}"]
        if operator == "between" and all(_is_date(value) for value in values):
            operator = "during"
        values = [value[:10] if _is_date(value) else value for value in values]
        meant = [self._meaning(value, node, select) for value in values] if operator in {"=", "≠"} else values
        if meant != values:
            return QueryCondition(column=name, operator=operator, values=meant, are_meanings=True)
        # As texts, they have no separators.
        values = [str(value) if self._is_code_or_year(value, node, select) else value for value in values]
        condition = QueryCondition(column=name, operator=operator, values=values)
        return {**condition, "figure": figure} if is_figure else condition

    def _figure_of(self, node: exp.Expr, select: exp.Select) -> tuple[str, str]:
        """Return the words for the column of which `node` is a figure, or the table whose rows it counts, and which.

        They are its own name, if it has one, and empty for other figures.
        """
        if (known := self.name(node, select)) or self.is_secret(node):
            return known or "", ""
        is_distinct = isinstance(node.this, exp.Distinct) and len(node.this.expressions) == 1
        operand = node.this.expressions[0] if is_distinct else node.this
        name = self.name(operand, select) or "" if isinstance(operand, exp.Column) else ""
        if not isinstance(node, exp.Count):
            kind = AGGREGATES.get(type(node), "")
            return name if kind and not is_distinct else "", kind
        main = self.main_table(select)
        if isinstance(operand, exp.Column):
            owners = self._owners(operand, select)
            own = self.table(self.sources(select)[min(owners)]) if owners else None
            is_key = own is not None and own.primary_key == (operand.name,)
            if own and is_key and (is_distinct or (main and main[0] == min(owners))):
                return readable(own.name) if self.names_tables else "", "count"
            return name if is_distinct else "", "distinct_values"
        is_of_rows = not any(join.side for join in select.args.get("joins") or ())
        is_each = isinstance(operand, exp.Star | exp.Literal) and not is_distinct
        return readable(main[1].name) if main and is_of_rows and is_each and self.names_tables else "", "count"

    def main_table(self, select: exp.Select) -> tuple[str, Table] | None:
        """Return the table whose rows the joins of `select` do not repeat, and its alias; None if there is none.

        It leads to all other tables along equations with their whole primary keys.
        """
        sources = self.sources(select)
        tables = {alias: table for alias, each in sources.items() if (table := self.table(each))}
        keys: dict[tuple[str, str], set[str]] = defaultdict(set)
        for equation in chain.from_iterable(part.find_all(exp.EQ) for part in conditions_in(select)):
            for left, right in ((equation.this, equation.expression), (equation.expression, equation.this)):
                if isinstance(left, exp.Column) and isinstance(right, exp.Column):
                    keys[left.table.lower(), right.table.lower()].add(right.name.lower())
        for start in tables:
            reached = [start]
            for alias in reached:
                for other in tables.keys() - reached:
                    primary = {name.lower() for name in tables[other].primary_key}
                    reached += [other] if primary and primary <= keys[alias, other] else []
            if len(reached) == len(sources):
                return start, tables[start]
        return None

    def _on_rank(self, node: exp.Expr, select: exp.Select, operator: str, values: list[Any]) -> QueryCondition | None:
        """Return the condition that only the first rows of an order are taken, of each group."""
        order, count = node.args.get("order"), values[0]
        is_first = operator in {"≤", "<"} or (operator == "=" and values == [1])
        if not isinstance(node.this, _RANKS) or not order or not is_first or not isinstance(count, int):
            return None
        if isinstance(node.this, exp.DenseRank) and count - (operator == "<") > 1:
            return None
        first = order.expressions[0]
        parts = node.args.get("partition_by") or ()
        names = [self.name(first.this, select), *(self._row_name(each, select) for each in parts)]
        column, *groups = (each or "" for each in names)
        if None in names or count - (operator == "<") < 1:
            return None
        return QueryCondition(
            column=column,
            operator="first",
            values=[count - (operator == "<")],
            descends=bool(first.args.get("desc")),
            groups=groups,
        )

    def _row_name(self, node: exp.Expr, select: exp.Select) -> str | None:
        """Return the words for a column, of the primary key of a table those for its row; None if it has none."""
        name, table = self.name(node, select), self.table_of_key(node, select) if self.names_tables else None
        return self._noun(table.name) if name and table else name

    def table_of_key(self, node: exp.Expr, select: exp.Select) -> Table | None:
        """Return the table whose primary key `node` is; None for other columns and values."""
        found = [table for column, table in self._stored(node, select) if table.primary_key == (column.name,)]
        return found[0] if len(found) == 1 else None

    def _noun(self, table: str) -> str:
        """Return the words for one row of `table`; of "species" the same, unless a name has "specy"."""
        words = readable(table)
        noun = singular(words)
        if not words.endswith("ies"):
            return noun
        return noun if noun.rpartition(" ")[2].lower() in self.catalog.name_words else words

    def _holds_dates(self, node: exp.Expr, select: exp.Select) -> bool:
        """Return whether `node` is a column of dates, which may be texts."""
        return any(
            column.type_class in ("date", "datetime") or days_in(column.minimum or "")
            for column, _ in self._stored(node, select)
        )

    def _meaning(self, value: Any, node: exp.Expr, select: exp.Select) -> Any:
        """Return the meaning of a code, if the comment of its column has it; any other value unchanged."""
        columns = [column for column, _ in self._stored(node, select)]
        found = [(codes_of(each) or codes_without_signs(each.comment or "")).get(str(value), "") for each in columns]
        # "18 - 64" is a range, and "10:30" a time.
        return next((meaning for meaning in found if meaning and not meaning[0].isdigit()), value)

    def _is_code_or_year(self, value: Any, node: exp.Expr, select: exp.Select) -> bool:
        """Return whether `value` is a whole number beside a key, or a year as far as the bounds of its column tell."""
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        return any(
            column.name in table.key_columns
            or (value in YEARS and all(int(each) in YEARS if each.isdecimal() else not each for each in ends))
            for column, table in self._stored(node, select)
            for ends in ((column.minimum or "", column.maximum or ""),)
        )

    def _stored(self, node: exp.Expr, select: exp.Select) -> Iterator[tuple[Column, Table]]:
        """Yield the stored columns that `node` may be, with their tables."""
        origin = self.origin(node, select) if isinstance(node, exp.Column) else None
        yield from self._columns_of(origin) if origin else ()

    def is_secret(self, node: exp.Expr) -> bool:
        """Return whether `node` contains a column that has the name of a secret one."""
        return any(column.name.lower() in self._secret_names for column in node.find_all(exp.Column))

    def read_by(self, node: exp.Expr, select: exp.Select) -> list[str]:
        """Return the words for the columns and for the tables of other queries that a condition reads.

        There are none for one on a secret column.
        """
        inner = list(node.find_all(exp.Query))
        within = {id(each) for query in inner for each in query.find_all(exp.Column, exp.AggFunc)}
        tables = [table for query in inner for each in query.find_all(exp.Table) if (table := self.table(each.name))]
        columns = []
        for column in (each for each in node.find_all(exp.Column) if id(each) not in within):
            value, own = self.resolved(column, select)
            columns += [(each, own) for each in value.find_all(exp.Column)]
        if self.is_secret(node) or any(self.is_secret(column) for column, _ in columns):
            return []
        if not columns and any(id(each) not in within for each in node.find_all(exp.AggFunc)):
            tables += [table for source in self.sources(select).values() if (table := self.table(source))]
        # A column of neither a query nor a table, but of a function, only has the name that the statement gives it.
        known = [(column, own) for column, own in columns if self._source_of(column, own)]
        names = [self.name(column, own) or readable(column.name) for column, own in known]
        return list(dict.fromkeys([*names, *(readable(table.name) for table in tables if self.names_tables)]))

    def name(self, node: exp.Expr, select: exp.Select) -> str | None:
        """Return the words for a column, or for a computed column of `select`; None if it has none or is secret."""
        if self.is_secret(node):
            return None
        node, select = self.resolved(node, select)
        if not isinstance(node, exp.Column):
            aliases = [item.alias for item in select.expressions if isinstance(item, exp.Alias) and item.this == node]
            return readable(aliases[0]) if aliases else None
        origin = self.origin(node, select)
        tables = [source for source in self.sources(select).values() if isinstance(source, str)]
        # With a table read twice, such as a category and its parent, the column does not say which of them is meant.
        if origin is None or origin.column.lower() in self.catalog.secret_names or tables.count(origin.table) > 1:
            return None
        if origin.column.lower() in _GENERIC_NAMES and origin.table and self.names_tables:
            noun = self._noun(origin.table)
            return noun if origin.column.lower() in {"name", "title", "label"} else f"{noun} {origin.column}"
        return readable(origin.column)

    def resolved(self, node: exp.Expr, select: exp.Select) -> tuple[exp.Expr, exp.Select]:
        """Return what computes the column that `node` is, in `select` or the queries that it reads, with its query."""
        for _ in range(_MAX_DEPTH):
            found = self._source_of(node, select) if isinstance(node, exp.Column) else None
            if not isinstance(found, tuple):
                break
            node, select = found
        return node, select

    def origin(self, column: exp.Column, select: exp.Select) -> _Origin | None:
        """Return where `column` of `select` comes from; None if it is computed or cannot be resolved."""
        node, own = self.resolved(column, select)
        found = self._source_of(node, own) if isinstance(node, exp.Column) else None
        return _Origin(found, node.name) if isinstance(found, str) else None

    def _origins(self, node: exp.Expr, select: exp.Select) -> set[_Origin | int]:
        """Return where the columns in `node` come from, of computed ones the identity of what computes them."""
        found: set[_Origin | int] = set()
        for column in node.find_all(exp.Column):
            value, own = self.resolved(column, select)
            origin = self.origin(value, own) if isinstance(value, exp.Column) else id(value)
            found |= {origin} if origin is not None else set()
        return found

    def _source_of(self, column: exp.Column, select: exp.Select) -> str | tuple[exp.Expr, exp.Select] | None:
        """Return the stored table of `column`, or the output that it names, with the query of this; None if unknown."""
        key = id(column), id(select)
        if key not in self._found:
            # The nodes are kept, so that no others get their ids.
            self._found[key] = column, select, self._find_source(column, select)
        found: str | tuple[exp.Expr, exp.Select] | None = self._found[key][2]
        return found

    def _find_source(self, column: exp.Column, select: exp.Select) -> str | tuple[exp.Expr, exp.Select] | None:
        sources, wanted = self.sources(select), column.table.lower()
        candidates = [source for alias, source in sources.items() if not wanted or alias == wanted]
        aliases = (item for item in select.expressions if isinstance(item, exp.Alias) and not wanted)
        named = [item.this for item in aliases if item.alias.lower() == column.name.lower()]
        for source in candidates:
            if isinstance(source, str):
                is_certain = len(candidates) == 1 and not named and self.table(source) is None
                if is_certain or any(self._columns_of(_Origin(source, column.name))):
                    return source
            elif isinstance(source, exp.Select) and (output := self._output(column.name, source)) is not None:
                # Of a query that is read twice, the output does not say which of them is meant.
                return (output, source) if sum(each is source for each in sources.values()) == 1 else None
        return (named[0], select) if named else None

    def _output(self, name: str, select: exp.Select) -> exp.Expr | None:
        """Return the output of `select` called `name`, also if a star stands for it."""
        outputs: list[exp.Expr] = select.expressions
        for item in outputs:
            if item.alias_or_name.lower() == name.lower():
                return item.unalias()
        for item in outputs:
            column = exp.column(name, table=item.args.get("table") if isinstance(item, exp.Column) else None)
            if item.is_star and self._source_of(column, select) is not None:
                return column
        return None

    def table(self, source: exp.Expr | str) -> Table | None:
        """Return the stored table that has the name `source`, if there is exactly one."""
        keys = self.catalog.keys_named(source) if isinstance(source, str) else ()
        return self.catalog.tables[keys[0]] if len(keys) == 1 else None

    def _columns_of(self, origin: _Origin) -> Iterator[tuple[Column, Table]]:
        for table in map(self.catalog.tables.__getitem__, self.catalog.keys_named(origin.table)):
            yield from ((one, table) for one in table.columns if one.name.lower() == origin.column.lower())


def singular(words: str) -> str:
    """Return the singular of an English plural; other words unchanged.

    >>> singular("categories"), singular("order items"), singular("status")
    ('category', 'order item', 'status')
    """
    for ending, replacement in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x")):
        if words.endswith(ending) and len(words) > len(ending) + 1:
            return words[: -len(ending)] + replacement
    return words[:-1] if words.endswith("s") and not words.endswith(("ss", "us", "is")) and len(words) > 3 else words


def _with_aliases(names: Collection[str], tree: exp.Expr) -> Collection[str]:
    """Return `names`, of columns, with those that `tree` gives to what is computed from them."""
    found, size = set(names), 0
    while len(found) > size:
        size = len(found)
        for node in tree.find_all(exp.Alias, exp.TableAlias):
            read = (node if isinstance(node, exp.Alias) else node.parent or node).find_all(exp.Column)
            if any(column.name.lower() in found for column in read):
                given = [node.args["alias"]] if isinstance(node, exp.Alias) else node.args.get("columns") or ()
                found |= {one.name.lower() for one in given}
    return found


def _as_in(node: exp.Expr) -> exp.Expr:
    """Return IN for `= ANY`, and NOT IN for `<> ALL`, which say the same; other conditions unchanged."""
    side = node.expression if isinstance(node, exp.EQ | exp.NEQ) else None
    if isinstance(side, exp.Any if isinstance(node, exp.EQ) else exp.All):
        listed = [_plain(side.this)]
    elif isinstance(node, exp.NEQ) and side is not None and _called(side) == "ALL":
        listed = list(map(_plain, side.expressions))
    else:
        return node
    found = exp.In(this=node.this.copy())
    if isinstance(listed[0], exp.Query | exp.Column):
        found.set("query" if isinstance(listed[0], exp.Query) else "field", listed[0].copy())
    else:
        values = _elements(listed[0]) if len(listed) == 1 else list(map(constant, listed))
        if None in values:
            return node
        found.set("expressions", list(map(exp.convert, values)))
    return exp.Not(this=found) if isinstance(node, exp.NEQ) else found


def _as_test(node: exp.Expr) -> exp.Expr:
    """Return the call whose number `node` compares, if this says whether there is what it looks for, or NOT of it.

    MySQL's functions return 0 or 1, and those for a place return 0 if there is none.
    """
    call, number = node.this, constant(node.expression) if isinstance(node, exp.Binary) else None
    is_position = isinstance(call, exp.StrPosition) or _called(call) == _POSITION
    if number not in (0, 1) or not is_position and not (isinstance(call, exp.Func) and _array(call)):
        return node
    holds, fails = ((exp.GT, exp.NEQ), (exp.EQ, exp.LTE)) if number == 0 else ((exp.GTE, exp.EQ), (exp.LT, exp.NEQ))
    if number == 1 and is_position and isinstance(node, exp.EQ | exp.NEQ):
        # The first place is not any place.
        return node
    return call if isinstance(node, holds) else exp.Not(this=call.copy()) if isinstance(node, fails) else node


def _array(node: exp.Expr) -> tuple[exp.Expr, str, list[Any]] | None:
    """Return the array, or text, whose elements `node` tests, as `'a' IN tags` does, with operator and elements."""
    name = _called(node)
    if isinstance(node, exp.StrPosition):
        is_anywhere = not node.args.get("position") and not node.args.get("occurrence")
        return node.this, "contains", [constant(node.args["substr"]) if is_anywhere else None]
    if isinstance(node, exp.In) and (array := node.args.get("field") or node.args.get("unnest")):
        return array.expressions[0] if isinstance(array, exp.Unnest) else array, "contains", [constant(node.this)]
    if isinstance(node, exp.JSONArrayContains):
        return node.expression, "contains", [constant(node.this)]
    if name == _POSITION and len(node.expressions) == 2:
        return node.expressions[1], "contains", [constant(node.expressions[0])]
    operator = _IN_ARRAY.get(name or type(node))
    if operator is None or name and len(node.expressions) != 2:
        return None
    array, given = node.expressions if name else (node.this, node.expression)
    values = _elements(given) if operator else [constant(given)]
    return array, operator if len(values) > 1 else "contains", values


def _elements(node: exp.Expr) -> list[Any]:
    """Return the elements of a constant array, also one written as JSON or as `{a,b}`; None among them if unknown."""
    node = _plain(node)
    if isinstance(node, exp.Array | exp.JSONArray) or _called(node) == "JSON_ARRAY":
        return list(map(constant, node.expressions)) or [None]
    text = str(constant(node))
    try:
        found = json.loads(text)
    except ValueError:
        inner = text[1:-1] if text[:1] == "{" and text[-1:] == "}" else ""
        parts = [part.strip() for part in inner.split(",")]
        is_told = all(parts) and set(inner).isdisjoint('"\\{}') and "NULL" not in map(str.upper, parts)
        return [*parts] if is_told else [None]
    elements = found if isinstance(found, list) else [found]
    return [each if isinstance(each, str | int | float) else None for each in elements] or [None]


def _called(node: exp.Expr) -> str:
    """Return the name of a function that has no class of its own, in capitals; "" for other expressions."""
    return node.name.upper() if isinstance(node, exp.Anonymous) else ""


def _plain(node: exp.Expr) -> exp.Expr:
    """Return `node` without parentheses and conversion."""
    while isinstance(node, exp.Paren | exp.Subquery | exp.Cast | exp.TryCast):
        node = node.this
    return node


def _is_reshaped(query: exp.Select) -> bool:
    """Return whether `query` has other rows than those of its source that WHERE selects, or groups of them."""
    return any(map(query.args.get, _RESHAPED)) or (is_aggregated(query) and not query.args.get("group"))


def _unnested(query: exp.Select) -> tuple[exp.Expr, list[Any]] | None:
    """Return the array and the elements, one of which `query`, of the elements of an array, has."""
    source = query.args["from_"].this if query.args.get("from_") else None
    is_call = isinstance(source, exp.Table) and not isinstance(source.this, exp.Identifier)
    arrays = list(source.find_all(exp.Column)) if source and (is_call or isinstance(source, exp.Unnest)) else []
    tests = list(conjuncts(query.args.get("where")))
    if not source or len(arrays) != 1 or len(tests) != 1 or _is_reshaped(query):
        return None
    test = _as_in(tests[0])
    if not isinstance(test, exp.EQ) and not (isinstance(test, exp.In) and test.expressions):
        return None
    sides = operands_of(test)
    given = source.alias_column_names
    names = {name.lower() for name in given or ("value", source.alias)} if len(given) < 2 else ()
    elements = [column for side in sides if (column := _column(side)) is not None]
    is_element = len(elements) == 1 and elements[0].table in {"", source.alias} and elements[0].name.lower() in names
    values = [value for value in map(constant, sides) if value is not None]
    return (arrays[0], values) if is_element and len(values) == len(sides) - 1 else None


def _joins_columns(node: exp.Expr) -> bool:
    """Return whether `node` says that a column of one table, or a value computed from it, equals one of another."""
    if not isinstance(node, exp.EQ) or node.find(exp.Query):
        return False
    left, right = ({column.table for column in side.find_all(exp.Column)} for side in (node.this, node.expression))
    return len(left) == len(right) == 1 and left != right


def _column(node: exp.Expr) -> exp.Column | None:
    """Return the column to which only functions are applied that a comparison in words may leave out."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    return node if isinstance(node, exp.Column) else None


def constant(node: exp.Expr) -> Any:
    """Return the value of a constant; None for other expressions and NULL."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    if isinstance(node, exp.Neg):
        value = constant(node.this)
        return -value if isinstance(value, int | float) else None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        return node.name
    return int(node.name) if node.name.isdecimal() else float(node.name)


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and _DATE.fullmatch(value) is not None and days_in(value[:10]) is not None


def _dated_column(node: exp.Expr) -> exp.Column | None:
    """Return the column whose dates, or parts of them, `node` is; None for other dates, such as a month later."""
    while not isinstance(node, exp.Column):
        if isinstance(node, exp.Extract):
            node = node.expression
        elif isinstance(node, _OF_DATES):
            node = node.this
        elif _called(node) in {"DATE", "DATETIME"} and _EPOCHS.issuperset(map(constant, node.expressions[1:])):
            node = node.expressions[0]
        else:
            return None
    return node


def period_unit(node: exp.Expr) -> str | None:
    """Return "year" or "month" if `node` is the year or month, with its year, of a column."""
    node = node.unnest()
    if isinstance(node, exp.Cast | exp.TryCast):
        return period_unit(node.this)
    if len(list(node.find_all(exp.Column))) != 1:
        return None
    if isinstance(node, exp.TimeToStr):
        return {"%Y": "year", "%Y-%m": "month"}.get(node.args["format"].name)
    if isinstance(node, exp.Year):
        return "year"
    unit = node.this if isinstance(node, exp.Extract) else None
    unit = node.args.get("unit") if isinstance(node, exp.TimestampTrunc | exp.DateTrunc) else unit
    name = unit.name.lower() if unit is not None else ""
    return name if name == "year" or (name == "month" and not isinstance(node, exp.Extract)) else None


def _of_part(node: exp.Expr, operator: str, values: list[Any]) -> tuple[str, list[Any]] | None:
    """Return the operator and values of a condition on the month of a date, in any year, or on its hour; else None.

    >>> from sqlglot import parse_one
    >>> _of_part(parse_one("EXTRACT(HOUR FROM seen)"), ">", [21])
    ('≥', ['22:00'])
    """
    is_text, node = isinstance(node.unnest(), exp.TimeToStr), _plain(node)
    unit = node.this.name.lower() if isinstance(node, exp.Extract) else ""
    form = node.args["format"].name if isinstance(node, exp.TimeToStr) else ""
    numbers = [int(value) if str(value).isdecimal() else -1 for value in values]
    # Of texts, '06' is the month, and 6 is before all of them.
    are_parts = all(isinstance(value, str) and len(value) == 2 for value in values) if is_text else True
    if operator not in _HOLDS or not are_parts or -1 in numbers:
        return None
    if isinstance(node, exp.Month) or unit == "month" or form == "%m":
        months = [month for month in range(1, 13) if _HOLDS[operator](month, numbers)]
        return ("not month" if operator == "≠" else "month", months) if months and 0 not in numbers else None
    is_hour = isinstance(node, exp.Hour) or unit == "hour" or form == "%H"
    return _times_of_hours(operator, numbers) if is_hour else None


def _times_of_hours(operator: str, numbers: Sequence[int]) -> tuple[str, list[Any]] | None:
    """Return the operator and the times of day of a condition on an hour; None if there are gaps between them."""
    held = [hour for hour in range(_HOURS) if _HOLDS[operator](hour, numbers)]
    if operator == "≠" or max(numbers) >= _HOURS or not held or held[-1] - held[0] >= len(held):
        return None
    if operator in {">", "≥"}:
        return "≥", [f"{held[0]:02}:00"]
    if operator in {"<", "≤"}:
        return ("<", [f"{held[-1] + 1:02}:00"]) if held[-1] + 1 < _HOURS else None
    return "between", [f"{held[0]:02}:00", f"{held[-1]:02}:59"]


def negated(operator: str) -> str:
    """Return the operator of the negation of a condition: `not`, where there is none of its own.

    >>> negated("<"), negated("starts"), negated(negated("starts"))
    ('≥', 'not starts', 'starts')
    """
    known = _NEGATED.get(operator)
    return known or (operator.removeprefix("not ") if operator.startswith("not ") else f"not {operator}")


def _in_days(unit: str, operator: str, values: list[Any], *, are_texts: bool) -> tuple[str, list[Any]]:
    """Return the operator and values of a condition on days that is one on years or months; no values for others.

    With `are_texts`, the years or months are: '2024' is before '2024-01-01', which is no year then.
    """
    spans = [days for value in values if (days := _days_of(unit, str(value), is_text=are_texts))]
    if not spans or len(spans) < len(values):
        return operator, []
    (first, _), (_, last) = spans[0], spans[-1]
    if operator == "between":
        return "during", [first.isoformat(), last.isoformat()]
    if operator in {"=", "≠"}:
        different = [day.isoformat() for span in dict.fromkeys(spans) for day in span]
        return ("not during" if operator == "≠" else "during"), different
    if operator in {"≥", "<"}:
        return operator, [first.isoformat()]
    if operator in {">", "≤"} and last < date.max:
        # After a period is from the day after it.
        return ("≥" if operator == ">" else "<"), [(last + timedelta(days=1)).isoformat()]
    return operator, []


def _days_of(unit: str, text: str, *, is_text: bool) -> tuple[date, date] | None:
    """Return the first and last day of the year or month that `text` is, or unless `is_text` whose first day it is."""
    length = len("2025" if unit == "year" else "2025-12")
    days = days_in(text[:length])
    is_whole = days and (len(text) == length or (not is_text and _is_date(text) and text[:10] == days[0].isoformat()))
    return days if is_whole else None


def days_in(text: str) -> tuple[date, date] | None:
    """Return the first and last day of a year, month or day in ISO format; None for any other text.

    >>> days_in("2025-12")
    (datetime.date(2025, 12, 1), datetime.date(2025, 12, 31))
    """
    match = _PERIOD.fullmatch(text)
    if match is None:
        return None
    year, month, day = match.groups()
    try:
        first = date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None
    if day:
        return first, first
    last_month = first.replace(month=int(month or 12))
    return first, last_month.replace(day=monthrange(last_month.year, last_month.month)[1])


def merged(conditions: list[QueryCondition]) -> list[QueryCondition]:
    """Return `conditions` with a lower and an upper bound of one column joined to a range."""
    merged: list[QueryCondition] = []
    for condition in conditions:
        partner = next((other for other in merged if _range(other, condition)), None)
        if partner:
            merged[merged.index(partner)] = _range(partner, condition) or partner
        else:
            merged.append(condition)
    return merged


def _subject(condition: QueryCondition) -> tuple[str, str | None, bool]:
    """Return what a condition is on: a column, or which figure of it, and whether it may be missing."""
    return condition["column"], condition.get("figure"), condition.get("or_missing", False)


def _range(one: QueryCondition, two: QueryCondition) -> QueryCondition | None:
    """Return the range between two bounds of a column; None if they are not a lower and an upper one."""
    if {one["operator"], two["operator"]} == {"during", "month"} and _subject(one) == _subject(two):
        years, months = (one, two) if one["operator"] == "during" else (two, one)
        days = _days_of_months(years["values"], months["values"])
        return {**years, "values": days} if days else None
    low, high = (one, two) if one["operator"] in {"≥", ">"} else (two, one)
    if _subject(one) != _subject(two) or low["operator"] != "≥" or high["operator"] not in {"<", "≤"}:
        return None
    first, last = low["values"][0], high["values"][0]
    if _is_date(first) and _is_date(last):
        if first > last or (first == last and high["operator"] == "<"):
            return None
        if high["operator"] == "<":
            last = (date.fromisoformat(last) - timedelta(days=1)).isoformat()
        return {**low, "operator": "during", "values": [first, last]}
    numeric = all(isinstance(each, int | float) or each.isdecimal() for each in (first, last))
    return {**low, "operator": "between", "values": [first, last]} if numeric and high["operator"] == "≤" else None


def _days_of_months(spans: Sequence[str], months: Sequence[int]) -> list[str]:
    """Return the first and last days of these months in `spans`, which are whole years; none if they are not."""
    found: list[date] = []
    days = list(map(date.fromisoformat, spans))
    for first, last in zip(days[::2], days[1::2], strict=True):
        if (first.month, first.day, last.month, last.day) != (1, 1, 12, 31):
            return []
        for year, month in product(range(first.year, last.year + 1), months):
            begin, end = days_in(f"{year:04}-{month:02}") or (first, last)
            if found and found[-1] + timedelta(days=1) == begin:
                found[-1] = end
            else:
                found += [begin, end]
    return [day.isoformat() for day in found]


def sort_key(query: exp.Query) -> tuple[int | None, bool] | None:
    """Return the index of the output by which the rows are sorted first, or None, and whether it descends.

    Returns None for rows that are not sorted.
    """
    order = query.args.get("order")
    if not order or not order.expressions:
        return None
    ordered = order.expressions[0]
    key, descends = ordered.this, bool(ordered.args.get("desc"))
    for at, item in enumerate(query.selects):
        is_named = isinstance(key, exp.Column) and not key.table and key.name.lower() == item.alias_or_name.lower()
        is_position = isinstance(key, exp.Literal) and key.name == str(at + 1)
        if is_named or is_position or unwrapped(key) == unwrapped(item):
            return at, descends
    return None, descends


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Return `node` without its name, rounding and conversion."""
    while isinstance(node, _TRANSPARENT):
        node = node.this
    return node

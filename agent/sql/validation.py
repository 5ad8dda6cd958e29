"""Validation of a statement without a model and without running it: guard, name resolution and static checks.

A static check is a function from a SELECT of the resolved query to remarks. A problem is a construct that the database
would reject; a warning is a likely mistake, reported to the reviewer of the statement.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.engines.base import Engine
from datasphinx.agent.errors import StatementError, StatementRefused, StatementUnsound
from datasphinx.agent.messages import Message
from datasphinx.agent.schema.catalog import Catalog, Column
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.sql.guard import Finding, sanitize
from datasphinx.agent.sql.joined_rows import conditions_of
from datasphinx.agent.sql.meaning import MEANING
from datasphinx.agent.sql.names import (
    ColumnReference,
    ResolvedQuery,
    connected_groups,
    nearest_tables,
    resolve,
    resolved_query,
)
from datasphinx.agent.sql.parameters import Value
from datasphinx.agent.sql.rankings import ending_with_nulls, null_terms
from datasphinx.agent.sql.remark import Check, CheckedQuery, Effect, Remark
from datasphinx.agent.sql.selects import COMPARISONS, aggregates_of, grouped_expressions, operands_of
from datasphinx.agent.sql.statement_cache import StatementCache

_log = logging.getLogger(__name__)

# The same statement is validated two or three times per question: when generated, checked and run.
_valid_statements: StatementCache[None] = StatementCache()
_statement_remarks: "StatementCache[tuple[Remark, ...]]" = StatementCache()

_NUMBER_WORDS = {"nan", "inf", "infinity"}
_DATE_WORDS = {"now", "today", "tomorrow", "yesterday", "epoch", "infinity", "allballs"}
_DIGIT = re.compile(r"\d")
_TRANSPARENT = (
    exp.Alias, exp.Paren, exp.Binary, exp.Unary, exp.Cast, exp.Case, exp.If, exp.Coalesce, exp.Upper, exp.Lower,
    exp.Round, exp.Concat, exp.Extract, exp.Substring, exp.Trim, exp.Abs, exp.Ordered, exp.Between,
)  # fmt: skip
"""Nodes in which a column is certainly not aggregated; any other function may be an aggregate."""
_MAX_LOOKUPS = 20
"""Maximum number of literals to look up per statement."""
_MAX_SPELLINGS = 5


def validated_sql(sql: str, catalog: Catalog, values: Mapping[str, Value] = MappingProxyType({})) -> str:
    """Validate `sql` and return the text to run instead, regenerated from its parse tree.

    Parameters stay as `:name`; `values` holds the values that will be bound to them.

    Raises:
        StatementRefused: the guard rejects it, for example because a parameter has no value.
        NamesUnknown: a column does not exist or is ambiguous.
        StatementUnsound: the static checks find types or groupings that the database would reject.
    """
    text, findings = sanitize(sql, catalog.dialect, catalog.readable, values)
    if findings:
        raise StatementRefused(tuple(_told(finding, catalog) for finding in findings))
    _valid_statements.value(text, catalog, lambda: _check_names_and_types(text, catalog))
    return text


def _told(finding: Finding, catalog: Catalog) -> str:
    """Return `finding` as text, for an unknown table with the nearest names."""
    if not isinstance(finding.explanation, Message):
        return str(finding)
    problem = finding.explanation
    nearest = ", ".join(nearest_tables(problem.facts["name"].rpartition(".")[2], catalog))
    return Message("with_nearest", problem=problem, nearest=nearest) if nearest else problem


def find_problem(sql: str, catalog: Catalog) -> StatementError | None:
    """Return the error with which `validated_sql` rejects `sql`, or None if it is valid."""
    try:
        validated_sql(sql, catalog)
    except StatementError as error:
        return error
    return None


def _check_names_and_types(sql: str, catalog: Catalog) -> None:
    query = resolve(sql, catalog)
    if query is None and catalog.engine.dot_may_call:
        # On PostgreSQL a name that is not a column may call a function of the row.
        raise StatementUnsound((Message("names_unresolved"),))
    problems = tuple(remark.text for remark in _remarks(sql, query) if remark.effect == "problem") if query else ()
    if problems:
        raise StatementUnsound(problems)


def sums_of_text(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report SUM and AVG of text columns, except columns of numbers stored as text on engines that convert them."""
    for call in query.find_all(scope, exp.Sum, exp.Avg):
        argument = call.this
        if isinstance(argument, exp.Distinct) and len(argument.expressions) == 1:
            argument = argument.expressions[0]
        reference = query.column_of(argument, scope)
        if reference is None or reference.column.type_class != "text":
            continue
        column_key = (reference.table.key, reference.column.name)
        values = reference.column.examples or query.catalog.values.get(column_key, ())
        holds_numbers = bool(values) and all(_DIGIT.search(value) for value in values)
        if query.engine.compares_strictly or not holds_numbers:
            text = Message(
                "aggregate_of_text", function=call.key.upper(), column=str(reference), type=reference.column.type
            )
            yield Remark(text, "problem" if query.engine.compares_strictly else "warning")


def mismatched_comparisons(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report columns compared with literals that their type cannot represent, such as a date with `'high'`."""
    is_strict = query.engine.compares_strictly
    for node in query.find_all(scope, *COMPARISONS):
        for reference, literal in _compared_literals(node, query, scope):
            if _is_impossible(reference.column, literal, query.engine):
                literal_sql = literal.sql(dialect=query.dialect)
                kind = reference.column.type
                text = Message("comparison_impossible", column=str(reference), type=kind, value=literal_sql)
                yield Remark(text, "problem" if is_strict else "warning")


def _compared_literals(
    node: exp.Expr, query: ResolvedQuery, scope: Scope
) -> Iterator[tuple[ColumnReference, exp.Literal]]:
    parts = operands_of(node)
    places = [reference for part in parts if (reference := query.column_of(part, scope))]
    yield from ((reference, part) for reference in places[:1] for part in parts if isinstance(part, exp.Literal))


def _is_impossible(column: Column, literal: exp.Literal, engine: Engine) -> bool:
    kind = column.type_class
    if not literal.is_string:
        return engine.rejects_number_for_text and kind == "text"
    if _DIGIT.search(literal.name):
        return False
    word = literal.name.strip().lower().lstrip("+-")
    if kind == "boolean" and engine.has_numeric_booleans:
        # MySQL reads any word as 0; SQLite finds it only if it is stored.
        return literal.name not in column.examples
    is_number, is_date = kind == "number", kind in {"date", "datetime"}
    return (is_number and word not in _NUMBER_WORDS) or (is_date and word not in _DATE_WORDS)


def ungrouped_columns(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report columns that are neither grouped nor aggregated, and so have no single value per group."""
    group = select.args.get("group")
    aggregates = aggregates_of(select)
    if _is_special(group) or not (group or aggregates):
        return
    if query.engine.has_row_of_extreme and len(aggregates) == 1 and isinstance(aggregates[0], exp.Min | exp.Max):
        return
    grouped = grouped_expressions(select)
    ungrouped = [column for item in _items(select) for column in _unaggregated_columns(item, grouped)]
    effect: Effect
    undetermined = [column for column in ungrouped if not _is_determined(column, grouped, scope, query)]
    if query.engine.groups_strictly:
        code, effect = "column_not_grouped", "problem"
    else:
        code, effect = "value_of_any_row", "warning"
        rows = query.rows(scope)
        places = [place for item in grouped if (place := rows.place(item))]
        constant = rows.determined([], places)
        undetermined = [column for column in undetermined if not rows.paths(column) <= constant]
    for name in dict.fromkeys(f"{column.table}.{column.name}" for column in undetermined):
        yield Remark(Message(code, column=name), effect)


def _is_special(group: exp.Group | None) -> bool:
    """Return whether `group` has its own rules: GROUPING SETS, ROLLUP, CUBE, ALL or TOTALS."""
    if group is None:
        return False
    sets = any(isinstance(item, exp.GroupingSets | exp.Rollup | exp.Cube) for item in group.expressions)
    return sets or any(value for name, value in group.args.items() if name != "expressions")


def _items(select: exp.Select) -> list[exp.Expr]:
    order = select.args.get("order")
    having = select.args.get("having")
    aliases = set(select.named_selects)
    # An ORDER BY name from the SELECT list refers to that output, which is checked itself.
    ordered = [item for item in (order.expressions if order else []) if item.this.name not in aliases]
    return [*select.expressions, *ordered, *([having.this] if having else [])]


def _unaggregated_columns(node: exp.Expr, grouped: list[exp.Expr]) -> Iterator[exp.Column]:
    """Yield the columns in `node` that are certainly not aggregated and not part of a grouped expression."""
    if node in grouped:
        return
    if isinstance(node, exp.Column):
        if node.table and not isinstance(node.this, exp.Star):
            yield node
    elif isinstance(node, _TRANSPARENT) and not isinstance(node, exp.AggFunc | exp.Dot):
        for child in node.iter_expressions():
            yield from _unaggregated_columns(child, grouped)


def _is_determined(column: exp.Column, grouped: list[exp.Expr], scope: Scope, query: ResolvedQuery) -> bool:
    """Return whether `column` belongs to an outer query, or to a table whose primary key is grouped."""
    if column.table not in scope.selected_sources:
        return True
    table = query.table(scope.sources[column.table])
    same = {item.name.lower() for item in grouped if isinstance(item, exp.Column) and item.table == column.table}
    if column.name.lower() in same:
        return True
    key = {name.lower() for name in table.primary_key} if table else set()
    return query.engine.grouping_follows_key and bool(key) and key <= same


def keyless_joins(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report equi-joins of two tables that differ from all foreign keys between them."""
    joined: dict[frozenset[str], list[tuple[ColumnReference, ColumnReference]]] = {}
    for equal in query.find_all(scope, exp.EQ):
        left, right = query.column_of(equal.this, scope), query.column_of(equal.expression, scope)
        if left and right and equal.this.table != equal.expression.table:
            joined.setdefault(frozenset([equal.this.table, equal.expression.table]), []).append((left, right))
    for pairs in joined.values():
        left, right = pairs[0]
        keys = _keys_between(left, right)
        places = [[(side.table.key, side.column.name) for side in pair] for pair in pairs]
        if keys and not any(query.catalog.are_equivalent(*pair) for pair in places):
            yield Remark(Message("join_without_key", left=str(left), right=str(right), keys=", ".join(keys)))


def cartesian_products(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report tables in one FROM that no condition connects."""
    names = {name for name, (_, source) in scope.selected_sources.items() if _has_many_rows(source)}
    groups = connected_groups(names, _conditions(select, scope, query))
    if len(groups) > 1:
        names_by_group = " / ".join(", ".join(sorted(group)) for group in sorted(groups, key=sorted))
        yield Remark(Message("tables_not_connected", names=names_by_group))


def _keys_between(left: ColumnReference, right: ColumnReference) -> list[str]:
    pairs = ((left.table, right.table), (right.table, left.table))
    return [
        f"{a.key}.{column} with {b.key}.{target}"
        for a, b in dict.fromkeys(pairs)
        for foreign in a.foreign_keys
        if foreign.target == b.key
        for column, target in zip(foreign.columns, foreign.target_columns, strict=False)
    ]


def _has_many_rows(source: exp.Expr | Scope) -> bool:
    """Return whether `source` is a table or a subquery with more than one row."""
    if not isinstance(source, Scope):
        return isinstance(source, exp.Table) and not isinstance(source.this, exp.Func)
    query = source.expression
    return isinstance(query, exp.Select) and not _is_one_row(query)


def _is_one_row(query: exp.Select) -> bool:
    limit = query.args.get("limit")
    if limit is not None and getattr(limit, "expression", None) is not None and limit.expression.name == "1":
        return True
    return not query.args.get("group") and (
        not query.args.get("from_") or any(item.find(exp.AggFunc) for item in query.expressions)
    )


def _conditions(select: exp.Select, scope: Scope, query: ResolvedQuery) -> list[set[str]]:
    """Return the source names mentioned by each join and WHERE condition."""
    conditions = []
    before = [select.args["from_"].this.alias_or_name] if select.args.get("from_") else []
    for join in select.args.get("joins") or ():
        name = join.this.alias_or_name
        if join.args.get("using") or join.args.get("method") == "NATURAL" or isinstance(join.this, exp.Lateral):
            conditions += [{name, earlier} for earlier in before]
        before.append(name)
    named = [{column.table for column in part.find_all(exp.Column)} for part in conditions_of(scope, query)]
    return conditions + named


class ValueLookup(Protocol):
    """Lookup of stored values; implemented by `datasphinx.agent.retrieval.value_index.ValueIndex`."""

    def contains(self, table: str, column: str, literal: str) -> bool | None:
        """Return whether the column contains `literal`; None if unknown."""

    def is_complete(self, table: str, column: str) -> bool:
        """Return whether all values of the column are known."""

    def nearest(self, table: str, column: str, literal: str, limit: int = 3) -> list[str]:
        """Return up to `limit` values of the column that are most similar to `literal`."""

    def spellings(self, table: str, column: str, literal: str) -> list[str]:
        """Return the values of the column that differ from `literal` in case, blanks and accents at most."""


IsTrue = Callable[[Remark], bool]
"""Function that finds out on the data whether a remark with a probe is true."""
Search = Callable[[str, str, str], Sequence[str] | None]
"""Function of the key of a table, a column and a text: the stored values that differ from it in spelling at most; None
if that cannot be told.
"""


def missing_literals(
    query: ResolvedQuery, values: Callable[[], ValueLookup], *, excluded: bool = False
) -> Iterator[Remark]:
    """Report literals compared by `=` or IN that do not occur in the text column, with the nearest values.

    Nearest values that look personal are not told. With `excluded`, those compared by `<>` are reported too. This is
    never a problem, since an empty result may be correct. `values` is called only if there are such literals.
    """
    for table, column, literal in _compared_texts(query, excluded=excluded)[:_MAX_LOOKUPS]:
        index = values()
        if index.contains(table, column, literal) is False:
            stored = query.catalog.tables[table]
            is_personal = personal_content(query.catalog, stored, stored.column(column))
            found = [] if is_personal else index.nearest(table, column, literal)
            nearest = ", ".join(repr(one_line(value)) for value in found)
            code = "value_not_stored_nearest" if nearest else "value_not_stored"
            yield Remark(Message(code, table=table, value=repr(one_line(literal)), column=column, nearest=nearest))


def other_spellings(
    query: ResolvedQuery, values: Callable[[], ValueLookup], search: Search | None = None
) -> Iterator[Remark]:
    """Report literals compared by `=`, `<>` or IN, of which the column has further spellings.

    The engine's collation decides whether these match as well. A column of which not all values are known is searched;
    a literal that it does not have is reported.
    """
    compared = _compared_texts(query, excluded=True)
    for table, column, literal in compared[:_MAX_LOOKUPS]:
        named = {text for *place, text in compared if place == [table, column]}
        index = values()
        found: Sequence[str] | None = index.spellings(table, column, literal)
        if search and not index.is_complete(table, column):
            found = search(table, column, literal)
            if found is not None and not found:
                yield Remark(Message("value_not_stored", table=table, value=repr(one_line(literal)), column=column))
        others = [value for value in found or () if value not in named]
        if others:
            shown = ", ".join(map(repr, others[:_MAX_SPELLINGS]))
            text = Message("other_spellings", column=f"{table}.{column}", values=shown, value=repr(literal))
            full, name = query.catalog.full_names[table], exp.column(column, quoted=True)
            differs = exp.NEQ(this=name.copy(), expression=exp.Literal.string(literal))
            probe = exp.select("1").from_(exp.table_(full.name, db=full.schema, quoted=True))
            probe = probe.where(name.isin(*others), differs).limit(1)
            yield Remark(text, "doubt", probe.sql(dialect=query.dialect))


def _compared_texts(query: ResolvedQuery, *, excluded: bool) -> list[tuple[str, str, str]]:
    """Return the table, column and text of each comparison; empty texts are left out, as in `name <> ''`."""
    texts = []
    for scope, _ in query.selects():
        for node in query.find_all(scope, exp.EQ, exp.In, *([exp.NEQ] if excluded else [])):
            for (table, column), literal in _compared_literals(node, query, scope):
                if column.type_class == "text" and not column.secret and literal.is_string and literal.name:
                    texts.append((table.key, column.name, literal.name))
    return list(dict.fromkeys(texts))


def rankings_of_nulls(query: ResolvedQuery) -> Iterator[Remark]:
    """Report rankings that begin with the rows without a value."""
    for term in null_terms(query):
        yield Remark(Message("ranking_begins_with_null", column=one_line(term.this.sql(query.dialect))), "doubt")


_CHECKS: tuple[Check, ...] = (
    sums_of_text, mismatched_comparisons, ungrouped_columns, keyless_joins, cartesian_products,
)  # fmt: skip


def remarks_of(
    sql: str,
    catalog: Catalog,
    values: Callable[[], ValueLookup] | None = None,
    is_true: IsTrue | None = None,
    search: Search | None = None,
) -> tuple[Remark, ...]:
    """Return the remarks about a query, of which rankings end with NULL; none if its names cannot be resolved.

    `values` returns the index of stored values; it is called only if the query compares text columns with literals.
    `is_true` runs the probes of remarks; without it, all are taken for true. `search` looks for a literal in columns of
    which not all values are known.
    """
    sql = ending_with_nulls(sql, catalog)
    query = resolved_query(sql, catalog)
    if query is None:
        return ()
    text, _ = sanitize(sql, catalog.dialect, catalog.readable)
    remarks = [remark for remark in _remarks(text or sql, query) if remark.effect != "problem"]
    found = dict.fromkeys([*remarks, *_about_literals(query, values, search)])
    return tuple(remark for remark in found if not (remark.probe and is_true) or is_true(remark))


def warnings_of(sql: str, catalog: Catalog, values: Callable[[], ValueLookup] | None = None) -> tuple[str, ...]:
    """Return the texts of the warnings and findings among `remarks_of`."""
    return tuple(remark.text for remark in remarks_of(sql, catalog, values) if remark.effect != "note")


def names_similar_value(warning: str) -> bool:
    """Return whether a warning of `warnings_of` is about a text that no row has, while similar values are stored."""
    return isinstance(warning, Message) and warning.code == "value_not_stored_nearest"


def names_missing_value(warning: str) -> bool:
    """Return whether a warning of `warnings_of` is about a text that no row has."""
    return isinstance(warning, Message) and warning.code.startswith("value_not_stored")


def _of_each_select(checks: Sequence[Check], query: CheckedQuery) -> Iterator[Remark]:
    return (remark for check in checks for scope, select in query.selects() for remark in check(query, scope, select))


def _remarks(sql: str, query: ResolvedQuery) -> tuple[Remark, ...]:
    """Return the problems and warnings of the statement `sql`, which resolves to `query`."""

    def check() -> tuple[Remark, ...]:
        try:
            own = CheckedQuery(query.catalog, query.scopes, query.nodes)
            static, meant = (_of_each_select(checks, own) for checks in (_CHECKS, MEANING))
            return tuple(dict.fromkeys([*static, *rankings_of_nulls(query), *meant]))
        except Exception:
            # A defect in a check must not block a statement; the database then decides.
            _log.exception("the static checks failed on a statement")
            return ()

    return _statement_remarks.value(sql, query.catalog, check)


def _about_literals(
    query: ResolvedQuery, values: Callable[[], ValueLookup] | None, search: Search | None
) -> list[Remark]:
    if values is None:
        return []
    try:
        return [*missing_literals(query, values), *other_spellings(query, values, search)]
    except Exception:
        # Reading the index may require a database that is currently unavailable.
        _log.exception("the literals of a statement could not be looked up")
        return []

"""GROUP BY completeness: every column beside an aggregate is grouped, or follows from what is grouped."""

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from agent.sql.checks.remark import Remark
from agent.sql.resolved import Resolved

_STRICT = {"postgres", "duckdb", "clickhouse", "spark", "trino"}
"""Engines that refuse it always. MySQL does by its default mode, MariaDB does not, and both say they are MySQL."""

_FOLLOWS_KEY = {"postgres", "mysql", "sqlite"}
"""Engines where a grouped primary key stands for all columns of its table, by their rule or by what they return."""

_TRANSPARENT = (
    exp.Alias, exp.Paren, exp.Binary, exp.Unary, exp.Cast, exp.Case, exp.If, exp.Coalesce, exp.Upper, exp.Lower,
    exp.Round, exp.Concat, exp.Extract, exp.Substring, exp.Trim, exp.Abs, exp.Ordered, exp.Between,
)  # fmt: skip
"""What a column may stand in and is surely not aggregated; in any other function it may be."""


def grouping(query: Resolved) -> Iterator[Remark]:
    """A column that is neither grouped nor aggregated has no one value for a group."""
    for scope, select in query.selects():
        group = select.args.get("group")
        if (
            _is_special(group)
            or not (group or _aggregates(select))
            or _takes_the_row_of_an_extreme(select, query.dialect)
        ):
            continue
        grouped = _grouped(select)
        stray = [column for item in _items(select) for column in _bare(item, grouped)]
        names = [_shown(column) for column in stray if not _follows(column, grouped, scope, query)]
        for name in dict.fromkeys(names):
            text = f"{name} is neither in GROUP BY nor aggregated"
            more = "" if query.dialect in _STRICT else ", so that any row of its group may give the value"
            yield Remark(text + more, query.dialect in _STRICT)


def _is_special(group: exp.Group | None) -> bool:
    """True for sets of groupings, ROLLUP, CUBE, ALL and TOTALS, which have rules of their own."""
    if group is None:
        return False
    sets = any(isinstance(item, exp.GroupingSets | exp.Rollup | exp.Cube) for item in group.expressions)
    return sets or any(value for name, value in group.args.items() if name != "expressions")


def _items(select: exp.Select) -> list[exp.Expr]:
    order = select.args.get("order")
    having = select.args.get("having")
    aliases = set(select.named_selects)
    # A name of the SELECT list means what stands there, which is looked at itself.
    ordered = [item for item in (order.expressions if order else []) if item.this.name not in aliases]
    return [*select.expressions, *ordered, *([having.this] if having else [])]


def _aggregates(select: exp.Select) -> list[exp.Expr]:
    """Return the aggregates of `select` itself: not those over a window, nor those of subqueries."""
    clauses = [*select.expressions, *(select.args[name] for name in ("having", "order") if select.args.get(name))]
    found = (node for clause in clauses for node in clause.find_all(exp.AggFunc))
    return [node for node in found if _is_own_aggregate(node, select)]


def _is_own_aggregate(node: exp.Expr, select: exp.Select) -> bool:
    wrapped = node.parent
    while isinstance(wrapped, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        wrapped = wrapped.parent
    return not isinstance(wrapped, exp.Window) and node.find_ancestor(exp.Query) is select


def _takes_the_row_of_an_extreme(select: exp.Select, dialect: str) -> bool:
    """True on SQLite with one MIN or MAX: the other columns then come from the row that has it."""
    found = _aggregates(select)
    return dialect == "sqlite" and len(found) == 1 and isinstance(found[0], exp.Min | exp.Max)


def _grouped(select: exp.Select) -> list[exp.Expr]:
    """Return the grouped expressions, places (`GROUP BY 1`) and names of the SELECT list looked up in it."""
    group = select.args.get("group")
    named = {item.alias_or_name.lower(): item.unalias() for item in select.expressions if item.alias_or_name}
    found = []
    for item in group.expressions if group else []:
        if isinstance(item, exp.Literal) and item.is_int and 0 < int(item.name) <= len(select.expressions):
            item = select.expressions[int(item.name) - 1].unalias()
        elif isinstance(item, exp.Column) and not item.table:
            item = named.get(item.name.lower(), item)
        found += list(item.flatten()) if isinstance(item, exp.Tuple) else [item]
    return found


def _bare(node: exp.Expr, grouped: list[exp.Expr]) -> Iterator[exp.Column]:
    """Columns in `node` that are surely not aggregated and not part of a grouped expression."""
    if node in grouped:
        return
    if isinstance(node, exp.Column):
        if node.table and not isinstance(node.this, exp.Star):
            yield node
    elif isinstance(node, _TRANSPARENT) and not isinstance(node, exp.AggFunc | exp.Dot):
        for child in node.iter_expressions():
            yield from _bare(child, grouped)


def _follows(column: exp.Column, grouped: list[exp.Expr], scope: Scope, query: Resolved) -> bool:
    """True where `column` is another query's, or of a table whose primary key is grouped."""
    if column.table not in scope.selected_sources:
        return True
    table = query.table(scope.sources[column.table])
    same = {item.name.lower() for item in grouped if isinstance(item, exp.Column) and item.table == column.table}
    if column.name.lower() in same:
        return True
    key = {name.lower() for name in table.primary_key} if table else set()
    return query.dialect in _FOLLOWS_KEY and bool(key) and key <= same


def _shown(column: exp.Column) -> str:
    return f"{column.table}.{column.name}"

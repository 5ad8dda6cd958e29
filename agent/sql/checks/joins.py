"""Joins: those that no key supports, and products without any condition."""

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from agent.catalog.schema import Catalog
from agent.sql.checks.remark import Remark
from agent.sql.joined import connected
from agent.sql.resolved import Place, Resolved

Column = tuple[str, str]
"""The key of a table and the name of a column, in lower case."""


def keyless_joins(query: Resolved) -> Iterator[Remark]:
    """Columns set equal that no foreign key, declared or inferred, connects, where keys say how to do it instead."""
    for scope, _ in query.selects():
        for equal in scope.find_all(exp.EQ):
            left, right = query.place(equal.this, scope), query.place(equal.expression, scope)
            if left and right and equal.this.table != equal.expression.table and not _supported(left, right, query):
                keys = _keys_between(left, right)
                hint = f"; keys join {', '.join(keys)}" if keys else ""
                yield Remark(f"no key supports the join of {left} with {right}{hint}")


def products(query: Resolved) -> Iterator[Remark]:
    """Tables in one FROM that no condition connects."""
    for scope, select in query.selects():
        names = {name for name, (_, source) in scope.selected_sources.items() if _has_rows(source)}
        apart = connected(names, _conditions(select, scope))
        if len(apart) > 1:
            groups = " and ".join(", ".join(sorted(group)) for group in sorted(apart, key=sorted))
            yield Remark(f"no condition connects {groups}: every row is paired with every row")


def _supported(left: Place, right: Place, query: Resolved) -> bool:
    if left.table.key == right.table.key and left.column.name == right.column.name:
        return True
    same_name = left.column.name.lower() == right.column.name.lower()
    is_joined = bool(_targets(left, query.catalog) & _targets(right, query.catalog))
    return is_joined or (same_name and not _keys_between(left, right))


def _targets(place: Place, catalog: Catalog) -> set[Column]:
    """Return the column with all columns that it points to by foreign keys, however many steps away."""
    found: set[Column] = set()
    todo = [(place.table.key, place.column.name)]
    while todo:
        key, name = todo.pop()
        if (key.lower(), name.lower()) in found:
            continue
        found.add((key.lower(), name.lower()))
        table = catalog.tables.get(key)
        for foreign in table.foreign_keys if table else ():
            pairs = zip(foreign.columns, foreign.target_columns, strict=False)
            todo += [(foreign.target, target) for column, target in pairs if column.lower() == name.lower()]
    return found


def _keys_between(left: Place, right: Place) -> list[str]:
    pairs = ((left.table, right.table), (right.table, left.table))
    return [
        f"{a.key}.{column} with {b.key}.{target}"
        for a, b in dict.fromkeys(pairs)
        for foreign in a.foreign_keys
        if foreign.target == b.key
        for column, target in zip(foreign.columns, foreign.target_columns, strict=False)
    ]


def _has_rows(source: exp.Expr | Scope) -> bool:
    """False for what is one row, or made of another table's row: products with those are meant."""
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


def _conditions(select: exp.Select, scope: Scope) -> list[set[str]]:
    """Return for each condition the names of the sources that it speaks of."""
    found = []
    before = [select.args["from_"].this.alias_or_name] if select.args.get("from_") else []
    for join in select.args.get("joins") or ():
        name = join.this.alias_or_name
        if join.args.get("using") or join.args.get("method") == "NATURAL" or isinstance(join.this, exp.Lateral):
            found += [{name, earlier} for earlier in before]
        before.append(name)
    where = select.args.get("where")
    joined = [join.args.get("on") for join in select.args.get("joins") or ()]
    for condition in [*joined, where.this if where else None]:
        parts = condition.flatten() if isinstance(condition, exp.And) else [condition]
        found += [{column.table for column in part.find_all(exp.Column)} for part in parts if part is not None]
    return found

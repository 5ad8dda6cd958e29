"""Which tables and columns of the catalog a statement names."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from agent.catalog.schema import Catalog
from agent.sql.guard import parse
from agent.sql.resolved import Resolved, resolved


@dataclass(frozen=True)
class Names:
    """Keys of tables, and columns as `table.column`, as the catalog writes them."""

    tables: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()


def names_in(sql: str, catalog: Catalog) -> Names:
    """Return the tables and columns of `catalog` that `sql` names, anywhere in it; none where it cannot be read.

    Each name is resolved by the scope in which it stands, through aliases, subqueries and common table expressions. A
    `*` names every column of the tables that it stands for; that of `COUNT(*)` names none.
    """
    try:
        (tree,) = parse(sql, catalog.dialect)
    except ValueError:
        return Names()
    found = resolved(tree, catalog)
    if found is None:
        return Names()
    tables = {table.key for scope in found.scopes for table in map(found.table, scope.sources.values()) if table}
    return Names(frozenset(tables), frozenset(name for scope in found.scopes for name in _columns(found, scope)))


def _columns(found: Resolved, scope: Scope) -> Iterator[str]:
    for column in scope.find_all(exp.Column):
        if isinstance(column.this, exp.Star):
            yield from _all_columns(found, scope.sources.get(column.table))
        elif place := found.place(column, scope):
            yield str(place)
    query = scope.expression
    if isinstance(query, exp.Select) and any(isinstance(each, exp.Star) for each in query.selects):
        for _, source in scope.selected_sources.values():
            yield from _all_columns(found, source)


def _all_columns(found: Resolved, source: exp.Expr | Scope | None) -> Iterator[str]:
    table = found.table(source)
    return (f"{table.key}.{name}" for name in table.column_names) if table else iter(())

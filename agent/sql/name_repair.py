"""Names that the catalog does not have and that can mean only one that it has."""

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from agent.catalog.schema import IGNORES_CASE, Catalog, Table
from agent.sql.joined import connected, inner_conditions
from agent.sql.names import unresolved
from agent.sql.resolved import resolved, table_of
from agent.sql.sources import names_cte

_NUMBER = "number"


def mend_names(tree: exp.Expr, catalog: Catalog) -> list[str]:
    """Put into `tree` the one name that each unknown name can mean; return what was changed, nothing where unsure.

    A name means another that differs from it in case, plural or underscores. A column under the wrong table means the
    one table of the same FROM that has it; an ambiguous one means any of those that an inner join sets equal, or the
    one that is grouped by.
    """
    changes = [*_mend_tables(tree, catalog)]
    columns = _mend_columns(tree, catalog)
    return [] if columns is None else list(dict.fromkeys([*changes, *columns]))


def same_name(one: str, other: str) -> bool:
    """Return whether two names differ in case, plural, underscores and spaces alone."""
    return bool(_forms(one) & _forms(other))


def _forms(name: str) -> set[str]:
    plain = re.sub(r"[\W_]+", "", name.lower())
    endings = ((r"s$", ""), (r"es$", ""), (r"ies$", "y"))
    return {plain} | {re.sub(ending, singular, plain) for ending, singular in endings if len(plain) > 3}


def _mend_tables(tree: exp.Expr, catalog: Catalog) -> Iterator[str]:
    for node in list(tree.find_all(exp.Table)):
        if isinstance(node.this, exp.Func) or names_cte(node, catalog.dialect) or _is_exact(node, catalog):
            continue
        known = table_of(node, catalog)
        tables = [known] if known else [table for table in catalog.tables.values() if _may_mean(node, table, catalog)]
        if len(tables) == 1:
            yield f"{node.name} as {tables[0].key}"
            _rename(tree, node, tables[0])


def _is_exact(node: exp.Table, catalog: Catalog) -> bool:
    table = table_of(node, catalog)
    if table is None or catalog.dialect in IGNORES_CASE:
        return table is not None
    folds = catalog.dialect == "postgres" and not node.this.args.get("quoted")
    return table.name == (node.name.lower() if folds else node.name)


def _may_mean(node: exp.Table, table: Table, catalog: Catalog) -> bool:
    schema = table.schema or catalog.default_schema or ""
    return same_name(node.name, table.name) and node.db.lower() in {"", schema.lower()} and not node.catalog


def _rename(tree: exp.Expr, node: exp.Table, table: Table) -> None:
    old = node.name
    if not node.alias:
        for column in tree.find_all(exp.Column):
            if column.table.lower() == old.lower():
                column.set("table", exp.to_identifier(table.name, quoted=True))
    node.set("this", exp.to_identifier(table.name, quoted=True))
    node.set("db", exp.to_identifier(table.schema, quoted=True) if table.schema else None)


def _mend_columns(tree: exp.Expr, catalog: Catalog) -> list[str] | None:
    """Return what was changed; None where a column stays unknown."""
    columns = list(tree.find_all(exp.Column))
    for number, column in enumerate(columns):
        column.meta[_NUMBER] = number
    query = resolved(tree, catalog)
    changes: dict[int, tuple[str, str]] = {}
    for scope, column in unresolved(query) if query else ():
        meant = _meant(column, scope, catalog)
        if _NUMBER not in column.meta or meant is None:
            return None
        changes[column.meta[_NUMBER]] = meant
    said = [f"{columns[number].sql(comments=False)} as {source}.{name}" for number, (source, name) in changes.items()]
    for number, (source, name) in changes.items():
        columns[number].set("table", exp.to_identifier(source, quoted=True))
        columns[number].set("this", exp.to_identifier(name, quoted=True))
    return said


def _meant(column: exp.Column, scope: Scope, catalog: Catalog) -> tuple[str, str] | None:
    """Return the source and the column that `column` can only mean, if there is one."""
    known = {name: _columns(source, catalog) for name, (_, source) in scope.selected_sources.items()}
    exact = [(source, name) for source, names in known.items() for name in names if name.lower() == column.name.lower()]
    if not column.table and len(exact) > 1:
        return _one_of_equals(column, exact, scope)
    near = [
        (source, name)
        for source, names in known.items()
        for name in names
        if source == (column.table or source) and same_name(name, column.name)
    ]
    options = list(dict.fromkeys([*exact, *near]))
    return options[0] if len(options) == 1 else None


def _columns(source: exp.Expr | Scope, catalog: Catalog) -> list[str]:
    if isinstance(source, Scope):
        return list(source.expression.named_selects) if isinstance(source.expression, exp.Query) else []
    table = table_of(source, catalog) if isinstance(source, exp.Table) else None
    return list(table.column_names) if table else []


def _one_of_equals(column: exp.Column, exact: list[tuple[str, str]], scope: Scope) -> tuple[str, str] | None:
    sources = {source for source, _ in exact}
    select = scope.expression
    equal = [
        {condition.this.table, condition.expression.table}
        for condition in inner_conditions(select)
        if condition.this.name.lower() == condition.expression.name.lower() == column.name.lower()
    ]
    if any(sources <= group for group in connected(sources, equal)):
        return exact[0]
    group = select.args.get("group")
    grouped = {item.table for item in (group.expressions if group else ()) if item.name.lower() == column.name.lower()}
    chosen = [place for place in exact if place[0] in grouped]
    return chosen[0] if len(chosen) == 1 and not column.find_ancestor(exp.Group) else None

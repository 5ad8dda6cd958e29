"""Repair of statements without a model: names that can mean one table or column only."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.schema.catalog import Catalog, Table
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.guard import parse, sanitize
from datasphinx.agent.sql.guard.tables import names_cte, system_names
from datasphinx.agent.sql.names import (
    connected_groups,
    inner_join_equalities,
    qualify_names,
    table_of,
    unresolved_columns,
)
from datasphinx.agent.sql.validation import find_problem

_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.ILike, exp.In, exp.Between)
_INDEX = "index"
_NAMES_RULE = "catalog_tables"
"""The guard's rule that a statement with a misspelt table violates."""


@dataclass(frozen=True)
class Repair:
    """A replacement for a statement, and a description of the change."""

    sql: str
    description: str


def repair(sql: str, catalog: Catalog) -> Repair | None:
    """Return a repair of the names in `sql` that passes validation; None if there is none. A valid `sql` has none."""
    try:
        _, findings = sanitize(sql, catalog.dialect, catalog.readable)
        if not findings and find_problem(sql, catalog) is None:
            return _with_twins(sql, catalog)
        if system_names(findings) or any(finding.rule != _NAMES_RULE for finding in findings):
            return None
        candidate = _with_names(sql, catalog)
        if candidate and find_problem(candidate.sql, catalog) is None:
            return candidate
    except Exception:
        # A parser failure must not stop the run: the statement can still go back to the model.
        _log.exception("the repair of a statement failed")
    return None


def _with_twins(sql: str, catalog: Catalog) -> Repair | None:
    """Return `sql` with quotes around the tables whose names are folded, if there is a table in that case too."""
    tree = _parse_one(sql, catalog.dialect) if catalog.engine.folds_unquoted else None
    changes = []
    for node in tree.find_all(exp.Table) if tree is not None else ():
        table, keys = table_of(node, catalog), catalog.keys_named(node.name)
        names = {catalog.full_names[key].name for key in keys}
        if table and node.name in names and not node.this.args.get("quoted") and table.name != node.name:
            changes.append(f"took {node.name} as the table {table.name}, although {node.name} exists")
            node.set("this", exp.to_identifier(table.name, quoted=True))
    return Repair(print_statement(tree, catalog.dialect), "; ".join(changes)) if tree is not None and changes else None


def _with_names(sql: str, catalog: Catalog) -> Repair | None:
    tree = _parse_one(sql, catalog.dialect)
    changes = _repair_names(tree, catalog) if tree is not None else []
    if tree is None or not changes:
        return None
    return Repair(print_statement(tree, catalog.dialect), "; ".join(f"took {change}" for change in changes))


def _parse_one(sql: str, dialect: str) -> exp.Expr | None:
    try:
        (tree,) = parse(sql, dialect)
    except ValueError:
        return None
    return tree


def _repair_names(tree: exp.Expr, catalog: Catalog) -> list[str]:
    """Replace unknown names in `tree` by the only catalog name that each can mean; return the changes, none if unsure.

    Names match if they differ only in case, plural or underscores. A column qualified with the wrong table matches the
    only table of the same FROM that has it. An ambiguous column matches any of the columns that an inner join sets
    equal, or the one that is grouped. Names of tables that row rules deny are not used.
    """
    tables = (table_of(node, catalog) for node in tree.find_all(exp.Table))
    if any(table.key in catalog.denied for table in tables if table):
        return []
    changes = [*_repair_tables(tree, catalog)]
    columns = _repair_columns(tree, catalog)
    return [] if columns is None else list(dict.fromkeys([*changes, *columns]))


def _is_same_name(one: str, other: str) -> bool:
    """Return whether two names differ only in case, plural, underscores and spaces."""
    return bool(_forms(one) & _forms(other))


def _forms(name: str) -> set[str]:
    plain = re.sub(r"[\W_]+", "", name.lower())
    endings = ((r"s$", ""), (r"es$", ""), (r"ies$", "y"))
    return {plain} | {re.sub(ending, singular, plain) for ending, singular in endings if len(plain) > 3}


def _repair_tables(tree: exp.Expr, catalog: Catalog) -> Iterator[str]:
    for node in list(tree.find_all(exp.Table)):
        if isinstance(node.this, exp.Func) or names_cte(node, catalog.engine):
            continue
        exact = table_of(node, catalog)
        if exact and (catalog.engine.ignores_case or exact.name == catalog.engine.stored_name(node.this)):
            continue
        allowed = (table for key, table in catalog.tables.items() if key not in catalog.denied and not node.catalog)
        tables = (
            [exact]
            if exact
            else [
                table
                for table in allowed
                if node.db.lower() in {"", (table.schema or catalog.default_schema or "").lower()}
                and _is_same_name(node.name, table.name)
            ]
        )
        if len(tables) == 1:
            yield f"{node.name} as {tables[0].key}"
            _rename(tree, node, tables[0])


def _rename(tree: exp.Expr, node: exp.Table, table: Table) -> None:
    old = node.name
    if not node.alias:
        for column in tree.find_all(exp.Column):
            if column.table.lower() == old.lower():
                column.set("table", exp.to_identifier(table.name, quoted=True))
    node.set("this", exp.to_identifier(table.name, quoted=True))
    node.set("db", exp.to_identifier(table.schema, quoted=True) if table.schema else None)


def _repair_columns(tree: exp.Expr, catalog: Catalog) -> list[str] | None:
    """Return the changes; None if a column stays unknown, or if a change compares a column with itself."""
    columns = list(tree.find_all(exp.Column))
    for number, column in enumerate(columns):
        column.meta[_INDEX] = number
    query = qualify_names(tree, catalog)
    changes: dict[int, tuple[exp.Expr, str]] = {}
    aliases = {node.alias.lower() for node in tree.find_all(exp.Alias, exp.TableAlias, exp.CTE)}
    for scope, column in unresolved_columns(query) if query else ():
        if _INDEX not in column.meta:
            return None
        original = columns[column.meta[_INDEX]]
        is_alias = not original.table and original.name.lower() in aliases
        intended = None if is_alias else _intended_column(column, scope, catalog)
        if intended is not None:
            source, name = intended
            is_clear = not original.table and len(scope.selected_sources) == 1
            new = exp.column(name, None if is_clear else source, quoted=True)
            changes[column.meta[_INDEX]] = new, f"{source}.{name}"
        elif original.this.args.get("quoted") and not original.table and isinstance(original.parent, _COMPARED):
            changes[column.meta[_INDEX]] = exp.Literal.string(original.name), "a text"
        else:
            return None
    descriptions = [f"{columns[number].sql(comments=False)} as {text}" for number, (_, text) in changes.items()]
    for number, (replacement, _) in changes.items():
        columns[number].replace(replacement)
    return None if any(_compares_with_itself(each) for each, _ in changes.values()) else descriptions


def _compares_with_itself(column: exp.Expr) -> bool:
    """Return whether `column` is compared with the same column, as in a join whose other table lacks it."""
    comparison = column.parent
    if not isinstance(comparison, exp.Binary) or not isinstance(comparison.left, exp.Column):
        return False
    sides = [(side.text("table").lower(), side.name.lower()) for side in (comparison.left, comparison.right)]
    return sides[0] == sides[1]


def _intended_column(column: exp.Column, scope: Scope, catalog: Catalog) -> tuple[str, str] | None:
    """Return the source and column that `column` must mean, or None."""
    columns = {name: _columns(source, catalog) for name, (_, source) in scope.selected_sources.items()}
    exact = [
        (source, name) for source, names in columns.items() for name in names if name.lower() == column.name.lower()
    ]
    if not column.table and len(exact) > 1:
        return _any_equal_column(column, exact, scope)
    near = [
        (source, name)
        for source, names in columns.items()
        for name in names
        if source == (column.table or source) and _is_same_name(name, column.name)
    ]
    options = list(dict.fromkeys([*exact, *near]))
    return options[0] if len(options) == 1 else None


def _columns(source: exp.Expr | Scope, catalog: Catalog) -> list[str]:
    if isinstance(source, Scope):
        return list(source.expression.named_selects) if isinstance(source.expression, exp.Query) else []
    table = table_of(source, catalog) if isinstance(source, exp.Table) else None
    return list(table.column_names) if table else []


def _any_equal_column(column: exp.Column, exact: list[tuple[str, str]], scope: Scope) -> tuple[str, str] | None:
    sources = {source for source, _ in exact}
    select = scope.expression
    equal = [
        {condition.this.table, condition.expression.table}
        for condition in inner_join_equalities(select)
        if condition.this.name.lower() == condition.expression.name.lower() == column.name.lower()
    ]
    if any(sources <= group for group in connected_groups(sources, equal)):
        return exact[0]
    group = select.args.get("group")
    grouped = {item.table for item in (group.expressions if group else ()) if item.name.lower() == column.name.lower()}
    candidates = [(source, name) for source, name in exact if source in grouped]
    return candidates[0] if len(candidates) == 1 and not column.find_ancestor(exp.Group) else None


_log = logging.getLogger(__name__)

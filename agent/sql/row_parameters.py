"""Parameters of row rules: their values have the type of the column, and text is compared exactly.

Engines convert values of another type (MySQL reads '1abc' as 1, and compares any text with 0 as a number), and
collations ignore case, accents or trailing blanks. A value from a token could then permit rows of others.
"""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from math import isfinite
from typing import Any

from sqlglot import exp

from datasphinx.agent.engines import engine_of
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sql.guard import parse

_EQUALITIES = exp.EQ | exp.NEQ | exp.NullSafeEQ | exp.NullSafeNEQ | exp.In
_COMPARISONS = _EQUALITIES | exp.GT | exp.GTE | exp.LT | exp.LTE | exp.Between
_TIMES = {"date": date.fromisoformat, "datetime": datetime.fromisoformat, "time": time.fromisoformat}


def compared_columns(predicate: exp.Expr, table: Table, catalog: Catalog) -> Iterator[tuple[str, Column]]:
    """Yield the parameters of `predicate`, the row rule of `table`, with each column that they are compared with."""
    for comparison in predicate.find_all(*_COMPARISONS.__args__):
        operands = [part.unnest() for part in comparison.iter_expressions()]
        names = [operand.name for operand in operands if isinstance(operand, exp.Placeholder)]
        for column in (operand for operand in operands if isinstance(operand, exp.Column)):
            for name in names:
                for candidate in _columns(column, table, catalog):
                    yield name, candidate


def has_type_of(value: Any, column: Column) -> bool:
    """Return whether every engine compares `value` with `column` without converting the column.

    A column of another type than numbers, Boolean values, dates and times is compared with text.
    """
    kind = column.type_class
    if column.type.upper() in {"", "NULL"}:
        return True
    if isinstance(value, bool):
        return kind == "boolean"
    if kind in {"number", "boolean"}:
        return isinstance(value, int | float) and isfinite(value)
    if not isinstance(value, str):
        return False
    try:
        return kind not in _TIMES or bool(_TIMES[kind](value))
    except ValueError:
        return False


def compared_exactly(predicate: exp.Expr, table: Table, catalog: Catalog, values: Mapping[str, Any]) -> exp.Expr:
    """Return `predicate` with equality of text and parameters by bytes, whatever the collation.

    `a = :p` becomes `a = :p AND bytes(a) = bytes(:p)`, so that an index of `a` remains useful.
    """
    result = predicate.copy()
    wrapper = exp.Paren(this=result)
    for comparison in list(result.find_all(*_EQUALITIES.__args__)):
        names = [node.name for node in comparison.find_all(exp.Placeholder) if _belongs(node, comparison)]
        columns = [node for node in comparison.find_all(exp.Column) if _belongs(node, comparison)]
        types = [column for node in columns for column in _columns(node, table, catalog)]
        is_text = any(isinstance(values.get(name), str) for name in names)
        kinds = {column.type_class for column in types}
        needs_bytes = not kinds or kinds - _TIMES.keys() if is_text else "text" in kinds
        if not names or not needs_bytes or comparison.args.get("query"):
            continue
        exact = _by_bytes(comparison, catalog.dialect, types)
        if exact is not None:
            connector = exp.Or if isinstance(comparison, exp.NEQ | exp.NullSafeNEQ) else exp.And
            both = exp.Paren(this=connector(this=comparison.copy(), expression=exact))
            comparison.replace(both)
    found: exp.Expr = wrapper.this
    return found


def _belongs(node: exp.Expr, comparison: exp.Expr) -> bool:
    """Return whether `node` is part of the operands of `comparison`, and not of a subquery in it."""
    query = node.find_ancestor(exp.Query)
    return query is comparison.find_ancestor(exp.Query)


def _by_bytes(comparison: exp.Expr, dialect: str, columns: list[Column]) -> exp.Expr | None:
    """Return `comparison` with its operands as bytes; None where the engine compares text by bytes."""
    engine = engine_of(dialect)
    if engine.compares_by_bytes(each.type for each in columns):
        return None
    (template,) = parse(f"SELECT {engine.text_bytes}", dialect)
    copy = comparison.copy()
    for operand in list(copy.iter_expressions()):
        value = template.expressions[0].copy()
        operand.replace(value)
        next(value.find_all(exp.Column)).replace(operand)
    return copy


def _columns(node: exp.Column, table: Table, catalog: Catalog) -> list[Column]:
    """Return the catalog columns that `node` may mean: of the innermost query that has one of its name."""
    select = node.find_ancestor(exp.Select)
    while select is not None:
        sources = select.find_all(exp.Table)
        keys = (
            key
            for source in sources
            if node.table in {"", source.alias_or_name}
            for key in catalog.keys_named(source.name)
        )
        found = [column for key in keys for column in catalog.tables[key].columns if _is_named(column, node)]
        if found:
            return found
        select = select.find_ancestor(exp.Select)
    return [column for column in table.columns if _is_named(column, node)]


def _is_named(column: Column, node: exp.Column) -> bool:
    return column.name.lower() == node.name.lower()

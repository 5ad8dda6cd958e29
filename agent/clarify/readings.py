"""Labels of statements that answer the same question in different ways."""

from collections.abc import Iterator, Sequence

import sqlglot
from sqlglot import exp

from agent.llm.schemas import ReadingOption
from agent.messages import Language, render
from agent.schema.catalog import Catalog

_MAX_READINGS = 3


def options_of(statements: Sequence[str], catalog: Catalog, language: Language) -> list[ReadingOption]:
    """Return the first three of `statements` as options.

    A label lists the clauses in which a statement differs from the others; if there are none, its output columns.
    """
    shown = statements[:_MAX_READINGS]
    parts = [_parts(sqlglot.parse_one(sql, read=catalog.dialect), catalog.dialect, language) for sql in shown]
    common = set(parts[0]).intersection(*parts[1:])
    labels = [[part for part in own if part not in common] or own[:1] for own in parts]
    return [
        ReadingOption(label="; ".join(label), reading="; ".join(own), sql=sql)
        for sql, label, own in zip(shown, labels, parts, strict=True)
    ]


def _parts(tree: exp.Expr, dialect: str, language: Language) -> list[str]:
    """Return the clauses of a statement in a few words each: outputs, tables, conditions, groups, order, limit."""
    if not isinstance(tree, exp.Select):
        selects = tree.find_all(exp.Select)
        return list(dict.fromkeys(part for select in selects for part in _parts(select, dialect, language)))
    outputs = _names([output.unalias() for output in tree.selects], dialect)
    parts = [render("reading_distinct", language, names=outputs) if tree.args.get("distinct") else outputs]
    tables = [table.name for table in tree.find_all(exp.Table) if table.parent_select is tree]
    parts.append(render("reading_tables", language, names=", ".join(tables)))
    parts += _conditions(tree, dialect)
    group, order, limit = tree.args.get("group"), tree.args.get("order"), tree.args.get("limit")
    if group:
        parts.append(render("reading_groups", language, names=_names(group.expressions, dialect)))
    if order:
        parts.append(render("reading_order", language, names=_names(order.expressions, dialect)))
    if limit:
        parts.append(render("reading_limit", language, count=limit.expression.sql(dialect=dialect)))
    return parts


def _conditions(tree: exp.Select, dialect: str) -> Iterator[str]:
    for clause in (tree.args.get("where"), tree.args.get("having")):
        if clause:
            parts = clause.this.flatten() if isinstance(clause.this, exp.And) else [clause.this]
            yield from (_text(part, dialect) for part in parts)


def _names(expressions: Sequence[exp.Expr], dialect: str) -> str:
    return ", ".join(_text(expression, dialect) for expression in expressions)


def _text(expression: exp.Expr, dialect: str) -> str:
    """Return an expression as text: columns without tables, and nested queries as `columns (tables)`."""
    expression = expression.copy()
    for query in list(expression.find_all(exp.Select)):
        tables = ", ".join(table.name for table in query.find_all(exp.Table))
        query.replace(exp.column(f"{_names(query.selects, dialect)} ({tables})"))
    for column in expression.find_all(exp.Column):
        column.set("table", None)
        column.this.set("quoted", False)
    return expression.sql(dialect=dialect)

"""Where the stored dates end that a statement asks for: the usual reason why it finds nothing."""

from collections.abc import Iterator

from sqlglot import exp

from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.guard import shared_nodes
from datasphinx.agent.sql.names import referenced_names


def ends_of_dates(sql: str, source: Source) -> dict[str, str]:
    """Return the last value of each column of dates of which the conditions of `sql` ask for later ones.

    The columns have their tables before them. There are none if row rules hide some of the values.
    """
    if source.access:
        return {}
    used = {name.lower() for name in referenced_names(sql, source.catalog).columns}
    bounds = [
        (column.name.lower(), literal.name)
        for where in shared_nodes(sql, source.catalog.dialect, exp.Where)
        for compared, bound in _lower_bounds(where)
        for column in compared.find_all(exp.Column)
        for literal in bound.find_all(exp.Literal)
        if literal.name[:4].isdecimal() and literal.name[4:5] in ("", "-")
    ]
    return {
        f"{table.key}.{column.name}": column.maximum
        for table in source.catalog.tables.values()
        for column in table.columns
        if column.type_class != "number" and column.maximum
        if f"{table.key}.{column.name}".lower() in used
        if any(name == column.name.lower() and bound > column.maximum for name, bound in bounds)
    }


def _lower_bounds(where: exp.Where) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield each side of a comparison that is at least as large as the other, and the other."""
    for node in where.find_all(exp.EQ, exp.GT, exp.GTE):
        yield node.this, node.expression
    for node in where.find_all(exp.LT, exp.LTE):
        yield node.expression, node.this
    for between in where.find_all(exp.Between):
        yield between.this, between.args["low"]

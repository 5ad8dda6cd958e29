"""SQL of other systems as expressions of a source: names resolved against its catalog, in its dialect."""

import re
from collections.abc import Iterable, Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokens import Tokenizer

from datasphinx.agent.knowledge.references import Unresolved, find_column, find_table, parse_expression
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.dialects import print_statement

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def read_expression(sql: str, catalog: Catalog, dialect: str | None = None) -> exp.Expr:
    """Return the tree of an SQL expression that is written in `dialect`, by default that of the source.

    Raises:
        Unresolved: the text is not a single expression of `dialect`, or the source's dialect cannot express it.
    """
    if dialect is None or dialect == catalog.engine.dialect:
        return parse_expression(sql, catalog.dialect)
    try:
        tree = sqlglot.parse_one(f"SELECT {sql}", read=dialect)
        translated = tree.sql(catalog.dialect, unsupported_level=ErrorLevel.RAISE).removeprefix("SELECT ")
    except (SqlglotError, ValueError) as error:
        raise Unresolved(f"`{sql}` cannot be translated from {dialect}: {str(error).splitlines()[0]}") from None
    return parse_expression(translated, catalog.dialect)


def column_node(table: str, column: str, catalog: Catalog) -> exp.Column:
    """Return a reference to a column of the table with the key `table`."""
    full = catalog.full_names[table]
    return exp.Column(
        this=_identifier(column), table=_identifier(full.name), db=_identifier(full.schema) if full.schema else None
    )


def _identifier(name: str) -> exp.Identifier:
    is_plain = _PLAIN_NAME.fullmatch(name) and name.upper() not in Tokenizer.KEYWORDS
    return exp.to_identifier(name, quoted=not is_plain)


def with_tables(
    tree: exp.Expr, catalog: Catalog, default: str | None, tables: Mapping[str, str] | None = None
) -> exp.Expr:
    """Return a copy of `tree` with columns qualified by the tables of `catalog`.

    A column without a table belongs to the table with the key `default`. `tables` contains the keys of the
    tables that have other names in `tree`, by these names in lower case.

    Raises:
        Unresolved: a table or column does not exist, or `tree` contains a subquery.
    """
    if tree.find(exp.Query):
        raise Unresolved("it contains a subquery")

    def qualified(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        named = ".".join(part.name for part in node.parts[:-1])
        if named:
            key = (tables or {}).get(named.lower()) or find_table(named, catalog)
        elif default is not None:
            key = default
        else:
            raise Unresolved(f"`{node.name}` must be written as `table.column`")
        table, column = find_column(f"{key}.{node.name}", catalog)
        return column_node(table, column, catalog)

    return tree.copy().transform(qualified)


def sql_of(tree: exp.Expr, catalog: Catalog) -> str:
    """Return `tree` as SQL of the source. Raise Unresolved if the dialect cannot express it."""
    try:
        return print_statement(tree, catalog.dialect)
    except SqlglotError as error:
        raise Unresolved(str(error).splitlines()[0]) from None


def filtered(expression: exp.Expr, conditions: Iterable[exp.Expr]) -> exp.Expr:
    """Return `expression` with `conditions` inside its aggregate functions, as `SUM(CASE WHEN ... THEN x END)`.

    Raises:
        Unresolved: an aggregate function sorts its rows or has several arguments.
    """
    condition = exp.and_(*(each.copy() for each in conditions), copy=False)
    result = expression.copy()
    calls = [result] if isinstance(result, exp.AggFunc) else []
    calls += [call for call in result.find_all(exp.AggFunc) if call is not result]
    for call in calls:
        if call.find_ancestor(exp.WithinGroup) or isinstance(call.this, exp.Order):
            raise Unresolved(f"the filter cannot be part of `{call.sql()}`")
        value = call.this
        if isinstance(value, exp.Distinct):
            if len(value.expressions) != 1:
                raise Unresolved(f"the filter cannot be part of `{call.sql()}`")
            value.set("expressions", [_case(condition, value.expressions[0])])
        else:
            is_star = value is None or isinstance(value, exp.Star)
            call.set("this", _case(condition, exp.Literal.number(1) if is_star else value))
    return result


def _case(condition: exp.Expr, value: exp.Expr) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def replaced_columns(tree: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a copy of `tree` with its columns replaced by the values of the same name, in parentheses.

    Raises:
        Unresolved: `values` has no entry for a column.
    """

    def replaced(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        value = values.get(node.name.lower()) if not node.table else None
        if value is None:
            raise Unresolved(f"`{node.sql()}` is not one of its metrics")
        return value.copy() if isinstance(value, exp.AggFunc | exp.Column) else exp.paren(value.copy())

    return tree.copy().transform(replaced)


def aggregate(function: str, value: exp.Expr, percentile: Sequence[float] = ()) -> exp.Expr:
    """Return a call of an aggregate function of the dbt semantic layer with the argument `value`.

    Raises:
        Unresolved: there is no such function.
    """
    value = value.copy()
    if function == "sum" and isinstance(value, exp.Literal) and value.name == "1":
        return exp.Count(this=exp.Star())
    simple: dict[str, type[exp.AggFunc]] = {
        "sum": exp.Sum, "average": exp.Avg, "min": exp.Min, "max": exp.Max, "median": exp.Median, "count": exp.Count,
    }  # fmt: skip
    if function in simple:
        return simple[function](this=value)
    if function == "count_distinct":
        return exp.Count(this=exp.Distinct(expressions=[value]))
    if function == "sum_boolean":
        one, zero = exp.Literal.number(1), exp.Literal.number(0)
        return exp.Sum(this=exp.Case(ifs=[exp.If(this=value, true=one)], default=zero))
    if function == "percentile" and percentile:
        call = exp.PercentileCont(this=exp.Literal.number(percentile[0]))
        order = exp.Order(expressions=[exp.Ordered(this=value, nulls_first=False)])
        return exp.WithinGroup(this=call, expression=order)
    raise Unresolved(f"there is no aggregate function `{function}`")

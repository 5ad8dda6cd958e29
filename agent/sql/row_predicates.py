"""Reading the predicate of a row rule: one boolean expression over the columns of one table."""

from sqlglot import exp

from agent.catalog.schema import Catalog, Table
from agent.errors import ConfigurationError
from agent.sql.dialects import print_statement
from agent.sql.guard import check, parse

SETTING = "row_rules"
"""What errors call the place where row rules are set."""

_BOOLEAN = (
    exp.Predicate, exp.Connector, exp.Not, exp.Boolean, exp.Exists, exp.Between, exp.In, exp.Column, exp.Func,
    exp.Paren,
)  # fmt: skip


def parse_predicate(text: str, table: Table, catalog: Catalog) -> exp.Expr:
    """Return the predicate `text` on `table` as a tree, its parameters as placeholders, its columns unqualified.

    Tables in its subqueries are qualified by the default schema, so that no WITH of a statement can take their place.

    Raises:
        ConfigurationError: it is no single boolean expression over the columns of `table`, or the guard refuses it.
    """
    predicate = _parsed(text, table, catalog.dialect)
    _check_columns(predicate, table)
    harmless = predicate.transform(lambda node: exp.Null() if isinstance(node, exp.Placeholder) else node)
    query = exp.select("1").from_(_name(table)).where(harmless)
    findings = check(print_statement(query, catalog.dialect), catalog.dialect, catalog.readable)
    if findings:
        raise _wrong(table, f"it is refused ({findings[0]})")
    for inner in predicate.find_all(exp.Table):
        if not inner.args.get("db"):
            if not catalog.default_schema:
                raise _wrong(table, f"it has to name the schema of {inner.name}")
            inner.set("db", exp.to_identifier(catalog.default_schema))
    return predicate


def _parsed(text: str, table: Table, dialect: str) -> exp.Expr:
    try:
        trees = parse(f"SELECT 1 FROM t WHERE ({text}\n)", dialect)
    except ValueError as error:
        raise _wrong(table, f"it cannot be parsed: {error}") from error
    where = trees[0].args.get("where") if len(trees) == 1 else None
    parts = {name for name, value in trees[0].args.items() if value}
    if where is None or parts != {"expressions", "from_", "where"} or not isinstance(where.this, exp.Paren):
        raise _wrong(table, "it is not one expression")
    predicate = where.this.this
    beyond_one_row = predicate.find_all(exp.AggFunc, exp.Window)
    if not isinstance(predicate, _BOOLEAN) or any(node.find_ancestor(exp.Query) is trees[0] for node in beyond_one_row):
        raise _wrong(table, "it is no condition on one row")
    if any(not isinstance(node.this, str) for node in predicate.find_all(exp.Placeholder)) or predicate.find(
        exp.Parameter
    ):
        raise _wrong(table, "its parameters have to be written as :name")
    return predicate.copy()


def _check_columns(predicate: exp.Expr, table: Table) -> None:
    known = {name.lower() for name in table.column_names}
    for column in predicate.find_all(exp.Column):
        if column.find_ancestor(exp.Query):
            continue
        if column.name.lower() not in known or column.table.lower() not in {"", table.name.lower()}:
            raise _wrong(table, f"it names {column.sql()}, which is no column of the table")
        column.set("table", None)


def _name(table: Table) -> exp.Table:
    return exp.table_(table.name, db=table.schema, quoted=True)


def _wrong(table: Table, reason: str) -> ConfigurationError:
    return ConfigurationError(SETTING, f"the row rule of {table.key} cannot be used: {reason}")

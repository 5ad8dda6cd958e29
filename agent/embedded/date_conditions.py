"""Conditions on dates by the range that the question names, in place of those that the model writes.

A small model often writes a month or a year where the question names a day, a quarter or "the last 30 days".
"""

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta

from sqlglot import exp

from datasphinx.agent.embedded.compact import identifier, table_nodes
from datasphinx.agent.embedded.date_ranges import Days
from datasphinx.agent.queryspec.spec import AllOf, AnyOf, Between, Compared, Filter, QuerySpec, columns_of, conditions
from datasphinx.agent.schema.catalog import TIMES, Catalog, Column, Table
from datasphinx.agent.sql.names import key_of

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?")
_COMPARISONS = (exp.EQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Like)
_PERIOD = re.compile("%[Yymd]")
"""Formats of a year, month or day, in contrast to those of weekdays and hours."""


def contains_dates(column: Column) -> bool:
    """Return whether the values of `column` are dates or times that compare with ISO 8601 texts."""
    samples = [text for text in (column.minimum, *column.examples) if text]
    if not all(map(_ISO_DATE.fullmatch, samples)):
        return False
    return column.type_class in TIMES or (column.type_class == "text" and bool(samples))


def limit_dates(tree: exp.Query, catalog: Catalog, days: Days) -> None:
    """Limit the rows of `tree` to `days`, in place.

    The range replaces all conditions on a date column. Without such a condition, it is added to a statement with one
    SELECT whose tables have a single date column. The statement is left as it is if a condition on dates is negated or
    an alternative to another one, or if such conditions concern several columns or several SELECTs.
    """
    selects = list(tree.find_all(exp.Select))
    dated = [(select, node, column) for select in selects for node, column in _date_conditions(select, catalog)]
    if dated:
        select, _, column = dated[0]
        if any(owner is not select or other.sql() != column.sql() for owner, _, other in dated):
            return
    elif len(selects) == 1:
        select = selects[0]
        columns = list(_date_columns(select, catalog))
        if len(columns) != 1:
            return
        column = columns[0]
    else:
        return
    where = select.args.get("where")
    required = list(where.this.flatten() if isinstance(where.this, exp.And) else [where.this]) if where else []
    replaced = [node for _, node, _ in dated]
    if any(node.args.get("negate") or all(node is not condition for condition in required) for node in replaced):
        return
    limited = [condition for condition in required if all(condition is not node for node in replaced)]
    if days.start:
        limited.append(exp.GTE(this=column.copy(), expression=exp.Literal.string(days.start.isoformat())))
    if days.end:
        limited.append(exp.LT(this=column.copy(), expression=exp.Literal.string(days.end.isoformat())))
    select.set("where", exp.Where(this=exp.and_(*limited, copy=False)))


def _date_conditions(select: exp.Select, catalog: Catalog) -> Iterator[tuple[exp.Expr, exp.Column]]:
    """Yield the comparisons of one date column with constants in `select`, without its subqueries."""
    for node in select.find_all(*_COMPARISONS):
        columns = list(node.find_all(exp.Column))
        formats = [call.args["format"].name for call in node.find_all(exp.TimeToStr)]
        if (
            node.parent_select is select
            and columns
            and not node.find(exp.Anonymous, exp.Query)
            and all(column == columns[0] for column in columns)
            and all(map(_PERIOD.search, formats))
            and _is_date_column(columns[0], select, catalog)
        ):
            yield node, columns[0]


def _is_date_column(column: exp.Column, select: exp.Select, catalog: Catalog) -> bool:
    return any(
        other.name.lower() == column.name.lower() and contains_dates(other)
        for name, table in _tables(select, catalog)
        for other in table.columns
        if column.table.lower() in ("", name.lower())
    )


def _date_columns(select: exp.Select, catalog: Catalog) -> Iterator[exp.Column]:
    tables = list(_tables(select, catalog))
    for name, table in tables:
        for column in table.columns:
            if contains_dates(column):
                prefix = identifier(name, catalog.dialect) if len(tables) > 1 else None
                yield exp.Column(this=identifier(column.name, catalog.dialect), table=prefix)


def _tables(select: exp.Select, catalog: Catalog) -> Iterator[tuple[str, Table]]:
    """Yield the tables of `select`, each after the name that its columns are qualified with."""
    for node in table_nodes(select):
        key = key_of(node, catalog)
        if key:
            yield node.alias_or_name, catalog.tables[key]


def limited_spec(spec: QuerySpec, table: Table, days: Days) -> QuerySpec | None:
    """Return `spec` with its rows limited to `days`; None if its conditions on dates do not determine a column.

    See `limit_dates`.
    """
    dates = {column.name for column in table.columns if column.type_class in TIMES}
    dated = [
        condition
        for condition in spec.filters
        if any(dates.intersection(columns_of(part)) for part in conditions([condition]))
    ]
    if any(isinstance(condition, AnyOf | AllOf) or condition.op in ("!=", "is_null") for condition in dated):
        return None
    columns = {name for condition in conditions(dated) for name in columns_of(condition)} if dated else dates
    if len(columns) != 1:
        return None
    kept = [condition for condition in spec.filters if condition not in dated]
    return spec.model_copy(update={"filters": [*kept, *_filters(columns.pop(), days)]})


def _filters(column: str, days: Days) -> Iterable[Filter]:
    last = days.end and (days.end - timedelta(days=1)).isoformat()
    if days.start and last:
        return [Between(col=column, op="between", value=[days.start.isoformat(), last])]
    if days.start:
        return [Compared(col=column, op=">=", value=days.start.isoformat())]
    return [Compared(col=column, op="<=", value=last or "")]

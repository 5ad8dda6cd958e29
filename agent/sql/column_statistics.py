"""Statements that compute statistics of columns and of tables, for a description of the data."""

from collections.abc import Sequence

from sqlglot import exp

from datasphinx.agent.engines import engine_of
from datasphinx.agent.schema.catalog import Column, Table
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.types import Result

MAX_COLUMNS = 60
"""Described columns of a table; the other ones are only counted."""
MAX_TABLES = 60
"""Largest number of tables of an overview."""
_MAX_SORTED_ROWS = 2_000_000
"""Quartiles of a column need its values in order; larger tables are described without them."""
_TEXT_CHARS = 80

COLUMN_STATISTICS = (
    "position",
    "table_name",
    "column_name",
    "kind",
    "row_count",
    "column_count",
    "value_count",
    "distinct_count",
    "lowest",
    "highest",
    "average",
    "median",
    "outliers",
    "first_date",
    "last_date",
    "months",
    "days",
    "most_frequent",
    "frequency",
)
"""Columns of the result of `column_statistics`."""
TABLE_STATISTICS = ("position", "table_name", "row_count", "column_count", "date_column", "first_date", "last_date")
"""Columns of the result of `table_statistics`."""
_TEXTS = {"column_name", "kind", "first_date", "last_date", "most_frequent", "table_name", "date_column"}
_FRACTIONS = {"lowest", "highest", "average", "median"}


def is_statistics(result: Result) -> bool:
    """Return whether `result` is that of one of the statements."""
    return tuple(result["columns"]) in (COLUMN_STATISTICS, TABLE_STATISTICS)


def column_statistics(table: Table, dialect: str) -> str:
    """Return a statement with a row of `COLUMN_STATISTICS` for each of the first `MAX_COLUMNS` columns of `table`.

    Secret columns are left out; one column at least must not be secret.

    `kind` is that of the column: number, key, date, text, boolean or other. Keys and other columns have counts only.
    `column_count` is the number of all columns of the table.
    An outlier lies more than 1.5 interquartile ranges outside of the quartiles (Tukey); a quartile is the value at the
    nearest rank. `months` and `days` count those with a date. `most_frequent` is the first in order of equally
    frequent texts; `frequency` is its number of rows, for a boolean column that of true.
    """
    columns = [column for column in table.columns if not column.secret][:MAX_COLUMNS]
    return print_statement(_union([_column(column, table, dialect) for column in columns]), dialect)


def table_statistics(tables: Sequence[Table], dialect: str) -> str:
    """Return a statement with a row of `TABLE_STATISTICS` for each of `tables`; dates are those of its first date."""
    return print_statement(_union([_table(table) for table in tables]), dialect)


def _union(queries: Sequence[exp.Select]) -> exp.Query:
    """Return the rows of all `queries`, in their order, which `position` has; engines may return them in any order."""
    first, *others = [
        query.select(exp.alias_(exp.Literal.number(at), "position"), append=False).select(*query.expressions)
        for at, query in enumerate(queries, 1)
    ]
    union: exp.Query = first
    for query in others:
        union = exp.union(union, query, distinct=False, copy=False)
    return union.order_by("position")


def _source(table: Table) -> exp.Table:
    return exp.table_(table.name, db=table.schema, quoted=True)


def _name(column: Column) -> exp.Column:
    return exp.column(column.name, quoted=True)


def _select(values: dict[str, exp.Expr], names: Sequence[str]) -> exp.Select:
    """Return a SELECT of `names` without the position; a column without a value is NULL of its type."""
    columns = []
    for name in names[1:]:
        kind = "varchar" if name in _TEXTS else "double" if name in _FRACTIONS else "bigint"
        # Counts have different types in engines, and a union of them may become a text.
        columns.append(exp.alias_(exp.cast(values.get(name) or exp.null(), kind), name))
    return exp.select(*columns)


def _text(value: exp.Expr, chars: int) -> exp.Expr:
    start, length = exp.Literal.number(1), exp.Literal.number(chars)
    return exp.Substring(this=exp.cast(value, "varchar"), start=start, length=length)


def _kind(column: Column, table: Table) -> str:
    kind = column.type_class
    if column.name in table.key_columns and (kind != "text" or column.name in table.primary_key):
        return "key"
    return "date" if kind == "datetime" else kind if kind in {"number", "date", "text", "boolean"} else "other"


def _column(column: Column, table: Table, dialect: str) -> exp.Select:
    kind, name = _kind(column, table), _name(column)
    values: dict[str, exp.Expr] = {
        "table_name": exp.Literal.string(table.key),
        "column_name": exp.Literal.string(column.name),
        "kind": exp.Literal.string(kind),
        "row_count": exp.Count(this=exp.Star()),
        "column_count": exp.Literal.number(len(table.columns)),
        "value_count": exp.Count(this=name.copy()),
    }
    if kind != "other":
        values["distinct_count"] = exp.Count(this=exp.Distinct(expressions=[name.copy()]))
    if kind == "date":
        values["first_date"] = _text(exp.Min(this=name.copy()), 19)
        values["last_date"] = _text(exp.Max(this=name.copy()), 19)
        values["months"] = exp.Count(this=exp.Distinct(expressions=[_text(name.copy(), 7)]))
        values["days"] = exp.Count(this=exp.Distinct(expressions=[_text(name.copy(), 10)]))
    if kind == "boolean":
        true = exp.If(this=name.copy(), true=exp.Literal.number(1))
        values["frequency"] = exp.Sum(this=exp.Case(ifs=[true], default=exp.Literal.number(0)))
    if kind == "text":
        values["most_frequent"] = _most_frequent(column, table, _text(name.copy(), _TEXT_CHARS))
        values["frequency"] = _most_frequent(column, table, exp.Count(this=exp.Star()))
    if kind == "number":
        return _numbers(column, table, values, dialect)
    return _select(values, COLUMN_STATISTICS).from_(_source(table))


def _most_frequent(column: Column, table: Table, value: exp.Expr) -> exp.Expr:
    """Return `value` of the most frequent text of a column, as a subquery."""
    counts = (
        exp.select(value).from_(_source(table)).where(exp.Not(this=exp.Is(this=_name(column), expression=exp.null())))
    )
    order = [exp.Ordered(this=exp.Count(this=exp.Star()), desc=True), exp.Ordered(this=_name(column))]
    return counts.group_by(_name(column)).order_by(*order).limit(1).subquery()


def _numbers(column: Column, table: Table, values: dict[str, exp.Expr], dialect: str) -> exp.Select:
    """Return the statistics of a column of numbers, computed over its values in order."""
    name = _name(column)
    is_number: exp.Expr = exp.Not(this=exp.Is(this=name.copy(), expression=exp.null()))
    if not engine_of(dialect).enforces_types:
        types = [exp.Literal.string("integer"), exp.Literal.string("real")]
        is_number = exp.In(this=exp.func("typeof", name.copy()), expressions=types)
    counted = ("row_count", "value_count", "distinct_count")
    for key in counted:
        values[key] = exp.select(values[key]).from_(_source(table)).subquery()
    value = exp.column("v")
    values |= {
        "lowest": exp.Min(this=value.copy()),
        "highest": exp.Max(this=value.copy()),
        "average": exp.Avg(this=value.copy()),
    }
    number = exp.alias_(exp.cast(name.copy(), "double"), "v")
    if (table.rows or 0) > _MAX_SORTED_ROWS:
        numbers = exp.select(number).from_(_source(table)).where(is_number)
        return _select(values, COLUMN_STATISTICS).from_(numbers.subquery("numbers"))
    rank = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=name.copy())]))
    count = exp.Window(this=exp.Count(this=exp.Star()))
    ranked = exp.select(number, exp.alias_(rank, "r"), exp.alias_(count, "n")).from_(_source(table)).where(is_number)

    def at_least(share: int) -> exp.Expr:
        """Return the value at the rank of `share` quarters."""
        reached = exp.GTE(
            this=exp.Mul(this=exp.column("r"), expression=exp.Literal.number(4)),
            expression=exp.Mul(this=exp.column("n"), expression=exp.Literal.number(share)),
        )
        return exp.Window(this=exp.Min(this=exp.Case(ifs=[exp.If(this=reached, true=value.copy())])))

    quartiles = exp.select(
        value.copy(), exp.column("r"), exp.column("n"), exp.alias_(at_least(1), "q1"), exp.alias_(at_least(3), "q3")
    ).from_(ranked.subquery("ranked"))
    middle = exp.condition("r * 2 BETWEEN n AND n + 2")
    values["median"] = exp.Avg(this=exp.Case(ifs=[exp.If(this=middle, true=value.copy())]))
    far = exp.condition("v < q1 - 1.5 * (q3 - q1) OR v > q3 + 1.5 * (q3 - q1)")
    values["outliers"] = exp.Sum(
        this=exp.Case(ifs=[exp.If(this=far, true=exp.Literal.number(1))], default=exp.Literal.number(0))
    )
    return _select(values, COLUMN_STATISTICS).from_(quartiles.subquery("quartiles"))


def _table(table: Table) -> exp.Select:
    dates = [column for column in table.columns if not column.secret and column.type_class in {"date", "datetime"}]
    values: dict[str, exp.Expr] = {
        "table_name": exp.Literal.string(table.key),
        "row_count": exp.Count(this=exp.Star()),
        "column_count": exp.Literal.number(len(table.columns)),
    }
    if dates:
        values["date_column"] = exp.Literal.string(dates[0].name)
        values["first_date"] = _text(exp.Min(this=_name(dates[0])), 19)
        values["last_date"] = _text(exp.Max(this=_name(dates[0])), 19)
    return _select(values, TABLE_STATISTICS).from_(_source(table))

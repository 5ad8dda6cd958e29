"""Convert SQL over one table to a query spec, in the format defined by `training.query_specs`."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

import sqlglot
from sqlglot import exp

from datasphinx.agent.embedded.narrowed_schema import aggregation_name
from datasphinx.agent.schema.catalog import Catalog, Table
from datasphinx.agent.sql.names import key_of
from training.compact import compact

_PERIOD_FORMS = {"%Y": re.compile(r"[12]\d{3}"), "%Y-%m": re.compile(r"[12]\d{3}-(0[1-9]|1[0-2])")}


def period_of(node: exp.Expr) -> tuple[date, date] | None:
    """Return the first day of the year or month that `node` compares a date with, and the first day after it.

    Return None if `node` is not such a comparison.
    """
    if not isinstance(node, exp.EQ) or not isinstance(node.this, exp.TimeToStr):
        return None
    part, text = node.this.args["format"].name, node.expression.name
    form = _PERIOD_FORMS.get(part)
    if not form or not isinstance(node.expression, exp.Literal) or not form.fullmatch(text):
        return None
    year = int(text[:4])
    if part == "%Y":
        return date(year, 1, 1), date(year + 1, 1, 1)
    month = int(text[5:])
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def quarter_of(item: exp.Expr) -> str | None:
    """Return the date column whose quarter `item` computes in the notation of compact statements, else None."""
    node = item.find(exp.TimeToStr)
    column = date_of(node).name if node else None
    return column if column and item.sql("sqlite") == f"(STRFTIME('%m', {column}) + 2) / 3" else None


def date_of(node: exp.TimeToStr) -> exp.Expr:
    """Return the date from which `node` takes a part, without the conversion added by sqlglot."""
    inner: exp.Expr = node.this
    return inner.this if isinstance(inner, exp.TsOrDsToTimestamp) else inner


_COMPARISONS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("=", "="), exp.NEQ: ("!=", "!="), exp.GT: (">", "<"), exp.GTE: (">=", "<="), exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
}  # fmt: skip
"""The operator, and the equivalent operator with exchanged operands."""

_AGGREGATES: dict[type[exp.Expr], str] = {exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max"}
_PERIODS = {"%Y-%m": "month", "%Y": "year"}
_SUPPORTED_CLAUSES = {"expressions", "from_", "where", "group", "order", "limit", "distinct"}
_CONDITION_ARGUMENTS = {"this", "expression", "expressions", "low", "high"}
"""The supported arguments of a condition; NOT LIKE, for example, has another one."""

_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)")
_CONTAINS = re.compile(r"%([^%_]+)%")

Json = dict[str, Any]


class _Unsupported(Exception):
    """The statement has no equivalent query spec."""


def spec_of(sql: str, catalog: Catalog) -> Json | None:
    """Return the query spec equivalent to `sql`; None if it reads several tables or has no equivalent."""
    text = compact(sql, catalog)
    try:
        return _Spec(sqlglot.parse_one(text, read="sqlite"), catalog).whole() if text else None
    except _Unsupported:
        return None


class _Spec:
    """Converter of one compact statement over one table."""

    def __init__(self, tree: exp.Expr, catalog: Catalog) -> None:
        source = tree.args.get("from_")
        table = source.this if source else None
        if not isinstance(tree, exp.Select) or not isinstance(table, exp.Table) or table.args.get("joins"):
            raise _Unsupported
        key = key_of(table, catalog)
        if key is None or {name for name, value in tree.args.items() if value} - _SUPPORTED_CLAUSES:
            raise _Unsupported
        self.select, self.table = tree, catalog.tables[key]
        self.groups: dict[str, str | Json] = {}
        self.aggregations: dict[str, Json] = {}

    def whole(self) -> Json:
        """Return the spec.

        Raises:
            _Unsupported: the statement has no equivalent spec.
        """
        filters = list(self._filters())
        if not self._shows_rows():
            self._read_outputs()
        sorts = self._sorts()
        limit = self.select.args.get("limit")
        spec = {
            "filters": filters,
            "group_by": list(self.groups.values()),
            "aggregations": list(self.aggregations.values()),
            "sort": sorts,
            "limit": _limit(limit) if limit else None,
        }
        return {name: value for name, value in spec.items() if value}

    def _items(self, clause: str) -> list[exp.Expr]:
        node = self.select.args.get(clause)
        return list(node.expressions) if node else []

    def _shows_rows(self) -> bool:
        """Return whether the statement selects all columns of all rows without grouping."""
        outputs = [item.name if isinstance(item, exp.Column) else "" for item in self.select.expressions]
        is_plain = not self.select.args.get("group") and not self.select.args.get("distinct")
        return is_plain and outputs == list(self.table.column_names)

    def _read_outputs(self) -> None:
        """Convert the outputs to groups and aggregations; a year and a quarter of one date become one group."""
        grouping = self._items("group")
        outputs = [item for item in self.select.expressions if not isinstance(item, exp.AggFunc)]
        aggregates = [item for item in self.select.expressions if isinstance(item, exp.AggFunc)]
        if self.select.args.get("distinct") and (aggregates or grouping):
            raise _Unsupported
        if {item.sql() for item in grouping} != {item.sql() for item in outputs} and (grouping or aggregates):
            raise _Unsupported
        quarters = {quarter_of(item) for item in outputs} - {None}
        for item in outputs:
            name = self._group_name(item, quarters)
            if name:
                self._add_group(name, item)
        for item in aggregates:
            self._aggregate(item)

    def _group_name(self, item: exp.Expr, quarters: set[str | None]) -> str | None:
        """Return the name of a group; None for a year that belongs to a quarter."""
        if isinstance(item, exp.TimeToStr):
            column, period = self._column(date_of(item)), _PERIODS.get(item.args["format"].name)
            if period is None:
                raise _Unsupported
            return None if period == "year" and column in quarters else f"{column}_{period}"
        quarter = quarter_of(item)
        if quarter:
            years = [year for year in self.select.expressions if year.sql("sqlite") == f"STRFTIME('%Y', {quarter})"]
            if not years:
                raise _Unsupported
            return f"{quarter}_quarter"
        return self._column(item)

    def _add_group(self, name: str, item: exp.Expr) -> None:
        if isinstance(item, exp.Column):
            self.groups[name] = name
        else:
            column, _, by = name.rpartition("_")
            if name in self.table.column_names:
                raise _Unsupported
            self.groups[name] = {"col": self._column(exp.column(column)), "by": by}

    def _column(self, node: exp.Expr | None) -> str:
        if not isinstance(node, exp.Column) or node.name not in self.table.column_names:
            raise _Unsupported
        return node.name

    def _aggregate(self, node: exp.Expr) -> str:
        """Add an aggregation unless it exists, and return its name."""
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct):
            counted = node.this.expressions
            agg, column = "nunique", self._column(counted[0] if len(counted) == 1 else None)
        elif isinstance(node, exp.Count):
            agg, column = "count", "*" if isinstance(node.this, exp.Star) else self._column(node.this)
        elif type(node) in _AGGREGATES:
            agg, column = _AGGREGATES[type(node)], self._column(node.this)
        else:
            raise _Unsupported
        name = aggregation_name(agg, column)
        if name in {column.lower() for column in self.table.column_names}:
            raise _Unsupported
        self.aggregations[name] = {"as": name, "agg": agg, "col": column}
        return name

    def _sorts(self) -> list[Json]:
        """Return the distinct sort keys; a year and a quarter of one date become one key."""
        sorts: dict[str, Json] = {}
        for item in self._items("order"):
            by = item.this
            name = self._aggregate_sorted_by(by) if isinstance(by, exp.AggFunc) else self._group_sorted_by(by)
            sorts.setdefault(name, {"by": name, "desc": bool(item.args.get("desc"))})
        return list(sorts.values())

    def _aggregate_sorted_by(self, node: exp.Expr) -> str:
        if not self.aggregations and not self._items("group"):
            raise _Unsupported
        return self._aggregate(node)

    def _group_sorted_by(self, node: exp.Expr) -> str:
        """Return the name of a sort key; in a statement without groups, it becomes an output if it is not one yet."""
        dates = [group for group in self.groups.values() if isinstance(group, dict)]
        quarters = {group["col"] for group in dates if group["by"] == "quarter"}
        year = date_of(node).name if isinstance(node, exp.TimeToStr) else None
        name = f"{year}_quarter" if year in quarters else self._group_name(node, set())
        if name is None:
            raise _Unsupported
        if not self._shows_rows() and name not in self.groups:
            if self.aggregations or self._items("group") or self.select.args.get("distinct"):
                raise _Unsupported
            self._add_group(name, node)
        return name

    def _filters(self) -> Iterator[Json]:
        where = self.select.args.get("where")
        whole = where.this if where else None
        for condition in whole.flatten() if isinstance(whole, exp.And) else filter(None, [whole]):
            node = condition.unnest()
            period = period_of(node)
            if period is None:
                yield self._filter(node)
                continue
            column = self._column(date_of(node.this))
            bounds = zip((">=", "<"), period, strict=True)
            yield from ({"col": column, "op": op, "value": day.isoformat()} for op, day in bounds)

    def _filter(self, node: exp.Expr) -> Json:
        if {name for name, value in node.args.items() if value} - _CONDITION_ARGUMENTS:
            raise _Unsupported
        if type(node) in _COMPARISONS:
            sides = 1 if isinstance(node.expression, exp.Column) else 0
            column, other = (node.expression, node.this) if sides else (node.this, node.expression)
            return self._comparison(column, _COMPARISONS[type(node)][sides], other)
        if isinstance(node, exp.Between):
            return self._comparison(node.this, "between", [node.args["low"], node.args["high"]])
        if isinstance(node, exp.In) and node.expressions:
            return self._comparison(node.this, "in", node.expressions)
        if isinstance(node, exp.Like):
            within = _CONTAINS.fullmatch(node.expression.name) if isinstance(node.expression, exp.Literal) else None
            return {"col": self._column(node.this), "op": "contains", "value": within[1]} if within else _refuse()
        negated = isinstance(node, exp.Not)
        test = node.this.unnest() if negated else node
        if isinstance(test, exp.Is) and isinstance(test.expression, exp.Null):
            return {"col": self._column(test.this), "op": "is_null", "value": not negated}
        return _refuse()

    def _comparison(self, column: exp.Expr, op: str, value: exp.Expr | list[exp.Expr]) -> Json:
        name = self._column(column)
        values = [_value(item, self.table, name) for item in (value if isinstance(value, list) else [value])]
        return {"col": name, "op": op, "value": values if isinstance(value, list) else values[0]}


def _refuse() -> Json:
    raise _Unsupported


def _value(node: exp.Expr, table: Table, column: str) -> str | int | float:
    """Return a literal in the type of the column: a quoted number is a number if the column is numeric."""
    literal = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(literal, exp.Literal):
        raise _Unsupported
    text = f"-{literal.name}" if isinstance(node, exp.Neg) else literal.name
    kind = next(other.type_class for other in table.columns if other.name == column)
    if (kind != "number" if literal.is_string else kind == "text") or not _NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _limit(limit: exp.Expr) -> int:
    number = limit.expression
    if not isinstance(number, exp.Literal) or not number.name.isdigit() or number.name == "0":
        raise _Unsupported
    return int(number.name)

"""Checks of meaning: statements that run, and return another figure than they seem to.

They know keys, column types and sampled values, and read only the structure of a statement.
"""

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.messages import Message
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.deletion import deletion_marks
from datasphinx.agent.sql.joined_rows import JoinedRows, Path, conditions_of, is_unique
from datasphinx.agent.sql.names import ColumnReference
from datasphinx.agent.sql.remark import Check, CheckedQuery, Remark
from datasphinx.agent.sql.selects import (
    COMPARISONS,
    MIRRORED,
    PREDICATES,
    RANGES,
    aggregates_of,
    conjuncts,
    grouped_expressions,
    is_aggregated,
    output_of,
    window_aggregates_of,
    window_of,
)

_AGGREGATES = (
    exp.Sum, exp.Avg, exp.Count, exp.Median, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop,
)  # fmt: skip
"""Functions whose value changes if rows are repeated."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*")
_MIDNIGHT = re.compile(r"[T ]00:00(:00(\.0+)?)?(Z|[+-]\d{2}(:?\d{2})?)?$")
_ISO = re.compile(r"\d{4}-\d{2}(-\d{2}.*)?")
_OTHER_DATE = re.compile(
    r"\d{1,2}[./-]\d{1,2}[./-]\d{4}\b.*|\d{4}[./]\d{1,2}[./]\d{1,2}\b.*|\d{1,2}[- ]\w{3,9}[- ]\d{2,4}\b.*"
)
"""A date in a form whose order as text need not be that of time."""
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_EPOCH = re.compile(r"\d{9,19}")
_SMALL_UNITS = re.compile(r"\d{12,19}")
"""A moment in milliseconds, or a smaller unit, since 1970."""
_DATES = (
    exp.Cast, exp.TryCast, exp.Date, exp.Timestamp, exp.TsOrDsToDate, exp.TsOrDsToTimestamp, exp.StrToDate,
    exp.StrToTime, exp.DateAdd, exp.DateSub, exp.TsOrDsAdd, exp.DateTrunc, exp.TimestampTrunc, exp.LastDay,
)  # fmt: skip
"""Functions whose value is a date or time."""
_INTEGER_TYPE = re.compile(r"^(?!.*point|interval).*(int|serial)|^long", re.IGNORECASE)


# Joins


def repeated_values(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report SUM, AVG and COUNT over values that a join repeats.

    A value is one for each row of its source. It may also be a value of each row of the first source of FROM, if that
    leads to its source along keys: over plays with the track of each, the length of the track can be added per play.
    This is not so for events, such as orders, whose values are amounts of their own, and beside an aggregate over a
    column of the first source, which has another unit. A count of rows is none of values, unless two sources that have
    several rows for each row of another one are joined with each other.
    """
    found = aggregates_of(select) or ([] if select.args.get("group") else window_aggregates_of(select))
    calls = [call for call in found if isinstance(call, _AGGREGATES)]
    rows = query.rows(scope) if calls else None
    if rows is None or not rows.is_known or len(rows.sources) < 2 or rows.first is None:
        return
    everything = rows.sources.keys()
    main = rows.determined([rows.first])
    details = [call for call in calls if rows.paths(call) and rows.determined(rows.paths(call)) == everything]
    mixes = any(not isinstance(call, exp.Count) for call in details)
    for call in calls:
        window = window_of(call)
        terms = grouped_expressions(select) if window is None else window.args.get("partition_by") or []
        groups = [place for term in terms if (place := rows.place(term))]
        of_group = rows.determined([], groups)
        sources = rows.paths(call.this) if call.this and not _is_harmless_distinct(call, rows) else set()
        crossed = rows.crossed(groups) if _counts_rows(call) else None
        if crossed:
            message = Message(
                "values_repeated",
                value=call.sql(dialect=query.dialect),
                by=_names({crossed[0]}, rows),
                source=_names({crossed[1]}, rows),
            )
            yield Remark(message, "doubt")
        if not sources or (sources <= of_group and not isinstance(call, exp.Sum)):
            continue
        others = everything - rows.determined(sources, groups)
        is_looked_up = main == everything and not (mixes and call not in details)
        is_looked_up = is_looked_up and not any(_is_event(rows.sources[path], query) for path in sources)
        if others and not is_looked_up and all(map(rows.may_repeat, others)):
            text = call.sql(dialect=query.dialect)
            code = "equal_values_added_once" if _is_distinct(call) else "values_repeated"
            message = Message(code, value=text, by=_names(others, rows), source=_names(sources, rows))
            probes = [rows.repetition(path) for path in others]
            yield Remark(message, "doubt", _sql(probes[0] if len(probes) == 1 else None, query))


def _counts_rows(call: exp.Expr) -> bool:
    return isinstance(call, exp.Count) and isinstance(call.this, exp.Star | exp.Literal)


def _is_harmless_distinct(call: exp.Expr, rows: JoinedRows) -> bool:
    """Return whether repeated rows do not change an aggregate with DISTINCT: a count, or one of unique values."""
    if not _is_distinct(call):
        return False
    found = rows.column(rows.place(call.this.expressions[0]))
    return isinstance(call, exp.Count) or (found is not None and is_unique(found.table, found.column))


def _is_event(source: Table | Scope, query: CheckedQuery) -> bool:
    """Return whether a table has a point in time and refers to another one, as orders do and products do not."""
    if not isinstance(source, Table) or not source.foreign_keys:
        return False
    return any(
        column.type_class in {"date", "datetime"} or any(map(_TIME.fullmatch, _samples(column, source, query.catalog)))
        for column in source.columns
    )


def counts_of_missing_rows(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report COUNT(*) over a LEFT JOIN of several rows, which counts a row that has no match as one."""
    stars = [call for call in aggregates_of(select) if _counts_rows(call)]
    optional = _optional_sources(scope) if stars else set()
    rows = query.rows(scope) if optional else None
    if rows is None or not rows.is_known:
        return
    where = select.args.get("where")
    parts = [*grouped_expressions(select), *([where] if where else [])]
    mentioned = {column.table for part in parts for column in part.find_all(exp.Column)}
    for name in sorted(optional - mentioned):
        inside = {path for path in rows.sources if path[0] == name}
        if inside and not inside <= rows.determined(rows.sources.keys() - inside) and any(map(rows.may_repeat, inside)):
            yield _finding("missing_rows_counted", source=_names(inside, rows))


def lost_optional_rows(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Note conditions of WHERE that no row without a match of the outer join fulfils."""
    optional = _optional_sources(scope)
    for condition in conjuncts(select.args.get("where")):
        tables = {column.table for column in condition.find_all(exp.Column)}
        if len(tables) == 1 and tables <= optional and _rejects_null(condition):
            text = condition.sql(dialect=query.dialect)
            yield Remark(Message("outer_rows_lost", condition=text, source=tables.pop()), "note")


def lost_listed_rows(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report that a list of rows with a looked-up column leaves out those that have no value in the key.

    The first column tells of what the rows are: after a looked-up one, they are of those that have it.
    """
    reshaped = any(select.args.get(name) for name in ("group", "distinct", "limit", "offset", "qualify"))
    if scope.parent is not None or reshaped or is_aggregated(select) or _optional_sources(scope):
        return
    rows = query.rows(scope)
    if not rows.is_known:
        return
    first = rows.paths(select.expressions[0])
    shown = rows.paths(exp.Tuple(expressions=[item.copy() for item in select.expressions]))
    filtered = set().union(
        *(
            rows.paths(each)
            for each in conditions_of(scope, query)
            if len(rows.paths(each)) == 1 or not isinstance(each, exp.EQ)
        )
    )
    for condition in conditions_of(scope, query):
        if not isinstance(condition, exp.EQ):
            continue
        places = [rows.place(condition.this), rows.place(condition.expression)]
        for one, other in (places, places[::-1]):
            key = rows.column(one)
            if not key or not one or not other or one[0] not in first or other[0] not in shown - filtered:
                continue
            if rows.determined([one[0]]) != rows.sources.keys():
                continue
            listed = rows.own_rows(one[0])
            is_missing = exp.Is(this=exp.column(one[1], one[0][-1]), expression=exp.Null())
            if key.column.null_share:
                message = Message("rows_without_key_lost", table=key.table.key, column=key.column.name)
                yield Remark(message, "doubt", _sql(listed.where(is_missing) if listed else None, query))


def limits_without_order(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report a limit without an order that leaves out rows; a few whole rows (`SELECT *`) are a sample."""
    limit = select.args.get("limit")
    count = limit.expression if isinstance(limit, exp.Limit) else limit and limit.args.get("count")
    is_sample = any(item.is_star for item in select.expressions)
    is_single_row = is_aggregated(select) and not select.args.get("group")
    is_open = scope.parent is None and not (is_sample or is_single_row or select.args.get("order"))
    if is_open and isinstance(count, exp.Literal):
        others = select.copy()
        others.set("offset", exp.Offset(expression=count.copy()))
        others.set("limit", exp.Limit(expression=exp.Literal.number(1)))
        probe, rows = others.sql(dialect=query.dialect, copy=False), int(count.name) if count.is_int else 0
        yield Remark(Message("limit_without_order", count=count.name), "doubt", probe, rows)


def exclusions_with_null(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report NOT IN over a subquery that may return NULL, with which no row fulfils the condition."""
    for node in query.find_all(scope, exp.In):
        parent, listed = node.parent, node.args.get("query")
        while isinstance(parent, exp.Paren):
            parent = parent.parent
        listed = listed.unnest() if isinstance(listed, exp.Subquery) else listed
        inner = next((each for each in query.scopes if each.expression is listed), None)
        if not isinstance(parent, exp.Not) or inner is None:
            continue
        if not isinstance(listed, exp.Select) or len(listed.expressions) != 1:
            continue
        rows = query.rows(inner)
        place = rows.place(listed.expressions[0])
        found = rows.column(place)
        if not found or not place or not _may_be_null(found):
            continue
        required = any(
            place == rows.place(column)
            for condition in conditions_of(inner, query)
            if _rejects_null(condition, keeps_is_not_null=True)
            for column in condition.find_all(exp.Column)
        )
        if not required:
            yield _finding("exclusion_with_null", column=str(found))


def _may_be_null(found: ColumnReference) -> bool:
    column = found.column
    if column.null_share is not None:
        return column.null_share > 0
    return column.nullable and column.name not in found.table.primary_key


def _optional_sources(scope: Scope) -> set[str]:
    """Return the names of the sources that an outer join fills with NULL."""
    names = []
    optional: set[str] = set()
    from_ = scope.expression.args.get("from_")
    names += [from_.this.alias_or_name] if from_ else []
    for join in scope.expression.args.get("joins") or ():
        name = join.this.alias_or_name
        optional |= {name} if join.side in {"LEFT", "FULL"} else set()
        optional |= set(names) if join.side in {"RIGHT", "FULL"} else set()
        names.append(name)
    return optional


def _rejects_null(condition: exp.Expr, *, keeps_is_not_null: bool = False) -> bool:
    """Return whether a condition on one source is not fulfilled where its columns are NULL.

    `x IS NOT NULL`, which says so itself, counts only with `keeps_is_not_null`.
    """
    if isinstance(condition, exp.Not) and isinstance(condition.this.unnest(), exp.Is):
        return keeps_is_not_null
    if condition.find(exp.Is, exp.Coalesce, exp.Case, exp.If, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Query, exp.Or):
        return False
    node = condition.this.unnest() if isinstance(condition, exp.Not) else condition
    return isinstance(node, PREDICATES)


# Periods and texts


def cut_last_days(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report upper bounds that are a day, of columns with times: all but the first moment of that day is left out."""
    for node, found in _compared(query, scope, select):
        bound, low = None, None
        if isinstance(node, exp.Between):
            bound, low = node.args["high"], _day_of(node.args["low"])
        elif isinstance(node, exp.LTE | exp.EQ):
            bound = node.expression
        elif isinstance(node, exp.In) and len(node.expressions) == 1:
            bound = node.expressions[0]
        day = _day_of(bound)
        if (
            day
            and has_times(found.column, found.table, query.catalog)
            and not (low and low[8:] == day[8:] and low != day)
        ):
            yield _finding("last_day_cut", column=str(found), day=day)


def _day_of(node: exp.Expr | None) -> str | None:
    """Return the day that is the value of `node`, as text; None for others and for times of a day but the first."""
    if node is None or node.find(exp.Column):
        return None
    if isinstance(node, exp.LastDay):
        return node.sql()
    literal = node
    while isinstance(literal, exp.Cast | exp.TryCast | exp.Paren | exp.Date | exp.TsOrDsToDate | exp.TsOrDsToTimestamp):
        literal = literal.this
    text = literal.name if isinstance(literal, exp.Literal) and literal.is_string else ""
    plain = _MIDNIGHT.sub("", text)
    return plain if _DAY.fullmatch(plain) else None


def has_times(column: Column, table: Table, catalog: Catalog) -> bool:
    """Return whether a column holds points in time with a time of day, as its type and sampled values tell."""
    values = _samples(column, table, catalog)
    if column.type_class == "datetime" and not values:
        return True
    return column.type_class in {"datetime", "date", "text"} and any(
        _TIME.fullmatch(value) and not _MIDNIGHT.search(value) for value in values
    )


def _samples(column: Column, table: Table, catalog: Catalog) -> tuple[str, ...]:
    ends = tuple(filter(None, (column.minimum, column.maximum)))
    return (*catalog.values.get((table.key, column.name), ()), *column.examples, *ends)


def orders_of_text(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report texts that are compared or sorted as texts, though they are numbers or dates in an order of their own."""
    for node, found in _ordered(query, scope, select):
        column, values = found.column, [value.strip() for value in _samples(found.column, found.table, query.catalog)]
        if column.type_class != "text" or not values:
            continue
        if 2 * sum(bool(_NUMBER.fullmatch(value)) for value in values) > len(values):
            if _differs_for_numbers(node, values, query):
                yield _finding("numbers_compared_as_text", column=str(found))
        elif all(_OTHER_DATE.fullmatch(value) for value in values):
            yield _finding("dates_compared_as_text", column=str(found), value=values[0])


def _differs_for_numbers(node: exp.Expr, values: Sequence[str], query: CheckedQuery) -> bool:
    """Return whether the result of a comparison or order of `values`, mostly numbers, is another one for numbers."""
    numbers = [value for value in values if _NUMBER.fullmatch(value)]
    literals = [each for each in node.iter_expressions() if isinstance(each, exp.Literal)]
    if isinstance(node, (*RANGES, exp.Between)) and literals:
        if query.engine.enforces_types and not all(each.is_string for each in literals):
            # The engine converts the texts to numbers.
            return False
        bounds = [each.name for each in literals if _NUMBER.fullmatch(each.name)]
        return any((value > bound) != (float(value) > float(bound)) for value in numbers for bound in bounds)
    in_order, as_text = sorted(numbers, key=float), sorted(values)
    if isinstance(node, exp.Ordered):
        select = node.find_ancestor(exp.Select)
        limit = select.args.get("limit") if select else None
        count = int(limit.expression.name) if limit and limit.expression and limit.expression.name.isdigit() else None
        step = -1 if node.args.get("desc") else 1
        return in_order[::step][:count] != as_text[::step][:count]
    if isinstance(node, exp.Min | exp.Max):
        at = -1 if isinstance(node, exp.Max) else 0
        return in_order[at] != as_text[at]
    return in_order != sorted(numbers)


def other_forms_of_dates(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report comparisons of dates in a form that the column does not have: seconds since 1970, or other text."""
    for node, found in _compared(query, scope, select):
        literals = [each.name for each in node.find_all(exp.Literal) if each.is_string]
        dates = [text for text in literals if _ISO.fullmatch(text) or _OTHER_DATE.fullmatch(text)]
        values = _samples(found.column, found.table, query.catalog)
        if not dates or not values:
            continue
        is_converted = any(not isinstance(call, _DATES) for call in node.find_all(exp.Func))
        if _holds_epochs(found.column, values) and not is_converted:
            yield _finding("date_compared_with_number", column=str(found), date=dates[0], value=values[0])
        elif found.column.type_class == "text":
            iso = [bool(_ISO.fullmatch(value)) for value in values]
            others = [bool(_OTHER_DATE.fullmatch(value)) for value in values]
            differs = (all(iso) and not _ISO.fullmatch(dates[0])) or (all(others) and bool(_ISO.fullmatch(dates[0])))
            if differs:
                yield _finding("date_in_another_form", column=str(found), date=dates[0], value=values[0])


def dates_of_numbers(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report date functions of SQLite over seconds since 1970 without the modifier that says so."""
    if query.engine.enforces_types:
        return
    for call in query.find_all(scope, exp.Func):
        name = call.name if isinstance(call, exp.Anonymous) else call.sql_name()
        if not isinstance(call, exp.TimeToStr | exp.Date) and name.lower() not in _SQLITE_DATES:
            continue
        modifiers = {literal.name.lower() for literal in call.find_all(exp.Literal)}
        for column in call.find_all(exp.Column) if not modifiers & {"unixepoch", "auto"} else ():
            rows = query.rows(scope)
            found = rows.column(rows.place(column))
            values = _samples(found.column, found.table, query.catalog) if found else ()
            if found and column.parent_select is scope.expression and _holds_epochs(found.column, values):
                yield _finding("date_of_number", column=str(found), value=values[0])


def epochs_in_other_units(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report functions that read seconds since 1970 over a column of milliseconds or smaller units."""
    for call in query.find_all(scope, exp.Func):
        literals = call.find_all(exp.Literal) if call.name.lower() in _SQLITE_DATES else ()
        is_of_sqlite = any(literal.name.lower() == "unixepoch" for literal in literals)
        if not is_of_sqlite and (not isinstance(call, exp.UnixToTime) or call.args.get("scale")):
            continue
        parts = (part.this if isinstance(part, exp.Cast) else part for part in call.iter_expressions())
        column = next((part for part in parts if isinstance(part, exp.Column)), None)
        if column is not None:
            rows = query.rows(scope)
            found = rows.column(rows.place(column))
            values = _samples(found.column, found.table, query.catalog) if found else ()
            if found and values and all(_SMALL_UNITS.fullmatch(value) for value in values):
                yield _finding("epoch_in_another_unit", column=str(found), value=values[0])


_SQLITE_DATES = {"strftime", "date", "datetime", "time", "julianday"}


def _holds_epochs(column: Column, values: tuple[str, ...]) -> bool:
    kinds = {"number", "datetime", "date", "text"}
    return column.type_class in kinds and bool(values) and all(_EPOCH.fullmatch(value) for value in values)


def _compared(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[tuple[exp.Expr, ColumnReference]]:
    """Yield each comparison of a stored column, with the column on its left."""
    nodes = list(query.find_all(scope, *COMPARISONS))
    rows = query.rows(scope) if nodes else None
    for node in nodes:
        if rows is None or node.parent_select is not select:
            continue
        turned = _turned(node)
        found = rows.column(rows.place(turned.this))
        if found:
            yield turned, found


def _turned(node: exp.Expr) -> exp.Expr:
    """Return a comparison with its column on the left."""
    kind = MIRRORED.get(type(node))
    if kind and isinstance(node.expression, exp.Column) and not isinstance(node.this, exp.Column):
        return kind(this=node.expression.copy(), expression=node.this.copy())
    return node


def _ordered(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[tuple[exp.Expr, ColumnReference]]:
    """Yield the nodes whose result depends on the order of a column's values, with the column."""
    for node, found in _compared(query, scope, select):
        values = [each for each in node.iter_expressions() if not isinstance(each, exp.Column)]
        if isinstance(node, (*RANGES, exp.Between)) and values:
            yield node, found
    nodes = [node for node in query.find_all(scope, exp.Min, exp.Max) if node.parent_select is select]
    order = select.args.get("order")
    nodes += order.expressions if order else []
    rows = query.rows(scope) if nodes else None
    for node in nodes:
        ordered = rows.column(rows.place(output_of(node.this, select))) if rows else None
        if ordered:
            yield node, ordered


# Calculations


def cut_fractions(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Report divisions of whole numbers by whole numbers where the engine drops the fraction."""
    for node in query.find_all(scope, exp.Div, exp.IntDiv):
        if node.parent_select is not select or not (isinstance(node, exp.IntDiv) or query.engine.divides_integers):
            continue
        rows = query.rows(scope)
        is_ratio = all(side.find(exp.AggFunc, exp.Query) for side in (node.this, node.expression))
        is_ratio = is_ratio or (
            isinstance(node, exp.Div) and all(side.find(exp.Column) for side in (node.this, node.expression))
        )
        if is_ratio and all(_is_integer(side, rows, query) for side in (node.this, node.expression)):
            yield _finding("fraction_cut", value=node.sql(dialect=query.dialect))


def _is_integer(node: exp.Expr, rows: JoinedRows, query: CheckedQuery) -> bool:
    """Return whether `node` is certainly a whole number for the engine."""
    if isinstance(node, exp.Count):
        return True
    if isinstance(node, exp.Literal):
        return node.is_int
    if isinstance(node, exp.Column):
        return _is_integer_column(rows.column(rows.place(node)), query)
    if isinstance(node, exp.Sum):
        argument = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
        column = rows.column(rows.place(argument))
        is_numeric = query.engine.sums_long_integers_exactly and column and "big" in column.column.type.lower()
        return not is_numeric and _is_integer(argument, rows, query)
    if isinstance(node, exp.Case):
        values = [branch.args["true"] for branch in node.args["ifs"]]
        default = node.args.get("default")
        values += [default] if default is not None and not isinstance(default, exp.Null) else []
        return all(_is_integer(value, rows, query) for value in values)
    if isinstance(node, exp.Cast):
        return bool(_INTEGER_TYPE.search(node.to.sql()))
    if isinstance(node, exp.Coalesce | exp.Nullif):
        parts = [node.this, *node.expressions, *filter(None, [node.args.get("expression")])]
        return all(_is_integer(part, rows, query) for part in parts)
    if isinstance(node, exp.Subquery):
        inner = next((each for each in query.scopes if each.expression is node.this), None)
        items = inner.expression.expressions if inner and isinstance(inner.expression, exp.Select) else []
        return len(items) == 1 and inner is not None and _is_integer(items[0].unalias(), query.rows(inner), query)
    if isinstance(node, exp.Paren | exp.Max | exp.Min | exp.Window | exp.Filter | exp.Neg | exp.Abs):
        return _is_integer(node.this, rows, query)
    is_calculation = isinstance(node, exp.Add | exp.Sub | exp.Mul)
    return is_calculation and all(_is_integer(side, rows, query) for side in (node.this, node.expression))


def _is_integer_column(found: ColumnReference | None, query: CheckedQuery) -> bool:
    if found is None or not _INTEGER_TYPE.search(found.column.type):
        return False
    return query.engine.enforces_types or all(value.lstrip("-").isdigit() for value in found.column.examples)


# Deleted rows


def deleted_rows(query: CheckedQuery, scope: Scope, select: exp.Select) -> Iterator[Remark]:
    """Note the tables of which rows are marked as deleted, if the statement uses none of the marks.

    Rows that another table refers to are looked up, whether they are deleted or not.
    """
    rows = query.rows(scope)
    if not rows.is_known or select.is_star:
        return
    for path, table in rows.sources.items():
        if not isinstance(table, Table) or not (marks := deletion_marks(table, query.catalog.values)):
            continue
        is_looked_up = any(path in rows.determined([other]) for other in rows.sources.keys() - {path})
        names = {name for mark in marks for name in (str(ColumnReference(table, mark)), mark.name.lower())}
        if not is_looked_up and names.isdisjoint(query.read):
            yield Remark(Message("deleted_rows_included", table=table.key, column=marks[0].name), "note")


def _sql(query: exp.Select | None, own: CheckedQuery) -> str:
    return query.sql(dialect=own.dialect) if query is not None else ""


def _finding(code: str, **facts: str) -> Remark:
    return Remark(Message(code, **facts), "doubt")


def _is_distinct(call: exp.Expr) -> bool:
    return isinstance(call.this, exp.Distinct)


def _names(paths: set[Path] | frozenset[Path], rows: JoinedRows) -> str:
    sources = ((path, rows.sources[path]) for path in sorted(paths))
    return ", ".join(dict.fromkeys(source.key if isinstance(source, Table) else path[-1] for path, source in sources))


MEANING: tuple[Check, ...] = (
    repeated_values, counts_of_missing_rows, lost_optional_rows, lost_listed_rows, limits_without_order,
    exclusions_with_null, cut_last_days, orders_of_text, other_forms_of_dates, dates_of_numbers,
    epochs_in_other_units, cut_fractions, deleted_rows,
)  # fmt: skip

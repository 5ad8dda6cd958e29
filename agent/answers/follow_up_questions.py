"""Follow-up questions on an answer, made without a model from its statement and the schema."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import chain, zip_longest
from typing import NamedTuple

from sqlglot import exp

from agent.answers.filters import condition_words
from agent.answers.offered_questions import Candidate, is_group, offered_columns, shown_name, with_rows
from agent.answers.text import joined
from agent.core.cancellation import Cancellation
from agent.messages import Language, render
from agent.queryspec.dialect import DIALECTS, period_key
from agent.queryspec.spec import Period
from agent.schema.catalog import Column, Table
from agent.sources.source import Source
from agent.sql.dialects import print_statement
from agent.sql.guard import parse
from agent.sql.names import key_of, qualify_names
from agent.sql.summary import AGGREGATES, main_table, singular, summarize_query, unwrapped
from agent.types import QueryCondition, Result

COUNT = 3
_MAX_TRIED = 8
_MAX_ROWS = 50
_TOP = 5
_MAX_VALUES, _MAX_VALUE_CHARS = 4, 40
"""Limits of a filter that a question can name completely."""
_LABELS = ("name", "title", "label")


def follow_up_questions(
    sql: str,
    source: Source,
    language: Language,
    asked: Sequence[str] = (),
    stop: Cancellation | None = None,
    *,
    about_files: bool = False,
) -> list[str]:
    """Return up to three questions that follow the answer of `sql`, without those in `asked`.

    Each can be understood by itself, and a statement for it has returned rows; `stop` cancels these statements, of
    which at most eight are executed. The questions are kept until the source is opened again. Those `about_files`
    name no table, since its name is an id: they break a figure down by a column or by month.

    Raises:
        SourceUnreachable: the database does not answer.
        StatementCancelled: a statement was cancelled.
    """

    def find() -> list[str]:
        query = _read(sql, source)
        if query is None:
            return []
        earlier = set(map(_normalized, asked))
        candidates = _Questions(query, source, language, stop, about_files).candidates()
        new = (each for each in candidates if _normalized(each.question) not in earlier)
        return list(with_rows(new, COUNT, _MAX_TRIED))

    return source.memoized(("follow-up questions", sql, language, about_files, *asked), find)


def _normalized(question: str) -> str:
    return " ".join(question.casefold().split()).rstrip("?.!？。！")


class _Figure(NamedTuple):
    """A figure about rows: their number, or a function of one of their columns."""

    function: str
    node: exp.Expr
    column: str = ""


@dataclass(frozen=True)
class _Query:
    """The rows that a statement reads, a figure about them, and the columns by which it groups them."""

    rows: exp.Select
    """The FROM clause, the joins and the filters, without outputs."""
    tables: Mapping[str, Table]
    """The tables by alias, the main one first."""
    main: str
    """The alias of the table that has one row for each of the rows."""
    figure: _Figure
    grouped: frozenset[tuple[str, str]] = frozenset()
    """The alias and the name in lower case of each column in a group."""

    @property
    def parts(self) -> list[exp.Expr]:
        """The conditions of the WHERE clause, all of which hold."""
        where = self.rows.args.get("where")
        if where is None:
            return []
        condition = where.this.unnest()
        return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]

    def rows_without(self, parts: Sequence[exp.Expr]) -> exp.Select:
        """Return the rows without the conditions `parts`."""
        rows = self.rows.copy()
        rows.set("where", None)
        return rows.where(*(part.copy() for part in self.parts if not any(part is other for other in parts)))

    def statement(self, rows: exp.Select, dialect: str, group: exp.Expr | None = None, *, top: bool = False) -> str:
        """Return the statement for the figure about `rows` by `group`; with `top`, for the highest figures."""
        query = rows.copy()
        if group is not None:
            query = query.select(group.copy()).group_by(group.copy())
        query = query.select(self.figure.node.copy())
        if top:
            query = query.order_by(exp.Ordered(this=self.figure.node.copy(), desc=True, nulls_first=False))
        return print_statement(query.limit(_TOP if top else _MAX_ROWS), dialect)


class _Filter(NamedTuple):
    """A condition of the WHERE clause on one column."""

    node: exp.Expr
    place: tuple[str, str]
    """The alias of the table and the name of the column in lower case."""
    condition: QueryCondition


class _Questions:
    """The questions that follow a query."""

    def __init__(
        self,
        query: _Query,
        source: Source,
        language: Language,
        stop: Cancellation | None,
        about_files: bool,
    ) -> None:
        self.query, self.source, self.language, self.stop = query, source, language, stop
        self.about_files = about_files
        self.filters = list(_filters(query, source))

    def candidates(self) -> Iterator[Candidate[str]]:
        """Yield the questions, one of each kind first."""
        if self.about_files and self.query.figure is _COUNT and len(self.source.catalog.tables) > 1:
            # The number of rows says nothing about the table.
            return
        kinds = [self._by_groups(), self._by_months()]
        if not self.about_files:
            kinds += [self._with_the_year_before(), self._top_rows()]
        yield from filter(None, chain.from_iterable(zip_longest(*kinds)))

    def _by_groups(self) -> Iterator[Candidate[str] | None]:
        """Yield questions that break the figure down by a column with few values.

        A filter for one value of the column is removed.
        """
        query = self.query
        equal = {each.place: each.node for each in self.filters if each.condition["operator"] == "="}
        own: dict[bool, list[Candidate[str] | None]] = {False: [], True: []}
        for alias, table in query.tables.items():
            for column in offered_columns(self.source, table):
                place = (alias, column.name.lower())
                if is_group(column, table) and place not in query.grouped:
                    rows = query.rows_without([equal[place]]) if place in equal else query.rows
                    own[place in equal].append(self._by_group(rows, alias, table, column))
        yield from (*own[False][:1], *own[True], *own[False][1:])
        for rows, alias, table in self._referenced():
            for column in offered_columns(self.source, table):
                if is_group(column, table):
                    yield self._by_group(rows, alias, table, column)

    def _by_group(self, rows: exp.Select, alias: str, table: Table, column: Column) -> Candidate[str] | None:
        is_label = column.name.lower() in _LABELS
        group = singular(shown_name(table.name)) if is_label else shown_name(column.name)
        statement = self.query.statement(rows, self._dialect, _column(alias, column.name))
        return self._candidate("follow_up_groups", rows, statement, group=group)

    def _by_months(self) -> Iterator[Candidate[str] | None]:
        """Yield questions for the figure by month of the dates of the main table, those of filters first."""
        query, table = self.query, self.query.tables[self.query.main]
        days = [each for each in offered_columns(self.source, table) if each.type_class in ("date", "datetime")]
        filtered = {each.place for each in self.filters}
        if self.about_files and len(days) > 1:
            return
        for day in sorted(days, key=lambda day: (query.main, day.name.lower()) not in filtered):
            month = self._period(_column(query.main, day.name), "month")
            if month is not None and (query.main, day.name.lower()) not in query.grouped:
                statement = query.statement(query.rows, self._dialect, month)
                yield self._candidate("follow_up_months", query.rows, statement, day=shown_name(day.name))

    def _with_the_year_before(self) -> Iterator[Candidate[str] | None]:
        """Yield questions that compare the period of a filter with the same one of the year before."""
        for condition in _conditions(self.query, self.query.rows, self.source) or ():
            filters = [each for each in self.filters if each.condition["column"] == condition["column"]]
            if condition["operator"] != "during" or len({each.place for each in filters}) != 1:
                continue
            first, last = map(date.fromisoformat, condition["values"])
            following = last + timedelta(days=1)
            try:
                earlier = first.replace(year=first.year - 1), following.replace(year=following.year - 1)
            except ValueError:
                # There is no such day in the year before.
                continue
            day = next(filters[0].node.find_all(exp.Column))
            year = self._period(day, "year")
            if year is None or first.year != last.year:
                continue
            rows = self.query.rows_without([each.node for each in filters])
            both = rows.where(exp.or_(_within(day, first, following), _within(day, *earlier)))
            dates = [str(earlier[0]), str(earlier[1] - timedelta(days=1))]
            period, before = condition_words([condition, {**condition, "values": dates}], self.language)
            statement = self.query.statement(both, self._dialect, year)
            yield self._candidate("follow_up_year_before", rows, statement, period=period, before=before)

    def _top_rows(self) -> Iterator[Candidate[str] | None]:
        """Yield questions for the rows of another table with the highest figures, by their names."""
        query = self.query
        others = [(query.rows, alias, table) for alias, table in query.tables.items() if alias != query.main]
        for rows, alias, table in (*others, *self._referenced()) if query.figure.function not in ("min", "max") else ():
            for column in offered_columns(self.source, table):
                is_label = column.name.lower() in _LABELS and not is_group(column, table)
                if is_label and (alias, column.name.lower()) not in query.grouped:
                    statement = query.statement(rows, self._dialect, _column(alias, column.name), top=True)
                    group = shown_name(table.name)
                    yield self._candidate("follow_up_top", rows, statement, min_rows=_TOP, group=group, count=_TOP)

    @property
    def _dialect(self) -> str:
        return self.source.catalog.dialect

    def _period(self, day: exp.Expr, by: Period) -> exp.Expr | None:
        """Return the expression that groups rows by the month or year of `day`; None if the engine has none here."""
        dialect = next((each for each in DIALECTS if each == self._dialect), None)
        return period_key(day.copy(), by, dialect) if dialect else None

    def _referenced(self) -> Iterator[tuple[exp.Select, str, Table]]:
        """Yield each table that the main table refers to and that is not read, with the joined rows and its alias."""
        query, shown = self.query, self.source.shown_catalog.tables
        for key in query.tables[query.main].foreign_keys:
            target, alias = shown.get(key.target), "_".join((*key.columns, "target"))
            if target is None or not key.likely or target in query.tables.values() or alias in query.tables:
                continue
            pairs = zip(key.columns, key.target_columns, strict=True)
            on = exp.and_(
                *(exp.EQ(this=_column(query.main, left), expression=_column(alias, right)) for left, right in pairs)
            )
            yield query.rows.join(_table(target, alias), on=on, join_type="left"), alias, target

    def _candidate(
        self, code: str, rows: exp.Select, sql: str, *, min_rows: int = 2, **facts: str | int
    ) -> Candidate[str] | None:
        """Return a question about `rows`, and `sql`, which is executed for it; None if their filters have no words."""
        conditions = _conditions(self.query, rows, self.source)
        if conditions is None:
            return None
        words = joined(condition_words(conditions, self.language), self.language)
        where = render("follow_up_where", self.language, conditions=words) if words else ""
        figure, prefix = self.query.figure, "file_" if self.about_files else ""
        figure_words = render(
            f"{prefix}figure_{figure.function}",
            self.language,
            table=shown_name(self.query.tables[self.query.main].name),
            measure=shown_name(figure.column),
        )
        question = render(f"{prefix}{code}", self.language, figure=figure_words, where=where, **facts)
        return Candidate(question, lambda: self._read(sql), min_rows)

    def _read(self, sql: str) -> Result:
        """Return the rows of `sql` that have a figure, its last column."""
        result = self.source.execute(sql, self.stop)
        return {**result, "rows": [row for row in result["rows"] if row[-1] is not None]}


def _filters(query: _Query, source: Source) -> Iterator[_Filter]:
    """Yield the conditions of the WHERE clause that concern one column and have words."""
    all_rows = query.rows_without(query.parts)
    for part in query.parts:
        places = {(column.table, column.name.lower()) for column in part.find_all(exp.Column)}
        conditions = _conditions(query, all_rows.where(part.copy()), source) or []
        if len(places) == len(conditions) == 1:
            yield _Filter(part, places.pop(), conditions[0])


def _conditions(query: _Query, rows: exp.Select, source: Source) -> list[QueryCondition] | None:
    """Return the filters of `rows`; None if words cannot express all of them completely."""
    summary = summarize_query(query.statement(rows, source.catalog.dialect), source.catalog)
    is_complete = not summary["more_conditions"] and all(
        len(condition["values"]) <= _MAX_VALUES
        and all(len(str(value)) <= _MAX_VALUE_CHARS for value in condition["values"])
        for condition in summary["conditions"]
    )
    return summary["conditions"] if is_complete else None


def _read(sql: str, source: Source) -> _Query | None:
    """Return the query of an executed statement, or else the number of rows of a table that it reads.

    The latter also if its filters have no words. None if none of its tables may be shown.
    """
    try:
        (tree,) = parse(sql, source.catalog.dialect)
    except ValueError:
        return None
    shown = source.shown_catalog.tables
    query = _read_select(tree, source)
    if query is None:
        keys = (key_of(node, source.catalog) for node in tree.find_all(exp.Table))
        key = next((key for key in keys if key in shown), None)
        return None if key is None else _of_table("t", shown[key], _COUNT)
    if _conditions(query, query.rows, source) is None:
        return _of_table(query.main, query.tables[query.main], query.figure)
    return query


def _of_table(alias: str, table: Table, figure: _Figure) -> _Query:
    return _Query(exp.select().from_(_table(table, alias)), {alias: table}, alias, figure)


def _read_select(tree: exp.Expr, source: Source) -> _Query | None:
    """Return the query of a SELECT from tables that are joined along their primary keys; None for others."""
    resolved = qualify_names(tree, source.catalog)
    select = resolved.scopes[0].expression if resolved and len(resolved.scopes) == 1 else None
    if not isinstance(select, exp.Select) or not select.args.get("from_"):
        return None
    shown, tables = source.shown_catalog.tables, dict[str, Table]()
    joins = select.args.get("joins") or []
    for node in (select.args["from_"].this, *(join.this for join in joins)):
        key = key_of(node, source.catalog) if isinstance(node, exp.Table) else None
        if key is None or key not in shown or node.args.get("joins") or node.args.get("pivots"):
            return None
        tables[node.alias_or_name] = shown[key]
    first = next(iter(tables))
    main = main_table(select, tables)
    is_outer = any(join.side or join.kind not in ("", "INNER", "CROSS") for join in joins)
    if main is None or (is_outer and (main != first or any(join.side != "LEFT" for join in joins if join.side))):
        return None
    clauses = {name: select.args[name] for name in ("from_", "joins", "where") if select.args.get(name)}
    group = select.args.get("group")
    grouped = {(column.table, column.name.lower()) for column in (group.find_all(exp.Column) if group else ())}
    figures = (_figure(output, main, tables[main], source) for output in select.expressions)
    figure = next(filter(None, figures), _COUNT)
    tables = {main: tables.pop(main), **tables}
    return _Query(exp.Select(**clauses).copy(), tables, main, figure, frozenset(grouped))


def _figure(output: exp.Expr, main: str, table: Table, source: Source) -> _Figure | None:
    """Return the figure that an output computes: the number of rows of `table`, or a function of one of its columns."""
    output = unwrapped(output)
    operand = output.this if isinstance(output, exp.AggFunc) else None
    if isinstance(output, exp.Count):
        if isinstance(operand, exp.Distinct) and len(operand.expressions) == 1:
            operand = operand.expressions[0]
        is_key = isinstance(operand, exp.Column) and operand.table == main and table.primary_key == (operand.name,)
        return _COUNT if is_key or isinstance(operand, exp.Star | exp.Literal) else None
    function = AGGREGATES.get(type(output))
    if function is None or not isinstance(operand, exp.Column) or operand.table != main:
        return None
    columns = {each.name.lower(): each for each in offered_columns(source, table) if each.type_class == "number"}
    column = columns.get(operand.name.lower())
    return column and _Figure(function, type(output)(this=_column(main, column.name)), column.name)


_COUNT = _Figure("count", exp.Count(this=exp.Star()))


def _column(alias: str, name: str) -> exp.Column:
    return exp.column(name, table=alias, quoted=True)


def _table(table: Table, alias: str) -> exp.Expr:
    node = exp.table_(table.name, db=table.schema, quoted=True)
    return exp.alias_(node, exp.to_identifier(alias, quoted=True), table=True)


def _within(day: exp.Expr, first: date, following: date) -> exp.Expr:
    """Return the condition that `day` is from `first` until before `following`."""
    begins = exp.GTE(this=day.copy(), expression=exp.Literal.string(str(first)))
    return exp.and_(begins, exp.LT(this=day.copy(), expression=exp.Literal.string(str(following))))

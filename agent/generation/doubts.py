"""Doubts about a statement: figures, dates, stored values and columns that it does not share with its question.

They are told without a model, from the parse tree, the catalog and stored values. Words count only as exact names.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import combinations
from typing import NamedTuple

from babel import Locale
from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.charts.calendar_names import dated_periods
from datasphinx.agent.errors import StatementError
from datasphinx.agent.generation.definitions import relevant_knowledge
from datasphinx.agent.generation.execution import finds_nothing
from datasphinx.agent.generation.question import Question
from datasphinx.agent.knowledge.prompt import definition_text
from datasphinx.agent.messages import Language, Message, language_of
from datasphinx.agent.retrieval.linked_values import LinkedValue, coded_values
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.codes import codes_of
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.schema.words import han_runs, normal_form, spelt_words, stem
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import comparison_key
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.sql.names import ColumnReference, ResolvedQuery, key_of, referenced_names, resolved_query
from datasphinx.agent.sql.output_columns import OutputColumn, output_columns
from datasphinx.agent.sql.selects import PREDICATES, RANGES, operands_of
from datasphinx.agent.sql.summary import days_in, period_unit, singular

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PART_END = re.compile(r"[^\w\s'’-]+")
_YEARS = range(1900, 2101)
_SPELT_OUT = 12
"""The last number of the first ones, which are often written as words."""
_FACTORS = frozenset(map(Decimal, (100, 1000, 10**4, 10**6, 10**8, 10**9, 7, 12, 24, 60, 3600, 60_000, 86_400)))
"""What a number of a question is multiplied by or divided by in another unit: percent, millions, minutes."""
_TESTS = frozenset(("where", "having", "order"))
"""The clauses that compare or sort, and return nothing."""
_CALCULATIONS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Interval)
_MIN_TEXT = 4
"""Characters of a text that is no code or flag, and so is mentioned if it is meant."""
_FEW_VALUES = 12
"""Columns with up to as many stored values are kinds, which a question may name in other words."""
_MAX_CHARS, _MAX_DIGITS, _MAX_COLUMNS = 100, 30, 3
_IGNORED = "question_part_ignored"


@dataclass(frozen=True)
class Mentions:
    """What was said about a question, and what its words refer to."""

    question: str
    """The question and the user's answers about it."""
    others: Sequence[str] = ()
    """What else may mention a figure or value: assumptions, definitions, instructions."""
    values: Sequence[LinkedValue] = ()
    """The stored values that words of the question refer to."""
    columns: Sequence[tuple[str, Collection[str]]] = ()
    """The phrases of the question that the business knowledge explains as columns, with these as `table.column`."""
    language: Language = "en"
    """The language of the question."""


def doubts_of(
    question: Question, assumptions: Sequence[str], source: Source, sql: str, today: date
) -> tuple[Message, ...]:
    """Return the doubts about `sql` as the statement of `question`, made under `assumptions`."""
    said = _mentions(question, assumptions, source)
    if question.sql_only:
        # Nothing may be executed.
        return source.memoized(("doubts", sql, said, today), lambda: doubts_about(sql, said, source.catalog, today))
    return source.memoized(("doubts on rows", sql, said, today), lambda: doubts_on_rows(sql, said, source, today))


def absent_names(sql: str, question: Question, source: Source) -> list[Message]:
    """Return the warnings about names of the question that no row has, if all are known and none is like them.

    If no other column has them either, there is nothing that could be meant instead. Columns of a few kinds may have
    the same thing in other words.
    """
    said = f" {normal_form(' '.join(question.asked.texts))} "
    found = []
    for warning in source.warnings_about(sql):
        if isinstance(warning, Message) and warning.code == "value_not_stored":
            table = source.catalog.tables[warning.facts["table"]]
            column = table.column(warning.facts["column"])
            is_known = source.values.is_complete(table.key, column.name) and (column.distinct or 0) > _FEW_VALUES
            value = normal_form(warning.facts["value"])
            if not is_known or f" {value} " not in said or personal_content(source.catalog, table, column):
                continue
            others = source.linked_values(value, source.catalog.selection())
            if all(normal_form(link.value) != value for link in others):
                found.append(warning)
    return found


def doubts_on_rows(sql: str, said: Mentions, source: Source, today: date) -> tuple[Message, ...]:
    """Return the doubts about `sql`, without those about stored values with which the statement has the same result."""

    def is_needless(doubt: Message) -> bool:
        links = [link for link in said.values if one_line(link.phrase, _MAX_CHARS) == doubt.facts.get("part")]
        return doubt.code == _IGNORED and bool(links) and all(_changes_nothing(sql, link, source) for link in links)

    return tuple(doubt for doubt in doubts_about(sql, said, source.catalog, today) if not is_needless(doubt))


def _changes_nothing(sql: str, link: LinkedValue, source: Source) -> bool:
    """Return whether `sql` has the same rows, and some, if of the table of `link` only those with its value count.

    A statement that reads the column may compare it with another value.
    """
    catalog = source.catalog
    if f"{link.table}.{link.column}".lower() in map(str.lower, referenced_names(sql, catalog).columns):
        return False
    column, (tree,) = catalog.tables[link.table].column(link.column), parse(sql, catalog.dialect)
    tables = [table for table in tree.find_all(exp.Table) if key_of(table, catalog) == link.table]
    for table in tables:
        value = exp.Literal(this=link.value, is_string=column.type_class != "number")
        named = exp.column(link.column, table=table.alias_or_name, quoted=True)
        if select := table.parent_select:
            select.where(exp.EQ(this=named, expression=value), copy=False)
    try:
        results = [source.execute(each) for each in (sql, print_statement(tree, catalog.dialect))] if tables else []
    except StatementError:
        return False
    keys = {comparison_key(result, ordered=False) for result in results}
    return len(keys) == 1 and not finds_nothing(results[0]) and not results[0]["truncated"]


def _mentions(question: Question, assumptions: Sequence[str], source: Source) -> Mentions:
    text, selection = "\n".join(question.asked.texts), question.columns
    relevant = relevant_knowledge(question.asked, source)
    # The meanings of codes are read with statements.
    codes = {} if question.sql_only else source.code_meanings(selection)
    values = [
        *source.linked_values(text, selection),
        *coded_values(text, source.catalog, codes, source.values, selection),
    ]
    defined = [*(each.phrase for each in relevant.definitions), *(word.phrase for word in relevant.ambiguous_words)]
    for phrase in defined:
        # Its definition says what it stands for.
        text = text.replace(phrase, " ")
    last = question.turns[-1:]
    texts = [source.instructions, *map(definition_text, relevant.definitions)]
    texts += [each for turn in last for each in (turn["question"], turn["sql"])]
    columns = [
        (
            match.phrase,
            frozenset(name.item.name for name in match.names if name.code is None and name.item.kind == "column"),
        )
        for match in relevant.mentions
    ]
    return Mentions(
        text,
        (*assumptions, *defined, *texts),
        tuple(link for link in values if normal_form(link.phrase) in normal_form(text)),
        tuple((phrase, names) for phrase, names in columns if names),
        question.language,
    )


def doubts_about(sql: str, said: Mentions, catalog: Catalog, today: date) -> tuple[Message, ...]:
    """Return what `sql` leaves out of what was said, and what it has that was not said.

    Columns count if they belong to a table of the statement, or to one that a key connects with it. A statement that
    cannot be resolved causes no doubt.
    """
    query = resolved_query(sql, catalog, expand_stars=True)
    if query is None:
        return ()
    parts = _Parts(query, today)
    asked = _stems(said.question)
    figures = (
        text
        for text, readings in _numbers(_without_values(said), alone=True)
        if max(readings) > 1 and not _is_among(readings, parts.numbers) and not parts.counts(text, asked)
    )
    left_out = dict.fromkeys([*figures, *_unused_periods(said, parts), *_unused_values(said, parts)])
    added = dict.fromkeys([*_unsaid_numbers(said, parts), *_unsaid_texts(said, parts)])
    return (
        *(Message(_IGNORED, part=one_line(part, _MAX_CHARS)) for part in left_out),
        *(
            Message("question_column_ignored", part=one_line(part, _MAX_CHARS), columns=_listed(columns))
            for part, columns in dict(_unused_columns(said, parts)).items()
        ),
        *(
            Message("key_returned", key=key, table=table.name, column=f"{table.key}.{column}")
            for table, key, column in _keys_returned(said, parts, output_columns(sql, catalog))
        ),
        *(Message("not_in_question", part=one_line(part, _MAX_CHARS)) for part in added),
    )


@dataclass(frozen=True)
class _Parts:
    """The parts of a statement that a question may mention."""

    query: ResolvedQuery
    today: date

    @cached_property
    def _nodes(self) -> list[exp.Expr]:
        return list(self.query.tree.walk())

    @cached_property
    def _words(self) -> list[exp.Expr]:
        return [node for node in self._nodes if isinstance(node, exp.Literal | exp.Identifier)]

    @cached_property
    def _used(self) -> list[exp.Expr]:
        """The literals and names, without those that the statement itself gives: `total_2024` selects no year."""
        given = {node.alias.lower() for node in self._nodes if isinstance(node, exp.Alias | exp.CTE | exp.Subquery)}
        given |= {node.name.lower() for node in self._nodes if isinstance(node, exp.TableAlias)}
        tables = (self.query.catalog.tables[key].name for key in self.tables)
        given -= {name.lower() for name in (*tables, *(reference.column.name for reference in self._references))}
        return [node for node in self._words if isinstance(node, exp.Literal) or node.name.lower() not in given]

    @cached_property
    def texts(self) -> list[str]:
        """All literals, and the names of what is stored."""
        return [node.name for node in self._used]

    @cached_property
    def compared(self) -> list[tuple[exp.Literal, exp.Expr]]:
        """The literals that something is compared with, with their comparisons; not in calculations or an order."""
        found: list[tuple[exp.Literal, exp.Expr]] = []
        for node in (each for each in self._nodes if isinstance(each, PREDICATES)):
            if isinstance(node.find_ancestor(exp.Order, exp.Query), exp.Order):
                continue
            for operand in operands_of(node):
                if operand.find(exp.Column, exp.Query, *_CALCULATIONS):
                    continue
                # The further arguments of a call only change the first one: date('now', '-180 days').
                first = next((one for one in operand.find_all(exp.Literal, bfs=False) if not _is_format(one)), None)
                found += [(first, node)] if first else []
        return found

    @cached_property
    def days(self) -> dict[int, list[date]]:
        """The days that each literal stands for, which is compared as a date, or is the end of a range of periods.

        They are known by the identity of the literal. The end of a range with two ends is a day in it. Another one, or
        that of a range without both of its ends, may also be a day beside it: "until 2023" is before 2024.
        """
        return {
            literal: end.days(
                has_other_end=(other := self._other_end(end)) is not None
                and not (end.is_excluded and other.is_excluded)
            )
            for literal, end in self.ends.items()
        }

    @cached_property
    def ends(self) -> dict[int, "_End"]:
        """The literals that are dates or ends of ranges of periods, by their identity."""
        return {id(literal): end for literal, node in self.compared if (end := _end_of(literal, node))}

    def _other_end(self, end: "_End") -> "_End | None":
        others = (one for one in self.ends.values() if (one.side, one.is_upper) == (end.side, not end.is_upper))
        return next(others, None) if end.side else None

    def years_of(self, literal: exp.Literal) -> set[int]:
        """Return the years after which people may name the period that ends at `literal`.

        The period of up to a year that lies in two years may have the name of either, as winters and fiscal years. The
        same day of the year before begins or ends the period to compare with.
        """
        end, (day, *beside) = self.ends[id(literal)], self.days[id(literal)]
        years = {each.year for each in (day, *beside)}
        if other := self._other_end(end):
            first, last = sorted([day, other.days(has_other_end=True)[0]])
            if (last.year - 1, last.month, last.day) < (first.year, first.month, first.day):
                years |= {first.year, last.year}
        same = (own[0] for key, own in self.days.items() if self.ends[key].is_upper == end.is_upper)
        return years | {each.year for each in same if each.timetuple()[:3] == (day.year + 1, day.month, day.day)}

    @cached_property
    def numbers(self) -> set[Decimal]:
        """The numbers in literals and names, those next to a bound, the distances of dates, and the years between."""
        texts = [node.name for node in self._used if not self._is_left_out(node)]
        found = {one for text in texts for _, readings in _numbers(text) for one in readings}
        for literal, node in self.compared:
            days = self.days.get(id(literal), [])
            precision = sum(map(str.isdecimal, literal.name)) // 2 - 1
            found |= {Decimal(part) for day in days for part in (day.year, day.month, day.day)[:precision]}
            if not days:
                found |= {one for _, readings in _numbers(literal.name) for one in _meant(readings, node)}
        for factor in (node for node in self._used if isinstance(node.parent, exp.Mul | exp.Div)):
            # 10 % more is a product with 1.1.
            found |= {abs(one - 1) * 100 for _, readings in _numbers(factor.name) for one in readings if one < 2}
        dates = [period[0] for text in self.texts if (period := _date(text))]
        for first, last in combinations([*dates, *(day for own in self.days.values() for day in own), self.today], 2):
            found |= _distances(first, last)
        years = [own[0].year for own in self.days.values()]
        return found | set(map(Decimal, range(min(years, default=0), max(years, default=0))))

    def counts(self, number: str, asked: Sequence[str]) -> bool:
        """Return whether the words `asked` have `number` before the name of all that it counts: "our 5 regions"."""
        tables = [self.query.catalog.tables[key] for key in self.tables]
        counted = [(table.rows, table.name) for table in tables]
        counted += [(reference.column.distinct, reference.column.name) for reference in self._references]
        return any(str(count) == number and _contains(asked, (number, *_stems(name))) for count, name in counted)

    def _is_left_out(self, node: exp.Expr) -> bool:
        """Return whether `node` is the end of a range that does not belong to it."""
        days = self.days.get(id(node))
        return days is not None and set(days).isdisjoint(_period(node.name) or ())

    @cached_property
    def forms(self) -> list[str]:
        """The normal forms of literals and names."""
        return [f" {normal_form(text)} " for text in self.texts]

    @cached_property
    def columns(self) -> set[str]:
        """The columns that the statement reads, as `table.column` in lower case."""
        return {str(reference).lower() for reference in self._references}

    @cached_property
    def comments(self) -> list[str]:
        """The comments on the columns that the statement reads."""
        return [comment for reference in self._references if (comment := reference.column.comment)]

    def others(self, value: str) -> set[str]:
        """Return the other stored values of the columns with few of them that have `value`."""
        values = self.query.catalog.values
        stored = (values.get((each.table.key, each.column.name), ()) for each in self._references)
        return {one for each in stored if value in each and len(each) <= _FEW_VALUES for one in each} - {value}

    @cached_property
    def _references(self) -> list[ColumnReference]:
        return [reference for _, reference in self._places]

    @cached_property
    def _places(self) -> list[tuple[str, ColumnReference]]:
        """The columns that the statement reads, each with the clause of its query that does: "where"."""
        columns = [(column, scope) for scope in self.query.scopes for column in self.query.find_all(scope, exp.Column)]
        return [
            (_clause_of(column), reference)
            for column, scope in columns
            if (reference := self.query.column_of(column, scope))
        ]

    def clauses(self, columns: Collection[str]) -> set[str]:
        """Return the clauses that read one of `columns`, which are `table.column`."""
        wanted = set(map(str.lower, columns))
        found = {clause for clause, reference in self._places if str(reference).lower() in wanted}
        # A column that is returned is sorted by as an output.
        is_sorted = not self._sorted.isdisjoint(name.rpartition(".")[2] for name in wanted)
        return found | ({"order"} if is_sorted else set())

    @cached_property
    def _sorted(self) -> set[str]:
        """The names that the statement sorts by, in lower case."""
        orders = (node for node in self._nodes if isinstance(node, exp.Order))
        return {column.name.lower() for order in orders for column in order.find_all(exp.Column)}

    @cached_property
    def tables(self) -> set[str]:
        """The keys of the tables that the statement reads."""
        return self._tables_of(self.query.scopes)

    @cached_property
    def tested(self) -> set[str]:
        """Those of which the statement only asks whether they have a row."""
        return self.tables - self._tables_of(
            [scope for scope in self.query.scopes if scope.expression.find_ancestor(exp.Exists, exp.In) is None]
        )

    def _tables_of(self, scopes: Sequence[Scope]) -> set[str]:
        sources = (source for scope in scopes for source in scope.sources.values())
        return {table.key for source in sources if (table := self.query.table(source))}

    @cached_property
    def near(self) -> list[str]:
        """The keys of the tables that the statement reads, or that a key connects with them."""
        tables = self.query.catalog.tables
        targets = {foreign.target for key in self.tables for foreign in tables[key].foreign_keys}
        return [
            key
            for key, table in tables.items()
            if key in self.tables or key in targets or any(each.target in self.tables for each in table.foreign_keys)
        ]

    @cached_property
    def names(self) -> list[frozenset[str]]:
        """The stems of the words of each name, of columns as the catalog spells them."""
        names = [reference.column.name for reference in self._references]
        names += [node.name for node in self._words if isinstance(node, exp.Identifier)]
        return [frozenset(_stems(name)) for name in names]


def _clause_of(node: exp.Expr) -> str:
    while node.parent and not isinstance(node.parent, exp.Query):
        node = node.parent
    return node.arg_key or ""


# Numbers and dates


def _numbers(text: str, *, alone: bool = False) -> Iterator[tuple[str, frozenset[Decimal]]]:
    """Yield the numbers in `text`, each with its readings: 1,234 is 1234 or 1.234.

    With `alone`, a number beside a letter of an alphabet with capitals is left out, as in Q1, 3rd and 1980s.
    """
    for match in _NUMBER.finditer(text):
        digits, around = match.group(), text[: match.start()][-1:] + text[match.end() :][:1]
        is_part_of_word = any(char.lower() != char.upper() for char in around)
        if len(digits) <= _MAX_DIGITS and not (alone and is_part_of_word):
            readings = _readings(digits)
            yield from [(digits, readings)] if readings else _numbers(digits.replace(".", " ").replace(",", " "))


def _without_values(said: Mentions) -> str:
    """Return the question without the phrases that refer to stored values, of which numbers are parts: "type 2"."""
    text = said.question
    for link in said.values:
        # The phrase may also be a part of another number.
        text = re.sub(rf"(?<![\d.,]){re.escape(link.phrase)}(?![.,]?\d)", " ", text)
    return text


def _readings(digits: str) -> frozenset[Decimal]:
    """Return the numbers that digits with points and commas may be; none for dates and versions, as 5.3.2024."""
    parts, marks = re.split("[.,]", digits), re.findall("[.,]", digits)
    has_groups = all(len(part) == 3 for part in parts[1:-1])
    readings = (
        [] if marks and marks[-1] in marks[:-1] or not has_groups else [".".join(["".join(parts[:-1]), parts[-1]])]
    )
    readings += ["".join(parts)] if has_groups and len(set(marks)) == 1 and len(parts[-1]) == 3 else []
    return frozenset(Decimal(reading.removeprefix(".")) for reading in readings)


def _meant(numbers: Set[Decimal], comparison: exp.Expr) -> Set[Decimal]:
    """Return what people may say of `numbers` in `comparison`.

    Whole bounds are said with or without the bound itself, and hours also on a clock of twelve.
    """
    if any(map(_is_hour, comparison.find_all(exp.TimeToStr, exp.Extract, exp.Hour))):
        return numbers | {number - 12 for number in numbers}
    if not isinstance(comparison, RANGES):
        return numbers
    return {number + step for number in numbers for step in (-1, 0, 1) if not step or number == int(number)}


def _is_hour(part: exp.Expr) -> bool:
    form = part.args.get("format") if isinstance(part, exp.TimeToStr) else part.this
    return isinstance(part, exp.Hour) or (isinstance(form, exp.Expr) and form.name.upper() in {"%H", "HOUR"})


def _date(text: str) -> tuple[date, date] | None:
    """Return the first and last day of a date, which are the same; None for a month, a year and other texts."""
    period = _period(text)
    return period if period and period[0] == period[1] else None


def _period(text: str) -> tuple[date, date] | None:
    """Return the first and last day of a year, month or day in ISO format or in digits alone, as 202403."""
    if _is_compact(text):
        text = "-".join(filter(None, (text[:4], text[4:6], text[6:])))
        return days_in(text) if int(text[:4]) in _YEARS else None
    return days_in(text)


def _is_compact(text: str) -> bool:
    return text.isdecimal() and len(text) in (6, 8)


class _End(NamedTuple):
    """An end of a range of dates, months or years, or a date alone: its period, and what is compared with it."""

    first: date
    last: date
    side: str = ""
    is_upper: bool = False
    is_excluded: bool = False

    def days(self, *, has_other_end: bool) -> list[date]:
        """Return the day at this end of the range; of the only one, also those of its period and beside it."""
        if not self.side:
            return [self.first]
        before, after = _shifted(self.first, -1), _shifted(self.last, 1)
        if self.is_upper:
            inside = before if self.is_excluded else self.last
        else:
            inside = after if self.is_excluded else self.first
        return [inside] if has_other_end else [inside, before, self.first, self.last, after]


def _end_of(literal: exp.Literal, comparison: exp.Expr) -> _End | None:
    """Return what `literal` ends in `comparison`; None if it is neither a date nor the end of a range of periods."""
    is_left = any(one is literal for one in comparison.this.find_all(exp.Literal))
    is_between = isinstance(comparison, exp.Between) and not is_left
    other = comparison.expression if is_left and isinstance(comparison, RANGES) else comparison.this
    is_range = is_between or isinstance(comparison, RANGES)
    is_period = is_range and (literal.is_string or period_unit(other) is not None)
    period = _period(literal.name) if is_period or _is_compact(literal.name) else _date(literal.name)
    if period is None:
        return None
    if not is_range:
        return _End(*period)
    if is_between:
        return _End(*period, other.sql(), any(one is literal for one in comparison.args["high"].find_all(exp.Literal)))
    is_upper = isinstance(comparison, exp.LT | exp.LTE) != is_left
    return _End(*period, other.sql(), is_upper, isinstance(comparison, exp.LT | exp.GT))


def _is_format(literal: exp.Literal) -> bool:
    """Return whether a literal is the format of a date in a call: strftime('%Y%m%d', 'now')."""
    is_argument = isinstance(literal.parent, exp.Func) and not isinstance(literal.parent, exp.Predicate)
    return literal.arg_key == "format" or (is_argument and "%" in literal.name)


def _shifted(day: date, days: int) -> date:
    return date.fromordinal(min(max(day.toordinal() + days, 1), date.max.toordinal()))


def _distances(first: date, last: date) -> set[Decimal]:
    """Return how many days, weeks, months, quarters and years two dates are apart, counted with both ends or one."""
    days = abs((last - first).days)
    months = abs((last.year - first.year) * 12 + last.month - first.month)
    counts = (days, days // 7, months, months // 3, months // 12, abs(last.year - first.year))
    return {Decimal(count + more) for count in counts for more in (0, 1)}


def _said_of_year(year: int) -> tuple[int, ...]:
    """Return the numbers by which people name a year: itself, its decade, and both without the century."""
    decade = year // 10 * 10
    return year, year % 100, decade, decade % 100


def _is_often_spelt(number: Decimal) -> bool:
    """Return whether a number is often written as words, so that no digits of the question mention it: as twenty."""
    return number <= _SPELT_OUT or len(number.normalize().as_tuple().digits) == 1


def _is_among(readings: Set[Decimal], numbers: Set[Decimal]) -> bool:
    """Return whether one of `readings` is among `numbers`, in this or another unit."""
    if not numbers.isdisjoint(readings):
        return True
    return any(one and other and max(one / other, other / one) in _FACTORS for one in readings for other in numbers)


def _unsaid_numbers(said: Mentions, parts: _Parts) -> Iterator[str]:
    texts = [said.question, *said.others, *(link.value for link in said.values), *parts.comments]
    mentioned = {number for text in texts for _, readings in _numbers(text) for number in readings}
    for literal, node in parts.compared:
        if days := parts.days.get(id(literal)):
            is_near = any(abs(day.year - parts.today.year) <= 1 for day in days)
            figures = {Decimal(each) for year in parts.years_of(literal) for each in _said_of_year(year)}
            figures |= _distances(days[0], parts.today)
            figures |= {Decimal(literal.name)} if literal.name.isdecimal() else set()
            is_said = not mentioned.isdisjoint(figures)
            if not is_near and not is_said:
                yield str(days[0].year)
        elif not literal.is_string or literal.name.isdecimal():
            for text, readings in _numbers(literal.name):
                wide = _meant(readings, node)
                said_years = {number - 1 for number in mentioned} if node.find_ancestor(exp.If, exp.Filter) else set()
                # Of two periods that are computed beside each other, the first one is that before the other.
                is_year = any(
                    number in _YEARS and (abs(number - parts.today.year) <= 1 or number in said_years)
                    for number in readings
                )
                if not _is_often_spelt(max(readings)) and not is_year and not _is_among(wide, mentioned):
                    yield text


def _unused_periods(said: Mentions, parts: _Parts) -> Iterator[str]:
    """Yield the months and quarters with a year of which the dates in the statement neither have a day nor are around.

    A statement without dates may have their numbers, and one with the text of a month, such as 2024-03, has it.
    """
    days, written = [day for own in parts.days.values() for day in own], set(map(_period, parts.texts))
    for (first, last), words in dated_periods(_without_values(said)).items() if days else ():
        is_used = (first, last) in written or any(first <= day <= last for day in days)
        if not is_used and not min(days) < first < max(days):
            yield words


# Stored values


def _unused_values(said: Mentions, parts: _Parts) -> Iterator[str]:
    """Yield the phrases that are stored values, if neither they nor what else they stand for is in the statement."""
    named, meant = defaultdict[str, set[str]](set), set[str]()
    for link in (each for each in said.values if each.table in parts.near):
        named[link.phrase].add(normal_form(link.value))
        if normal_form(link.phrase) == normal_form(link.value) and _is_meant(link, parts):
            meant.add(link.phrase)
    for phrase in (each for each in named if each in meant):
        form = normal_form(phrase)
        values = set().union(*(found for other, found in named.items() if form in normal_form(other)))
        if not any(f" {value} " in text for value in values for text in parts.forms):
            yield phrase


def _is_meant(link: LinkedValue, parts: _Parts) -> bool:
    """Return whether a phrase means the value that it refers to; codes are too short for another spelling."""
    if len(link.value) >= _MIN_TEXT or link.phrase == link.value:
        return True
    catalog = parts.query.catalog
    stored = catalog.values.get((link.table, link.column)) or catalog.tables[link.table].column(link.column).examples
    # A column with a longer value holds names, of which some are short.
    return any(len(value) >= _MIN_TEXT for value in stored)


def _unsaid_texts(said: Mentions, parts: _Parts) -> Iterator[str]:
    """Yield the texts that the statement compares with and nobody said; those of another language cannot be said.

    One of few kinds is doubted only if another of them was said.
    """
    linked, language = {link.value for link in said.values}, said.language
    texts = [said.question, *said.others]
    stems = {one for text in texts for one in _stems(text)}
    whole = normal_form(" ".join(texts))
    for literal, _ in parts.compared:
        text = literal.name
        own = _stems(text)
        is_number = not literal.is_string or text.isdecimal() or id(literal) in parts.days
        if is_number or len(text) < _MIN_TEXT or not own or text in linked:
            continue
        is_said = not stems.isdisjoint(own) or normal_form(text) in whole
        kinds = parts.others(text)
        is_said |= bool(kinds) and stems.isdisjoint(one for kind in kinds for one in _stems(kind))
        if not is_said and language_of(text) == language:
            yield text


# Columns


@lru_cache(maxsize=10_000)
def _stems(text: str) -> tuple[str, ...]:
    # The names of tables and columns occur in every question.
    return (*(stem(word) for word in spelt_words(text.replace("_", " "))), *han_runs(text))


@lru_cache(maxsize=10_000)
def _words(text: str) -> tuple[str, ...]:
    """Return the words of a name or a question, in the singular; other words of their stem may mean something else."""
    return (*map(singular, spelt_words(text.replace("_", " "))), *han_runs(text))


def _unused_columns(said: Mentions, parts: _Parts) -> Iterator[tuple[str, Collection[str]]]:
    """Yield the phrases of the question that name columns which the statement does not read, or not return, with these.

    A column in one list with a returned one is to be returned: "name and age of people older than 35".
    """
    used = [link for link in said.values if any(f" {normal_form(link.value)} " in text for text in parts.forms)]
    questions = [_words(part) for part in _PART_END.split(_without_values(replace(said, values=used)))]
    named = _named_columns(questions, parts)
    for phrase, (name, columns) in named.items():
        clauses = parts.clauses(columns)
        # The word may also be the whole text that is compared: "pubs" beside kind = 'pub' is no column.
        stems = _stems(name)
        is_text = any(_stems(literal.name) == stems for literal, _ in parts.compared)
        is_left_out = not clauses and not is_text and not any(own.issuperset(stems) for own in parts.names)
        if is_left_out or (
            clauses and clauses <= _TESTS and _is_listed(phrase, named, questions, parts, said.language)
        ):
            yield name, columns
    for text, meant in said.columns:
        if parts.columns.isdisjoint(map(str.lower, meant)):
            yield text, meant


def _named_columns(
    questions: Sequence[Sequence[str]], parts: _Parts
) -> dict[tuple[str, ...], tuple[str, Collection[str]]]:
    """Return the longest names of columns in `questions` by their words, each with the columns that have it."""
    catalog = parts.query.catalog
    named: dict[tuple[str, ...], tuple[str, set[str]]] = {}
    table_names = {_words(catalog.tables[key].name) for key in catalog.tables}
    words = {word for part in questions for word in part}
    for key in parts.near:
        for column in catalog.tables[key].columns:
            if key in parts.tested and column.type_class in ("date", "datetime") and column.null_share == 0:
                # Each row has this date: "opened" says no more of a ticket than that there is one.
                continue
            for name in filter(None, (column.name, column.comment)):
                phrase = _words(name)
                is_named = bool(phrase) and words.issuperset(phrase) and phrase not in table_names
                if is_named and any(_contains(part, phrase) for part in questions):
                    named.setdefault(phrase, (name, set()))[1].add(f"{key}.{column.name}")
    parts_of_others = {one for one in named for other in named if len(other) > len(one) and _contains(other, one)}
    return {phrase: found for phrase, found in named.items() if phrase not in parts_of_others}


def _is_listed(
    phrase: tuple[str, ...],
    named: Mapping[tuple[str, ...], tuple[str, Collection[str]]],
    questions: Sequence[Sequence[str]],
    parts: _Parts,
    language: Language,
) -> bool:
    """Return whether `phrase` is in a list with the name of a column that the statement only returns."""
    joint = _words(Locale(language).list_patterns["standard"]["2"].format("", ""))
    returned = [other for other, (_, columns) in named.items() if parts.clauses(columns) == {"expressions"}]
    lists = [(*first, *joint, *last) for other in returned for first, last in ((phrase, other), (other, phrase))]
    return any(_contains(part, each) for each in lists for part in questions)


def _listed(columns: Collection[str]) -> str:
    return ", ".join(sorted(columns)[:_MAX_COLUMNS])


def _keys_returned(said: Mentions, parts: _Parts, outputs: Sequence[OutputColumn]) -> Iterator[tuple[Table, str, str]]:
    """Yield tables that the question names of which the statement returns the key alone, with the key and the name.

    The name is the only text column whose values tell the rows apart. A question that names the key wants it, and the
    answer explains a code whose meanings are in the comment of its column.
    """
    asked, words, tables = set(_stems(said.question)), set(_words(said.question)), parts.query.catalog.tables
    stored = [
        output.stored for output in outputs if output.stored and isinstance(output.expression.unnest(), exp.Column)
    ]
    shown = {place.table.key for place in stored if place.column.type_class == "text"}
    for place in stored:
        if codes_of(place.column):
            continue
        key = (place.column.name,)
        targets = [foreign.target for foreign in place.table.foreign_keys if foreign.columns == key]
        for table in map(tables.__getitem__, targets or [place.table.key] * (place.table.primary_key == key)):
            names = [each.name for each in table.columns if _tells_apart(each, table)]
            named, own = set(_stems(table.name)), set(_stems(place.column.name))
            is_named = words.issuperset(_words(table.name))
            if len(names) == 1 and table.key not in shown and is_named and asked.isdisjoint(own - named):
                yield table, place.column.name, names[0]


def _tells_apart(column: Column, table: Table) -> bool:
    is_text = column.type_class == "text" and not column.secret and column.name not in table.key_columns
    return is_text and bool(table.rows) and (column.distinct or 0) >= (table.rows or 0) > 1


def _contains(words: Sequence[str], phrase: Sequence[str]) -> bool:
    return any(tuple(words[at : at + len(phrase)]) == tuple(phrase) for at in range(len(words) - len(phrase) + 1))

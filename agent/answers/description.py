"""Descriptions of data in words: columns, ranges, gaps and outliers, each figure from statistics of the rows."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from agent.answers.text import format_measure, format_value, is_identifier, joined
from agent.grounding.vocabulary import vocabulary_of
from agent.messages import CONVENTIONS, Language, language_of, render
from agent.schema.catalog import Catalog
from agent.schema.describe import one_line
from agent.schema.words import normal_form
from agent.sql.column_statistics import (
    COLUMN_STATISTICS,
    MAX_TABLES,
    TABLE_STATISTICS,
    column_statistics,
    table_statistics,
)
from agent.types import Result

_NAME_CHARS = 60
_MAX_NAMES = 30
_MANY_MONTHS = 3
"""Periods of at least so many months are checked for months without rows, shorter ones for days."""


def names_described(question: str, names: Iterable[str]) -> list[str] | None:
    """Return the tables of `names` that `question` asks to describe; [] for the data as a whole.

    Returns None unless the question has no other words than those for a description, for data, and such names.

    >>> names_described("Describe the orders table", ["orders", "customers"]), names_described("描述一下数据特征", [])
    (['orders'], [])
    >>> names_described("Describe the orders by month", ["orders"])
    """
    language, text, found = language_of(question), f" {normal_form(question)} ", []
    words = vocabulary_of(language).questions
    has_spaces = bool(CONVENTIONS[language].space)
    if not re.search(rf"\b(?:{words.describe})\b" if has_spaces else words.describe, text):
        return None
    for name in sorted(names, key=len, reverse=True):
        in_name = normal_form(name.rpartition(".")[2])
        if in_name and in_name in text:
            # A Chinese name has no spaces around it.
            pattern = rf"(?<![a-z\d]){re.escape(in_name)}(?![a-z\d])" if in_name.isascii() else re.escape(in_name)
            text, count = re.subn(pattern, " ", text)
            found += [name] if count else []
    if not has_spaces:
        rest, verbs = re.subn(words.describe, "", text)
        rest, data = re.subn(words.data, "", rest)
        rest = re.sub(rf"{words.fillers}|\s", "", rest)
        return found if verbs and (data or found) and not rest else None
    counts = {"verbs": 0, "data": 0}
    for word in text.split():
        if re.fullmatch(words.describe, word):
            counts["verbs"] += 1
        elif re.fullmatch(words.data, word):
            counts["data"] += 1
        elif not re.fullmatch(words.fillers, word):
            return None
    return found if counts["verbs"] and (counts["data"] or found) else None


def description_statement(question: str, catalog: Catalog) -> tuple[str, list[str]] | None:
    """Return the statement for a description of the data, and the keys of its tables; None for other questions.

    It describes the columns of the only table, or of one that `question` names, otherwise the tables. A question for
    the tables that exist is one for a description, unless a table is itself called "tables" or the like.
    """
    words = vocabulary_of(language_of(question)).questions
    asks_for_tables = re.fullmatch(words.tables, normal_form(question)) is not None
    if asks_for_tables and not any(
        re.fullmatch(words.data, normal_form(table.name)) for table in catalog.tables.values()
    ):
        named: list[str] | None = []
    else:
        named = names_described(question, catalog.full_names)
    if named is None:
        return None
    keys = (named or list(catalog.full_names))[:MAX_TABLES]
    tables = [catalog.tables[key] for key in keys]
    if len(tables) > 1:
        return table_statistics(tables, catalog.dialect), keys
    if all(column.secret for column in tables[0].columns):
        return None
    return column_statistics(tables[0], catalog.dialect), keys


def description_of(results: Iterable[Result], names: Mapping[str, str], language: Language) -> str:
    """Return the description of tables in words, a paragraph each for a table and for its kinds of columns.

    `results` are those of the statements of `agent.sql.column_statistics`, and `names` the words for tables by key.
    """
    paragraphs: list[str] = []
    for result in results:
        rows = [dict(zip(result["columns"], row, strict=True)) for row in result["rows"]]
        if tuple(result["columns"]) == TABLE_STATISTICS:
            paragraphs += _overview(rows, language)
        elif tuple(result["columns"]) == COLUMN_STATISTICS and rows:
            table = names.get(rows[0]["table_name"]) or rows[0]["table_name"]
            columns = [_Column(**row) for row in rows]
            paragraphs += _Description(one_line(table, _NAME_CHARS), columns, language).paragraphs()
    return "\n\n".join(paragraphs)


def _overview(rows: Sequence[dict[str, Any]], language: Language) -> list[str]:
    lines = [render("describe_tables", language, count=len(rows))]
    for row in rows:
        facts = {
            "name": one_line(row["table_name"], _NAME_CHARS),
            "rows": format_value(row["row_count"], language),
            "columns": row["column_count"],
        }
        line = render("describe_table_size", language, **facts)
        if row["first_date"]:
            dates = {"column": row["date_column"], "first": _day(row["first_date"]), "last": _day(row["last_date"])}
            line += render("describe_table_dates", language, **dates)
        lines.append(f"- {line}")
    return ["\n".join(lines)]


class _Column(NamedTuple):
    """The statistics of one column; see `agent.sql.column_statistics.column_statistics`."""

    position: int
    table_name: str
    column_name: str
    kind: str
    row_count: int
    column_count: int
    value_count: int
    distinct_count: int | None
    lowest: float | None
    highest: float | None
    average: float | None
    median: float | None
    outliers: int | None
    first_date: str | None
    last_date: str | None
    months: int | None
    days: int | None
    most_frequent: str | None
    frequency: int | None

    @property
    def name(self) -> str:
        return one_line(self.column_name, _NAME_CHARS)

    @property
    def missing(self) -> int:
        return self.row_count - self.value_count


class _Description(NamedTuple):
    table: str
    columns: list[_Column]
    language: Language

    def paragraphs(self) -> list[str]:
        names = [column.name for column in self.columns]
        rows, count = self.columns[0].row_count, self.columns[0].column_count
        facts = {"rows": self._number(rows), "columns": self._number(count)}
        head = self._say(
            "describe_table", {"name": self.table, "names": joined(names, self.language, _MAX_NAMES), **facts}
        )
        if count > len(names):
            head += self._say("describe_other_columns", {"count": self._number(count - len(names))})
        if not rows:
            return [head]
        lines = [self._line(column) for column in self.columns if column.value_count]
        return [head, "\n".join(f"- {line}" for line in lines), self._outliers(), self._missing()]

    def _line(self, column: _Column) -> str:
        """Return what a column contains: its range, its most frequent value, or how many values it has."""
        facts: dict[str, Any] = {"column": column.name, "distinct": self._number(column.distinct_count or 0)}
        if column.kind == "number" and column.lowest is not None:
            numbers = ("lowest", "highest", "average", "median")
            facts |= {name: self._measure(getattr(column, name), column) for name in numbers}
            if column.lowest == column.highest:
                return self._say("describe_constant", {**facts, "value": facts["lowest"]})
            # The average of ids or years means nothing.
            is_label = is_identifier(column.column_name)
            code = "describe_range" if is_label or column.median is None else "describe_numbers"
            return self._say(code, facts)
        if column.kind == "date" and column.first_date and column.last_date:
            facts |= {"first": _day(column.first_date), "last": _day(column.last_date)}
            gaps, periods, unit = _gaps(column)
            line = self._say("describe_dates", facts)
            return line + self._say(f"describe_gaps_{unit}", {"gaps": gaps, "periods": periods}) if periods else line
        if column.kind == "boolean":
            facts |= {"count": self._number(column.frequency or 0), "values": self._number(column.value_count)}
            return self._say("describe_boolean", facts)
        if column.kind == "text" and column.most_frequent is not None and (column.frequency or 0) > 1:
            value = one_line(column.most_frequent, _NAME_CHARS) or '""'
            if column.distinct_count == 1:
                return self._say("describe_constant", {**facts, "value": value})
            return self._say("describe_texts", {**facts, "value": value, "count": self._number(column.frequency or 0)})
        if column.distinct_count is None:
            return self._say("describe_values", {**facts, "count": self._number(column.value_count)})
        return self._say("describe_distinct", facts)

    def _outliers(self) -> str:
        checked = [column for column in self.columns if column.outliers is not None]
        checked = [column for column in checked if not is_identifier(column.column_name)]
        found = [f"{column.name} ({self._number(column.outliers or 0)})" for column in checked if column.outliers]
        if not checked:
            return self._say("describe_outliers_unchecked", {})
        if not found:
            return self._say("describe_no_outliers", {})
        return self._say("describe_outliers", {"names": joined(found, self.language)})

    def _missing(self) -> str:
        found = []
        for column in self.columns:
            if column.missing:
                share = format_value(round(100 * column.missing / column.row_count, 1), self.language)
                facts = {"column": column.name, "count": self._number(column.missing), "share": share}
                found.append(self._say("describe_gap", facts))
        if not found:
            return self._say("describe_nothing_missing", {})
        return self._say("describe_missing", {"names": joined(found, self.language)})

    def _say(self, code: str, facts: dict[str, Any]) -> str:
        return render(code, self.language, **facts)

    def _number(self, number: int) -> str:
        return format_measure(number, "", self.language)

    def _measure(self, value: float | None, column: _Column) -> str:
        exact = int(value) if value is not None and value.is_integer() else value
        return format_measure(exact, column.column_name, self.language)


def _day(text: str) -> str:
    """Return a date without a time of midnight."""
    return re.sub(r"[T ]00:00(:00)?$", "", text)


def _gaps(column: _Column) -> tuple[int, int, str]:
    """Return the number of months, or of days, without a date between the first and the last, and how many there are.

    Both are 0 if the texts are no dates.
    """
    try:
        first, last = (
            date.fromisoformat((column.first_date or "")[:10]),
            date.fromisoformat((column.last_date or "")[:10]),
        )
    except ValueError:
        return 0, 0, "months"
    months = 12 * (last.year - first.year) + last.month - first.month + 1
    if months >= _MANY_MONTHS:
        return months - (column.months or 0), months, "months"
    days = (last - first).days + 1
    return days - (column.days or 0), days if days > 1 else 0, "days"

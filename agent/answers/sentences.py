"""Sentences about a result, built without a model: every figure is a value of the rows, a count or a change."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from agent.answers.filters import condition_words, filters_text
from agent.answers.restatement import restated
from agent.answers.text import format_measure, is_identifier, joined
from agent.grounding.dates import part_named
from agent.grounding.facts import Column, Table, readable
from agent.messages import Language, render
from agent.schema.describe import one_line
from agent.sql.summary import singular
from agent.types import QuerySummary, Result

_ASKS_WHETHER = re.compile(
    r"^(?:is|are|was|were) there (?!.*(?:\d|\bthan\b))|^(?:есть|были|имеются) ли (?!.*(?:\d|больше|меньше|более|менее))"
    r"|^(?!.*(?:\d|超过|少于|多于|以上)).*(?:有没有|是否有|是否存在)",
    re.IGNORECASE,
)
"""Questions whether there is anything of a kind, without a number to compare the count with."""
_COUNT = re.compile(r"count\s*\(\s*[*1]\s*\)|count_star\(\)", re.IGNORECASE)
_COUNT_NAME = re.compile(r"count|cnt|n|num|number|total|count\(.*\)", re.IGNORECASE)
"""Names of a count that do not say what is counted."""
_GENERIC = {"name", "title", "label", "names"}
_REPEATED_WORD = re.compile(r"\b([^\W\d_]+) (?=\1\b)", re.IGNORECASE)
_MAX_ROWS = 300
"""Maximum number of rows that are read. Of a longer result, only the number of rows or the first ones are stated."""
_LABEL_CHARS = 60
_FEW_ROWS = 3
_MAX_NAMES = 5
_MAX_COMPLETE = 20
_MAX_TIED = 3
_MAX_METRICS = 2
_MAX_FIELDS = 8
_MAX_LABELS = 3


def sentence_of(
    question: str, result: Result, summary: QuerySummary, language: Language, *, complete: bool = False
) -> str:
    """Return one or two sentences that answer `question` from `result`, with the filters of the statement.

    With `complete`, all names of up to 20 rows are listed, for an answer without a table, otherwise the first.
    Secret columns are left out, unless the result is a single value. The sentence is empty if all columns are secret.
    """
    rows = result["rows"]
    secret = set(result.get("secret") or ()) if len(rows) != 1 or len(result["columns"]) != 1 else set()
    shown = [at for at in range(len(result["columns"])) if at not in secret]
    if not shown:
        return ""
    visible = Result(
        columns=[result["columns"][at] for at in shown],
        types=[result["types"][at] for at in shown],
        rows=[[row[at] for at in shown] for row in rows[:_MAX_ROWS]],
        truncated=result["truncated"] or len(rows) > _MAX_ROWS,
    )
    order = summary["order"]
    writer = _Sentence(
        question,
        Table(visible, question),
        None if result["truncated"] else len(rows),
        summary,
        [summary["tables"][at] if at < len(summary["tables"]) else "" for at in shown],
        [shown.index(at) for at in summary["keys"] if at in shown],
        (shown.index(order[0]), order[1]) if order and order[0] in shown else None,
        language,
        complete,
    )
    return writer.sentences([writer.text(), filters_text(summary, language)])


@dataclass(frozen=True)
class _Sentence:
    question: str
    table: Table
    """The first rows, without secret columns."""
    count: int | None
    """The number of rows; None if it is not known."""
    summary: QuerySummary
    tables: list[str]
    """The words for the table of each column; empty for a computed one."""
    keys: list[int]
    """The indexes of the columns that name groups."""
    order: tuple[int, bool] | None
    """The index of the column by which the rows are sorted, and whether it descends."""
    language: Language
    complete: bool
    """Whether all names are listed."""

    def text(self) -> str:
        rows, columns = self.table.rows, self.table.columns
        if not rows:
            subject = one_line(self.summary["subject"])
            return self._say("answer_nothing", subject=subject) if subject else self._say("no_rows")
        if len(rows) == 1:
            return self._value() if len(columns) == 1 else self._row()
        ranked = self._ranked()
        if ranked:
            return self._ranking(ranked)
        if self._is_series():
            return self.sentences([self._series(metric) for metric in self._metrics[:_MAX_METRICS]])
        if self._metrics and self._labels and self.summary["aggregated"] and not self.table.truncated:
            names = {self._name(at) for at in range(len(rows))}
            if len(names) == len(rows):
                return self.sentences([self._extremes(metric) for metric in self._metrics[:_MAX_METRICS]])
        return self._list()

    def sentences(self, texts: Sequence[str]) -> str:
        """Return sentences as one text, each with a capital letter."""
        capitalised = (text[0].upper() + re.sub(r"\.\.$", ".", text[1:]) for text in texts if text)
        return ("" if self.language == "zh" else " ").join(capitalised)

    def _say(self, code: str, **facts: Any) -> str:
        return render(code, self.language, **facts)

    # One row

    def _value(self) -> str:
        """Return the sentence for a single value."""
        (column,), value = self.table.columns, self.table.rows[0][0]
        if value is None:
            return self._say("answer_value", label=self._label(column), value=self._say("answer_no_value"))
        shown = self._cell(value, column)
        if isinstance(value, bool) or (self.summary["single"] == "condition" and value in (0, 1)):
            return self._stop(self._say("answer_yes" if value else "answer_no"))
        if self.restated:
            return self._stop(self.restated)
        label = self._label(column)
        if self.summary["single"] == "count" and _ASKS_WHETHER.search(self.question):
            whether = self._stop(self._say("answer_some" if value else "answer_none"))
            return self.sentences([whether, self._say("answer_value", label=label, value=shown)])
        is_expression = re.match(r"\w+\(", label) or not re.search(r"[^\W\d]", label)
        return self._stop(shown) if is_expression else self._say("answer_value", label=label, value=shown)

    def _row(self) -> str:
        """Return the sentence for one row: the question with its name, or each value with its column."""
        row = self.table.rows[0]
        if self.restated:
            return self._stop(self._say("answer_field", label=self.restated, value=self._metric(0, self._metrics[0])))
        ranked = self._ranked()
        if ranked and len(self.table.columns) == 2:
            return self._ranking(ranked)
        fields = [
            self._say("answer_field", label=self._label(column), value=self._cell(row[column.index], column))
            for column in self.table.columns[:_MAX_FIELDS]
        ]
        return self._say("answer_fields", fields=("；" if self.language == "zh" else "; ").join(fields))

    @cached_property
    def restated(self) -> str | None:
        """The question as a statement with the value or the name of the only row; None if it cannot be one."""
        row = self.table.rows[0] if len(self.table.rows) == 1 else []
        if len(row) == 1 and row[0] is not None and not isinstance(row[0], bool):
            (column,) = self.table.columns
            is_id = column.kind == "period" or is_identifier(column.name)
            return self._restated(self._cell(row[0], column), isinstance(row[0], int | float) and not is_id, column)
        labels = [column for column in self._labels if row and row[column.index] is not None]
        if len(row) != 2 or len(labels) != 1 or len(self._metrics) != 1:
            return None
        return self._restated(self._name(0), False, labels[0])

    def _restated(self, value: str, is_number: bool, column: Column) -> str | None:
        cells = [str(cell) for row in self.table.rows for cell in row]
        conditions = condition_words(self.summary["conditions"], self.language)
        nouns = [
            self._label(column),
            readable(column.name),
            self.tables[column.index],
            singular(self.tables[column.index]),
        ]
        return restated(
            self.question,
            value,
            is_number=is_number,
            nouns=[noun for noun in nouns if noun],
            known_text=" ".join(
                [*cells, *self.summary["constants"], *conditions, *self.tables, *nouns, self.summary["subject"]]
            ),
            conditions=len(conditions),
            language=self.language,
        )

    # Several rows

    def _is_series(self) -> bool:
        """Return whether each row is a different period, with figures."""
        if [column.kind for column in self._labels] != ["period"] or not self._metrics or self.table.truncated:
            return False
        cells = [row[self._labels[0].index] for row in self.table.rows]
        return None not in cells and len(set(map(str, cells))) == len(cells)

    def _series(self, metric: Column) -> str:
        """Return the first and last figure, the change, and the extremes between them; all figures of few periods."""
        (column,) = self._labels
        rows = [at for at in range(len(self.table.rows)) if metric.values[at] is not None]
        orders = [self.table.order_of(at) for at in rows]
        if None not in orders and len(set(orders)) == len(orders):
            rows.sort(key=lambda at: self.table.order_of(at) or ())
        else:
            rows.sort(key=lambda at: (column.values[at] or 0.0, str(self.table.rows[at][column.index])))
        if len(rows) <= _FEW_ROWS:
            return self._each(metric, rows)
        first, last = rows[0], rows[-1]
        start, end = metric.values[first] or 0.0, metric.values[last] or 0.0
        text = self._say(
            "answer_change",
            label=self._label(metric),
            first=self._metric(first, metric),
            start=self._cell(self.table.rows[first][column.index], column),
            last=self._metric(last, metric),
            end=self._cell(self.table.rows[last][column.index], column),
        )
        if start > 0 and end >= 0 and start != end and not metric.is_rate:
            percent = format_measure(round(100 * abs(end - start) / start, 1), "", self.language)
            text += self._say("answer_rise" if end > start else "answer_fall", percent=percent)
        parts = [text]
        for code, pick in (("answer_change_highest", max), ("answer_change_lowest", min)):
            at = pick(rows, key=lambda row: metric.values[row] or 0.0)
            is_tied = [metric.values[row] for row in rows].count(metric.values[at]) > 1
            if metric.values[at] not in {start, end} and not is_tied:
                period, value = self._cell(self.table.rows[at][column.index], column), self._metric(at, metric)
                parts.append(self._say(code, period=period, value=value))
        return self._stop(("；" if self.language == "zh" else "; ").join(parts))

    def _ranked(self) -> Column | None:
        """Return the column of figures by which the rows are sorted."""
        if not self.order or not self._labels:
            return None
        column = self.table.columns[self.order[0]]
        values = [value for value in column.values if value is not None]
        is_sorted = values == sorted(values, reverse=self.order[1])
        return column if column in self._metrics and values and is_sorted else None

    def _ranking(self, metric: Column) -> str:
        """Return the first names with their figures; names with equal figures stand together."""
        rows = [at for at in range(len(self.table.rows)) if metric.values[at] is not None]
        groups = [list(group) for _, group in groupby(rows, key=lambda at: metric.values[at])]
        few = len(rows) <= self._most
        shown = groups if few else groups[:_FEW_ROWS]
        texts = [self._names_with_value(group, metric) for group in shown]
        first = texts[0]
        if len(texts) > 1:
            first = self._say("answer_then", first=first, names=joined(texts[1:], self.language))
        descending = bool(self.order and self.order[1])
        code = (
            ("most" if descending else "fewest")
            if self._is_counted(metric)
            else ("highest" if descending else "lowest")
        )
        return self._stop(self._say(f"answer_{code}", label=self._label(metric), first=first))

    def _extremes(self, metric: Column) -> str:
        """Return the names with the highest and lowest figures, or all figures of few rows."""
        rows = [at for at in range(len(self.table.rows)) if metric.values[at] is not None]
        if len(rows) <= (self._most if self.complete else _FEW_ROWS):
            return self._each(metric, rows)
        values = [value for value in metric.values if value is not None]
        high, low = max(values), min(values)
        if high == low:
            value = self._metric(rows[0], metric)
            return self._say("answer_equal", label=self._label(metric), value=value, count=self._number(len(rows)))
        first, last = (
            self._names_with_value([at for at in rows if metric.values[at] == value], metric) for value in (high, low)
        )
        code = "answer_extremes_most" if self._is_counted(metric) else "answer_extremes_highest"
        return self._say(code, label=self._label(metric), first=first, last=last)

    def _each(self, metric: Column, rows: Sequence[int]) -> str:
        texts = [self._names_with_value([at], metric) for at in rows] or [self._say("answer_no_value")]
        return self._say("answer_names", label=self._label(metric), names=joined(texts, self.language))

    def _list(self) -> str:
        """Return the count and the first names, or the number of rows if no column tells the rows apart."""
        columns, rows = self.table.columns, self.table.rows
        named = [column for column in self._labels if column.kind != "period" and not self._is_numeric(column)]
        unique = [column for column in named if len({str(row[column.index]) for row in rows}) == len(rows)]
        if self.count is not None and (self.table.truncated or (not unique and len(columns) > 1)):
            return self._stop(self._say("row_count", count=self._number(self.count)))
        column = unique[0] if unique else columns[0]
        is_id = column.kind == "label" and self._is_numeric(column)
        cells = [
            f"{self._noun(column)} {cell}" if is_id else self._cell(cell, column)
            for cell in dict.fromkeys(row[column.index] for row in rows)
        ]
        label = self._label(column, plural=True)
        if self.table.truncated:
            shown = cells[: self._most]
            names = joined([*shown, ""], self.language, len(shown))
            return self._say("answer_names", label=label, names=names)
        names = joined(cells, self.language, self._most)
        return self._say("answer_list", label=label, count=self._number(len(cells)), names=names)

    def _number(self, number: int) -> str:
        return format_measure(number, "", self.language)

    # Words

    @property
    def _most(self) -> int:
        return _MAX_COMPLETE if self.complete else _MAX_NAMES

    @cached_property
    def _labels(self) -> list[Column]:
        """The columns that name the rows: without ids if there are others, and numbers only if they name groups."""
        columns = self.table.columns
        labels = [column for column in columns if column.kind in {"label", "period"}]
        names = [column for column in labels if column.kind == "period" or not self._is_numeric(column)]
        return names or labels or [columns[at] for at in self.keys]

    @cached_property
    def _metrics(self) -> list[Column]:
        """The columns of figures."""
        return [column for column in self.table.metrics if column not in self._labels]

    def _is_numeric(self, column: Column) -> bool:
        return any(value is not None for value in column.values)

    def _name(self, at: int) -> str:
        """Return the name of a row."""
        cells = [(self.table.rows[at][column.index], column) for column in self._labels[:_MAX_LABELS]]
        return " / ".join(
            f"{self._noun(column)} {cell}"
            if isinstance(cell, int) and column.kind != "period"
            else self._cell(cell, column)
            for cell, column in cells
        )

    def _noun(self, column: Column) -> str:
        """Return the word before a number that names a row, such as "customer" for `customer_id`."""
        name = self._label(column)
        noun = re.sub(r"\s+(?:id|no|number)$", "", name, flags=re.IGNORECASE)
        table = self.tables[column.index]
        return singular(table) if noun.lower() == "id" and table else noun

    def _names_with_value(self, rows: Sequence[int], metric: Column) -> str:
        names = [self._name(at) for at in rows]
        value = self._metric(rows[0], metric)
        if len(rows) == 1:
            return self._say("answer_of", name=names[0], value=value)
        return self._say("answer_each", names=joined(names, self.language, _MAX_TIED), value=value)

    def _metric(self, at: int, metric: Column) -> str:
        return self._cell(self.table.rows[at][metric.index], metric)

    def _cell(self, value: Any, column: Column) -> str:
        if value is None:
            return self._say("answer_no_value")
        if isinstance(value, str) and not value.strip():
            return '""'
        if isinstance(value, bool):
            return self._say("answer_yes" if value else "answer_no").lower()
        if column.kind == "period":
            return self._period(value, column)
        return format_measure(value, column.name, self.language)

    def _period(self, value: Any, column: Column) -> str:
        """Return a date as it is stored, and the number of a month or quarter in words."""
        part = part_named(column.name)
        if not isinstance(value, int) or value > 99 or part is None:
            return one_line(str(value))
        if part == "month" and 1 <= value <= 12:
            from babel.dates import get_month_names

            return str(get_month_names("wide", "stand-alone", locale=self.language)[value])
        return self._say("answer_quarter", number=value) if part == "quarter" else f"{self._label(column)} {value}"

    def _label(self, column: Column, *, plural: bool = False) -> str:
        """Return the words for a column: its name, or for a name the noun of its table."""
        table = self.tables[column.index]
        if column.name.lower() in _GENERIC and table:
            return table if plural else singular(table)
        names_nothing = _COUNT.fullmatch(column.name) or (
            self.summary["single"] == "count" and _COUNT_NAME.fullmatch(column.name)
        )
        if names_nothing and self.summary["subject"]:
            return one_line(self.summary["subject"])
        name = readable(column.name) if column.name.isidentifier() else column.name
        return one_line(_REPEATED_WORD.sub("", name), _LABEL_CHARS)

    def _is_counted(self, metric: Column) -> bool:
        """Return whether the column is named in the plural, as "orders" and "units"."""
        name = self._label(metric)
        return singular(name) != name and not metric.is_rate

    def _stop(self, text: str) -> str:
        return f"{text}{'。' if self.language == 'zh' else '.'}"

"""Sentences about a result, built without a model: every figure is a value of the rows, a count or a change."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from agent.answers.filters import condition_words, filters_text
from agent.answers.text import format_measure, is_identifier, joined
from agent.grounding.dates import part_named
from agent.grounding.facts import Column, Table, readable
from agent.messages import CONVENTIONS, Language, render
from agent.schema.describe import one_line
from agent.schema.words import content_words, words
from agent.sql.summary import singular
from agent.types import QuerySummary, Result

_LONGEST = 160
_MAX_UNFILTERED_HAN = 10
"""Maximum number of characters of a Chinese question that a statement without conditions can answer whole."""
_AGGREGATES = words(
    "average mean total sum number amount count maximum minimum highest lowest largest smallest overall "
    "средний средняя среднее общий общая общее сумма количество число максимальный минимальный всего"
)
_ENGLISH_CAPITALS = {"I", "SQL", "ID", "IDs"} | set(
    "January February March April May June July August September October November December Monday Tuesday Wednesday "
    "Thursday Friday Saturday Sunday".split()
)
_SECOND_QUESTION = re.compile(r"\b(?:who|whom|whose|which|what|when|where|why|how)\b", re.IGNORECASE)
_INVERTED = re.compile(
    r"\b(?:do|does|did)\b|\b(?:is|are|was|were|has|have|had|can|could|will|would|should) "
    r"(?:we|i|you|they|it|he|she|our|my|their|there|each|every|all)\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"how many (?P<rest>.+)", re.IGNORECASE)
_WE_HAVE = re.compile(r"(?P<noun>.+?) do (?P<who>we|you|they|i) have\b(?P<tail>.*)", re.IGNORECASE)
_THERE = re.compile(r"(?P<noun>.+?) (?P<verb>are|were) there\b(?P<tail>.*)", re.IGNORECASE)
_WHAT_IS = re.compile(r"what(?:'s| (?P<verb>is|was)) (?P<rest>(?:the|our|its|my|their) .+)", re.IGNORECASE)
_WHO = re.compile(r"who (?P<rest>.+)", re.IGNORECASE)
_WHICH = re.compile(r"(?:which|what) (?P<rest>.+)", re.IGNORECASE)
_ADDITION = re.compile(r" of (?:the |our |all )?\w+")
_PREPOSITIONS = {"in", "from", "at", "for", "with", "to", "by", "of", "on"}
_SINGULAR_VERBS = {"have": "has", "are": "is", "were": "was"}
_RUSSIAN_COUNT = re.compile(r"сколько (?:всего )?(?:было )?(?P<rest>.+)", re.IGNORECASE)
_RUSSIAN_MEASURE = re.compile(r"как(?:ов|ова|ово|ой|ая|ое) (?:был[аои]? )?(?P<rest>.+)", re.IGNORECASE)
_RUSSIAN_SECOND_QUESTION = re.compile(
    r"\b(?:кто|что|как\w*|где|когда|почему|сколько|стоит|стоят|который)\b", re.IGNORECASE
)
_CHINESE_COUNT = re.compile(r"多少|几(?=[个名位笔件条家种次台人])")
_CHINESE_NAME = re.compile(r"谁|哪[个位款家种座些一]\w{0,6}?(?=的)|(?<=是)哪[个位款家种座些一]\w{0,6}$")
_CHINESE_QUESTION = re.compile(r"谁|哪|什么|多少|几[个名位笔件条家种次台人]|怎|吗|为何")


def restated(
    question: str,
    value: str,
    *,
    is_number: bool,
    nouns: Collection[str],
    known_text: str,
    conditions: int,
    language: Language,
) -> str | None:
    """Return `question` as a statement with `value` in place of the question word, without the full stop.

    `nouns` are the words for what the value names, `known_text` holds those of the statement and its rows, and
    `conditions` is the number of its conditions. Returns None if the form of the question is not a known one, or if the
    question has a number or words that the statement does not account for: it may then compute something else.
    """
    text = question.strip().rstrip("?？.。 ").strip()
    if not text or len(text) > _LONGEST or re.search(r"[\n\"“”«»?？!！;；:：{}<>|`\\]|[.。] ", text):
        return None
    if not _is_covered(text, known_text, language):
        return None
    if language == "en":
        return _english(text, value, is_number, nouns, words(known_text) | _AGGREGATES)
    if language == "ru":
        return _russian(text, value, is_number, conditions)
    if language != "zh":
        return None
    is_short = conditions > 0 or len(re.findall(r"[\u3400-\u9fff]", text)) <= _MAX_UNFILTERED_HAN
    return _chinese(text, value, is_number) if is_short else None


def _is_covered(text: str, known_text: str, language: Language) -> bool:
    """Return whether the numbers and names of a question are in `known_text`; Russian names by their first letters."""
    known = known_text.casefold()
    if any(number not in known for number in re.findall(r"\d+", text)):
        return False
    names = [word for word in re.findall(r"(?<=[ (])[A-ZА-ЯЁ][\w&'-]*", text) if word not in _ENGLISH_CAPITALS]
    letters = 4 if language == "ru" else 99
    names += re.findall(r"[A-Za-z]{2,}", text) if language == "zh" else []
    return all(name.casefold().removesuffix("'s")[:letters] in known for name in names)


def _english(
    text: str, value: str, is_number: bool, nouns: Collection[str], known_words: Collection[str]
) -> str | None:
    unknown = content_words(text) - set(known_words)
    if is_number and (match := _HOW_MANY.fullmatch(text)):
        return None if unknown else _counted(match["rest"], value)
    if match := _WHAT_IS.fullmatch(text):
        if unknown:
            return None
        rest = match["rest"]
        if _SECOND_QUESTION.search(rest) or _INVERTED.search(rest) or re.search(r"\band the\b|\bdifference\b", rest):
            return None
        return f"{rest[0].upper()}{rest[1:]} {(match['verb'] or 'is').lower()} {value}"
    if is_number:
        return None
    match, rest = _WHO.fullmatch(text) or _WHICH.fullmatch(text), None
    if match:
        rest = match["rest"] if match.re is _WHO else _after_noun(match["rest"], nouns)
    # The verb names the measure of the ranking in other words.
    if not rest or unknown - words(rest.split()[0]):
        return None
    verb, _, tail = rest.partition(" ")
    if not tail or _INVERTED.search(f"{rest} ") or _SECOND_QUESTION.search(rest) or rest.split()[-1] in _PREPOSITIONS:
        return None
    return f"{value} {_SINGULAR_VERBS.get(verb, verb)} {tail}"


def _counted(rest: str, value: str) -> str | None:
    if value == "1" or _SECOND_QUESTION.search(rest):
        return None
    if match := _WE_HAVE.fullmatch(rest):
        return f"{match['who'].capitalize()} have {value} {match['noun']}{match['tail']}"
    if match := _THERE.fullmatch(rest):
        return f"There {match['verb'].lower()} {value} {match['noun']}{match['tail']}"
    return None if _INVERTED.search(rest) else f"{value} {rest}"


def _after_noun(rest: str, nouns: Collection[str]) -> str | None:
    """Return what follows the noun that `rest` begins with; None if none of its first words is one of `nouns`."""
    ends = [
        word.end()
        for word in list(re.finditer(r"[\w-]+", rest))[:4]
        if any(word.group().lower() == noun for name in nouns for noun in name.lower().split())
    ]
    if not ends:
        return None
    addition = _ADDITION.match(rest, ends[-1])
    return rest[addition.end() if addition else ends[-1] :].strip()


def _russian(text: str, value: str, is_number: bool, conditions: int) -> str | None:
    if not is_number:
        return None
    match = _RUSSIAN_COUNT.fullmatch(text) or _RUSSIAN_MEASURE.fullmatch(text)
    if not match or _RUSSIAN_SECOND_QUESTION.search(match["rest"]):
        return None
    # Russian words cannot be compared with English names: a condition accounts for two of them.
    if len(content_words(match["rest"]) - _AGGREGATES) > 1 + 2 * conditions:
        return None
    return f"{match['rest'][0].upper()}{match['rest'][1:]}: {value}"


def _chinese(text: str, value: str, is_number: bool) -> str | None:
    pattern = _CHINESE_COUNT if is_number else _CHINESE_NAME
    statement, count = pattern.subn(lambda match: value, re.sub(r"^(?:请问|查询一下|告诉我)[，,]?", "", text))
    return statement if count == 1 and not _CHINESE_QUESTION.search(statement.replace(value, "")) else None


_ASKS_WHETHER = re.compile(
    r"^(?:is|are|was|were) there (?!.*(?:\d|\bthan\b))|^(?:есть|были|имеются) ли (?!.*(?:\d|больше|меньше|более|менее))"
    r"|^(?:gibt|gab) es (?!.*(?:\d|mehr als|weniger als))"
    r"|^(?!.*(?:\d|超过|少于|多于|以上)).*(?:有没有|是否有|是否存在)",
    re.IGNORECASE,
)
"""Questions whether there is anything of a kind, without a number to compare the count with."""
_COUNT = re.compile(r"count\s*\(\s*[*1]\s*\)|count_star\(\)|number_of_rows|row_count", re.IGNORECASE)
_COUNT_NAME = re.compile(r"count|cnt|n|num|number|total|count\(.*\)", re.IGNORECASE)
"""Names of a count that do not say what is counted."""
_GENERIC = {"name", "title", "label", "names"}
_NUMBER_OF = re.compile(r"(?:number|count) of (?=\w)", re.IGNORECASE)
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
        return CONVENTIONS[self.language].space.join(capitalised)

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
        return self._say("answer_fields", fields=CONVENTIONS[self.language].semicolon.join(fields))

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
        return self._stop(CONVENTIONS[self.language].semicolon.join(parts))

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
            f"{self._noun(column)} {self._cell(cell, column) if isinstance(cell, bool) else cell}"
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
        if column.kind == "period" and not isinstance(value, bool):
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
        name = _NUMBER_OF.sub("", readable(column.name)) if column.name.isidentifier() else column.name
        return one_line(_REPEATED_WORD.sub("", name), _LABEL_CHARS)

    def _is_counted(self, metric: Column) -> bool:
        """Return whether the column is named in the plural, as "orders" and "units"."""
        name = self._label(metric)
        return singular(name) != name and not metric.is_rate

    def _stop(self, text: str) -> str:
        return text + CONVENTIONS[self.language].full_stop

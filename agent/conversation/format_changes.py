"""Follow-ups that change only the format of an answer: output type, order or number of rows. They need no model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.schema.words import words
from agent.sources.source import Source
from agent.sql.compare import is_ordered
from agent.types import OutputType, Result, Turn

_NUMBERS = {
    **{word: n for n, word in enumerate("one two three four five six seven eight nine ten".split(), 1)},
    **{word: n for n, word in enumerate("один два три четыре пять шесть семь восемь девять десять".split(), 1)},
    **{word: n for n, word in enumerate("一二三四五六七八九十", 1)},
}
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(_NUMBERS)})"
_PREFIX = r"(?:(?:and|now|ok|please|а|и|теперь|пожалуйста|请|现在)[, ]*)*"
_SHOW = (
    r"(?:(?:show|draw|give|display|plot|present|покажи(?:те)?|дай(?:те)?|выведи(?:те)?|нарисуй(?:те)?)(?: me| мне)? ?)?"
)
_PREVIOUS = r"(?:(?:it|this|that|them|these|those|the (?:same|result|answer)|это|их|его|то же)(?: again| снова)? ?)?"
_KIND = r"(?:(?:simple|stacked|horizontal|bar|pie|line|column|area|scatter) )*"
_OUTPUT_TYPES: tuple[tuple[OutputType, str], ...] = (
    ("plot", rf"(?:as|in|on|with|into|to) (?:an? |the )?{_KIND}(?:chart|plot|graph|diagram)"),
    ("plot", rf"(?:an? )?{_KIND}(?:chart|plot|graph|diagram)(?: of (?:it|this|that|them|these))?(?: please)?"),
    ("plot", r"(?:в виде |как |на )?(?:\w+ )?(?:график\w*|диаграмм\w*|гистограмм\w*)"),
    (
        "plot",
        r"(?:用|画成?|换成|改成|做成)?(?:一张|一个)?(?:\w{0,2}图|图表)(?:显示|表示|展示|画出来|来看)?(?:吧|一下)?",
    ),
    ("plot", r"(?:plot|chart|draw|graph) (?:it|this|that|them|these)"),
    ("dataframe", r"(?:as|in) (?:an? |the )?table"),
    ("dataframe", r"(?:в виде |как )таблиц\w*"),
    ("dataframe", r"(?:用|换成|改成|做成)(?:一个|一张)?表格(?:显示|表示|展示)?"),
    ("string", r"as (?:a )?(?:text|sentence)|in words|(?:в виде текста|словами)|用文字(?:表示|说明)?"),
)
_TOP = (
    rf"(?:(?:only|just) )?(?:the )?(?:top|first|best|highest|largest) {_COUNT}"
    r"(?: (?:only|rows|of (?:them|these|those)))*",
    rf"(?:только |лишь )?(?:перв\w+|топ[- ]|лучш\w+|верхн\w+) ?{_COUNT}",
    rf"(?:只看|只要|只显示|只)?前{_COUNT}(?:个|名|条|行|位)?(?:就行|即可)?",
)
_SORT = (
    r"(?:sort(?:ed)?|order(?:ed)?)(?: (?:it|them|this|these))? by (?P<by>[\w ]+?)"
    r"(?:,? (?:in )?(?P<down>desc\w*(?: order)?|highest first|largest first)|"
    r",? (?:in )?(?:asc\w*(?: order)?|lowest first))?",
    r"(?:от)?сортиру\w+ по (?P<by>[\w ]+?)(?: (?P<down>по убыванию)| по возрастанию)?",
    r"按(?P<by>\w+?)(?:(?P<down>降序|从高到低|从大到小)(?:排序|排列)?|(?:升序|从低到高|从小到大)(?:排序|排列)?|排序|排列)",
)
_ROW_CHANGES = [f"{_SHOW}{pattern}" for pattern in _TOP] + [f"{_SHOW}{_PREVIOUS}{pattern}" for pattern in _SORT]
_END = r"\s*[.!?。！？]*"
_NUMERIC = (int, float)


@dataclass(frozen=True)
class FormatChange:
    """A change of format: the new output type, or None if it is unchanged, and the new result."""

    output_type: OutputType | None
    result: Result


def asks_for_format(question: str) -> bool:
    """Return whether `question` asks only for another output type, another order or fewer rows."""
    patterns = [f"{_SHOW}{_PREVIOUS}{pattern}" for _, pattern in _OUTPUT_TYPES] + _ROW_CHANGES
    return any(_match(pattern, question.strip()) for pattern in patterns)


def is_sorting(question: str) -> bool:
    """Return whether `question` asks only for another order."""
    return any(_match(f"{_SHOW}{_PREVIOUS}{pattern}", question.strip()) for pattern in _SORT)


def format_change(question: str, result: Result, *, is_ordered: bool) -> FormatChange | None:
    """Return the change that `question` makes to the last result; None if it asks for more than another format.

    `is_ordered` states whether the rows of `result` are in a meaningful order. "The top three" are then the first three
    rows, otherwise those with the highest values of the only numeric column. None as well if the result has fewer rows
    than requested, or if it is truncated and would have to be sorted.
    """
    text = question.strip()
    for output_type, pattern in _OUTPUT_TYPES:
        if _match(f"{_SHOW}{_PREVIOUS}{pattern}", text):
            return FormatChange(output_type, result)
    match = next(filter(None, (_match(pattern, text) for pattern in _ROW_CHANGES)), None)
    if match is None:
        return None
    groups = match.groupdict()
    if groups.get("by"):
        changed = _sort(result, groups["by"], descending=bool(groups["down"]))
    else:
        count = groups["count"]
        changed = _top_rows(result, int(count) if count.isdigit() else _NUMBERS[count.lower()], is_ordered=is_ordered)
    return changed and FormatChange(None, changed)


def _match(pattern: str, text: str) -> re.Match[str] | None:
    return re.fullmatch(f"{_PREFIX}{pattern}{_END}", text, re.IGNORECASE)


def _top_rows(result: Result, count: int, *, is_ordered: bool) -> Result | None:
    if not 0 < count <= len(result["rows"]):
        return None
    if is_ordered:
        return _with_rows(result, result["rows"][:count])
    numeric = [column for column in range(len(result["columns"])) if _is_numeric(result["rows"], column)]
    if result["truncated"] or len(numeric) != 1:
        return None
    return _with_rows(result, _sorted_rows(result["rows"], numeric[0], descending=True)[:count])


def _sort(result: Result, column_name: str, *, descending: bool) -> Result | None:
    name_words = words(column_name)
    matching = [at for at, name in enumerate(result["columns"]) if name_words and name_words <= words(name)]
    if result["truncated"] or len(matching) != 1:
        return None
    return _with_rows(result, _sorted_rows(result["rows"], matching[0], descending=descending))


def _sorted_rows(rows: Sequence[list[Any]], column: int, *, descending: bool) -> list[list[Any]]:
    """Return the rows sorted by a column, NULL last."""
    numeric = _is_numeric(rows, column)
    with_value = [row for row in rows if row[column] is not None]
    with_value.sort(key=lambda row: row[column] if numeric else str(row[column]), reverse=descending)
    return [*with_value, *(row for row in rows if row[column] is None)]


def _is_numeric(rows: Sequence[list[Any]], column: int) -> bool:
    values = [row[column] for row in rows if row[column] is not None]
    return bool(values) and all(isinstance(value, _NUMERIC) and not isinstance(value, bool) for value in values)


def _with_rows(result: Result, rows: Sequence[list[Any]]) -> Result:
    return {**result, "rows": list(rows), "truncated": False}


def shown_rows(turn: Turn, source: Source) -> Result:
    """Execute the statement of `turn` again and return its rows after the format changes of the turn.

    Raises:
        DatasphinxError: see `Source.execute`.
    """
    result, dialect = source.execute(turn["sql"]), source.catalog.dialect
    questions = turn.get("forms", [])
    for position, question in enumerate(questions):
        before: Turn = {**turn, "forms": questions[:position]}
        change = format_change(question, result, is_ordered=is_in_order(before, dialect))
        result = change.result if change else result
    return result


def is_in_order(turn: Turn, dialect: str) -> bool:
    """Return whether the rows of `turn` are ordered, by its statement or by a format change of the user."""
    return is_ordered(turn["sql"], dialect) or any(map(is_sorting, turn.get("forms", ())))

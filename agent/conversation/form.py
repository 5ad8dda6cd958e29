"""Follow-ups that change only the form of an answer: another form, another order, fewer rows. No model is asked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.catalog.words import words
from agent.sql.result import Result
from agent.state import OutputType

_NUMBERS = {
    **{word: n for n, word in enumerate("one two three four five six seven eight nine ten".split(), 1)},
    **{word: n for n, word in enumerate("один два три четыре пять шесть семь восемь девять десять".split(), 1)},
    **{word: n for n, word in enumerate("一二三四五六七八九十", 1)},
}
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(_NUMBERS)})"
_LEAD = r"(?:(?:and|now|ok|please|а|и|теперь|пожалуйста|请|现在)[, ]*)*"
_SHOW = (
    r"(?:(?:show|draw|give|display|plot|present|покажи(?:те)?|дай(?:те)?|выведи(?:те)?|нарисуй(?:те)?)(?: me| мне)? ?)?"
)
_IT = r"(?:(?:it|this|that|them|these|those|the (?:same|result|answer)|это|их|его|то же)(?: again| снова)? ?)?"
_KIND = r"(?:(?:simple|stacked|horizontal|bar|pie|line|column|area|scatter) )*"
_FORMS: tuple[tuple[OutputType, str], ...] = (
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
_FEWER = (
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
_ROWS = [f"{_SHOW}{pattern}" for pattern in _FEWER] + [f"{_SHOW}{_IT}{pattern}" for pattern in _SORT]
_END = r"\s*[.!?。！？]*"
_NUMERIC = (int, float)


@dataclass(frozen=True)
class FormChange:
    """What a follow-up changes: the form, the rows in their order, or both."""

    output_type: OutputType | None
    result: Result


def asks_for_form(question: str) -> bool:
    """Return whether `question` asks for nothing but another form, another order or fewer rows."""
    patterns = [f"{_SHOW}{_IT}{pattern}" for _, pattern in _FORMS] + _ROWS
    return any(_match(pattern, question.strip()) for pattern in patterns)


def is_sorting(question: str) -> bool:
    """Return whether `question` asks for nothing but another order."""
    return any(_match(f"{_SHOW}{_IT}{pattern}", question.strip()) for pattern in _SORT)


def form_change(question: str, result: Result, *, is_ordered: bool) -> FormChange | None:
    """Return what `question` makes of the last result, whose statement `is_ordered` or not; None where it asks more.

    "The top three" are the first rows of what is ordered, else those with the highest figures of the one column that
    has figures. A result that was cut is neither sorted nor shortened, unless it is ordered and shortened; nor can one
    be shortened to more rows than it has.
    """
    text = question.strip()
    for form, pattern in _FORMS:
        if _match(f"{_SHOW}{_IT}{pattern}", text):
            return FormChange(form, result)
    found = next(filter(None, (_match(pattern, text) for pattern in _ROWS)), None)
    if found is None:
        return None
    said = found.groupdict()
    if said.get("by"):
        rows = _sorted_by(result, said["by"], down=bool(said["down"]))
    else:
        rows = _top(result, _number(said["count"]), is_ordered=is_ordered)
    return rows and FormChange(None, rows)


def _match(pattern: str, text: str) -> re.Match[str] | None:
    return re.fullmatch(f"{_LEAD}{pattern}{_END}", text, re.IGNORECASE)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text.lower()]


def _top(result: Result, count: int, *, is_ordered: bool) -> Result | None:
    if not 0 < count <= len(result["rows"]):
        return None
    if is_ordered:
        return _with_rows(result, result["rows"][:count])
    figures = [at for at in range(len(result["columns"])) if _is_numeric(result["rows"], at)]
    if result["truncated"] or len(figures) != 1:
        return None
    return _with_rows(result, _in_order(result["rows"], figures[0], down=True)[:count])


def _sorted_by(result: Result, said: str, *, down: bool) -> Result | None:
    wanted = words(said)
    named = [at for at, name in enumerate(result["columns"]) if wanted and wanted <= words(name)]
    if result["truncated"] or len(named) != 1:
        return None
    return _with_rows(result, _in_order(result["rows"], named[0], down=down))


def _in_order(rows: Sequence[list[Any]], at: int, *, down: bool) -> list[list[Any]]:
    """Return the rows by a column, those without a value last."""
    numeric = _is_numeric(rows, at)
    known = [row for row in rows if row[at] is not None]
    known.sort(key=lambda row: row[at] if numeric else str(row[at]), reverse=down)
    return [*known, *(row for row in rows if row[at] is None)]


def _is_numeric(rows: Sequence[list[Any]], at: int) -> bool:
    values = [row[at] for row in rows if row[at] is not None]
    return bool(values) and all(isinstance(value, _NUMERIC) and not isinstance(value, bool) for value in values)


def _with_rows(result: Result, rows: Sequence[list[Any]]) -> Result:
    return {**result, "rows": list(rows), "truncated": False}

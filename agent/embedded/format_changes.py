"""Follow-ups that change only the format of an answer: output type, order or number of rows. They need no model.

Order and number of rows are changed in the statement, so that the statement of an answer always returns its rows.
"""

import re
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError

from datasphinx.agent.schema.words import words
from datasphinx.agent.sql.compare import is_ordered
from datasphinx.agent.sql.dialects import exact_dialect, print_statement
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.types import OutputType, Result

_NUMBERS = {
    **{word: n for n, word in enumerate("one two three four five six seven eight nine ten".split(), 1)},
    **{word: n for n, word in enumerate("один два три четыре пять шесть семь восемь девять десять".split(), 1)},
    **{word: n for n, word in enumerate("ein zwei drei vier fünf sechs sieben acht neun zehn".split(), 1)},
    **{word: n for n, word in enumerate("一二三四五六七八九十", 1)},
}
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(_NUMBERS)})"
_PREFIX = r"(?:(?:and|now|ok|please|а|и|теперь|пожалуйста|und|jetzt|bitte|请|现在)[, ]*)*"
_SHOW = (
    r"(?:(?:show|draw|give|display|plot|present|покажи(?:те)?|дай(?:те)?|выведи(?:те)?|нарисуй(?:те)?|"
    r"zeige?|zeichne|stelle?|gib)(?: me| мне| mir)? ?)?"
)
_PREVIOUS = (
    r"(?:(?:it|this|that|them|these|those|the (?:same|result|answer)|это|их|его|то же|"
    r"es|das|sie|dasselbe)(?: again| снова| noch ?mal)? ?)?"
)
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
    ("plot", r"(?:als |in einem |mit einem |in ein )?\w*(?:diagramm|grafik|schaubild)(?: dar)?"),
    ("dataframe", r"(?:as|in) (?:an? |the )?table"),
    ("dataframe", r"(?:als |in einer )tabelle"),
    ("dataframe", r"(?:в виде |как )таблиц\w*"),
    ("dataframe", r"(?:用|换成|改成|做成)(?:一个|一张)?表格(?:显示|表示|展示)?"),
    ("string", r"as (?:a )?(?:text|sentence)|in words|(?:в виде текста|словами)"),
    ("string", r"als text|in worten|用文字(?:表示|说明)?"),
)
_TOP = (
    rf"(?:(?:only|just) )?(?:the )?(?:top|first|best|highest|largest) {_COUNT}"
    r"(?: (?:only|rows|of (?:them|these|those)))*",
    rf"(?:nur )?(?:noch )?(?:die )?(?:top|ersten|besten|größten|höchsten)[ -]{_COUNT}(?: zeilen| davon)?",
    rf"(?:только |лишь )?(?:перв\w+|топ[- ]|лучш\w+|верхн\w+) ?{_COUNT}",
    rf"(?:只看|只要|只显示|只)?前{_COUNT}(?:个|名|条|行|位)?(?:就行|即可)?",
)
_SORT = (
    r"(?:sort(?:ed)?|order(?:ed)?)(?: (?:it|them|this|these))? by (?P<by>[\w ]+?)"
    r"(?:,? (?:in )?(?P<down>desc\w*(?: order)?|highest first|largest first)|"
    r",? (?:in )?(?:asc\w*(?: order)?|lowest first))?",
    r"(?:от)?сортиру\w+ по (?P<by>[\w ]+?)(?: (?P<down>по убыванию)| по возрастанию)?",
    r"sortiere?(?: (?:es|sie|das))?(?: \w+)? nach (?P<by>[\w ]+?)(?:,? (?P<down>absteigend)|,? aufsteigend)?",
    r"按(?P<by>\w+?)(?:(?P<down>降序|从高到低|从大到小)(?:排序|排列)?|(?:升序|从低到高|从小到大)(?:排序|排列)?|排序|排列)",
)
_ROW_CHANGES = [f"{_SHOW}{pattern}" for pattern in _TOP] + [f"{_SHOW}{_PREVIOUS}{pattern}" for pattern in _SORT]
_END = r"\s*[.!?。！？]*"
_NUMERIC = (int, float)


@dataclass(frozen=True)
class FormatChange:
    """A change of format: the new output type, or None if it is unchanged, and the statement that returns the rows."""

    output_type: OutputType | None
    sql: str


def asks_for_format(question: str) -> bool:
    """Return whether `question` asks only for another output type, another order or fewer rows."""
    patterns = [f"{_SHOW}{_PREVIOUS}{pattern}" for _, pattern in _OUTPUT_TYPES]
    return any(_match(pattern, question.strip()) for pattern in (*patterns, *_ROW_CHANGES))


def format_change(question: str, sql: str, result: Result, dialect: str) -> FormatChange | None:
    """Return the change that `question` makes to the last answer; None if it asks for more than another format.

    `sql` is the statement of the last answer and `result` its rows. "The top three" are the first three rows of an
    ordered statement, otherwise those with the highest values of the only numeric column. None as well if there are
    fewer rows than requested, or if the statement cannot be changed.
    """
    text = question.strip()
    for output_type, pattern in _OUTPUT_TYPES:
        if _match(f"{_SHOW}{_PREVIOUS}{pattern}", text):
            return FormatChange(output_type, sql)
    match = next(filter(None, (_match(pattern, text) for pattern in _ROW_CHANGES)), None)
    if match is None:
        return None
    try:
        changed = _with_changed_rows(sql, match.groupdict(), result, dialect)
        return FormatChange(None, print_statement(changed, dialect)) if changed else None
    except (ValueError, SqlglotError):
        return None


def _match(pattern: str, text: str) -> re.Match[str] | None:
    return re.fullmatch(f"{_PREFIX}{pattern}{_END}", text, re.IGNORECASE)


def _with_changed_rows(sql: str, wanted: dict[str, str | None], result: Result, dialect: str) -> exp.Query | None:
    """Return `sql` with the order or the number of rows in `wanted`, the groups of a match of `_ROW_CHANGES`."""
    (query,) = parse(sql, dialect)
    if not isinstance(query, exp.Query):
        return None
    if name := wanted.get("by"):
        # The column to sort by is the only one whose name contains all these words.
        name_words = words(name)
        positions = [at for at, column in enumerate(result["columns"]) if name_words and name_words <= words(column)]
        return _sorted(query, positions[0], bool(wanted["down"]), dialect) if len(positions) == 1 else None
    digits = (wanted["count"] or "").lower()
    count = int(digits) if digits.isdigit() else _NUMBERS[digits]
    if not 0 < count <= len(result["rows"]):
        return None
    if not is_ordered(sql, dialect):
        numeric = [column for column in range(len(result["columns"])) if _is_numeric(result, column)]
        if len(numeric) != 1:
            return None
        query = _sorted(query, numeric[0], True, dialect)
    query.set("limit", exp.Limit(expression=exp.Literal.number(count)))
    return query


def _sorted(query: exp.Query, column: int, descending: bool, dialect: str) -> exp.Query:
    """Return `query` ordered by the column at this position, from 0, with NULL last where the dialect can say so.

    A query with a limit is sorted as a subquery: another order would select other rows.
    """
    if any(query.args.get(name) for name in ("limit", "offset")):
        query = exp.select("*").from_(query.subquery("result"))
    can_place_nulls = exact_dialect(dialect).generator_class.NULL_ORDERING_SUPPORTED
    nulls = {"nulls_first": False} if can_place_nulls else {}
    position = exp.Literal.number(column + 1)
    query.set("order", exp.Order(expressions=[exp.Ordered(this=position, desc=descending, **nulls)]))
    return query


def _is_numeric(result: Result, column: int) -> bool:
    values = [row[column] for row in result["rows"] if row[column] is not None]
    return bool(values) and all(isinstance(value, _NUMERIC) and not isinstance(value, bool) for value in values)

"""Which form an answer takes: number, text, table or chart."""

import re
from typing import Any

from agent.charts.echarts import chart_of
from agent.errors import InvalidOutputType
from agent.sql.result import Result
from agent.state import AnswerChart, AnswerTable, OutputType

_ASKS_FOR_CHART = re.compile(
    r"\b(chart|plot|graph|diagram|visuali[sz]e)\b|график|диаграмм|гистограмм|визуализ|图表|折线|柱状|饼图|画图|绘制",
    re.IGNORECASE,
)
_ASKS_FOR_OTHER = re.compile(
    r"\b(?:as|in) an? (?:table|list|number|text)\b|\bas (?:table|list|number|text)\b|"
    r"\b(?:таблицей|списком|числом|текстом)\b|\bв виде (?:таблицы|списка|числа|текста)\b|表格|列表",
    re.IGNORECASE,
)
_NEEDED: dict[OutputType | None, str] = {
    "number": "the answer has to be one number: one row with one column of numbers",
    "plot": "the answer has to be a chart: two rows at least, a column for the x axis and a column of numbers",
}
"""What a form asks of a result; the other forms take any."""

_FORMS = (_ASKS_FOR_CHART, _ASKS_FOR_OTHER)
_NUMERIC = {"integer", "float", "decimal"}


def unfit(question: str, result: Result, wanted: OutputType | None) -> str | None:
    """Return why `result` cannot be given as `wanted`, as a model is told; None where it can, or no rows could."""
    if wanted not in _NEEDED or wanted in _possible(result, chart_of(result, question)):
        return None
    return f"it ran, but {_NEEDED[wanted]}, and the result is {_shape(result)}"


def choose_output_type(
    question: str, result: Result, wanted: OutputType | None, chart: AnswerChart | None
) -> OutputType:
    """Return the form: the wanted one, else a chart where the question asks for one, else what the result is.

    Raises:
        InvalidOutputType: the result cannot have the wanted form.
    """
    if wanted and wanted not in _possible(result, chart):
        raise InvalidOutputType(wanted, _shape(result))
    if wanted:
        return wanted
    return "plot" if chart and _asks_for_chart(question) else _natural(result)


def _asks_for_chart(question: str) -> bool:
    """True where the last form that is named is a chart: a conversation may have asked for another before."""
    ends = [max((match.end() for match in words.finditer(question)), default=-1) for words in _FORMS]
    return ends[0] > ends[1]


def value_of(output_type: OutputType, result: Result, text: str, table: AnswerTable, chart: AnswerChart | None) -> Any:
    """Return the answer as a value: the number, the text, the table or the chart."""
    if output_type in {"number", "string"}:
        value = result["rows"][0][0] if _is_single(result) else text
        return text if output_type == "string" and isinstance(value, int | float) else value
    return chart if output_type == "plot" else table


def _possible(result: Result, chart: AnswerChart | None) -> set[str]:
    return {"string", "dataframe", _natural(result), *(["plot"] if chart else [])}


def _natural(result: Result) -> OutputType:
    if not _is_single(result):
        return "dataframe"
    value, kind = result["rows"][0][0], result["types"][0]
    # A number that a double cannot keep comes as text.
    return "number" if value is not None and kind in _NUMERIC else "string"


def _is_single(result: Result) -> bool:
    return len(result["rows"]) == 1 and len(result["columns"]) == 1


def _shape(result: Result) -> str:
    columns = ", ".join(f"{name} ({kind})" for name, kind in zip(result["columns"], result["types"], strict=True))
    return f"{len(result['rows'])} x [{columns}]"

"""Output type of an answer: number, string, data frame or plot."""

import re
from typing import Any

from agent.charts.echarts import chart_of
from agent.errors import InvalidOutputType
from agent.types import AnswerChart, AnswerTable, OutputType, Result

_ASKS_FOR_CHART = re.compile(
    r"\b(chart|plot|graph|diagram|visuali[sz]e)\b|график|диаграмм|гистограмм|визуализ|图表|折线|柱状|饼图|画图|绘制",
    re.IGNORECASE,
)
_ASKS_FOR_OTHER = re.compile(
    r"\b(?:as|in) an? (?:table|list|number|text)\b|\bas (?:table|list|number|text)\b|"
    r"\b(?:таблицей|списком|числом|текстом)\b|\bв виде (?:таблицы|списка|числа|текста)\b|表格|列表",
    re.IGNORECASE,
)
_REQUIREMENTS: dict[OutputType | None, str] = {
    "number": "the answer has to be one number: one row with one column of numbers",
    "plot": "the answer has to be a chart: two rows at least, a column for the x axis and a column of numbers",
}
"""Requirement of each output type on a result, as the model reads it; the other types accept any result."""

_NUMERIC = {"integer", "float", "decimal"}


def output_type_problem(question: str, result: Result, requested: OutputType | None) -> str | None:
    """Return a message for the model if `result` cannot be returned as `requested`; None if it can.

    Always None for `string`, `dataframe` and None, which accept any result.
    """
    if requested not in _REQUIREMENTS or requested in _possible_types(result, chart_of(result, question)):
        return None
    return f"it ran, but {_REQUIREMENTS[requested]}, and the result is {_shape(result)}"


def choose_output_type(
    question: str, result: Result, requested: OutputType | None, chart: AnswerChart | None
) -> OutputType:
    """Return `requested` if set; else `plot` if the question asks for a chart and there is one; else the natural type.

    Raises:
        InvalidOutputType: the result cannot have the requested type.
    """
    if requested and requested not in _possible_types(result, chart):
        raise InvalidOutputType(requested, _shape(result))
    if requested:
        return requested
    # The last type named in the question counts: a rewritten follow-up may name an earlier one first.
    chart_end, other_end = (
        max((match.end() for match in pattern.finditer(question)), default=-1)
        for pattern in (_ASKS_FOR_CHART, _ASKS_FOR_OTHER)
    )
    return "plot" if chart and chart_end > other_end else _natural_type(result)


def value_of(output_type: OutputType, result: Result, text: str, table: AnswerTable, chart: AnswerChart | None) -> Any:
    """Return the value of the answer: the number, the text, the table or the chart."""
    if output_type in {"number", "string"}:
        value = result["rows"][0][0] if _is_single_value(result) else text
        return text if output_type == "string" and isinstance(value, int | float) else value
    return chart if output_type == "plot" else table


def _possible_types(result: Result, chart: AnswerChart | None) -> set[str]:
    return {"string", "dataframe", _natural_type(result), *(["plot"] if chart else [])}


def _natural_type(result: Result) -> OutputType:
    if not _is_single_value(result):
        return "dataframe"
    value, kind = result["rows"][0][0], result["types"][0]
    # A number that a double cannot represent exactly is returned as text.
    return "number" if value is not None and kind in _NUMERIC else "string"


def _is_single_value(result: Result) -> bool:
    return len(result["rows"]) == 1 and len(result["columns"]) == 1


def _shape(result: Result) -> str:
    columns = ", ".join(f"{name} ({kind})" for name, kind in zip(result["columns"], result["types"], strict=True))
    return f"{len(result['rows'])} x [{columns}]"

"""Which form an answer takes: number, text, table or chart."""

import re
from typing import Any

from agent.errors import InvalidOutputType
from agent.sql.result import Result
from agent.state import AnswerChart, AnswerTable, OutputType

_ASKS_FOR_CHART = re.compile(
    r"\b(chart|plot|graph|diagram|visuali[sz]e)\b|график|диаграмм|гистограмм|визуализ|图表|折线|柱状|饼图|画图|绘制",
    re.IGNORECASE,
)
_NUMERIC = {"integer", "float", "decimal"}


def choose_output_type(
    question: str, result: Result, wanted: OutputType | None, chart: AnswerChart | None
) -> OutputType:
    """Return the form: the wanted one, else a chart where the question asks for one, else what the result is.

    Raises:
        InvalidOutputType: the result cannot have the wanted form.
    """
    natural = _natural(result)
    possible = {"string", "dataframe", natural, *(["plot"] if chart else [])}
    if wanted and wanted not in possible:
        raise InvalidOutputType(wanted, _shape(result))
    if wanted:
        return wanted
    return "plot" if chart and _ASKS_FOR_CHART.search(question) else natural


def value_of(output_type: OutputType, result: Result, text: str, table: AnswerTable, chart: AnswerChart | None) -> Any:
    """Return the answer as a value: the number, the text, the table or the chart."""
    if output_type in {"number", "string"}:
        value = result["rows"][0][0] if _is_single(result) else text
        return text if output_type == "string" and isinstance(value, int | float) else value
    return chart if output_type == "plot" else table


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

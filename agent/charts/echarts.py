"""Charts as ECharts options, made from a result alone: the same rows give the same option."""

import re
from typing import Any

from agent.sql.result import Result
from agent.state import AnswerChart

_MAX_POINTS = 1000
_NUMERIC = {"integer", "float", "decimal"}
_YEAR = re.compile(r"(?<![a-zа-я])(years?|yr|год|годы|года)(?![a-zа-я])|年")
_PERIOD = re.compile(r"\d{4}(-\d{2}(-\d{2}.*)?|-?Q[1-4]|-W\d{2})?$")


def chart_of(result: Result, title: str) -> AnswerChart | None:
    """Return a line chart over periods or a bar chart over categories; None where the result is no chart.

    The first column of periods (years count), else the first that is not numeric, else the first of several is the
    x axis; each numeric column that is left is a series. More than 1,000 rows, or fewer than two, are no chart.
    """
    rows = result["rows"]
    x = _axis(result)
    if x is None or not 2 <= len(rows) <= _MAX_POINTS:
        return None
    measures = [at for at, kind in enumerate(result["types"]) if kind in _NUMERIC and at != x]
    if not measures:
        return None
    kind = "line" if _are_periods(result, x) else "bar"
    option: dict[str, Any] = {
        "title": {"text": title},
        "tooltip": {"trigger": "axis"},
        "legend": {"data": [result["columns"][at] for at in measures]},
        "xAxis": {"type": "category", "name": result["columns"][x], "data": [row[x] for row in rows]},
        "yAxis": {"type": "value"},
        "series": [{"name": result["columns"][at], "type": kind, "data": [row[at] for row in rows]} for at in measures],
    }
    return AnswerChart(type=kind, option=option)


def _axis(result: Result) -> int | None:
    columns = range(len(result["columns"]))
    periods = next((at for at in columns if _are_periods(result, at)), None)
    if periods is not None:
        return periods
    return next((at for at in columns if result["types"][at] not in _NUMERIC), 0 if columns else None)


def _are_periods(result: Result, column: int) -> bool:
    values = [row[column] for row in result["rows"]]
    if result["types"][column] == "integer":
        named = bool(_YEAR.search(result["columns"][column].lower()))
        return named and all(value is None or isinstance(value, int) and 1000 <= value <= 9999 for value in values)
    return all(isinstance(value, str) and _PERIOD.match(value) for value in values)

"""The chart that suits a result when nobody has said which."""

import re

from agent.charts.cells import NUMERIC, are_periods, column, type_of_column
from agent.charts.plot_spec import MAX_SERIES, ChartType, PlotSpec
from agent.charts.spec_check import check_plot_spec
from agent.errors import PlotSpecInvalid
from agent.sql.result import Result

_YEAR = re.compile(r"(?<![a-zа-я])(years?|yr|год|годы|года)(?![a-zа-я])|年")

_CHART = r"[ -]?(?:chart|plot|graph|diagram)"
_NAMED: tuple[tuple[ChartType, re.Pattern[str]], ...] = (
    ("pie", re.compile(rf"\bpie{_CHART}|кругов\w+ (?:диаграмм|график)|饼图|饼状图", re.IGNORECASE)),
    ("line", re.compile(rf"\bline{_CHART}|линейн\w+ (?:диаграмм|график)|折线图|线图", re.IGNORECASE)),
    ("bar", re.compile(rf"\b(?:bar|column){_CHART}|столбчат\w+ (?:диаграмм|график)|柱状图|条形图", re.IGNORECASE)),
    ("area", re.compile(rf"\barea{_CHART}|面积图", re.IGNORECASE)),
)


def suitable_spec(result: Result, title: str, wording: str) -> PlotSpec | None:
    """Return a line over periods or bars over categories; None where the result is no chart.

    Where `wording` names another kind, and the result can be that, it is of this kind. The first column of periods
    (years count), else the first that is not numeric, else the first of several is the x axis; each numeric column
    that is left is a measure, up to 12. Fewer than two rows are no chart, and a column that shares its name with
    another cannot be drawn.
    """
    names = [name for name in result["columns"] if result["columns"].count(name) == 1]
    x = _axis(result, names)
    if x is None or len(result["rows"]) < 2:
        return None
    measures = [name for name in names if type_of_column(result, name) in NUMERIC and name != x][:MAX_SERIES]
    if not measures:
        return None
    usual = "line" if _says_when(result, x) else "bar"
    for kind in (name for name, pattern in _NAMED if pattern.search(wording)):
        spec = PlotSpec.model_validate({"chart_type": kind, "title": title, "x": x, "y": measures})
        if _can_be(spec, result):
            return spec
    return PlotSpec.model_validate({"chart_type": usual, "title": title, "x": x, "y": measures})


def _can_be(spec: PlotSpec, result: Result) -> bool:
    try:
        check_plot_spec(spec, result)
    except PlotSpecInvalid:
        return False
    return True


def _axis(result: Result, names: list[str]) -> str | None:
    periods = next((name for name in names if _says_when(result, name)), None)
    if periods is not None:
        return periods
    return next((name for name in names if type_of_column(result, name) not in NUMERIC), names[0] if names else None)


def _says_when(result: Result, name: str) -> bool:
    values = column(result, name)
    if type_of_column(result, name) == "integer":
        named = bool(_YEAR.search(name.lower()))
        return named and all(value is None or isinstance(value, int) and 1000 <= value <= 9999 for value in values)
    return bool(values) and are_periods(values)

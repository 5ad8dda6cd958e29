"""Choose a chart for a result if none was specified."""

import re
from itertools import chain

from agent.charts.cells import NUMERIC, are_periods, column, type_of_column
from agent.charts.plot_spec import MAX_SERIES, ChartType, PlotSpec, check_plot_spec
from agent.errors import PlotSpecInvalid
from agent.types import Result

_YEAR = re.compile(r"(?<![a-zа-я])(years?|yr|год|годы|года)(?![a-zа-я])|年")

_CHART = r"[ -]?(?:chart|plot|graph|diagram)"
_TYPE_PATTERNS: tuple[tuple[ChartType, re.Pattern[str]], ...] = (
    ("pie", re.compile(rf"\bpie{_CHART}|кругов\w+ (?:диаграмм|график)|饼图|饼状图", re.IGNORECASE)),
    ("line", re.compile(rf"\bline{_CHART}|линейн\w+ (?:диаграмм|график)|折线图|线图", re.IGNORECASE)),
    ("bar", re.compile(rf"\b(?:bar|column){_CHART}|столбчат\w+ (?:диаграмм|график)|柱状图|条形图", re.IGNORECASE)),
    ("area", re.compile(rf"\barea{_CHART}|面积图", re.IGNORECASE)),
)


def suitable_spec(result: Result, title: str, wording: str) -> PlotSpec | None:
    """Return a line chart over periods or a bar chart over categories, or None if the result cannot be charted.

    A chart type named in `wording` is used if it fits the result. The x axis is the first column of periods (years
    included), else the first non-numeric column, else the first of several columns; every other numeric column is a
    measure, up to 12. A result with fewer than two rows has no chart. Columns that share a name are ignored.
    """
    names = [name for name in result["columns"] if result["columns"].count(name) == 1]
    periods = (name for name in names if _has_periods(result, name))
    categories = (name for name in names if type_of_column(result, name) not in NUMERIC)
    x = next(chain(periods, categories, names), None)
    if x is None or len(result["rows"]) < 2:
        return None
    measures = [name for name in names if type_of_column(result, name) in NUMERIC and name != x][:MAX_SERIES]
    if not measures:
        return None
    default = "line" if _has_periods(result, x) else "bar"
    for kind in (name for name, pattern in _TYPE_PATTERNS if pattern.search(wording)):
        spec = PlotSpec.model_validate({"chart_type": kind, "title": title, "x": x, "y": measures})
        if _fits(spec, result):
            return spec
    return PlotSpec.model_validate({"chart_type": default, "title": title, "x": x, "y": measures})


def _fits(spec: PlotSpec, result: Result) -> bool:
    try:
        check_plot_spec(spec, result)
    except PlotSpecInvalid:
        return False
    return True


def _has_periods(result: Result, name: str) -> bool:
    values = column(result, name)
    if type_of_column(result, name) == "integer":
        years = (value is None or isinstance(value, int) and 1000 <= value <= 9999 for value in values)
        return bool(_YEAR.search(name.lower())) and all(years)
    return bool(values) and are_periods(values)

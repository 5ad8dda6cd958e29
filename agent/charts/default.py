"""Charts of a stored answer: the one that is drawn without a request for a chart, and one for each type that fits."""

from collections.abc import Collection
from typing import get_args

from datasphinx.agent.charts.cells import Number, column, labels_of, number, order_of, places_in_cycle, type_of_column
from datasphinx.agent.charts.plot_spec import PlotSpec, check_plot_spec, fits
from datasphinx.agent.charts.select import Selection, select_chart
from datasphinx.agent.errors import PlotSpecInvalid
from datasphinx.agent.messages import Language
from datasphinx.agent.types import ChartType, Result

_MIN_PLACES = 3
_MAX_BARS = 30
_MAX_RATIO = 20
"""Maximum ratio of the greatest values of two lines in a chart without a request; smaller lines would be flat."""


def default_chart(
    result: Result, question: str, keys: Collection[int] = (), language: Language = "en"
) -> Selection | None:
    """Return the chart of a ranking, a trend or shares; None for other results.

    A trend has rows in the order of their periods. A ranking has 3 to 30 rows in the order of one measure, which alone
    is drawn. Shares are fractions or percentages that add up to a whole, and drawn as a pie. `keys` are the positions
    of columns known to name groups.
    """
    selection = select_chart(result, question, language=language, keys=keys)
    if selection is None:
        return None
    if selection.spec.chart_type == "bar":
        pie = select_chart(result, question, {"type": "pie"}, language, keys)
        if pie and pie.spec.chart_type == "pie" and _is_whole(pie):
            return pie
    for y in (_trend_measures(selection), _ranking_measure(selection)):
        if y:
            notes = selection.notes if y == selection.spec.y else ()
            spec = selection.spec.model_copy(update={"y": y})
            return Selection(selection.result, spec, notes)
    return None


def select_charts(
    result: Result, question: str, keys: Collection[int] = (), language: Language = "en"
) -> dict[ChartType, Selection]:
    """Return a chart of each type that the result allows, the most suitable one first."""
    best = select_chart(result, question, language=language, keys=keys)
    if best is None:
        return {}
    charts = {best.spec.chart_type: best}
    for kind in get_args(ChartType):
        chart = select_chart(result, question, {"type": kind}, language, keys)
        if chart and chart.spec.chart_type == kind:
            charts.setdefault(kind, chart)
    return charts


def selection_of(spec: PlotSpec, result: Result, charts: Collection[Selection]) -> Selection:
    """Return the chart of `spec`: of `result`, or of one of `charts` if it names columns that only this one has.

    Raises:
        PlotSpecInvalid: the spec does not fit the result.
    """
    for chart in charts:
        if spec == chart.spec:
            return chart
    try:
        check_plot_spec(spec, result)
    except PlotSpecInvalid:
        derived = next((chart for chart in charts if fits(spec, chart.result)), None)
        if derived is None:
            raise
        return Selection(derived.result, spec)
    return Selection(result, spec)


def _is_whole(pie: Selection) -> bool:
    """Return whether the parts of a pie are fractions that add up to 1, or percentages that add up to 100."""
    is_exact = type_of_column(pie.result, pie.spec.y[0]) == "integer"
    whole = sum(_values(pie, pie.spec.y[0]))
    return not is_exact and (abs(whole - 1) <= 0.01 or abs(whole - 100) <= 1)


def _trend_measures(selection: Selection) -> tuple[str, ...]:
    """Return the measures of rows in the order of their periods, without those far below the first; else nothing."""
    spec, result = selection.spec, selection.result
    cells = column(result, spec.x)
    is_period = spec.chart_type == "line" or (spec.chart_type == "bar" and bool(places_in_cycle(cells)))
    labels = labels_of(result, spec.x)
    if not is_period or len(set(labels)) < _MIN_PLACES:
        return ()
    order = [labels[at] for at in order_of(cells, type_of_column(result, spec.x))]
    if labels not in (order, order[::-1]):
        return ()
    sizes = {name: max(map(abs, _values(selection, name)), default=0) for name in spec.y}
    first = sizes[spec.y[0]]
    return tuple(name for name in spec.y if first <= sizes[name] * _MAX_RATIO and sizes[name] <= first * _MAX_RATIO)


def _ranking_measure(selection: Selection) -> tuple[str, ...]:
    """Return the measure that the rows are ordered by; nothing if they are no ranking."""
    spec, result = selection.spec, selection.result
    if spec.chart_type != "bar" or spec.series is not None or not _MIN_PLACES <= len(result["rows"]) <= _MAX_BARS:
        return ()
    for name in spec.y:
        values = list(_values(selection, name))
        is_ordered = values in (sorted(values), sorted(values, reverse=True))
        if is_ordered and len(values) >= len(result["rows"]) and len(set(values)) >= 2:
            return (name,)
    return ()


def _values(selection: Selection, name: str) -> list[Number]:
    return [value for cell in column(selection.result, name) if (value := number(cell)) is not None]

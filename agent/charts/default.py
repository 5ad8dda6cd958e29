"""Charts of a stored answer: the one that is drawn without a request for a chart, and one for each type that fits."""

from collections.abc import Collection
from typing import get_args

from datasphinx.agent.charts.cells import Number, column, labels_of, number, order_of, places_in_cycle, type_of_column
from datasphinx.agent.charts.plot_spec import PlotSpec, check_plot_spec
from datasphinx.agent.charts.select import Selection, select_chart
from datasphinx.agent.charts.wording import asks_for_shares, names_shares, refuses_chart, requested_form
from datasphinx.agent.errors import PlotSpecInvalid
from datasphinx.agent.messages import Language
from datasphinx.agent.types import ChartType, Result

_WORDING: dict[ChartType, str] = {"heatmap": "heat map", "histogram": "histogram", "box": "box plot"}
"""Words that name a type, unless it is the type followed by `chart`."""
_MIN_PLACES = 3
_MAX_BARS = 30
_MAX_RATIO = 20
"""Maximum ratio of the greatest values of two lines in a chart without a request; smaller lines would be flat."""


def default_chart(
    result: Result, question: str, keys: Collection[int] = (), language: Language = "en"
) -> Selection | None:
    """Return the chart of a ranking, a trend or shares; None for other results and if `question` asks for no chart.

    A trend has rows in the order of their periods. A ranking has 3 to 30 rows in the order of one measure, which alone
    is drawn. Shares are a pie if `question` asks for them and the rows are parts of a whole. `keys` are the positions
    of columns known to name groups.
    """
    if refuses_chart(question) or requested_form(question) not in {None, "chart"}:
        return None
    selection = select_chart(result, question, question, language, keys)
    if selection is None:
        return None
    if asks_for_shares(question):
        pie = select_charts(result, question, keys, language).get("pie")
        if pie and _is_whole(pie):
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
    best = select_chart(result, question, question, language, keys)
    if best is None:
        return {}
    charts = {best.spec.chart_type: best}
    for kind in get_args(ChartType):
        wording = f"{_WORDING.get(kind, f'{kind} chart')}. {question}"
        chart = select_chart(result, question, wording, language, keys)
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
        derived = next((chart for chart in charts if _fits(spec, chart.result)), None)
        if derived is None:
            raise
        return Selection(derived.result, spec)
    return Selection(result, spec)


def _fits(spec: PlotSpec, result: Result) -> bool:
    try:
        check_plot_spec(spec, result)
    except PlotSpecInvalid:
        return False
    return True


def _is_whole(pie: Selection) -> bool:
    """Return whether the parts of a pie add up: fractions and percentages to 1 or 100, amounts always."""
    values = _values(pie, pie.spec.y[0])
    whole = sum(values)
    if max(values) <= 1 or names_shares(pie.spec.y[0]):
        return abs(whole - 1) <= 0.02 or abs(whole - 100) <= 2
    return True


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

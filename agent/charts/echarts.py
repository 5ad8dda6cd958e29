"""Charts as ECharts options: plain data, without a function, a time or a random number in it.

The options are written here and not by pyecharts, which would bring three dependencies and the smaller part: what is
shown is reduced before, and for the rest ECharts' defaults are what is wanted.
"""

from dataclasses import dataclass
from typing import Any

from agent.charts.build import figure_of
from agent.charts.choose import suitable_spec
from agent.charts.figure import COLOURS, Figure
from agent.charts.plot_spec import PlotSpec
from agent.messages import Language, language_of
from agent.sql.result import Result
from agent.state import AnswerChart

Option = dict[str, Any]


@dataclass(frozen=True)
class Chart:
    """A chart: its type, its ECharts option, and the notes on what was reduced, which the option's subtitle has too."""

    type: str
    option: Option
    notes: tuple[str, ...]


def draw(result: Result, spec: PlotSpec, language: Language = "en") -> Chart:
    """Return the chart of `spec`; the same rows and spec give the same bytes of JSON.

    Raises:
        PlotSpecInvalid: the spec does not fit the result.
    """
    figure = figure_of(result, spec, language)
    return Chart(spec.chart_type, option_of(figure), figure.notes)


def chart_of(result: Result, title: str, wording: str = "") -> AnswerChart | None:
    """Return the chart that suits a result, noted in the language of `title`; None where the result is no chart.

    It is of the kind that `wording`, or else the title, names.
    """
    spec = suitable_spec(result, title, wording or title)
    if spec is None:
        return None
    chart = draw(result, spec, language_of(title))
    return AnswerChart(type=chart.type, option=chart.option)


def option_of(figure: Figure) -> Option:
    """Return a figure as an ECharts option (version 5 and 6).

    Names and cells stand in it as they are and stay text: no template has them, and tooltips are drawn as rich text
    where ECharts would write HTML.
    """
    title = {"text": figure.title, **({"subtext": "\n".join(figure.notes)} if figure.notes else {})}
    return {"title": title, "color": list(COLOURS), **_PARTS.get(figure.spec.chart_type, _lines)(figure)}


def _tooltip(trigger: str) -> Option:
    return {"trigger": trigger, "renderMode": "richText"}


def _legend(figure: Figure) -> Option:
    return {"data": figure.names, "type": "scroll", "bottom": 0}


def _values(figure: Figure) -> Option:
    axis: Option = {"type": "value", **({"name": figure.y_name} if figure.y_name else {})}
    return {**axis, **({"axisLabel": {"formatter": f"{{value}}{figure.unit}"}} if figure.unit else {})}


def _categories(name: str, labels: tuple[str, ...]) -> Option:
    return {"type": "category", "name": name, "data": list(labels)}


def _grid(figure: Figure) -> Option:
    """Room for title, notes and legend."""
    return {"top": 70 + 16 * len(figure.notes), "bottom": 60, "containLabel": True}


def _lines(figure: Figure) -> Option:
    spec, shown = figure.spec, figure.shown
    along, across = _categories(figure.x_name, shown.categories), _values(figure)
    if spec.horizontal:
        # ECharts begins at the bottom, where the last row belongs.
        axes = {"xAxis": across, "yAxis": {**along, "inverse": True}}
    else:
        axes = {"xAxis": along, "yAxis": across}
    form: Option = {
        "type": "bar" if spec.chart_type == "bar" else "line",
        **({"areaStyle": {}} if spec.chart_type == "area" else {}),
        **({"stack": "total"} if spec.stacked else {}),
    }
    series = [{"name": each.name, **form, "data": list(each.values)} for each in shown.series]
    return {
        "tooltip": _tooltip("axis"), "legend": _legend(figure), "grid": _grid(figure), **axes, "series": series
    }  # fmt: skip


def _pie(figure: Figure) -> Option:
    values = figure.shown.series[0].values
    parts = [{"name": name, "value": value} for name, value in zip(figure.names, values, strict=True)]
    series = [{"name": figure.y_name, "type": "pie", "radius": "55%", "data": parts}]
    return {"tooltip": _tooltip("item"), "legend": _legend(figure), "series": series}


def _scatter(figure: Figure) -> Option:
    shown, across = figure.shown, {**_values(figure), "scale": True}
    numbers = {"type": "value", "name": figure.x_name, "scale": True}
    along = _categories(figure.x_name, shown.categories) if shown.categories else numbers
    series = [
        {"name": each.name, "type": "scatter", "data": [list(pair) for pair in zip(each.at, each.values, strict=True)]}
        for each in shown.series
    ]
    return {
        "tooltip": _tooltip("item"), "legend": _legend(figure), "grid": _grid(figure),
        "xAxis": along, "yAxis": across, "series": series,
    }  # fmt: skip


def _heatmap(figure: Figure) -> Option:
    shown = figure.shown
    known = [value for each in shown.series for value in each.values if value is not None]
    cells = [[x, y, value] for y, each in enumerate(shown.series) for x, value in enumerate(each.values)]
    scale: Option = {"type": "continuous", "min": min(known, default=0), "max": max(known, default=0)}
    shape = {"orient": "horizontal", "left": "center", "bottom": 0, "calculable": True}
    unit = {"formatter": f"{{value}}{figure.unit}"} if figure.unit else {}
    rows = _categories(figure.spec.series or "", tuple(figure.names))
    return {
        "tooltip": _tooltip("item"), "grid": _grid(figure),
        "xAxis": _categories(figure.x_name, shown.categories), "yAxis": rows,
        "visualMap": {**scale, **shape, **unit},
        "series": [{"name": figure.y_name, "type": "heatmap", "data": cells}],
    }  # fmt: skip


def _box(figure: Figure) -> Option:
    shown = figure.shown
    boxes = [[b.low, b.lower, b.middle, b.upper, b.high] if b else [None] * 5 for b in shown.boxes]
    outliers = [[x, value] for x, box in enumerate(shown.boxes) if box for value in box.outliers]
    return {
        "tooltip": _tooltip("item"), "grid": _grid(figure),
        "xAxis": _categories(figure.x_name, shown.categories), "yAxis": _values(figure),
        "series": [
            {"name": figure.y_name, "type": "boxplot", "data": boxes},
            {"name": figure.y_name, "type": "scatter", "data": outliers},
        ],
    }  # fmt: skip


_PARTS = {"pie": _pie, "scatter": _scatter, "heatmap": _heatmap, "box": _box}

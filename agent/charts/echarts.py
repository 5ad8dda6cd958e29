"""Charts as ECharts options: plain JSON data without functions, timestamps or random values.

The options are built here rather than with pyecharts, which would add three dependencies and cover the smaller part:
the data is reduced beforehand, and the defaults of ECharts fit otherwise.
"""

from dataclasses import dataclass
from typing import Any

from agent.charts.build import figure_of
from agent.charts.figure import COLOURS, Box, ChartData, Figure, Series
from agent.charts.plot_spec import PlotSpec, YFormat, suitable_spec
from agent.messages import Language, language_of
from agent.types import AnswerChart, Result

Option = dict[str, Any]


@dataclass(frozen=True)
class Chart:
    """A chart: its type, its ECharts option, and the notes on reduced data, which are also the option's subtitle."""

    type: str
    option: Option
    notes: tuple[str, ...]


def draw(result: Result, spec: PlotSpec, language: Language = "en") -> Chart:
    """Return the chart of `spec`. Equal arguments give equal JSON.

    Raises:
        PlotSpecInvalid: the spec does not fit the result.
    """
    figure = figure_of(result, spec, language)
    return Chart(spec.chart_type, option_of(figure), figure.notes)


def chart_of(result: Result, title: str, wording: str = "") -> AnswerChart | None:
    """Return a suitable chart of a result, or None if the result cannot be charted.

    A chart type named in `wording` (by default the title) is used if it fits. Notes are in the language of `title`.
    """
    spec = suitable_spec(result, title, wording or title)
    if spec is None:
        return None
    chart = draw(result, spec, language_of(title))
    return AnswerChart(type=chart.type, option=chart.option)


def option_of(figure: Figure) -> Option:
    """Return a figure as an ECharts option (versions 5 and 6).

    Names and cells are plain text, never part of a template. Tooltips are rich text, since ECharts' default is HTML.
    """
    title = {"text": figure.title, **({"subtext": "\n".join(figure.notes)} if figure.notes else {})}
    return {"title": title, "color": list(COLOURS), **_WRITERS.get(figure.spec.chart_type, _lines)(figure)}


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
    """Return margins for title, notes and legend."""
    return {"top": 70 + 16 * len(figure.notes), "bottom": 60, "containLabel": True}


def _lines(figure: Figure) -> Option:
    spec, data = figure.spec, figure.data
    along, across = _categories(figure.x_name, data.categories), _values(figure)
    if spec.horizontal:
        # ECharts draws the first category at the bottom; it belongs at the top.
        axes = {"xAxis": across, "yAxis": {**along, "inverse": True}}
    else:
        axes = {"xAxis": along, "yAxis": across}
    form: Option = {
        "type": "bar" if spec.chart_type == "bar" else "line",
        **({"areaStyle": {}} if spec.chart_type == "area" else {}),
        **({"stack": "total"} if spec.stacked else {}),
    }
    series = [{"name": part.name, **form, "data": list(part.values)} for part in data.series]
    return {
        "tooltip": _tooltip("axis"), "legend": _legend(figure), "grid": _grid(figure), **axes, "series": series
    }  # fmt: skip


def _pie(figure: Figure) -> Option:
    values = figure.data.series[0].values
    parts = [{"name": name, "value": value} for name, value in zip(figure.names, values, strict=True)]
    series = [{"name": figure.y_name, "type": "pie", "radius": "55%", "data": parts}]
    return {"tooltip": _tooltip("item"), "legend": _legend(figure), "series": series}


def _scatter(figure: Figure) -> Option:
    data, across = figure.data, {**_values(figure), "scale": True}
    numbers = {"type": "value", "name": figure.x_name, "scale": True}
    along = _categories(figure.x_name, data.categories) if data.categories else numbers
    series = [
        {"name": part.name, "type": "scatter", "data": [list(pair) for pair in zip(part.at, part.values, strict=True)]}
        for part in data.series
    ]
    return {
        "tooltip": _tooltip("item"), "legend": _legend(figure), "grid": _grid(figure),
        "xAxis": along, "yAxis": across, "series": series,
    }  # fmt: skip


def _heatmap(figure: Figure) -> Option:
    data = figure.data
    values = [value for series in data.series for value in series.values if value is not None]
    cells = [[x, y, value] for y, series in enumerate(data.series) for x, value in enumerate(series.values)]
    scale: Option = {"type": "continuous", "min": min(values, default=0), "max": max(values, default=0)}
    shape = {"orient": "horizontal", "left": "center", "bottom": 0, "calculable": True}
    unit = {"formatter": f"{{value}}{figure.unit}"} if figure.unit else {}
    rows = _categories(figure.spec.series or "", tuple(figure.names))
    return {
        "tooltip": _tooltip("item"), "grid": _grid(figure),
        "xAxis": _categories(figure.x_name, data.categories), "yAxis": rows,
        "visualMap": {**scale, **shape, **unit},
        "series": [{"name": figure.y_name, "type": "heatmap", "data": cells}],
    }  # fmt: skip


def _box(figure: Figure) -> Option:
    data = figure.data
    boxes = [[b.low, b.lower, b.middle, b.upper, b.high] if b else [None] * 5 for b in data.boxes]
    outliers = [[x, value] for x, box in enumerate(data.boxes) if box for value in box.outliers]
    return {
        "tooltip": _tooltip("item"), "grid": _grid(figure),
        "xAxis": _categories(figure.x_name, data.categories), "yAxis": _values(figure),
        "series": [
            {"name": figure.y_name, "type": "boxplot", "data": boxes},
            {"name": figure.y_name, "type": "scatter", "data": outliers},
        ],
    }  # fmt: skip


_WRITERS = {"pie": _pie, "scatter": _scatter, "heatmap": _heatmap, "box": _box}


_FORMATS: dict[str, YFormat] = {"{value}%": "percent", "{value} ¤": "currency"}


def figure_of_option(chart_type: str, option: Option) -> Figure:
    """Return the figure from which `option_of` created `option`; names of columns that are not drawn are lost.

    Raises:
        KeyError: the option was not created by `option_of`.
    """
    series = option["series"]
    across, along = option.get("yAxis", {}), option.get("xAxis", {})
    horizontal = chart_type == "bar" and along["type"] == "value"
    if horizontal:
        across, along = along, across
    is_heatmap, is_pie = chart_type == "heatmap", chart_type == "pie"
    x_name, y_name = along.get("name", ""), series[0]["name"] if is_heatmap or is_pie else across.get("name", "")
    values = option.get("visualMap", {}) if is_heatmap else across.get("axisLabel", {})
    spec = PlotSpec.model_validate(
        {
            "chart_type": chart_type,
            "x": x_name,
            "y": y_name,
            "series": across.get("name") if is_heatmap else None,
            "stacked": "stack" in series[0],
            "horizontal": horizontal,
            "y_format": _FORMATS.get(values.get("formatter", ""), "number"),
        }
    )
    notes = option["title"].get("subtext", "")
    data = _READERS.get(chart_type, _read_lines)(option, tuple(along.get("data", ())))
    return Figure(spec, option["title"]["text"], x_name, y_name, data, tuple(notes.split("\n")) if notes else ())


def _read_lines(option: Option, categories: tuple[str, ...]) -> ChartData:
    return ChartData(categories, tuple(Series(part["name"], tuple(part["data"])) for part in option["series"]))


def _read_pie(option: Option, _: Any) -> ChartData:
    (pie,) = option["series"]
    values = tuple(part["value"] for part in pie["data"])
    return ChartData(tuple(part["name"] for part in pie["data"]), (Series(pie["name"], values),))


def _read_scatter(option: Option, categories: tuple[str, ...]) -> ChartData:
    series = (
        Series(part["name"], tuple(y for _, y in part["data"]), tuple(x for x, _ in part["data"]))
        for part in option["series"]
    )
    return ChartData(categories, tuple(series))


def _read_heatmap(option: Option, categories: tuple[str, ...]) -> ChartData:
    (heatmap,) = option["series"]
    width, values = len(categories), [value for _, _, value in heatmap["data"]]
    rows = enumerate(option["yAxis"]["data"])
    return ChartData(categories, tuple(Series(name, tuple(values[at * width : (at + 1) * width])) for at, name in rows))


def _read_boxes(option: Option, categories: tuple[str, ...]) -> ChartData:
    boxes, outliers = (series["data"] for series in option["series"])
    distributions = []
    for at, ends in enumerate(boxes):
        beyond = tuple(value for x, value in outliers if x == at)
        distributions.append(None if ends[0] is None else Box(*[*ends, beyond]))
    return ChartData(categories, boxes=tuple(distributions))


_READERS = {"pie": _read_pie, "scatter": _read_scatter, "heatmap": _read_heatmap, "box": _read_boxes}

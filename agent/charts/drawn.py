"""A picture of a chart that is at hand only as its ECharts option, as answers carry it."""

from typing import Any

from agent.charts.echarts import Option
from agent.charts.figure import Box, Figure, Series, Shown
from agent.charts.plot_spec import PlotSpec, YFormat
from agent.charts.png import picture_of

_FORMATS: dict[str, YFormat] = {"{value}%": "percent", "{value} ¤": "currency"}


def png_of_option(chart_type: str, option: Option) -> bytes:
    """Return the PNG, 1000 x 600 pixels, of an option that `agent.charts.echarts` has made.

    Raises:
        DriverMissing: the extra `charts` is not installed.
        KeyError: the option is another's.
    """
    return picture_of(figure_of_option(chart_type, option)).png


def figure_of_option(chart_type: str, option: Option) -> Figure:
    """Return the figure that `agent.charts.echarts.option_of` makes `option` of, but for the names of unseen columns.

    Raises:
        KeyError: the option is another's.
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
    shown = _SHOWN.get(chart_type, _lines)(option, tuple(along.get("data", ())))
    return Figure(spec, option["title"]["text"], x_name, y_name, shown, tuple(notes.split("\n")) if notes else ())


def _lines(option: Option, categories: tuple[str, ...]) -> Shown:
    return Shown(categories, tuple(Series(each["name"], tuple(each["data"])) for each in option["series"]))


def _pie(option: Option, _: Any) -> Shown:
    (pie,) = option["series"]
    values = tuple(part["value"] for part in pie["data"])
    return Shown(tuple(part["name"] for part in pie["data"]), (Series(pie["name"], values),))


def _scatter(option: Option, categories: tuple[str, ...]) -> Shown:
    series = (
        Series(each["name"], tuple(y for _, y in each["data"]), tuple(x for x, _ in each["data"]))
        for each in option["series"]
    )
    return Shown(categories, tuple(series))


def _heatmap(option: Option, categories: tuple[str, ...]) -> Shown:
    (heatmap,) = option["series"]
    width, values = len(categories), [value for _, _, value in heatmap["data"]]
    rows = enumerate(option["yAxis"]["data"])
    return Shown(categories, tuple(Series(name, tuple(values[at * width : (at + 1) * width])) for at, name in rows))


def _box(option: Option, categories: tuple[str, ...]) -> Shown:
    boxes, beyond = (each["data"] for each in option["series"])
    outliers = [tuple(value for x, value in beyond if x == at) for at in range(len(boxes))]
    spread = (_box_of(ends, values) for ends, values in zip(boxes, outliers, strict=True))
    return Shown(categories, boxes=tuple(spread))


def _box_of(ends: list[Any], outliers: tuple[Any, ...]) -> Box | None:
    low, lower, middle, upper, high = ends
    return None if low is None else Box(low, lower, middle, upper, high, outliers)


_SHOWN = {"pie": _pie, "scatter": _scatter, "heatmap": _heatmap, "box": _box}

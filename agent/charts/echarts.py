"""Charts as ECharts options: plain JSON data without functions, timestamps or random values.

The options are built here rather than with pyecharts, which would add three dependencies and cover the smaller part:
the data is reduced beforehand, and the defaults of ECharts fit otherwise.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, cast

from pydantic import ValidationError

from datasphinx.agent.charts.build import figure_of
from datasphinx.agent.charts.cells import Number, time_format
from datasphinx.agent.charts.figure import COLOURS, Figure, Series
from datasphinx.agent.charts.plot_spec import PlotSpec
from datasphinx.agent.charts.select import Selection, select_chart
from datasphinx.agent.errors import PlotSpecInvalid
from datasphinx.agent.formatting.formats import ColumnFormat, format_value
from datasphinx.agent.messages import Language
from datasphinx.agent.record.step import note
from datasphinx.agent.types import AnswerChart, ChartForm, Result

Option = dict[str, Any]


@dataclass(frozen=True)
class Chart:
    """A chart: its type, its ECharts option, and the notes on reduced data, which are also the option's subtitle."""

    type: str
    option: Option
    notes: tuple[str, ...]


def draw(result: Result, spec: PlotSpec, language: Language = "en", notes: Sequence[str] = ()) -> Chart:
    """Return the chart of `spec`, with `notes` before its own. Raise PlotSpecInvalid if it does not fit the result."""
    figure = figure_of(result, spec, language, notes)
    return Chart(spec.chart_type, option_of(figure), figure.notes)


def chart_of(
    result: Result,
    title: str,
    asked: ChartForm | None = None,
    keys: Collection[int] = (),
    language: Language = "en",
) -> AnswerChart | None:
    """Return a suitable chart of a result, or None if the result cannot be charted.

    The type that is `asked` for is used if it fits. `keys` are the positions of columns known to name groups.
    """
    selection = select_chart(result, title, asked, language, keys)
    return answer_chart(selection, language) if selection else None


def answer_chart(selection: Selection, language: Language) -> AnswerChart:
    """Return the chart of `selection`."""
    chart = draw(selection.result, selection.spec, language, selection.notes)
    return AnswerChart(type=chart.type, option=chart.option)


def asked_chart(
    result: Result, title: str, form: Mapping[str, Any], keys: Collection[int] = (), language: Language = "en"
) -> AnswerChart | None:
    """Return the chart that `form` asks for, a plot spec or a `ChartForm`; without columns, that of suitable ones.

    None if it asks for none, or does not fit the result; a note then says why. `keys` are as for `chart_of`.
    """
    if not form.get("x"):
        return chart_of(result, title, cast(ChartForm, form), keys, language) if form else None
    given = {"chart_type" if name == "type" else name: value for name, value in form.items() if value is not None}
    try:
        chart = draw(result, PlotSpec.model_validate({"title": title, **given}), language)
    except (PlotSpecInvalid, ValidationError) as error:
        note(f"chart refused: {error}")
        return None
    return AnswerChart(type=chart.type, option=chart.option)


def option_of(figure: Figure) -> Option:
    """Return a figure as an ECharts option (versions 5 and 6).

    ECharts ignores `language` and `formats`, by which `datasphinx.agent.charts.png` and the page write numbers.
    Names and cells are plain text, never part of a template. Tooltips are rich text, since ECharts' default is HTML.
    """
    across, along = ("xAxis", "yAxis") if figure.spec.horizontal else ("yAxis", "xAxis")
    values = asdict(figure.value_format)
    title = {"text": figure.title, **({"subtext": "\n".join(figure.notes)} if figure.notes else {})}
    # Periods have no time zone; without this, ECharts shows them in that of the reader.
    clock = {"useUTC": True} if figure.data.axis == "time" else {}
    option = {
        "title": title,
        "language": figure.language,
        "formats": {"values": values, across: values, along: asdict(figure.x_format)},
        "color": list(COLOURS),
        **clock,
        **_WRITERS.get(figure.spec.chart_type, _lines)(figure),
    }
    if "xAxis" in option:
        # The defaults of ECharts cut long names off: at the right end of x, and centred above y.
        option["xAxis"] |= {"nameLocation": "middle", "nameGap": 30}
        option["yAxis"] |= {"nameTextStyle": {"align": "left"}}
    return option


def _tooltip(trigger: str) -> Option:
    return {"trigger": trigger, "renderMode": "richText"}


def _legend(figure: Figure) -> Option:
    return {"data": figure.names, "type": "scroll", "bottom": 0}


def _values(figure: Figure) -> Option:
    axis: Option = {"type": "value", **({"name": figure.y_name} if figure.y_name else {})}
    template = _template(figure.value_format, figure.language)
    axis |= {"axisLabel": template} if template else {}
    if figure.value_format.kind == "number" and not figure.value_format.decimals:
        # There is no mark for half an order.
        axis |= {"minInterval": 1}
    return axis if figure.includes_zero else {**axis, "scale": True}


def _template(fmt: ColumnFormat, language: Language) -> Option:
    """Return how readers other than the page write numbers, as a template of ECharts; empty for plain numbers."""
    if fmt.kind not in {"currency", "percent", "duration"}:
        return {}
    return {"formatter": format_value(0, replace(fmt, decimals=0), language).replace("0", "{value}")}


def _categories(name: str, labels: tuple[str, ...]) -> Option:
    return {"type": "category", "name": name, "data": list(labels)}


_TIME_FIELDS = {"%Y": "{yyyy}", "%m": "{MM}", "%d": "{dd}", "%H": "{HH}", "%M": "{mm}"}


def _along(figure: Figure) -> Option:
    """Return the axis of x: categories, numbers or times."""
    data = figure.data
    if data.axis == "category":
        return _categories(figure.x_name, data.categories)
    axis = {"type": data.axis, "name": figure.x_name, "scale": True}
    if data.axis == "value":
        unit = _template(figure.x_format, figure.language)
        return {**axis, "axisLabel": unit} if unit else axis
    form = time_format([at for series in data.series for at in series.at])
    for field, template in _TIME_FIELDS.items():
        form = form.replace(field, template)
    return {**axis, "axisLabel": {"formatter": form, "hideOverlap": True}}


def _grid(figure: Figure) -> Option:
    """Return margins for title, notes and legend."""
    return {"top": 70 + 16 * len(figure.notes), "bottom": 60, "containLabel": True}


_ZOOMED_BARS = 60
_MAX_DECIMALS = 4


def _lines(figure: Figure) -> Option:
    spec, data = figure.spec, figure.data
    along, across = _along(figure), _values(figure)
    is_bar = spec.chart_type in {"bar", "histogram"}
    if spec.horizontal:
        # ECharts draws the first category at the bottom; it belongs at the top.
        axes = {"xAxis": across, "yAxis": {**along, "inverse": True}}
    else:
        axes = {"xAxis": along, "yAxis": across}
    form: Option = {
        "type": "bar" if is_bar else "line",
        **({"areaStyle": {}} if spec.chart_type == "area" else {}),
        **({"stack": "total"} if spec.stacked else {}),
        **({"barCategoryGap": "4%"} if spec.chart_type == "histogram" else {}),
    }
    series = [{"name": part.name, **form, "data": _points(part)} for part in data.series]
    # All bars are drawn; where they are too many to be read, the reader can zoom.
    axis_index = "yAxisIndex" if spec.horizontal else "xAxisIndex"
    zooms = is_bar and len(data.categories) > _ZOOMED_BARS
    return {
        "tooltip": _tooltip("axis"),
        "legend": _legend(figure),
        "grid": _grid(figure),
        **axes,
        **({"dataZoom": [{"type": "inside", axis_index: 0}]} if zooms else {}),
        "series": series,
    }


def _points(series: Series) -> list[Any]:
    if not series.at:
        return list(series.values)
    return [list(pair) for pair in zip(series.at, series.values, strict=True)]


def _pie(figure: Figure) -> Option:
    values = figure.data.series[0].values
    parts = [{"name": name, "value": value} for name, value in zip(figure.names, values, strict=True)]
    label, shown = {"formatter": "{b}: {d}%"}, figure.value_format
    series = [
        {
            "name": figure.y_name,
            "type": "pie",
            "radius": "55%",
            # As in the table if the values are shares; otherwise as in a sentence.
            "percentPrecision": shown.decimals if shown.kind in {"percent", "fraction"} else 1,
            "label": label,
            "data": parts,
        }
    ]
    return {"tooltip": _tooltip("item"), "legend": _legend(figure), "series": series}


def _scatter(figure: Figure) -> Option:
    series = [{"name": part.name, "type": "scatter", "data": _points(part)} for part in figure.data.series]
    return {
        "tooltip": _tooltip("item"), "legend": _legend(figure), "grid": _grid(figure),
        "xAxis": _along(figure), "yAxis": _values(figure), "series": series,
    }  # fmt: skip


def _heatmap(figure: Figure) -> Option:
    data = figure.data
    values = [value for series in data.series for value in series.values if value is not None]
    cells = [[x, y, value] for y, series in enumerate(data.series) for x, value in enumerate(series.values)]
    low, high = min(values, default=0), max(values, default=0)
    scale: Option = {"type": "continuous", "min": low, "max": high}
    decimals = max(_decimals(low), _decimals(high))
    scale |= {"precision": decimals} if decimals else {}
    # Through a pale colour the ground is seen, be it light or dark.
    scale |= {"inRange": {"color": [COLOURS[0]], "colorAlpha": [0.1, 1]}}
    shape = {"orient": "horizontal", "left": "center", "bottom": 0, "calculable": True}
    # As rows of a table: the first one is at the top.
    rows = {**_categories(figure.series_name, tuple(figure.names)), "inverse": True, "nameLocation": "start"}
    return {
        "tooltip": _tooltip("item"), "grid": _grid(figure),
        "xAxis": _categories(figure.x_name, data.categories), "yAxis": rows,
        "visualMap": {**scale, **shape, **_template(figure.value_format, figure.language)},
        "series": [{"name": figure.y_name, "type": "heatmap", "data": cells}],
    }  # fmt: skip


def _decimals(value: Number) -> int:
    """Return how many decimals of a value the scale of a heatmap shows; ECharts would show none."""
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return min(_MAX_DECIMALS, max(0, -int(exponent)))


_WRITERS = {"pie": _pie, "scatter": _scatter, "heatmap": _heatmap}

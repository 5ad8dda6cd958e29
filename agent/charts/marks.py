"""The marks of each type of chart on matplotlib's axes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from agent.charts.cells import Number
from agent.charts.figure import Figure
from agent.charts.lettering import Lettering
from agent.charts.reduce import sampled

_MAX_TICKS = 20
_TICK_COLUMNS = 20
_NAME_COLUMNS = 30
_MARKED_POINTS = 100
_GROUP_WIDTH = 0.8


def _lines(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    places = range(len(figure.shown.categories))
    for each in figure.shown.series:
        axes.plot(places, _numbers(each.values), **_points(len(places)))
    _label_axes(axes, figure, lettering)


def _areas(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    places = range(len(figure.shown.categories))
    base = np.zeros(len(places))
    for each in figure.shown.series:
        top = base + _numbers(each.values)
        (line,) = axes.plot(places, top, **_points(len(places)))
        axes.fill_between(places, base, top, color=line.get_color(), alpha=0.4)
        if figure.spec.stacked:
            base = base + np.nan_to_num(_numbers(each.values))
    _label_axes(axes, figure, lettering)


def _bars(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    spec, shown = figure.spec, figure.shown
    beside = 1 if spec.stacked else len(shown.series)
    width = _GROUP_WIDTH / beside
    rise, fall = np.zeros(len(shown.categories)), np.zeros(len(shown.categories))
    for at, each in enumerate(shown.series):
        lengths = _numbers(each.values)
        places = np.arange(len(lengths)) + (0 if spec.stacked else (at - (beside - 1) / 2) * width)
        start = np.where(lengths < 0, fall, rise) if spec.stacked else np.zeros(len(lengths))
        if spec.horizontal:
            axes.barh(places, lengths, width, start)
        else:
            axes.bar(places, lengths, width, start)
        rise, fall = rise + np.nan_to_num(lengths.clip(min=0)), fall + np.nan_to_num(lengths.clip(max=0))
    _label_axes(axes, figure, lettering)


def _pie(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    (parts,) = figure.shown.series
    named = [
        f"{lettering.fitted(name, _TICK_COLUMNS)}: {_written(value or 0, figure.unit)}"
        for name, value in zip(figure.names, parts.values, strict=True)
    ]
    axes.pie(_numbers(parts.values), labels=named, startangle=90, counterclock=False)


def _scatter(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    for each in figure.shown.series:
        axes.scatter(each.at, _numbers(each.values), s=16)
    _label_axes(axes, figure, lettering)


def _heatmap(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    shown = figure.shown
    cells = np.ma.masked_invalid([_numbers(each.values) for each in shown.series])
    image = axes.imshow(cells, aspect="auto", origin="lower", interpolation="nearest")
    scale = axes.get_figure().colorbar(image, ax=axes, format=_formatter(figure))  # type: ignore[union-attr]
    scale.set_label(lettering.fitted(figure.y_name, _TICK_COLUMNS))
    _tick(axes, "x", shown.categories, lettering)
    _tick(axes, "y", figure.names, lettering)
    axes.set_xlabel(lettering.fitted(figure.x_name, _NAME_COLUMNS))
    axes.set_ylabel(lettering.fitted(figure.spec.series or "", _NAME_COLUMNS))


def _boxes(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    known = [(at, box) for at, box in enumerate(figure.shown.boxes) if box]
    stats = [
        {"whislo": b.low, "q1": b.lower, "med": b.middle, "q3": b.upper, "whishi": b.high, "fliers": b.outliers}
        for _, b in known
    ]
    axes.bxp(stats, positions=[at for at, _ in known], widths=0.6, manage_ticks=False)
    _label_axes(axes, figure, lettering)


MARKS = {
    "line": _lines, "area": _areas, "bar": _bars, "pie": _pie, "scatter": _scatter, "heatmap": _heatmap, "box": _boxes,
}  # fmt: skip
"""What draws each type of chart on axes, from a figure, with its lettering."""


def _numbers(values: Sequence[Number | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _points(count: int) -> dict[str, Any]:
    """Points are seen one by one where there are few; between two gaps there is no line to see."""
    return {"marker": "o", "markersize": 4} if count <= _MARKED_POINTS else {"marker": ".", "markersize": 1}


def _written(value: float, unit: str) -> str:
    return f"{value:,.10g}{unit}"


def _formatter(figure: Figure) -> FuncFormatter:
    return FuncFormatter(lambda value, _: _written(value, figure.unit))


def _label_axes(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    along, across = ("y", "x") if figure.spec.horizontal else ("x", "y")
    if figure.shown.categories:
        _tick(axes, along, figure.shown.categories, lettering)
    getattr(axes, f"{across}axis").set_major_formatter(_formatter(figure))
    names = {f"{along}label": figure.x_name, f"{across}label": figure.y_name}
    axes.set(**{place: lettering.fitted(name, _NAME_COLUMNS) for place, name in names.items()})
    if figure.spec.horizontal:
        axes.invert_yaxis()


def _tick(axes: Axes, along: str, names: Sequence[str], lettering: Lettering) -> None:
    places = sampled(len(names), _MAX_TICKS)
    shown = [lettering.fitted(names[place], _TICK_COLUMNS) for place in places]
    if along == "y":
        axes.set_yticks(places, shown)
    else:
        turned = sum(map(len, shown)) > 80
        axes.set_xticks(places, shown, rotation=30 if turned else 0, ha="right" if turned else "center")

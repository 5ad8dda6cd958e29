"""Draw a figure with matplotlib. Import this module only to draw, since it requires the extra `charts`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from threading import Lock
from typing import Any
from unicodedata import east_asian_width

import numpy as np
import pylopdf_fonts_zh_cn
from cycler import cycler
from matplotlib import font_manager, style
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, DateFormatter
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from datasphinx.agent.charts.cells import Number, time_format
from datasphinx.agent.charts.figure import COLOURS, Figure, Series, share_digits, shares
from datasphinx.agent.formatting.formats import CALENDAR, ColumnFormat, format_tick, format_value
from datasphinx.agent.schema.describe import one_line

_TITLE_COLUMNS = 80
_NOTE_COLUMNS = 150
_NAME_COLUMNS = 30
_LEGEND_COLUMNS = 4
_TICK_COLUMNS = 20
_AXIS_COLUMNS = 130
"""Width of the x axis in characters of its labels."""
_SCALE_COLUMNS = 20
"""Width of the scale beside a heatmap."""
_PERIOD_COLUMNS = 24
_WRAPPED_LABELS = 10
_MAX_TICKS = 24
_MAX_ROWS = 40
_MARKED_POINTS = 100
_GROUP_WIDTH = 0.8
_PIE_LABEL_HEIGHT = 0.13
_PIE_COLUMNS = 26
_DAY = 86_400_000
"""Milliseconds of a day, the unit of matplotlib's dates."""
_STYLE = Lock()
"""matplotlib's style is global to the process; drawing two charts at once would mix their fonts."""

_PAGE_STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#e2e4e0",
    "axes.labelcolor": "#5c656d",
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.color": "#e2e4e0",
    "text.color": "#1b1f23",
    "xtick.color": "#5c656d",
    "ytick.color": "#5c656d",
    "ytick.left": False,
}
"""The colours and lines of charts on the page in the light theme."""

_SHIPPED_FONTS = ("DejaVu Sans", "Noto Sans SC")
"""The first is part of matplotlib (Latin, Greek, Cyrillic); the second covers GB 2312 and GBK."""


def png_of(figure: Figure) -> bytes:
    """Return the PNG without metadata. Characters that no font has are drawn as U+FFFD."""
    with _chart_style(figure) as missing:
        data = BytesIO()
        canvas_of(figure, Lettering(missing)).savefig(data, format="png", metadata={"Software": None})
    return data.getvalue()


def canvas_of(figure: Figure, lettering: "Lettering") -> Canvas:
    """Return the figure drawn on a canvas of 1000 x 600 pixels, in the current style of matplotlib."""
    canvas = Canvas(figsize=(10, 6), dpi=100, layout="constrained")
    axes = canvas.subplots()
    _MARKS[figure.spec.chart_type](axes, figure, lettering)
    canvas.suptitle(lettering.wrapped(figure.title, _TITLE_COLUMNS), fontsize=14)
    notes = "\n".join(lettering.fitted(note, _NOTE_COLUMNS) for note in figure.notes)
    axes.set_title(notes, fontsize=8, color="dimgray", loc="left")
    if figure.spec.chart_type not in {"heatmap", "pie", "box"} and figure.names != [figure.y_name]:
        _add_legend(canvas, axes, figure, lettering)
    return canvas


def _add_legend(canvas: Canvas, axes: Axes, figure: Figure, lettering: "Lettering") -> None:
    handles: Any = axes.containers or axes.get_lines() or axes.collections
    # matplotlib omits labels that start with an underscore, so the names are set afterwards.
    legend = canvas.legend(
        handles, [str(at) for at in range(len(handles))], loc="outside lower center", ncols=_LEGEND_COLUMNS
    )
    for text, name in zip(legend.get_texts(), figure.names, strict=True):
        text.set_text(lettering.fitted(name, _NAME_COLUMNS))


@contextmanager
def _chart_style(figure: Figure) -> Iterator[set[str]]:
    """Set fonts and colours; yield the characters that no font has."""
    categories = figure.data.categories
    texts = [figure.title, figure.x_name, figure.y_name, figure.series_name, *figure.notes, *categories]
    families, missing = families_for("".join([*texts, *figure.names]))
    settings = {"font.family": families, "text.parse_math": False, "axes.prop_cycle": cycler(color=COLOURS)}
    spec = figure.spec
    grid = {"axes.grid": spec.chart_type not in {"heatmap", "pie"}, "axes.grid.axis": "x" if spec.horizontal else "y"}
    with _STYLE, style.context(["default", _PAGE_STYLE, grid, settings]):
        yield missing


# Texts


class Lettering:
    """Shortens texts and replaces characters that no font has."""

    def __init__(self, missing: set[str]) -> None:
        """Replace each character of `missing` by U+FFFD."""
        self._missing = dict.fromkeys(map(ord, missing), "\ufffd")

    def wrapped(self, text: str, columns: int) -> str:
        """Return `text` on at most two lines of `columns` columns, broken at a space or after a wide character."""
        flat = one_line(text, 2 * columns + 2)
        if _columns(flat) <= columns:
            return self.fitted(flat, columns)
        end = next(at for at in range(len(flat), -1, -1) if _columns(flat[:at]) <= columns)
        space = flat.rfind(" ", 0, end + 1)
        if space <= 0 and east_asian_width(flat[max(0, end - 1)]) not in "WF":
            return self.fitted(flat, columns)
        cut = space if space > 0 else end
        return f"{self.fitted(flat[:cut], columns)}\n{self.fitted(flat[cut:].strip(), columns)}"

    def fitted(self, text: str, columns: int) -> str:
        """Return `text` on one line, cut to `columns` columns; a wide (Chinese) character takes two."""
        flat = one_line(text, columns + 1)
        width = 0
        for at, char in enumerate(flat):
            width += 2 if east_asian_width(char) in "WF" else 1
            if width > columns:
                flat = flat[:at] + "…"
                break
        return flat.translate(self._missing)


def _columns(text: str) -> int:
    """Return the width of `text`; a wide (Chinese) character takes two columns."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def families_for(text: str) -> tuple[list[str], set[str]]:
    """Return the font families that cover `text`, and the characters that no installed font has.

    A character is drawn with the first family that has it: the shipped fonts, then installed fonts by name.
    """
    if _SHIPPED_FONTS[1] not in font_manager.get_font_names():
        font_manager.fontManager.addfont(pylopdf_fonts_zh_cn.sans_path())
    families = list(_SHIPPED_FONTS)
    missing = {char for char in text if char.isprintable() and not char.isspace()}
    for family in _SHIPPED_FONTS:
        missing -= _characters(font_manager.findfont(family))
    for family, path in _installed_fonts() if missing else ():
        covered = missing & _characters(path)
        if covered:
            families.append(family)
            missing -= covered
    return families, missing


@cache
def _characters(path: str) -> frozenset[str]:
    return frozenset(map(chr, font_manager.get_font(path).get_charmap()))


def _installed_fonts() -> list[tuple[str, str]]:
    """Return family and file of each installed upright font of normal weight, without the last-resort fonts."""
    fonts = {
        entry.name: entry.fname
        for entry in sorted(font_manager.fontManager.ttflist, key=lambda entry: (entry.name, entry.fname))
        if entry.style == "normal" and entry.weight == 400 and "Last Resort" not in entry.name
    }
    return sorted((name, path) for name, path in fonts.items() if name not in _SHIPPED_FONTS)


# Marks of each chart type


def _lines(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    for series in figure.data.series:
        places = _positions(series, figure)
        axes.plot(places, _numbers(series.values), **_marker(len(places)))
    if figure.includes_zero:
        _include_zero(axes)
    _label_axes(axes, figure, lettering)


def _include_zero(axes: Axes) -> None:
    """Begin or end the axis of values at 0 if all values are on one side of it."""
    low, high = axes.dataLim.intervaly
    if low >= 0:
        axes.set_ylim(bottom=0)
    elif high <= 0:
        axes.set_ylim(top=0)


def _areas(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    base = np.zeros(len(figure.data.categories))
    for series in figure.data.series:
        places = _positions(series, figure)
        start = base if figure.spec.stacked else np.zeros(len(places))
        top = start + _numbers(series.values)
        (line,) = axes.plot(places, top, **_marker(len(places)))
        axes.fill_between(places, start, top, color=line.get_color(), alpha=0.4)
        if figure.spec.stacked:
            base = base + np.nan_to_num(_numbers(series.values))
    _label_axes(axes, figure, lettering)


def _bars(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    spec, data = figure.spec, figure.data
    group_size = 1 if spec.stacked else len(data.series)
    width = (0.96 if spec.chart_type == "histogram" else _GROUP_WIDTH) / group_size
    rise, fall = np.zeros(len(data.categories)), np.zeros(len(data.categories))
    for at, series in enumerate(data.series):
        lengths = _numbers(series.values)
        places = np.arange(len(lengths)) + (0 if spec.stacked else (at - (group_size - 1) / 2) * width)
        start = np.where(lengths < 0, fall, rise) if spec.stacked else np.zeros(len(lengths))
        if spec.horizontal:
            bars = axes.barh(places, lengths, width, start)
            if len(data.series) == 1 and lengths.min() >= 0:
                texts = [format_value(value, figure.value_format, figure.language) for value in series.values]
                axes.bar_label(bars, texts, padding=3)
                axes.margins(x=0.1)
        else:
            axes.bar(places, lengths, width, start)
        rise, fall = rise + np.nan_to_num(lengths.clip(min=0)), fall + np.nan_to_num(lengths.clip(max=0))
    _label_axes(axes, figure, lettering)


def _pie(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    (parts,) = figure.data.series
    values = [value or 0 for value in parts.values]
    wedges, *_ = axes.pie(_numbers(values), startangle=90, counterclock=False)
    fmt = ColumnFormat("percent", share_digits(values))
    labels = [
        f"{lettering.wrapped(name, _PIE_COLUMNS)}: {format_value(share, fmt, figure.language)}"
        for name, share in zip(figure.names, shares(values), strict=True)
    ]
    distance = _PIE_LABEL_HEIGHT * (2 if any("\n" in text for text in labels) else 1)
    axes.set(xlim=(-2.4, 2.4), ylim=(-1.3, 1.3), aspect="equal")
    middles = [np.deg2rad((wedge.theta1 + wedge.theta2) / 2) for wedge in wedges]
    for side in (-1, 1):
        own = [at for at, angle in enumerate(middles) if (1 if np.cos(angle) >= 0 else -1) == side]
        own.sort(key=lambda at: -np.sin(middles[at]))
        heights = _spread([1.15 * np.sin(middles[at]) for at in own], distance)
        for at, height in zip(own, heights, strict=True):
            axes.annotate(
                labels[at],
                xy=(np.cos(middles[at]), np.sin(middles[at])),
                xytext=(1.25 * side, height),
                ha="left" if side > 0 else "right",
                va="center",
                arrowprops={"arrowstyle": "-", "color": "gray", "linewidth": 0.8},
            )


def _spread(heights: Sequence[float], distance: float) -> list[float]:
    """Return descending `heights` moved apart to at least `distance`, about their middle."""
    placed: list[float] = []
    for height in heights:
        placed.append(min(height, placed[-1] - distance) if placed else height)
    excess = max(0.0, -1.2 - placed[-1]) if placed else 0.0
    return [height + excess for height in placed]


def _scatter(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    for series in figure.data.series:
        axes.scatter(_positions(series, figure), _numbers(series.values), s=16)
    _label_axes(axes, figure, lettering)


def _heatmap(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    data = figure.data
    cells = np.ma.masked_invalid([_numbers(series.values) for series in data.series])
    image = axes.imshow(cells, aspect="auto", origin="lower", interpolation="nearest")
    scale = axes.get_figure().colorbar(image, ax=axes, format=_formatter(figure, figure.value_format))  # type: ignore[union-attr]
    scale.set_label(lettering.fitted(figure.y_name, _TICK_COLUMNS))
    _tick(axes, "y", figure.names, lettering, ColumnFormat())
    beside = max((min(_columns(name), _NAME_COLUMNS) for name in figure.names), default=0) + _SCALE_COLUMNS
    _tick(axes, "x", data.categories, lettering, figure.x_format, _AXIS_COLUMNS - beside)
    axes.set_xlabel(lettering.fitted(figure.x_name, _NAME_COLUMNS))
    axes.set_ylabel(lettering.fitted(figure.series_name, _NAME_COLUMNS))


def _boxes(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    boxes = [(at, box) for at, box in enumerate(figure.data.boxes) if box]
    stats = [
        {"whislo": b.low, "q1": b.lower, "med": b.middle, "q3": b.upper, "whishi": b.high, "fliers": b.outliers}
        for _, b in boxes
    ]
    fill = {"facecolor": COLOURS[0], "alpha": 0.4}
    axes.bxp(
        stats,
        positions=[at for at, _ in boxes],
        widths=0.6,
        manage_ticks=False,
        patch_artist=True,
        boxprops=fill,
        medianprops={"color": "black"},
    )
    margin = max(0.6, 1.5 - len(figure.data.boxes) / 2)
    axes.set_xlim(-margin, len(figure.data.boxes) - 1 + margin)
    _label_axes(axes, figure, lettering)


_MARKS = {
    "line": _lines, "area": _areas, "bar": _bars, "pie": _pie, "scatter": _scatter, "heatmap": _heatmap, "box": _boxes,
    "histogram": _bars,
}  # fmt: skip


def _numbers(values: Sequence[Number | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _positions(series: Series, figure: Figure) -> Any:
    """Return the places of a series along x, times in days."""
    if figure.data.axis == "time":
        return np.array(series.at, dtype=float) / _DAY
    return np.array(series.at, dtype=float) if series.at else np.arange(len(series.values))


def _marker(count: int) -> dict[str, Any]:
    """Return large markers for few points; small ones otherwise, since a point between two gaps has no line."""
    return {"marker": "o", "markersize": 4} if count <= _MARKED_POINTS else {"marker": ".", "markersize": 1}


def _formatter(figure: Figure, fmt: ColumnFormat) -> FuncFormatter:
    return FuncFormatter(lambda value, _: format_tick(value, fmt, figure.language))


def _label_axes(axes: Axes, figure: Figure, lettering: Lettering) -> None:
    along, across = ("y", "x") if figure.spec.horizontal else ("x", "y")
    if figure.data.categories:
        _tick(axes, along, figure.data.categories, lettering, figure.x_format)
    elif figure.data.axis == "time":
        positions = [at for series in figure.data.series for at in series.at]
        if len(set(positions)) == 1:
            # The locator finds no interval around a single time.
            axes.set_xticks([positions[0] / _DAY])
        else:
            axes.xaxis.set_major_locator(AutoDateLocator(maxticks=8))  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_formatter(DateFormatter(time_format(positions)))  # type: ignore[no-untyped-call]
    else:
        axes.xaxis.set_major_formatter(_formatter(figure, figure.x_format))
    getattr(axes, f"{across}axis").set_major_formatter(_formatter(figure, figure.value_format))
    names = {f"{along}label": figure.x_name, f"{across}label": figure.y_name}
    axes.set(**{place: lettering.fitted(name, _NAME_COLUMNS) for place, name in names.items()})
    if figure.spec.horizontal:
        axes.invert_yaxis()


def _tick(
    axes: Axes, along: str, names: Sequence[str], lettering: Lettering, fmt: ColumnFormat,
    axis_columns: int = _AXIS_COLUMNS,
) -> None:  # fmt: skip
    """Label every category, or every n-th so that the labels do not overlap."""
    if along == "y":
        places = range(0, len(names), -(-len(names) // _MAX_ROWS) or 1)
        axes.set_yticks(places, [lettering.fitted(names[place], _NAME_COLUMNS) for place in places])
        return
    if len(names) <= _WRAPPED_LABELS:
        # Labels of two lines at most, as wide as their categories.
        width = axis_columns // max(1, len(names)) - 2
        wrapped = [lettering.wrapped(name, width) for name in names]
        if all("…" not in label or "…" in name for label, name in zip(wrapped, names, strict=True)):
            axes.set_xticks(range(len(names)), wrapped)
            return
    flat = [lettering.fitted(name, _NAME_COLUMNS) for name in names]
    widest = max(map(_columns, flat), default=1)
    upright = len(names) * (widest + 2) <= axis_columns
    are_ordered = fmt.kind in CALENDAR or all(name[:1].isdigit() or name[:1] in "-–" for name in names)
    if not upright and widest <= _PERIOD_COLUMNS and are_ordered:
        # Periods and numbers: fewer labels are clear enough. Digits are wider than letters.
        places = range(0, len(names), -(-len(names) * (widest + 4) // axis_columns))
        axes.set_xticks(places, [flat[place] for place in places])
        return
    places = range(0, len(names), -(-len(names) // _MAX_TICKS) or 1)
    axes.set_xticks(
        places, [flat[place] for place in places], rotation=0 if upright else 30, ha="center" if upright else "right"
    )

"""Build the figure of a chart: the cells of a result that a PlotSpec selects, reduced to a readable number."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from datasphinx.agent.charts.cells import (
    NUMERIC,
    AxisKind,
    Number,
    Scale,
    axis_title,
    column,
    format_of,
    label,
    labels_of,
    number,
    order_of,
    percent,
    period_label,
    places_in_cycle,
    scale_of,
    sort_keys,
    total,
    type_of_column,
    with_durations,
)
from datasphinx.agent.charts.figure import ChartData, Figure, Series
from datasphinx.agent.charts.plot_spec import MAX_SERIES, PlotSpec, check_plot_spec
from datasphinx.agent.core.text import valid_text
from datasphinx.agent.formatting.formats import ColumnFormat, column_format, format_tick, format_value
from datasphinx.agent.messages import Language, render
from datasphinx.agent.types import Result

MAX_POINTS = 1000
MAX_PARTS = 7
"""Maximum number of parts of a pie, including the remainder."""
_MAX_HEATMAP_COLUMNS = 100
_MAX_HEATMAP_ROWS = 50
_MAX_BINS = 40
_SORTED_TYPES = {"line", "area", "heatmap"}


def figure_of(result: Result, spec: PlotSpec, language: Language = "en", notes: Sequence[str] = ()) -> Figure:
    """Return the figure of a chart, with `notes` and its own notes in `language`. Equal arguments give an equal figure.

    The bars of a ranking lie, so that all names can be read.

    Raises:
        PlotSpecInvalid: the spec does not fit the result.
    """
    result = with_durations(result)
    check_plot_spec(spec, result)
    own = Notes(language)
    data = _DATA.get(spec.chart_type, category_data)(result, spec, own)
    x_name, y_name = axis_title(spec.x, language), axis_title(spec.y[0], language) if len(spec.y) == 1 else ""
    if spec.chart_type == "histogram":
        y_name = render("axis_count_rows", language)
    series_name = axis_title(spec.series, language) if spec.series is not None else ""
    texts = (*map(valid_text, notes), *own.texts(result))
    figure = Figure(
        spec, valid_text(spec.title), x_name, y_name, data, texts, language, series_name, format_of(result, spec.x),
        _values_format(result, spec),
    )  # fmt: skip
    if figure.is_ranking:
        return replace(figure, spec=spec.model_copy(update={"horizontal": True}))
    if spec.chart_type == "line" and not figure.includes_zero:
        return replace(figure, notes=(*texts, render("chart_axis_not_from_zero", language)))
    return figure


def _measure_format(result: Result, spec: PlotSpec, name: str) -> ColumnFormat:
    """Return the format of a measure: that of its column, or percentages of fractions if `spec` asks for them."""
    fmt = format_of(result, name)
    if spec.y_format == "percent" and fmt.kind not in {"percent", "fraction"}:
        cells = [cell for cell in column(result, name) if cell is not None]
        return column_format("fraction", type_of_column(result, name), cells)
    return fmt


def _values_format(result: Result, spec: PlotSpec) -> ColumnFormat:
    """Return the format of the values of a chart: that of its measures, as numbers if they have several."""
    if spec.chart_type == "histogram":
        return ColumnFormat("number")
    found = [_measure_format(result, spec, name) for name in spec.y]
    decimals = max(fmt.decimals for fmt in found)
    if len({(fmt.kind, fmt.unit) for fmt in found}) > 1:
        return ColumnFormat("number", decimals)
    # The values of the chart are percentages then.
    kind = "percent" if found[0].kind == "fraction" else found[0].kind
    return replace(found[0], kind=kind, decimals=decimals)


class Notes:
    """The notes of one chart, in one language: which data was reduced or left out."""

    def __init__(self, language: Language) -> None:
        self.language: Language = language
        self._texts: list[str] = []
        self.left_out = 0

    def add(self, code: str, **facts: Any) -> None:
        """Add the message `code` with its parameters."""
        self._texts.append(render(code, self.language, **facts))

    def other(self, names: Collection[str]) -> str:
        """Return a name for the combined remainder that differs from all of `names`."""
        name = render("chart_other", self.language)
        while name in names:
            name += " *"
        return name

    def top_of(self, code: str, names: Sequence[str], weights: Sequence[Number], limit: int, column: str) -> list[int]:
        """Return the indices of the greatest weights, and note by `code` that the rest of the names is combined."""
        top = largest(weights, limit - 1)
        facts = {"count": len(names), "shown": len(top), "column": axis_title(column, self.language)}
        self.add(code, **facts, other=self.other(names))
        return top

    def numbers(self, result: Result, spec: PlotSpec, name: str) -> list[Number | None]:
        """Return the cells of a measure in the unit of the chart; count those that are not numbers for the notes."""
        cells = column(result, name)
        values = [number(cell) for cell in cells]
        self.left_out += sum(cell is not None and value is None for cell, value in zip(cells, values, strict=True))
        is_fraction = _measure_format(result, spec, name).kind == "fraction"
        return [percent(value) for value in values] if is_fraction else values

    def texts(self, result: Result) -> tuple[str, ...]:
        """Return all notes, including those on omitted cells and a truncated result."""
        if self.left_out:
            self.add("chart_left_out", count=self.left_out)
        if result["truncated"]:
            self.add("truncated", count=len(result["rows"]))
        return tuple(valid_text(text) for text in self._texts)


# Reduction


def extremes(values: Sequence[Number | None]) -> set[int]:
    """Return the indices of the minimum and the maximum (the first of equal values), without None.

    >>> sorted(extremes([3, None, 1, 5, 1]))
    [2, 3]
    """
    pairs = [(value, at) for at, value in enumerate(values) if value is not None]
    if not pairs:
        return set()
    return {min(pairs)[1], max(pairs, key=lambda pair: (pair[0], -pair[1]))[1]}


def sampled(count: int, limit: int, keep: Iterable[int] = ()) -> list[int]:
    """Return at most `limit` of `count` indices in order: the first, the last, those in `keep`, others evenly spaced.

    If `keep` and the two ends are more than `limit`, all of them are returned.

    >>> sampled(9, 5)
    [0, 2, 4, 6, 8]
    """
    if count <= limit:
        return list(range(count))
    indices = {0, count - 1, *keep}
    free = limit - len(indices)
    return sorted(indices | {round((at + 1) * (count - 1) / (free + 1)) for at in range(free)})


def largest(weights: Sequence[Number], limit: int) -> list[int]:
    """Return the indices of the `limit` greatest weights in ascending order; the first of equal weights win.

    >>> largest([1, 7, 3, 7], 2)
    [1, 3]
    """
    return sorted(sorted(range(len(weights)), key=lambda at: -weights[at])[:limit])


# Line, area, bar, pie and heatmap


@dataclass(frozen=True)
class _Grid:
    """Series over places; `keys` sort the places, None if they have no natural order.

    `ordinals` are the places on the scale of x; empty if it has none.
    """

    labels: list[str]
    keys: list[Any] | None
    series: list[Series]
    ordinals: list[Number | None]

    def at(self, places: Sequence[int]) -> "_Grid":
        """Return the grid reduced to `places`, in that order."""
        return _Grid(
            [self.labels[place] for place in places],
            self.keys and [self.keys[place] for place in places],
            [replace(series, values=tuple(series.values[place] for place in places)) for series in self.series],
            [self.ordinals[place] for place in places] if self.ordinals else [],
        )


def category_data(result: Result, spec: PlotSpec, notes: Notes) -> ChartData:
    """Return the data of a line, area, bar, pie or heatmap; `notes` receives each reduction.

    Lines, areas, heatmaps and charts with `series` are sorted by x if x has a natural order; other charts keep the
    order of the rows. Missing periods are empty places. If most periods have no row, lines and areas have positions
    along a time axis instead of categories, and so do lines over uneven numbers.
    """
    scale, fmt = scale_of(result, spec.x), format_of(result, spec.x)
    grid = _by_measure(result, spec, scale, notes) if spec.series is None else _by_series(result, spec, scale, notes)
    if grid.keys and (spec.series is not None or spec.chart_type in _SORTED_TYPES):
        grid = grid.at(sorted(range(len(grid.labels)), key=grid.keys.__getitem__))
    grid = _limit_series(grid, spec, notes)
    calendar = scale if scale and scale.is_calendar else None
    if spec.chart_type == "pie":
        grid = _limit_parts(grid, spec, notes)
    elif spec.chart_type == "heatmap":
        grid = _limit_columns(_with_gaps(grid, calendar, fmt, notes) or grid, spec, notes)
    elif spec.chart_type == "bar":
        grid = _with_gaps(grid, calendar, fmt, notes) or grid
    else:
        return _along_line(grid, scale, fmt, spec, notes)
    return ChartData(tuple(grid.labels), tuple(grid.series))


def _by_measure(result: Result, spec: PlotSpec, scale: Scale | None, notes: Notes) -> _Grid:
    cells = column(result, spec.x)
    series = [Series(axis_title(name, notes.language), tuple(notes.numbers(result, spec, name))) for name in spec.y]
    keys = sort_keys(cells, type_of_column(result, spec.x))
    return _Grid(labels_of(result, spec.x, notes.language), keys, series, list(scale.ordinals) if scale else [])


def _by_series(result: Result, spec: PlotSpec, scale: Scale | None, notes: Notes) -> _Grid:
    cells, split = column(result, spec.x), column(result, spec.series or "")
    labels, names = (labels_of(result, name, notes.language) for name in (spec.x, spec.series or ""))
    first = {text: at for at, text in reversed(list(enumerate(labels)))}
    places = sorted(first, key=first.__getitem__)
    keys = sort_keys(cells, type_of_column(result, spec.x))
    values = dict(zip(zip(labels, names, strict=True), notes.numbers(result, spec, spec.y[0]), strict=True))
    if spec.chart_type == "heatmap" or places_in_cycle(split) or scale_of(result, spec.series or ""):
        names = [names[at] for at in order_of(split, type_of_column(result, spec.series or ""))]
    series = [Series(name, tuple(values.get((place, name)) for place in places)) for name in dict.fromkeys(names)]
    at = [first[place] for place in places]
    ordinals = [scale.ordinals[place] for place in at] if scale else []
    return _Grid(places, keys and [keys[place] for place in at], series, ordinals)


def _with_gaps(grid: _Grid, scale: Scale | None, fmt: ColumnFormat, notes: Notes) -> _Grid | None:
    """Return the grid with an empty place for each missing step; None if x has no steps in ascending order."""
    known = [ordinal for ordinal in grid.ordinals if ordinal is not None]
    if scale is None or any(later <= earlier for earlier, later in pairwise(known)):
        return None
    steps = scale.steps(MAX_POINTS)
    if steps is None:
        return None
    where = {ordinal: at for at, ordinal in enumerate(grid.ordinals)}
    places = [*(where.get(step) for step in steps), *([where[None]] if None in where else [])]
    missing = places.count(None)
    if not missing:
        return grid
    notes.add("chart_gaps", count=missing)
    series = [
        replace(part, values=tuple(None if at is None else part.values[at] for at in places)) for part in grid.series
    ]
    names = [period_label(scale, step, fmt, notes.language) for step in steps]
    labels = [names[index] if at is None else grid.labels[at] for index, at in enumerate(places)]
    return _Grid(labels, None, series, [*steps, *([None] if None in where else [])])


def _along_line(grid: _Grid, scale: Scale | None, fmt: ColumnFormat, spec: PlotSpec, notes: Notes) -> ChartData:
    """Return lines over categories if the places of x are even, otherwise over positions along an axis."""
    even = _with_gaps(grid, scale, fmt, notes)
    count = len((even or grid).labels)
    if scale is None or (even and count <= MAX_POINTS) or spec.stacked:
        sampled_grid = _sample_places(even or grid, notes)
        return ChartData(tuple(sampled_grid.labels), tuple(sampled_grid.series))
    without = grid.ordinals.count(None)
    if without:
        notes.add("chart_without_x", count=without, column=axis_title(spec.x, notes.language))
        grid = grid.at([at for at, ordinal in enumerate(grid.ordinals) if ordinal is not None])
    grid = _sample_places(grid, notes)
    positions = [scale.position(ordinal) for ordinal in grid.ordinals if ordinal is not None]
    series = []
    for part in grid.series:
        # With several series, a place without a value belongs to another one; it must not interrupt this line.
        kept = [at for at, value in enumerate(part.values) if value is not None or len(grid.series) == 1]
        series.append(Series(part.name, tuple(part.values[at] for at in kept), tuple(positions[at] for at in kept)))
    return ChartData((), tuple(series), axis=scale.axis)


def _sample_places(grid: _Grid, notes: Notes) -> _Grid:
    count = len(grid.labels)
    if count <= MAX_POINTS:
        return grid
    places = sampled(count, MAX_POINTS, set[int]().union(*(extremes(series.values) for series in grid.series)))
    notes.add("chart_sampled", count=count, shown=len(places))
    return grid.at(places)


def _weight(values: Sequence[Number | None]) -> Number:
    return total([abs(value) for value in values if value is not None])


def _limit_series(grid: _Grid, spec: PlotSpec, notes: Notes) -> _Grid:
    limit = _MAX_HEATMAP_ROWS if spec.chart_type == "heatmap" else MAX_SERIES
    count = len(grid.series)
    if count <= limit:
        return grid
    weights = [_weight(series.values) for series in grid.series]
    if spec.chart_type == "heatmap":
        notes.add("chart_largest", count=count, shown=limit, column=axis_title(spec.series or "", notes.language))
        return replace(grid, series=[grid.series[at] for at in largest(weights, limit)])
    names = [series.name for series in grid.series]
    top = notes.top_of("chart_rest_added", names, weights, limit, spec.series or "")
    rest = [series.values for at, series in enumerate(grid.series) if at not in top]
    sums = (None if all(value is None for value in values) else total(values) for values in zip(*rest, strict=True))
    return replace(grid, series=[*(grid.series[at] for at in top), Series(notes.other(names), tuple(sums))])


def _limit_parts(grid: _Grid, spec: PlotSpec, notes: Notes) -> _Grid:
    """Drop the parts of a pie without a value and add up the small ones."""
    grid = grid.at([at for at, value in enumerate(grid.series[0].values) if value is not None])
    if len(grid.labels) <= MAX_PARTS:
        return grid
    values = grid.series[0].values
    top = notes.top_of("chart_rest_added", grid.labels, [value or 0 for value in values], MAX_PARTS, spec.x)
    rest = total([value for at, value in enumerate(values) if at not in top])
    reduced = grid.at(top)
    parts = replace(reduced.series[0], values=(*reduced.series[0].values, rest))
    return _Grid([*reduced.labels, notes.other(grid.labels)], None, [parts], [])


def _limit_columns(grid: _Grid, spec: PlotSpec, notes: Notes) -> _Grid:
    count = len(grid.labels)
    if count <= _MAX_HEATMAP_COLUMNS:
        return grid
    if grid.keys or grid.ordinals:
        places = sampled(count, _MAX_HEATMAP_COLUMNS)
        notes.add("chart_sampled", count=count, shown=len(places))
    else:
        rows = zip(*(series.values for series in grid.series), strict=True)
        places = largest([_weight(values) for values in rows], _MAX_HEATMAP_COLUMNS)
        notes.add("chart_largest", count=count, shown=len(places), column=axis_title(spec.x, notes.language))
    return grid.at(places)


# Scatter


def scatter_data(result: Result, spec: PlotSpec, notes: Notes) -> ChartData:
    """Return the points of a scatter by series; `notes` receives each reduction. Rows without x or y have no point.

    Numbers and times have positions along their axis; texts become categories, in the order of the rows.
    """
    places, labels, axis = _places(result, spec)
    if None in places:
        notes.add("chart_without_x", count=places.count(None), column=axis_title(spec.x, notes.language))
    series = _sample_points(_limit_scatter_series(_scatter_series(result, spec, places, notes), spec, notes), notes)
    if not labels:
        return ChartData((), tuple(series), axis=axis)
    positions = sorted({place for part in series for place in part.at})
    renumbered = {place: at for at, place in enumerate(positions)}
    renumbered_series = [replace(part, at=tuple(renumbered[place] for place in part.at)) for part in series]
    return ChartData(tuple(labels[int(place)] for place in positions), tuple(renumbered_series))


def _places(result: Result, spec: PlotSpec) -> tuple[list[Number | None], list[str], AxisKind]:
    """Return the position of each row along x, the labels of the categories if x has them, and the kind of axis."""
    cells, kind, scale = column(result, spec.x), type_of_column(result, spec.x), scale_of(result, spec.x)
    if scale:
        return [None if at is None else scale.position(at) for at in scale.ordinals], [], scale.axis
    if kind in NUMERIC:
        return [number(cell) for cell in cells], [], "value"
    labels = list(dict.fromkeys(label(cells[at]) for at in order_of(cells, kind)))
    where = {text: at for at, text in enumerate(labels)}
    return [where[label(cell)] for cell in cells], labels, "category"


def _scatter_series(result: Result, spec: PlotSpec, places: list[Number | None], notes: Notes) -> list[Series]:
    if spec.series is None:
        return [
            _series_of_pairs(axis_title(name, notes.language), places, notes.numbers(result, spec, name))
            for name in spec.y
        ]
    values = notes.numbers(result, spec, spec.y[0])
    groups: dict[str, list[int]] = {}
    for row, name in enumerate(labels_of(result, spec.series, notes.language)):
        groups.setdefault(name, []).append(row)
    return [
        _series_of_pairs(name, [places[row] for row in rows], [values[row] for row in rows])
        for name, rows in groups.items()
    ]


def _series_of_pairs(name: str, places: list[Number | None], values: list[Number | None]) -> Series:
    pairs = [(x, y) for x, y in zip(places, values, strict=True) if x is not None and y is not None]
    return Series(name, tuple(y for _, y in pairs), tuple(x for x, _ in pairs))


def _limit_scatter_series(series: list[Series], spec: PlotSpec, notes: Notes) -> list[Series]:
    if len(series) <= MAX_SERIES:
        return series
    names, sizes = [part.name for part in series], [len(part.at) for part in series]
    top = notes.top_of("chart_rest_joined", names, sizes, MAX_SERIES, spec.series or "")
    rest = [part for at, part in enumerate(series) if at not in top]
    values, places = (tuple(chain.from_iterable(each)) for each in zip(*((p.values, p.at) for p in rest), strict=True))
    remainder = Series(notes.other(names), values, places)
    return [*(series[at] for at in top), remainder]


def _sample_points(series: list[Series], notes: Notes) -> list[Series]:
    count = sum(len(part.at) for part in series)
    if count <= MAX_POINTS:
        return series
    fewer = []
    for part in series:
        limit = MAX_POINTS * len(part.at) // count
        indices = sampled(len(part.at), limit, extremes(part.values) | extremes(part.at))
        fewer.append(
            replace(part, values=tuple(part.values[at] for at in indices), at=tuple(part.at[at] for at in indices))
        )
    notes.add("chart_sampled", count=count, shown=sum(len(part.at) for part in fewer))
    return fewer


# Histogram


def histogram_data(result: Result, spec: PlotSpec, notes: Notes) -> ChartData:
    """Return the bins of the numbers in x as categories, and the number of rows in each as one series.

    Bins have equal widths of 1, 2 or 5 times a power of ten, about as many as the rules of Freedman and Diaconis
    (1981) and Sturges (1926) give. A bin holds its lower bound, and the last one also its upper bound. Few different
    integers have a bin each.
    """
    values = sorted(value for value in notes.numbers(result, spec, spec.x) if value is not None)
    without = len(result["rows"]) - len(values) - notes.left_out
    if without:
        notes.add("chart_without_x", count=without, column=axis_title(spec.x, notes.language))
    name = render("axis_count_rows", notes.language)
    if not values:
        return ChartData((), (Series(name, ()),))
    low, high = values[0], values[-1]
    if all(isinstance(value, int) for value in values) and high - low < MAX_PARTS * 3:
        span = range(int(low), int(high) + 1)
        labels = tuple(format_value(at, format_of(result, spec.x), notes.language) for at in span)
        return ChartData(labels, (Series(name, tuple(values.count(at) for at in span)),))
    width = _bin_width(values)
    start = math.floor(low / width)
    count = max(1, math.ceil(high / width) - start)
    sums = [0] * count
    for value in values:
        sums[min(count - 1, max(0, math.floor(value / width) - start))] += 1
    fmt = _measure_format(result, spec, spec.x)
    fmt = replace(fmt, kind="percent") if fmt.kind == "fraction" else fmt
    bounds = [format_tick((start + at) * width, fmt, notes.language) for at in range(count + 1)]
    labels = tuple(f"{bounds[at]} – {bounds[at + 1]}" for at in range(count))
    return ChartData(labels, (Series(name, tuple(sums)),))


def _bin_width(values: Sequence[Number]) -> float:
    """Return the width of the bins of sorted values: that of the rules, rounded to a plain number."""
    # A double does not tell integers beyond 2^53 apart, but their distances from the least one.
    distances = np.array([float(value - values[0]) for value in values])
    edges = np.histogram_bin_edges(distances, "auto") if distances[-1] else np.zeros(2)
    wanted = max(float(edges[1]), float(distances[-1]) / _MAX_BINS) or abs(float(values[0])) or 1.0
    power = 10.0 ** math.floor(math.log10(wanted))
    return min((factor * power for factor in (1, 2, 5, 10)), key=lambda width: abs(math.log(width / wanted)))


_DATA = {"scatter": scatter_data, "histogram": histogram_data}

"""Build the figure of a chart: the cells of a result that a PlotSpec selects, reduced to a readable number."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.charts.cells import (
    NUMERIC,
    Number,
    clean,
    column,
    label,
    number,
    order_of,
    percent,
    quantile,
    sort_keys,
    total,
    type_of_column,
)
from agent.charts.figure import Box, ChartData, Figure, Series
from agent.charts.plot_spec import MAX_SERIES, PlotSpec, check_plot_spec
from agent.messages import Language, render
from agent.types import Result

MAX_POINTS = 1000
MAX_CATEGORIES = 100
_MAX_BOXES = 50
_MAX_HEATMAP_ROWS = 50
_SORTED_TYPES = {"line", "area", "heatmap"}


def figure_of(result: Result, spec: PlotSpec, language: Language = "en") -> Figure:
    """Return the figure of a chart, with notes in `language`. Equal arguments give an equal figure.

    Raises:
        PlotSpecInvalid: the spec does not fit the result.
    """
    check_plot_spec(spec, result)
    notes = Notes(language)
    data = _DATA.get(spec.chart_type, category_data)(result, spec, notes)
    y_name = clean(spec.y[0]) if len(spec.y) == 1 else ""
    return Figure(spec, clean(spec.title), clean(spec.x), y_name, data, notes.texts(result))


class Notes:
    """The notes of one chart, in one language: which data was reduced or left out."""

    def __init__(self, language: Language) -> None:
        """Start without notes."""
        self._language = language
        self._texts: list[str] = []
        self._left_out = 0

    def add(self, code: str, **facts: Any) -> None:
        """Add the message `code` with its parameters."""
        self._texts.append(render(code, self._language, **facts))

    def other(self, names: Collection[str]) -> str:
        """Return a name for the combined remainder that differs from all of `names`."""
        name = render("chart_other", self._language)
        while name in names:
            name += " *"
        return name

    def numbers(self, result: Result, spec: PlotSpec, name: str) -> list[Number | None]:
        """Return the cells of a measure in the unit of the chart; count those that are not numbers for the notes."""
        cells = column(result, name)
        values = [number(cell) for cell in cells]
        self._left_out += sum(cell is not None and value is None for cell, value in zip(cells, values, strict=True))
        return [percent(value) for value in values] if spec.y_format == "percent" else values

    def texts(self, result: Result) -> tuple[str, ...]:
        """Return all notes, including those on omitted cells and a truncated result."""
        if self._left_out:
            self.add("chart_left_out", count=self._left_out)
        if result["truncated"]:
            self.add("truncated", count=len(result["rows"]))
        return tuple(clean(text) for text in self._texts)


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
    """Series over labels; `keys` sort the labels, None if they have no natural order."""

    labels: list[str]
    keys: list[Any] | None
    series: list[Series]

    def at(self, places: Sequence[int]) -> "_Grid":
        """Return the grid reduced to `places`, in that order."""
        return _Grid(
            [self.labels[place] for place in places],
            self.keys and [self.keys[place] for place in places],
            [replace(series, values=tuple(series.values[place] for place in places)) for series in self.series],
        )


def category_data(result: Result, spec: PlotSpec, notes: Notes) -> ChartData:
    """Return the categories and series of a line, area, bar, pie or heatmap; `notes` receives each reduction.

    Lines, areas, heatmaps and charts with `series` are sorted by x if x has a natural order; other charts keep the
    order of the rows.
    """
    grid = _by_measure(result, spec, notes) if spec.series is None else _by_series(result, spec, notes)
    if grid.keys and (spec.series is not None or spec.chart_type in _SORTED_TYPES):
        grid = grid.at(sorted(range(len(grid.labels)), key=grid.keys.__getitem__))
    grid = _limit_series(grid, spec, notes)
    grid = _limit_parts(grid, spec, notes) if spec.chart_type == "pie" else _limit_places(grid, spec, notes)
    return ChartData(tuple(grid.labels), tuple(grid.series))


def _by_measure(result: Result, spec: PlotSpec, notes: Notes) -> _Grid:
    cells = column(result, spec.x)
    series = [Series(clean(name), tuple(notes.numbers(result, spec, name))) for name in spec.y]
    return _Grid([label(cell) for cell in cells], sort_keys(cells, type_of_column(result, spec.x)), series)


def _by_series(result: Result, spec: PlotSpec, notes: Notes) -> _Grid:
    cells, split = column(result, spec.x), column(result, spec.series or "")
    labels, names = [label(cell) for cell in cells], [label(cell) for cell in split]
    first = {text: at for at, text in reversed(list(enumerate(labels)))}
    places = sorted(first, key=first.__getitem__)
    keys = sort_keys(cells, type_of_column(result, spec.x))
    values = dict(zip(zip(labels, names, strict=True), notes.numbers(result, spec, spec.y[0]), strict=True))
    if spec.chart_type == "heatmap":
        names = [names[at] for at in order_of(split, type_of_column(result, spec.series or ""))]
    series = [Series(name, tuple(values.get((place, name)) for place in places)) for name in dict.fromkeys(names)]
    return _Grid(places, keys and [keys[first[place]] for place in places], series)


def _weight(values: Sequence[Number | None]) -> Number:
    return total([abs(value) for value in values if value is not None])


def _limit_series(grid: _Grid, spec: PlotSpec, notes: Notes) -> _Grid:
    limit = _MAX_HEATMAP_ROWS if spec.chart_type == "heatmap" else MAX_SERIES
    count = len(grid.series)
    if count <= limit:
        return grid
    weights, name = [_weight(series.values) for series in grid.series], clean(spec.series or "")
    if spec.chart_type == "heatmap":
        notes.add("chart_largest", count=count, shown=limit, column=name)
        return replace(grid, series=[grid.series[at] for at in largest(weights, limit)])
    top = largest(weights, limit - 1)
    other = notes.other([series.name for series in grid.series])
    notes.add("chart_rest_added", count=count, shown=len(top), column=name, other=other)
    rest = [series.values for at, series in enumerate(grid.series) if at not in top]
    sums = (None if all(value is None for value in values) else total(values) for values in zip(*rest, strict=True))
    return replace(grid, series=[*(grid.series[at] for at in top), Series(other, tuple(sums))])


def _limit_parts(grid: _Grid, spec: PlotSpec, notes: Notes) -> _Grid:
    """Drop the parts of a pie without a value and add up the small ones."""
    grid = grid.at([at for at, value in enumerate(grid.series[0].values) if value is not None])
    count = len(grid.labels)
    if count <= MAX_SERIES:
        return grid
    values = grid.series[0].values
    top = largest([value or 0 for value in values], MAX_SERIES - 1)
    other = notes.other(grid.labels)
    notes.add("chart_rest_added", count=count, shown=len(top), column=clean(spec.x), other=other)
    rest = total([value for at, value in enumerate(values) if at not in top])
    reduced = grid.at(top)
    parts = replace(reduced.series[0], values=(*reduced.series[0].values, rest))
    return _Grid([*reduced.labels, other], None, [parts])


def _limit_places(grid: _Grid, spec: PlotSpec, notes: Notes) -> _Grid:
    limit = MAX_POINTS if spec.chart_type in {"line", "area"} else MAX_CATEGORIES
    count = len(grid.labels)
    if count <= limit:
        return grid
    if grid.keys or limit == MAX_POINTS:
        places = sampled(count, limit, set[int]().union(*(extremes(series.values) for series in grid.series)))
        notes.add("chart_sampled", count=count, shown=len(places))
    else:
        rows = zip(*(series.values for series in grid.series), strict=True)
        places = largest([_weight(values) for values in rows], limit)
        notes.add("chart_largest", count=count, shown=len(places), column=clean(spec.x))
    return grid.at(places)


# Scatter


def scatter_data(result: Result, spec: PlotSpec, notes: Notes) -> ChartData:
    """Return the points of a scatter by series; `notes` receives each reduction. Rows without x or y have no point.

    A numeric x is used as it is; texts and times become categories, in their natural order or that of the rows.
    """
    places, labels = _places(result, spec)
    series = _sample_points(_limit_scatter_series(_scatter_series(result, spec, places, notes), spec, notes), notes)
    if not labels:
        return ChartData((), tuple(series))
    positions = sorted({place for part in series for place in part.at})
    renumbered = {place: at for at, place in enumerate(positions)}
    renumbered_series = [replace(part, at=tuple(renumbered[place] for place in part.at)) for part in series]
    return ChartData(tuple(labels[int(place)] for place in positions), tuple(renumbered_series))


def _places(result: Result, spec: PlotSpec) -> tuple[list[Number | None], list[str]]:
    """Return the position of each row along x, and the labels of the categories, none for a numeric x."""
    cells, kind = column(result, spec.x), type_of_column(result, spec.x)
    if kind in NUMERIC:
        return [number(cell) for cell in cells], []
    labels = list(dict.fromkeys(label(cells[at]) for at in order_of(cells, kind)))
    where = {text: at for at, text in enumerate(labels)}
    return [where[label(cell)] for cell in cells], labels


def _scatter_series(result: Result, spec: PlotSpec, places: list[Number | None], notes: Notes) -> list[Series]:
    if spec.series is None:
        return [_series_of_pairs(clean(name), places, notes.numbers(result, spec, name)) for name in spec.y]
    values = notes.numbers(result, spec, spec.y[0])
    groups: dict[str, list[int]] = {}
    for row, cell in enumerate(column(result, spec.series)):
        groups.setdefault(label(cell), []).append(row)
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
    top = largest([len(part.at) for part in series], MAX_SERIES - 1)
    other = notes.other([part.name for part in series])
    notes.add("chart_rest_joined", count=len(series), shown=len(top), column=clean(spec.series or ""), other=other)
    rest = [part for at, part in enumerate(series) if at not in top]
    remainder = Series(
        other, tuple(y for part in rest for y in part.values), tuple(x for part in rest for x in part.at)
    )
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


# Box


def box_data(result: Result, spec: PlotSpec, notes: Notes) -> ChartData:
    """Return a box for each category of x, in natural order or that of the rows; `notes` receives each reduction."""
    groups = _limit_groups(_groups(result, spec, notes), spec, notes)
    boxes = [_box(values) if values else None for values in groups.values()]
    return ChartData(tuple(groups), boxes=tuple(_sample_outliers(boxes, notes)))


def _groups(result: Result, spec: PlotSpec, notes: Notes) -> dict[str, list[Number]]:
    cells = column(result, spec.x)
    values = notes.numbers(result, spec, spec.y[0])
    groups: dict[str, list[Number]] = {}
    for row in order_of(cells, type_of_column(result, spec.x)):
        value, group = values[row], groups.setdefault(label(cells[row]), [])
        if value is not None:
            group.append(value)
    return groups


def _limit_groups(groups: dict[str, list[Number]], spec: PlotSpec, notes: Notes) -> dict[str, list[Number]]:
    if len(groups) <= _MAX_BOXES:
        return groups
    names = list(groups)
    top = [names[at] for at in largest([len(values) for values in groups.values()], _MAX_BOXES - 1)]
    other = notes.other(names)
    notes.add("chart_rest_joined", count=len(names), shown=len(top), column=clean(spec.x), other=other)
    rest = [value for name in names if name not in top for value in groups[name]]
    return {**{name: groups[name] for name in top}, other: rest}


def _box(values: Sequence[Number]) -> Box:
    """Return the box of Tukey (1977): whiskers end at the last value within 1.5 times the interquartile range.

    Integers too large for a float may all lie outside that range through rounding; then every value counts as inside.
    """
    ordered = sorted(values)
    lower, middle, upper = (quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    reach = 1.5 * (upper - lower)
    inside = [value for value in ordered if lower - reach <= value <= upper + reach] or ordered
    outliers = tuple(value for value in ordered if not inside[0] <= value <= inside[-1])
    return Box(inside[0], lower, middle, upper, inside[-1], outliers)


def _sample_outliers(boxes: list[Box | None], notes: Notes) -> list[Box | None]:
    count = sum(len(box.outliers) for box in boxes if box)
    if count <= MAX_POINTS:
        return boxes
    limit = MAX_POINTS // len(boxes)
    fewer = [
        box and replace(box, outliers=tuple(box.outliers[at] for at in sampled(len(box.outliers), limit)))
        for box in boxes
    ]
    notes.add("chart_sampled", count=count, shown=sum(len(box.outliers) for box in fewer if box))
    return fewer


_DATA = {"scatter": scatter_data, "box": box_data}

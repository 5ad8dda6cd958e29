"""Values along categories: the data of lines, areas, bars, pies and heatmaps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.charts.cells import Number, clean, column, label, order_of, ranks, total, type_of_column
from agent.charts.figure import Series, Shown
from agent.charts.notes import Notes
from agent.charts.plot_spec import MAX_SERIES, PlotSpec
from agent.charts.reduce import MAX_CATEGORIES, MAX_POINTS, extremes, largest, sampled
from agent.sql.result import Result

_SORTED = {"line", "area", "heatmap"}
_MAX_ROWS = 50
"""Rows of a heatmap."""


@dataclass(frozen=True)
class _Grid:
    """`keys` sort the labels where they have an order of their own."""

    labels: list[str]
    keys: list[Any] | None
    series: list[Series]

    def at(self, places: Sequence[int]) -> "_Grid":
        """The grid with those places alone, in that order."""
        return _Grid(
            [self.labels[place] for place in places],
            self.keys and [self.keys[place] for place in places],
            [replace(each, values=tuple(each.values[place] for place in places)) for each in self.series],
        )


def grid(result: Result, spec: PlotSpec, notes: Notes) -> Shown:
    """Return the categories and series; what was reduced stands in `notes`.

    A line, an area and a heatmap run in the order of x where x has one; all else in the order of the rows.
    """
    found = _by_measure(result, spec, notes) if spec.series is None else _by_series(result, spec, notes)
    if found.keys and (spec.series is not None or spec.chart_type in _SORTED):
        found = found.at(sorted(range(len(found.labels)), key=found.keys.__getitem__))
    found = _fewer_series(found, spec, notes)
    found = _fewer_parts(found, spec, notes) if spec.chart_type == "pie" else _fewer_places(found, spec, notes)
    return Shown(tuple(found.labels), tuple(found.series))


def _by_measure(result: Result, spec: PlotSpec, notes: Notes) -> _Grid:
    cells = column(result, spec.x)
    series = [Series(clean(name), tuple(notes.numbers(result, spec, name))) for name in spec.y]
    return _Grid([label(cell) for cell in cells], ranks(cells, type_of_column(result, spec.x)), series)


def _by_series(result: Result, spec: PlotSpec, notes: Notes) -> _Grid:
    cells, split = column(result, spec.x), column(result, spec.series or "")
    labels, names = [label(cell) for cell in cells], [label(cell) for cell in split]
    first = {text: at for at, text in reversed(list(enumerate(labels)))}
    places = sorted(first, key=first.__getitem__)
    keys = ranks(cells, type_of_column(result, spec.x))
    values = dict(zip(zip(labels, names, strict=True), notes.numbers(result, spec, spec.y[0]), strict=True))
    series = [
        Series(name, tuple(values.get((place, name)) for place in places))
        for name in _in_order(split, names, result, spec)
    ]
    return _Grid(places, keys and [keys[first[place]] for place in places], series)


def _in_order(split: list[Any], names: list[str], result: Result, spec: PlotSpec) -> list[str]:
    if spec.chart_type != "heatmap":
        return list(dict.fromkeys(names))
    return list(dict.fromkeys(names[at] for at in order_of(split, type_of_column(result, spec.series or ""))))


def _weight(values: Sequence[Number | None]) -> Number:
    return total([abs(value) for value in values if value is not None])


def _fewer_series(found: _Grid, spec: PlotSpec, notes: Notes) -> _Grid:
    limit = _MAX_ROWS if spec.chart_type == "heatmap" else MAX_SERIES
    count = len(found.series)
    if count <= limit:
        return found
    weights, named = [_weight(each.values) for each in found.series], clean(spec.series or "")
    if spec.chart_type == "heatmap":
        notes.add("chart_largest", count=count, shown=limit, column=named)
        return replace(found, series=[found.series[at] for at in largest(weights, limit)])
    kept = largest(weights, limit - 1)
    other = notes.other([each.name for each in found.series])
    notes.add("chart_rest_added", count=count, shown=len(kept), column=named, other=other)
    rest = [each.values for at, each in enumerate(found.series) if at not in kept]
    added = Series(other, tuple(map(_sum, zip(*rest, strict=True))))
    return replace(found, series=[*(found.series[at] for at in kept), added])


def _sum(values: Sequence[Number | None]) -> Number | None:
    return None if all(value is None for value in values) else total(values)


def _fewer_parts(found: _Grid, spec: PlotSpec, notes: Notes) -> _Grid:
    """The parts of a pie that have a value, the small ones added up."""
    found = found.at([at for at, value in enumerate(found.series[0].values) if value is not None])
    count = len(found.labels)
    if count <= MAX_SERIES:
        return found
    values = found.series[0].values
    kept = largest([value or 0 for value in values], MAX_SERIES - 1)
    other = notes.other(found.labels)
    notes.add("chart_rest_added", count=count, shown=len(kept), column=clean(spec.x), other=other)
    rest = total([value for at, value in enumerate(values) if at not in kept])
    shown = found.at(kept)
    parts = replace(shown.series[0], values=(*shown.series[0].values, rest))
    return _Grid([*shown.labels, other], None, [parts])


def _fewer_places(found: _Grid, spec: PlotSpec, notes: Notes) -> _Grid:
    limit = MAX_POINTS if spec.chart_type in {"line", "area"} else MAX_CATEGORIES
    count = len(found.labels)
    if count <= limit:
        return found
    if found.keys or limit == MAX_POINTS:
        places = sampled(count, limit, set[int]().union(*(extremes(each.values) for each in found.series)))
        notes.add("chart_sampled", count=count, shown=len(places))
    else:
        places = largest([_weight(each) for each in zip(*(s.values for s in found.series), strict=True)], limit)
        notes.add("chart_largest", count=count, shown=len(places), column=clean(spec.x))
    return found.at(places)

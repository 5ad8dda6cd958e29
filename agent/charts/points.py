"""Pairs of x and y: the data of a scatter."""

from dataclasses import replace

from agent.charts.cells import NUMERIC, Number, clean, column, label, number, order_of, type_of_column
from agent.charts.figure import Series, Shown
from agent.charts.notes import Notes
from agent.charts.plot_spec import MAX_SERIES, PlotSpec
from agent.charts.reduce import MAX_POINTS, extremes, largest, sampled
from agent.sql.result import Result


def points(result: Result, spec: PlotSpec, notes: Notes) -> Shown:
    """Return the points by series; what was reduced stands in `notes`. Where x or y has no value there is no point.

    Numbers along x are where they are; texts and times are categories, in their own order or that of the rows.
    """
    places, labels = _places(result, spec)
    series = _fewer_points(_fewer_series(_series(result, spec, places, notes), spec, notes), notes)
    if not labels:
        return Shown((), tuple(series))
    used = sorted({place for each in series for place in each.at})
    renumbered = {place: at for at, place in enumerate(used)}
    moved = [replace(each, at=tuple(renumbered[place] for place in each.at)) for each in series]
    return Shown(tuple(labels[int(place)] for place in used), tuple(moved))


def _places(result: Result, spec: PlotSpec) -> tuple[list[Number | None], list[str]]:
    """Where each row stands along x, and the labels of the categories if it stands at one."""
    cells, kind = column(result, spec.x), type_of_column(result, spec.x)
    if kind in NUMERIC:
        return [number(cell) for cell in cells], []
    labels = list(dict.fromkeys(label(cells[at]) for at in order_of(cells, kind)))
    where = {text: at for at, text in enumerate(labels)}
    return [where[label(cell)] for cell in cells], labels


def _series(result: Result, spec: PlotSpec, places: list[Number | None], notes: Notes) -> list[Series]:
    if spec.series is None:
        return [_of_pairs(clean(name), places, notes.numbers(result, spec, name)) for name in spec.y]
    values = notes.numbers(result, spec, spec.y[0])
    groups: dict[str, list[int]] = {}
    for row, cell in enumerate(column(result, spec.series)):
        groups.setdefault(label(cell), []).append(row)
    return [
        _of_pairs(name, [places[row] for row in rows], [values[row] for row in rows]) for name, rows in groups.items()
    ]


def _of_pairs(name: str, places: list[Number | None], values: list[Number | None]) -> Series:
    pairs = [(x, y) for x, y in zip(places, values, strict=True) if x is not None and y is not None]
    return Series(name, tuple(y for _, y in pairs), tuple(x for x, _ in pairs))


def _fewer_series(series: list[Series], spec: PlotSpec, notes: Notes) -> list[Series]:
    if len(series) <= MAX_SERIES:
        return series
    kept = largest([len(each.at) for each in series], MAX_SERIES - 1)
    other = notes.other([each.name for each in series])
    notes.add("chart_rest_joined", count=len(series), shown=len(kept), column=clean(spec.series or ""), other=other)
    rest = [each for at, each in enumerate(series) if at not in kept]
    joined = Series(other, tuple(y for each in rest for y in each.values), tuple(x for each in rest for x in each.at))
    return [*(series[at] for at in kept), joined]


def _fewer_points(series: list[Series], notes: Notes) -> list[Series]:
    count = sum(len(each.at) for each in series)
    if count <= MAX_POINTS:
        return series
    fewer = [_sampled(each, MAX_POINTS * len(each.at) // count) for each in series]
    notes.add("chart_sampled", count=count, shown=sum(len(each.at) for each in fewer))
    return fewer


def _sampled(series: Series, limit: int) -> Series:
    kept = sampled(len(series.at), limit, extremes(series.values) | extremes(series.at))
    return replace(series, values=tuple(series.values[at] for at in kept), at=tuple(series.at[at] for at in kept))

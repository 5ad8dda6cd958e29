"""How a measure spreads for each category: the data of a box chart."""

from collections.abc import Sequence
from dataclasses import replace

from agent.charts.cells import Number, clean, column, label, order_of, quantile, type_of_column
from agent.charts.figure import Box, Shown
from agent.charts.notes import Notes
from agent.charts.plot_spec import PlotSpec
from agent.charts.reduce import MAX_POINTS, largest, sampled
from agent.sql.result import Result

_MAX_BOXES = 50


def boxes(result: Result, spec: PlotSpec, notes: Notes) -> Shown:
    """Return a box for each category of x, in their own order or that of the rows; `notes` say what was reduced."""
    groups = _fewer_groups(_groups(result, spec, notes), spec, notes)
    made = [_box(values) if values else None for values in groups.values()]
    return Shown(tuple(groups), boxes=tuple(_fewer_outliers(made, notes)))


def _groups(result: Result, spec: PlotSpec, notes: Notes) -> dict[str, list[Number]]:
    cells = column(result, spec.x)
    values = notes.numbers(result, spec, spec.y[0])
    groups: dict[str, list[Number]] = {}
    for row in order_of(cells, type_of_column(result, spec.x)):
        value, group = values[row], groups.setdefault(label(cells[row]), [])
        if value is not None:
            group.append(value)
    return groups


def _fewer_groups(groups: dict[str, list[Number]], spec: PlotSpec, notes: Notes) -> dict[str, list[Number]]:
    if len(groups) <= _MAX_BOXES:
        return groups
    names = list(groups)
    kept = [names[at] for at in largest([len(values) for values in groups.values()], _MAX_BOXES - 1)]
    other = notes.other(names)
    notes.add("chart_rest_joined", count=len(names), shown=len(kept), column=clean(spec.x), other=other)
    rest = [value for name in names if name not in kept for value in groups[name]]
    return {**{name: groups[name] for name in kept}, other: rest}


def _box(values: Sequence[Number]) -> Box:
    """The box of Tukey (1977): whiskers to the last value within one and a half times the box's height.

    Of integers beyond what a float holds none may lie within it; then all of them count as inside.
    """
    ordered = sorted(values)
    lower, middle, upper = (quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    reach = 1.5 * (upper - lower)
    inside = [value for value in ordered if lower - reach <= value <= upper + reach] or ordered
    beyond = tuple(value for value in ordered if not inside[0] <= value <= inside[-1])
    return Box(inside[0], lower, middle, upper, inside[-1], beyond)


def _fewer_outliers(made: list[Box | None], notes: Notes) -> list[Box | None]:
    count = sum(len(box.outliers) for box in made if box)
    if count <= MAX_POINTS:
        return made
    fewer = [box and replace(box, outliers=_spread(box.outliers, MAX_POINTS // len(made))) for box in made]
    notes.add("chart_sampled", count=count, shown=sum(len(box.outliers) for box in fewer if box))
    return fewer


def _spread(values: tuple[Number, ...], limit: int) -> tuple[Number, ...]:
    return tuple(values[at] for at in sampled(len(values), limit))

"""A PlotSpec against the result it is to draw: all that is wrong, said so that a model can correct it."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from agent.catalog.spelling import nearest
from agent.charts.cells import NUMERIC, column, label, number, type_of_column
from agent.charts.plot_spec import PlotSpec
from agent.errors import PlotSpecInvalid, SpecProblem
from agent.sql.result import Result

_ALIKE = 60
_ONE_MEASURE = {"pie", "heatmap", "box"}
_NO_SERIES = {"pie", "box"}
_STACKED = {"bar", "area"}
_ONE_ROW_PER_PLACE = {"line", "bar", "area", "heatmap"}


def read_plot_spec(data: Any, result: Result) -> PlotSpec:
    """Return `data`, a mapping, as a PlotSpec that fits `result`.

    Raises:
        PlotSpecInvalid: it breaks the schema, or it does not fit the result; with every problem.
    """
    try:
        spec = PlotSpec.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        raise PlotSpecInvalid(tuple(SpecProblem(_path(*each["loc"]), each["msg"]) for each in found)) from error
    check_plot_spec(spec, result)
    return spec


def check_plot_spec(spec: PlotSpec, result: Result) -> None:
    """Check that `spec` names columns of `result`, and that they fit the type of chart.

    Raises:
        PlotSpecInvalid: with every problem.
    """
    problems = [*_form(spec), *_names(spec, result)]
    if not problems:
        problems = [*_measures(spec, result)]
    if not problems:
        problems = [*_places(spec, result), *_shares(spec, result)]
    if problems:
        raise PlotSpecInvalid(tuple(problems))


def _path(*parts: Any) -> str:
    return ".".join(map(str, parts)) or "spec"


def _encodings(spec: PlotSpec) -> list[tuple[str, str]]:
    """The path and the column of each encoding."""
    measures = [(f"y.{at}" if len(spec.y) > 1 else "y", name) for at, name in enumerate(spec.y)]
    return [("x", spec.x), *measures, *([("series", spec.series)] if spec.series is not None else [])]


def _form(spec: PlotSpec) -> Iterator[SpecProblem]:
    """What the type of chart does not have, whatever the result."""
    kind = spec.chart_type
    if kind in _ONE_MEASURE and len(spec.y) > 1:
        yield SpecProblem("y", f"a {kind} shows one measure")
    elif spec.series is not None and len(spec.y) > 1:
        yield SpecProblem("y", "with series there is one measure")
    if kind in _NO_SERIES and spec.series is not None:
        yield SpecProblem("series", f"a {kind} has no series")
    if kind == "heatmap" and spec.series is None:
        yield SpecProblem("series", "a heatmap needs the column along its other axis")
    if spec.stacked and kind not in _STACKED:
        yield SpecProblem("stacked", f"only bar and area can be stacked, not {kind}")
    if spec.horizontal and kind != "bar":
        yield SpecProblem("horizontal", f"only bar can be horizontal, not {kind}")


def _names(spec: PlotSpec, result: Result) -> Iterator[SpecProblem]:
    columns, seen = result["columns"], dict[str, str]()
    for path, name in _encodings(spec):
        times = columns.count(name)
        if times == 0:
            yield SpecProblem(path, f"the result has no column {name!r}", nearest(name, columns, _ALIKE))
        elif times > 1:
            yield SpecProblem(path, f"the result has {times} columns {name!r}: give them names of their own")
        elif name in seen:
            yield SpecProblem(path, f"{name!r} is drawn as {seen[name]} already")
        seen.setdefault(name, path)


def _measures(spec: PlotSpec, result: Result) -> Iterator[SpecProblem]:
    if not result["rows"]:
        yield SpecProblem("spec", "the result has no rows to draw")
        return
    numeric = [name for name, kind in zip(result["columns"], result["types"], strict=True) if kind in NUMERIC]
    for path, name in _encodings(spec):
        kind = type_of_column(result, name)
        if path.startswith("y") and kind not in NUMERIC:
            what = "has no value" if kind == "null" else f"is of type {kind}"
            yield SpecProblem(path, f"{name!r} {what}: y needs a column of numbers", nearest(name, numeric, 0))


def _places(spec: PlotSpec, result: Result) -> Iterator[SpecProblem]:
    """Two rows for one place of the chart: which of them to draw would be a guess."""
    by = [spec.x, *([spec.series] if spec.series is not None else [])]
    if spec.chart_type != "pie" and (spec.series is None or spec.chart_type not in _ONE_ROW_PER_PLACE):
        return
    places = list(zip(*(map(label, column(result, name)) for name in by), strict=True))
    twice = next((place for place, times in Counter(places).items() if times > 1), None)
    if twice:
        named = " and ".join(map(repr, by))
        yield SpecProblem("x", f"several rows have the same {named}, such as {', '.join(twice)}: aggregate them first")


def _shares(spec: PlotSpec, result: Result) -> Iterator[SpecProblem]:
    if spec.chart_type != "pie":
        return
    values = [number(value) or 0 for value in column(result, spec.y[0])]
    if min(values) < 0 or max(values) == 0:
        yield SpecProblem("y", "a pie shows shares: no value may be below 0, and one has to be above it")

"""PlotSpec: a model's request for a chart of a result. It names columns and a chart type, and contains no code."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from datasphinx.agent.charts.cells import NUMERIC, column, labels_of, number, type_of_column, with_durations
from datasphinx.agent.errors import PlotSpecInvalid, SpecProblem
from datasphinx.agent.schema.spelling import nearest, nearest_or_first
from datasphinx.agent.types import ChartType, Result

YFormat = Literal["number", "percent"]

MAX_SERIES = 12
"""Maximum number of lines, grouped bars or parts of a pie: more cannot be distinguished by colour."""

_Several = Annotated[list[str], Field(min_length=1, max_length=MAX_SERIES)]
_Measures = Annotated[
    tuple[str, ...],
    Field(min_length=1, max_length=MAX_SERIES),
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value, json_schema_input_type=str | _Several),
]


class PlotSpec(BaseModel):
    """A chart. Columns are named as in the result."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    chart_type: ChartType = Field(
        description="pie: one measure by x. heatmap: by x and series. histogram: of x, without y. The others: "
        "measures along x, or one split by series."
    )
    title: str = ""
    x: str
    y: _Measures = Field((), description="Columns of numbers.")
    series: str | None = Field(None, description="Column whose values each get a line or colour.")
    stacked: bool = Field(False, description="For bar and area.")
    horizontal: bool = Field(False, description="For bar.")
    y_format: YFormat = Field("number", description="percent: 0.25 is shown as 25%.")


def plot_spec_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a PlotSpec."""
    return PlotSpec.model_json_schema(mode="validation")


_MIN_SIMILARITY = 60
_ONE_MEASURE = {"pie", "heatmap"}
_NO_SERIES = {"pie", "histogram"}
_STACKED = {"bar", "area"}
_ONE_ROW_PER_PLACE = {"line", "bar", "area", "heatmap"}


def check_plot_spec(spec: PlotSpec, result: Result) -> None:
    """Raise PlotSpecInvalid, with all problems, if `spec` does not fit the columns of `result` or the chart type."""
    result = with_durations(result)
    problems = [*_check_form(spec), *_check_names(spec, result)]
    if not problems:
        problems = [*_check_measures(spec, result)]
    if not problems:
        problems = [*_check_duplicates(spec, result), *_check_shares(spec, result)]
    if problems:
        raise PlotSpecInvalid(tuple(problems))


def fits(spec: PlotSpec, result: Result) -> bool:
    """Return whether `check_plot_spec` finds no problem."""
    try:
        check_plot_spec(spec, result)
    except PlotSpecInvalid:
        return False
    return True


def _encodings(spec: PlotSpec) -> list[tuple[str, str]]:
    """Return path and column name of each encoding."""
    measures = [(f"y.{at}" if len(spec.y) > 1 else "y", name) for at, name in enumerate(spec.y)]
    return [("x", spec.x), *measures, *([("series", spec.series)] if spec.series is not None else [])]


def _check_form(spec: PlotSpec) -> Iterator[SpecProblem]:
    """Yield options that the chart type does not support, whatever the result."""
    kind = spec.chart_type
    if not spec.y and kind != "histogram":
        yield SpecProblem("y", f"a {kind} needs a column of numbers")
    if spec.y and kind == "histogram":
        yield SpecProblem("y", "a histogram counts the values of x: leave y out")
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


def _check_names(spec: PlotSpec, result: Result) -> Iterator[SpecProblem]:
    columns, paths = result["columns"], dict[str, str]()
    for path, name in _encodings(spec):
        times = columns.count(name)
        if times == 0:
            near = nearest_or_first(name, columns, _MIN_SIMILARITY)
            yield SpecProblem(path, f"the result has no column {name!r}", near)
        elif times > 1:
            yield SpecProblem(path, f"the result has {times} columns {name!r}: give them names of their own")
        elif name in paths:
            yield SpecProblem(path, f"{name!r} is drawn as {paths[name]} already")
        paths.setdefault(name, path)


def _check_measures(spec: PlotSpec, result: Result) -> Iterator[SpecProblem]:
    if not result["rows"]:
        yield SpecProblem("spec", "the result has no rows to draw")
        return
    numeric = [name for name, kind in zip(result["columns"], result["types"], strict=True) if kind in NUMERIC]
    for path, name in _encodings(spec):
        kind = type_of_column(result, name)
        if (path.startswith("y") or spec.chart_type == "histogram") and kind not in NUMERIC:
            reason = "has no value" if kind == "null" else f"is of type {kind}"
            axis = path.partition(".")[0]
            yield SpecProblem(path, f"{name!r} {reason}: {axis} needs a column of numbers", nearest(name, numeric, 0))


def _check_duplicates(spec: PlotSpec, result: Result) -> Iterator[SpecProblem]:
    """Yield a problem if two rows have the same place in the chart: a reader could not tell them apart.

    Bars of one name may stand beside each other, unless another column tells them apart.
    """
    if spec.chart_type not in {*_ONE_ROW_PER_PLACE, "pie"}:
        return
    by = [spec.x, *([spec.series] if spec.series is not None else [])]
    duplicate = _first_duplicate(by, result)
    if duplicate is None:
        return
    others = [
        name
        for name in result["columns"]
        if spec.series is None
        and spec.chart_type not in _NO_SERIES
        and name not in {*by, *spec.y}
        and type_of_column(result, name) not in NUMERIC
        and result["columns"].count(name) == 1
        and not _first_duplicate([*by, name], result)
    ]
    if spec.chart_type == "bar" and spec.series is None and not others:
        return
    reason = f"several rows have the same {' and '.join(map(repr, by))}, such as {', '.join(duplicate)}"
    if others:
        yield SpecProblem("series", f"{reason}: set series, or aggregate them first", tuple(others))
    else:
        yield SpecProblem("x", f"{reason}: aggregate them first")


def _first_duplicate(names: list[str], result: Result) -> tuple[str, ...] | None:
    places = Counter(zip(*(labels_of(result, name) for name in names), strict=True))
    return next((place for place, times in places.items() if times > 1), None)


def _check_shares(spec: PlotSpec, result: Result) -> Iterator[SpecProblem]:
    if spec.chart_type != "pie":
        return
    values = [number(value) or 0 for value in column(result, spec.y[0])]
    if min(values) < 0 or max(values) == 0:
        yield SpecProblem("y", "a pie shows shares: no value may be below 0, and one has to be above it")

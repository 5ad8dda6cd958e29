"""PlotSpec: a model's request for a chart of a result. It names columns and a chart type, and contains no code."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from agent.charts.cells import NUMERIC, are_periods, column, label, number, type_of_column
from agent.charts.plot_variants import standard_form
from agent.errors import PlotSpecInvalid, SpecProblem
from agent.schema.spelling import nearest
from agent.types import Result

ChartType = Literal["line", "bar", "pie", "scatter", "area", "heatmap", "box"]
YFormat = Literal["number", "percent", "currency"]

MAX_SERIES = 12
"""Maximum number of lines, grouped bars or parts of a pie: more cannot be distinguished by colour."""

_Several = Annotated[list[str], Field(min_length=1, max_length=MAX_SERIES)]


_Measures = Annotated[
    tuple[str, ...],
    Field(min_length=1, max_length=MAX_SERIES),
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value, json_schema_input_type=str | _Several),
]


class PlotSpec(BaseModel):
    """A chart of a result. Every column is named as the result names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _read_variants(cls, data: Any) -> Any:
        return standard_form(data)

    chart_type: ChartType = Field(
        description="pie: one measure by x. heatmap: one measure by x and series. box: how one measure spreads for "
        "each x. The others: one or several measures along x, or one measure split by series."
    )
    title: str = Field("", description="The title above the chart.")
    x: str = Field(description="The column along the x axis; the parts of a pie.")
    y: _Measures = Field(description="The column of numbers that is drawn, or several of them.")
    series: str | None = Field(None, description="The column whose values each get a line or a colour of their own.")
    stacked: bool = Field(False, description="Put the series on top of each other. For bar and area.")
    horizontal: bool = Field(False, description="Draw the bars from left to right. For bar.")
    y_format: YFormat = Field(
        "number", description="How y is written. percent: the values are fractions, 0.25 is shown as 25%."
    )


def plot_spec_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a PlotSpec."""
    return PlotSpec.model_json_schema(mode="validation")


_MIN_SIMILARITY = 60
_ONE_MEASURE = {"pie", "heatmap", "box"}
_NO_SERIES = {"pie", "box"}
_STACKED = {"bar", "area"}
_ONE_ROW_PER_PLACE = {"line", "bar", "area", "heatmap"}


def read_plot_spec(data: Any, result: Result) -> PlotSpec:
    """Return the mapping `data` as a PlotSpec that fits `result`.

    Raises:
        PlotSpecInvalid: `data` does not match the schema or the result; lists every problem.
    """
    try:
        spec = PlotSpec.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        problems = (SpecProblem(".".join(map(str, detail["loc"])) or "spec", detail["msg"]) for detail in details)
        raise PlotSpecInvalid(tuple(problems)) from error
    check_plot_spec(spec, result)
    return spec


def check_plot_spec(spec: PlotSpec, result: Result) -> None:
    """Check that `spec` names columns of `result` and that they suit the chart type.

    Raises:
        PlotSpecInvalid: the spec does not fit; lists every problem.
    """
    problems = _problems(spec, result)
    if problems:
        corrected = _corrected(spec, problems, result)
        raise PlotSpecInvalid(tuple(replace(problem, corrected=corrected) for problem in problems))


def _problems(spec: PlotSpec, result: Result) -> list[SpecProblem]:
    problems = [*_check_form(spec), *_check_names(spec, result)]
    if not problems:
        problems = [*_check_measures(spec, result)]
    if not problems:
        problems = [*_check_duplicates(spec, result), *_check_shares(spec, result)]
    return problems


def _corrected(spec: PlotSpec, problems: list[SpecProblem], result: Result) -> str:
    """Return a valid spec as JSON: `spec` with similar names, or without wrong options, or a suitable one."""
    fields = spec.model_dump(exclude_defaults=True)
    wrong = {problem.path.partition(".")[0] for problem in problems}
    named = dict(fields)
    for problem in problems:
        name, _, at = problem.path.partition(".")
        if problem.nearest and name == "y":
            named["y"] = [
                problem.nearest[0] if str(index) == (at or "0") else each for index, each in enumerate(spec.y)
            ]
        elif problem.nearest:
            named[name] = problem.nearest[0]
    candidates = [named, {name: value for name, value in fields.items() if name not in wrong - {"x", "y"}}]
    if len(spec.y) > 1:
        candidates += [{**each, "y": spec.y[:1]} for each in (*candidates, fields)]
    for candidate in candidates:
        corrected = PlotSpec.model_validate(candidate)
        if not _problems(corrected, result):
            return json.dumps(corrected.model_dump(exclude_defaults=True), ensure_ascii=False)
    suitable = suitable_spec(result, spec.title, "")
    if suitable is None or _problems(suitable, result):
        return ""
    return json.dumps(suitable.model_dump(exclude_defaults=True), ensure_ascii=False)


def _encodings(spec: PlotSpec) -> list[tuple[str, str]]:
    """Return path and column name of each encoding."""
    measures = [(f"y.{at}" if len(spec.y) > 1 else "y", name) for at, name in enumerate(spec.y)]
    return [("x", spec.x), *measures, *([("series", spec.series)] if spec.series is not None else [])]


def _check_form(spec: PlotSpec) -> Iterator[SpecProblem]:
    """Yield options that the chart type does not support, whatever the result."""
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


def _check_names(spec: PlotSpec, result: Result) -> Iterator[SpecProblem]:
    columns, paths = result["columns"], dict[str, str]()
    for path, name in _encodings(spec):
        times = columns.count(name)
        if times == 0:
            yield SpecProblem(path, f"the result has no column {name!r}", nearest(name, columns, _MIN_SIMILARITY))
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
        if path.startswith("y") and kind not in NUMERIC:
            reason = "has no value" if kind == "null" else f"is of type {kind}"
            yield SpecProblem(path, f"{name!r} {reason}: y needs a column of numbers", nearest(name, numeric, 0))


def _check_duplicates(spec: PlotSpec, result: Result) -> Iterator[SpecProblem]:
    """Yield a problem if two rows have the same place in the chart: only one of them could be drawn."""
    by = [spec.x, *([spec.series] if spec.series is not None else [])]
    if spec.chart_type != "pie" and (spec.series is None or spec.chart_type not in _ONE_ROW_PER_PLACE):
        return
    places = list(zip(*(map(label, column(result, name)) for name in by), strict=True))
    duplicate = next((place for place, times in Counter(places).items() if times > 1), None)
    if duplicate:
        names = " and ".join(map(repr, by))
        yield SpecProblem(
            "x", f"several rows have the same {names}, such as {', '.join(duplicate)}: aggregate them first"
        )


def _check_shares(spec: PlotSpec, result: Result) -> Iterator[SpecProblem]:
    if spec.chart_type != "pie":
        return
    values = [number(value) or 0 for value in column(result, spec.y[0])]
    if min(values) < 0 or max(values) == 0:
        yield SpecProblem("y", "a pie shows shares: no value may be below 0, and one has to be above it")


_YEAR = re.compile(r"(?<![a-zа-я])(years?|yr|год|годы|года)(?![a-zа-я])|年")

_CHART = r"[ -]?(?:chart|plot|graph|diagram)"
_TYPE_PATTERNS: tuple[tuple[ChartType, re.Pattern[str]], ...] = (
    ("pie", re.compile(rf"\bpie{_CHART}|кругов\w+ (?:диаграмм|график)|饼图|饼状图", re.IGNORECASE)),
    ("line", re.compile(rf"\bline{_CHART}|линейн\w+ (?:диаграмм|график)|折线图|线图", re.IGNORECASE)),
    ("bar", re.compile(rf"\b(?:bar|column){_CHART}|столбчат\w+ (?:диаграмм|график)|柱状图|条形图", re.IGNORECASE)),
    ("area", re.compile(rf"\barea{_CHART}|面积图", re.IGNORECASE)),
)


def suitable_spec(result: Result, title: str, wording: str) -> PlotSpec | None:
    """Return a line chart over periods or a bar chart over categories, or None if the result cannot be charted.

    A chart type named in `wording` is used if it fits the result. The x axis is the first column of periods (years
    included), else the first non-numeric column, else the first of several columns; every other numeric column is a
    measure, up to 12. A result with fewer than two rows has no chart. Columns that share a name are ignored.
    """
    names = [name for name in result["columns"] if result["columns"].count(name) == 1]
    periods = (name for name in names if _has_periods(result, name))
    categories = (name for name in names if type_of_column(result, name) not in NUMERIC)
    x = next(chain(periods, categories, names), None)
    if x is None or len(result["rows"]) < 2:
        return None
    measures = [name for name in names if type_of_column(result, name) in NUMERIC and name != x][:MAX_SERIES]
    if not measures:
        return None
    default = "line" if _has_periods(result, x) else "bar"
    for kind in (name for name, pattern in _TYPE_PATTERNS if pattern.search(wording)):
        spec = PlotSpec.model_validate({"chart_type": kind, "title": title, "x": x, "y": measures})
        if _fits(spec, result):
            return spec
    return PlotSpec.model_validate({"chart_type": default, "title": title, "x": x, "y": measures})


def _fits(spec: PlotSpec, result: Result) -> bool:
    try:
        check_plot_spec(spec, result)
    except PlotSpecInvalid:
        return False
    return True


def _has_periods(result: Result, name: str) -> bool:
    values = column(result, name)
    if type_of_column(result, name) == "integer":
        years = (value is None or isinstance(value, int) and 1000 <= value <= 9999 for value in values)
        return bool(_YEAR.search(name.lower())) and all(years)
    return bool(values) and are_periods(values)

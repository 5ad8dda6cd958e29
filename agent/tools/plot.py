"""Tool: draw one or several results as a chart."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, field_validator

from datasphinx.agent.charts.cells import column, label, type_of_column
from datasphinx.agent.charts.echarts import draw
from datasphinx.agent.charts.plot_spec import MAX_SERIES, PlotSpec
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import PlotSpecInvalid, SpecProblem
from datasphinx.agent.queryspec.spec import nearest
from datasphinx.agent.tools.tool import Arguments, Drawing, Outcome, Tool, Workbench, check_known
from datasphinx.agent.types import KeptResult, Result

_Ids = Annotated[list[str], Field(max_length=MAX_SERIES - 1)]
_Names = Annotated[list[Annotated[str, Field(min_length=1, max_length=60)]], Field(max_length=MAX_SERIES)]


class Plot(Arguments):
    """A result, or several with the same x column, and how to draw them."""

    result_id: str
    other_result_ids: _Ids = Field([], description="Further results with the same x; their y become series.")
    names: _Names = Field([], description="Of the results, in the legend.")
    plot: PlotSpec

    @field_validator("plot", mode="before")
    @classmethod
    def _read_column_chart(cls, data: Any) -> Any:
        """Read the type `column`, as spreadsheets name it, as `bar`."""
        return {**data, "chart_type": "bar"} if isinstance(data, dict) and data.get("chart_type") == "column" else data


def plot(arguments: Plot, bench: Workbench, cancellation: Cancellation) -> Outcome:
    """Return the chart type and notes on reduced data; the ECharts option is kept, but too long for the model.

    Several results are joined by x, where a result without a row has no value.

    Raises:
        ToolCallInvalid: a result does not exist.
        PlotSpecInvalid: the spec does not fit the results.
    """
    ids = list(dict.fromkeys([arguments.result_id, *arguments.other_result_ids]))
    check_known(TOOL.name, "result_id", ids[0], tuple(bench.results))
    for at, result_id in enumerate(arguments.other_result_ids):
        check_known(TOOL.name, f"other_result_ids[{at}]", result_id, tuple(bench.results))
    result, spec = bench.results[ids[0]]["result"], arguments.plot
    if len(ids) > 1:
        result, spec = _joined(ids, arguments, bench.results)
    chart = draw(result, spec, bench.language)
    drawing = Drawing(ids[0], spec, chart.type, chart.option)
    content = {"chart_type": chart.type, "result_id": ids[0], "drawn": True, "notes": list(chart.notes)}
    return Outcome(content, len(result["rows"]), drawing=drawing, notes=chart.notes)


def _joined(ids: Sequence[str], arguments: Plot, results: Mapping[str, KeptResult]) -> tuple[Result, PlotSpec]:
    """Return the result with a row for each x and a column for each y of each result, and the spec that draws it."""
    spec = arguments.plot
    parts = [results[result_id]["result"] for result_id in ids]
    measures = [(at, name) for at, part in enumerate(parts) for name in spec.y if name in part["columns"]]
    _check(ids, parts, [at for at, _ in measures], arguments)
    titles = _titles(measures, ids, arguments)
    rows: dict[str, list[Any]] = {}
    for position, (at, name) in enumerate(measures, 1):
        for x, y in zip(column(parts[at], spec.x), column(parts[at], name), strict=True):
            rows.setdefault(label(x), [x, *[None] * len(measures)])[position] = y
    types = [type_of_column(parts[at], name) for at, name in measures]
    joined = Result(
        columns=[spec.x, *titles],
        types=[type_of_column(parts[0], spec.x), *types],
        rows=list(rows.values()),
        truncated=any(part["truncated"] for part in parts),
    )
    return joined, spec.model_copy(update={"y": tuple(titles)})


def _check(ids: Sequence[str], parts: Sequence[Result], drawn: Sequence[int], arguments: Plot) -> None:
    """Check that each result has the column x, with each value once, and a column y.

    Raises:
        PlotSpecInvalid: one has not, there are more series than colours, or fewer or more names than results.
    """
    spec, problems = arguments.plot, list[SpecProblem]()
    for at, (result_id, part) in enumerate(zip(ids, parts, strict=True)):
        if spec.x not in part["columns"]:
            reason = f"{result_id} has no column {spec.x!r}: all results need it, under this name"
            problems.append(SpecProblem("x", reason, nearest(spec.x, part["columns"])))
        elif len({label(cell) for cell in column(part, spec.x)}) < len(part["rows"]):
            reason = f"{result_id} has several rows for one {spec.x!r}: aggregate them first"
            problems.append(SpecProblem("x", reason))
        if at not in drawn:
            problems.append(SpecProblem("y", f"{result_id} has none of these columns", tuple(part["columns"])))
    if spec.series is not None:
        problems.append(SpecProblem("series", "with several results, each is a series of its own"))
    if len(drawn) > MAX_SERIES:
        problems.append(SpecProblem("y", f"{len(drawn)} series cannot be told apart: at most {MAX_SERIES}"))
    if arguments.names and len(arguments.names) != len(ids):
        problems.append(SpecProblem("names", f"there are {len(ids)} results: give each a name, or none"))
    if problems:
        raise PlotSpecInvalid(tuple(problems))


def _titles(measures: Sequence[tuple[int, str]], ids: Sequence[str], arguments: Plot) -> list[str]:
    """Return a distinct name for each series: that of its result, of its column, or both."""
    names, several = arguments.names, len(arguments.plot.y) > 1
    columns = [name for _, name in measures]
    titles: list[str] = []
    for at, name in measures:
        if names and not (several and [owner for owner, _ in measures].count(at) > 1):
            title = names[at]
        elif columns.count(name) == 1:
            title = name
        else:
            title = f"{name}, {names[at] if names else ids[at]}"
        while title in (*titles, arguments.plot.x):
            title += " *"
        titles.append(title)
    return titles


TOOL = Tool(
    "plot",
    "Draw a result, or several as series, as a chart beside the answer.",
    Plot,
    plot,
)

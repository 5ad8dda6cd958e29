"""Tool: draw a result as a chart."""

from pydantic import Field

from agent.charts.echarts import draw
from agent.charts.plot_spec import PlotSpec
from agent.core.cancellation import Cancellation
from agent.tools.tool import Arguments, Drawing, Outcome, Tool, Workbench, check_known


class Plot(Arguments):
    """A result and how to draw it."""

    result_id: str = Field(description="The id of a result of run_query.")
    plot: PlotSpec = Field(description="The chart. Columns have the names of the result.")


def plot(arguments: Plot, bench: Workbench, cancellation: Cancellation) -> Outcome:
    """Return the chart type and notes on reduced data; the ECharts option is kept, but too long for the model.

    Raises:
        ToolCallInvalid: the result does not exist.
        PlotSpecInvalid: the spec does not fit the result.
    """
    check_known(TOOL.name, "result_id", arguments.result_id, tuple(bench.results))
    result = bench.results[arguments.result_id]["result"]
    chart = draw(result, arguments.plot, bench.language)
    drawing = Drawing(arguments.result_id, arguments.plot, chart.type, chart.option)
    content = {"chart_type": chart.type, "result_id": arguments.result_id, "drawn": True, "notes": list(chart.notes)}
    return Outcome(content, len(result["rows"]), drawing=drawing, notes=chart.notes)


TOOL = Tool("plot", "Draw a result of run_query as a chart, which the user sees beside the answer.", Plot, plot)

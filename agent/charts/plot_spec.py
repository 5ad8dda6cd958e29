"""PlotSpec: what a model may ask to be drawn of a result. It names columns and a form, and carries no code."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

ChartType = Literal["line", "bar", "pie", "scatter", "area", "heatmap", "box"]
YFormat = Literal["number", "percent", "currency"]

MAX_SERIES = 12
"""More lines, bars beside each other or parts of a pie than this cannot be told apart by colour."""

_Several = Annotated[list[str], Field(min_length=1, max_length=MAX_SERIES)]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Measures = Annotated[
    tuple[str, ...],
    Field(min_length=1, max_length=MAX_SERIES),
    BeforeValidator(_as_list, json_schema_input_type=str | _Several),
]


class PlotSpec(BaseModel):
    """A chart of a result. Every column is named as the result names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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

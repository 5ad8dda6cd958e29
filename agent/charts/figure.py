"""The figure: the data of a chart, common to the ECharts option and the picture."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from datasphinx.agent.charts.cells import AxisKind, Number
from datasphinx.agent.charts.plot_spec import PlotSpec
from datasphinx.agent.formatting.formats import CALENDAR, ColumnFormat
from datasphinx.agent.messages import Language

_FEWEST_RANKED, _MOST_RANKED = 3, 60


@dataclass(frozen=True)
class Series:
    """Values under one name: one per category, or one per position in `at` along x.

    None marks a missing value. If x has categories, a position is the index of a category.
    """

    name: str
    values: tuple[Number | None, ...]
    at: tuple[Number, ...] = ()


class ChartData(NamedTuple):
    """The data of a chart.

    `categories` are the labels along x, empty if the series have positions along an axis of numbers or times (in
    milliseconds). In a heatmap a series is a row.
    """

    categories: tuple[str, ...]
    series: tuple[Series, ...] = ()
    axis: AxisKind = "category"


@dataclass(frozen=True)
class Figure:
    """A chart ready to be drawn; `notes` list the data that was reduced or left out."""

    spec: PlotSpec
    title: str
    x_name: str
    y_name: str
    data: ChartData
    notes: tuple[str, ...]
    language: Language
    """The language in which numbers are written."""
    series_name: str = ""
    x_format: ColumnFormat = ColumnFormat()
    """The format of the numbers along x."""
    value_format: ColumnFormat = ColumnFormat("number", 2)

    @property
    def names(self) -> list[str]:
        """The names of the series, or of the parts of a pie."""
        return list(self.data.categories) if self.spec.chart_type == "pie" else [s.name for s in self.data.series]

    @property
    def is_ranking(self) -> bool:
        """Whether the bars of the only series are in the order of their length, the longest one first."""
        if self.spec.chart_type != "bar" or len(self.data.series) != 1 or self.x_format.kind in CALENDAR:
            return False
        values = self.data.series[0].values
        falls = all(b is not None and a is not None and b <= a for a, b in pairwise(values))
        return falls and _FEWEST_RANKED <= len(values) <= _MOST_RANKED

    @property
    def includes_zero(self) -> bool:
        """Whether the axis of values includes 0: not in a scatter chart, nor in lines that differ little.

        Values differ little if their range is less than half of the largest one, without its sign. Bars and areas show
        a value by their length or size, and always begin at 0.
        """
        if self.spec.chart_type != "line":
            return self.spec.chart_type != "scatter"
        values = [value for series in self.data.series for value in series.values if value is not None]
        return not values or max(values) - min(values) >= max(map(abs, values)) / 2


COLOURS = (
    "#14857b", "#d9822b", "#6a5acd", "#d6498a", "#4a9ede", "#8a7a2c", "#b5532e", "#7f8c98", "#69ab4e", "#a97fd0",
    "#566573", "#b8941f",
)  # fmt: skip
"""One colour for each of `MAX_SERIES` series, the first that of the page.

The first six differ for people with every kind of colour blindness, on a light and on a dark ground.
"""

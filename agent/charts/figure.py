"""The figure: the data of a chart, common to the ECharts option and the picture."""

from dataclasses import dataclass
from typing import NamedTuple

from agent.charts.cells import Number
from agent.charts.plot_spec import PlotSpec, YFormat


@dataclass(frozen=True)
class Series:
    """Values under one name: one per category, or in a scatter one per position in `at` along x.

    None marks a missing value. If x has categories, a position is the index of a category.
    """

    name: str
    values: tuple[Number | None, ...]
    at: tuple[Number, ...] = ()


@dataclass(frozen=True)
class Box:
    """The distribution of values: the ends of the whiskers, the quartiles, and the outliers beyond the whiskers."""

    low: Number
    lower: Number
    middle: Number
    upper: Number
    high: Number
    outliers: tuple[Number, ...]


class ChartData(NamedTuple):
    """The data of a chart.

    `categories` are the labels along x, empty in a scatter with numeric x. `series` is empty in a box chart; in a
    heatmap a series is a row. `boxes` has None for a category without values.
    """

    categories: tuple[str, ...]
    series: tuple[Series, ...] = ()
    boxes: tuple[Box | None, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A chart ready to be drawn; `notes` list the data that was reduced or left out."""

    spec: PlotSpec
    title: str
    x_name: str
    y_name: str
    data: ChartData
    notes: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names of the series, or of the parts of a pie."""
        return list(self.data.categories) if self.spec.chart_type == "pie" else [s.name for s in self.data.series]

    @property
    def unit(self) -> str:
        """The suffix of every value."""
        return _UNITS[self.spec.y_format]


_UNITS: dict[YFormat, str] = {"number": "", "percent": "%", "currency": " ¤"}
"""¤ is the sign of an unspecified currency: a PlotSpec does not name one."""

COLOURS = (
    "#5470c6", "#91cc75", "#fac858", "#ee6666", "#73c0de", "#3ba272", "#fc8452", "#9a60b4", "#ea7ccc", "#5d7092",
    "#8c564b", "#17becf",
)  # fmt: skip
"""One colour for each of `MAX_SERIES` series; the first nine are the defaults of ECharts."""

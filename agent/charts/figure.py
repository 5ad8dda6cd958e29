"""What a chart shows, before anything is drawn: the ECharts option and the picture are both made of it."""

from dataclasses import dataclass
from typing import NamedTuple

from agent.charts.cells import Number
from agent.charts.plot_spec import PlotSpec, YFormat


@dataclass(frozen=True)
class Series:
    """Values under one name: one for each category, or in a scatter one for each place in `at` along x.

    None stands where the result has nothing. Along categories a place is the number of one, from 0.
    """

    name: str
    values: tuple[Number | None, ...]
    at: tuple[Number, ...] = ()


@dataclass(frozen=True)
class Box:
    """How values spread: the ends of the whiskers, the quartiles between them, and the values beyond the whiskers."""

    low: Number
    lower: Number
    middle: Number
    upper: Number
    high: Number
    outliers: tuple[Number, ...]


class Shown(NamedTuple):
    """The data of a chart.

    `categories` are the places along x, none in a scatter over numbers; `series` are none in a box chart, and the rows
    of a heatmap; `boxes` has None for a category without a value.
    """

    categories: tuple[str, ...]
    series: tuple[Series, ...] = ()
    boxes: tuple[Box | None, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A chart with all that it shows; `notes` say what was reduced or left out."""

    spec: PlotSpec
    title: str
    x_name: str
    y_name: str
    shown: Shown
    notes: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names of the series, or of the parts of a pie."""
        return list(self.shown.categories) if self.spec.chart_type == "pie" else [s.name for s in self.shown.series]

    @property
    def unit(self) -> str:
        """What follows every value."""
        return _UNITS[self.spec.y_format]


_UNITS: dict[YFormat, str] = {"number": "", "percent": "%", "currency": " ¤"}
"""A PlotSpec names no currency; ¤ is the sign of one that is not named."""

COLOURS = (
    "#5470c6", "#91cc75", "#fac858", "#ee6666", "#73c0de", "#3ba272", "#fc8452", "#9a60b4", "#ea7ccc", "#5d7092",
    "#8c564b", "#17becf",
)  # fmt: skip
"""One for each of `MAX_SERIES` series; ECharts' own are nine, and are the first nine here."""

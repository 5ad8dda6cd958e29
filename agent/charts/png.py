"""Charts as PNG, drawn from the same figure as the ECharts option. Needs the extra `charts`."""

from dataclasses import dataclass

from datasphinx.agent.charts.build import figure_of
from datasphinx.agent.charts.echarts import Option, figure_of_option
from datasphinx.agent.charts.figure import Figure
from datasphinx.agent.charts.plot_spec import PlotSpec
from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.messages import Language, render
from datasphinx.agent.types import Result


@dataclass(frozen=True)
class Picture:
    """A PNG of 1000 x 600 pixels, with notes on reduced data and characters that no font has."""

    png: bytes
    notes: tuple[str, ...]


def draw_png(result: Result, spec: PlotSpec, language: Language = "en") -> Picture:
    """Return the picture of `spec`. Equal arguments give equal bytes with the same versions of matplotlib and fonts.

    Raises:
        PlotSpecInvalid: the spec does not fit the result.
        DriverMissing: the extra `charts` is not installed.
    """
    return _picture_of(figure_of(result, spec, language))


def png_of_option(chart_type: str, option: Option) -> bytes:
    """Return the PNG, 1000 x 600 pixels, of an option created by `datasphinx.agent.charts.echarts`.

    Raises:
        DriverMissing: the extra `charts` is not installed.
        KeyError: the option was created elsewhere.
    """
    return _picture_of(figure_of_option(chart_type, option)).png


def _picture_of(figure: Figure) -> Picture:
    try:
        from datasphinx.agent.charts.canvas import png_of
    except ModuleNotFoundError as error:
        raise DriverMissing(error.name or "matplotlib", "charts") from error
    png, missing = png_of(figure)
    note = (render("chart_glyphs_missing", figure.language, count=missing),) if missing else ()
    return Picture(png, (*figure.notes, *note))

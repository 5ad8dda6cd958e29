"""Charts as PNG, of the same figure that the ECharts option is made of. Needs the extra `charts`."""

from dataclasses import dataclass

from agent.charts.build import figure_of
from agent.charts.figure import Figure
from agent.charts.plot_spec import PlotSpec
from agent.errors import DriverMissing
from agent.messages import Language, render
from agent.sql.result import Result


@dataclass(frozen=True)
class Picture:
    """A PNG of 1000 x 600 pixels, and the notes on what was reduced or could not be written."""

    png: bytes
    notes: tuple[str, ...]


def draw_png(result: Result, spec: PlotSpec, language: Language = "en") -> Picture:
    """Return the picture of `spec`; the same rows and spec give the same bytes, with the same matplotlib and fonts.

    Raises:
        PlotSpecInvalid: the spec does not fit the result.
        DriverMissing: the extra `charts` is not installed.
    """
    return picture_of(figure_of(result, spec, language), language)


def picture_of(figure: Figure, language: Language = "en") -> Picture:
    """Return the picture of what a chart shows.

    Raises:
        DriverMissing: the extra `charts` is not installed.
    """
    try:
        from agent.charts.canvas import png_of
    except ModuleNotFoundError as error:
        raise DriverMissing(error.name or "matplotlib", "charts") from error
    png, missing = png_of(figure)
    unknown = (render("chart_glyphs_missing", language, count=missing),) if missing else ()
    return Picture(png, (*figure.notes, *unknown))

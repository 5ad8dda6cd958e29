"""Charts as PNG, drawn from their ECharts options. Needs the extra `charts`."""

from datasphinx.agent.charts.echarts import Option, figure_of_option
from datasphinx.agent.errors import DriverMissing


def png_of_option(chart_type: str, option: Option) -> bytes:
    """Return the PNG, 1000 x 600 pixels, of an option created by `datasphinx.agent.charts.echarts`.

    Equal arguments give equal bytes with the same versions of matplotlib and fonts.

    Raises:
        DriverMissing: the extra `charts` is not installed.
        KeyError: the option was created elsewhere.
    """
    figure = figure_of_option(chart_type, option)
    try:
        from datasphinx.agent.charts.canvas import png_of
    except ModuleNotFoundError as error:
        raise DriverMissing(error.name or "matplotlib", "charts") from error
    return png_of(figure)

"""From a result and a PlotSpec to what is shown: checked and reduced once, for the option and the picture alike."""

from agent.charts.boxes import boxes
from agent.charts.cells import clean
from agent.charts.figure import Figure
from agent.charts.grid import grid
from agent.charts.notes import Notes
from agent.charts.plot_spec import PlotSpec
from agent.charts.points import points
from agent.charts.spec_check import check_plot_spec
from agent.messages import Language
from agent.sql.result import Result

_DATA = {"scatter": points, "box": boxes}


def figure_of(result: Result, spec: PlotSpec, language: Language = "en") -> Figure:
    """Return what the chart shows; the same rows and spec give the same, and notes are in `language`.

    Raises:
        PlotSpecInvalid: the spec does not fit the result.
    """
    check_plot_spec(spec, result)
    notes = Notes(language)
    shown = _DATA.get(spec.chart_type, grid)(result, spec, notes)
    y_name = clean(spec.y[0]) if len(spec.y) == 1 else ""
    return Figure(spec, clean(spec.title), clean(spec.x), y_name, shown, notes.texts(result))

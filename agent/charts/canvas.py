"""A figure on matplotlib's canvas. Import it late: it needs the extra `charts`."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from threading import Lock
from typing import Any

from cycler import cycler
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from agent.charts.figure import COLOURS, Figure
from agent.charts.fonts import families_for
from agent.charts.lettering import Lettering
from agent.charts.marks import MARKS

_TITLE_COLUMNS = 80
_NOTE_COLUMNS = 150
_NAME_COLUMNS = 30
_LEGEND_COLUMNS = 4
_STYLE = Lock()
"""matplotlib keeps its style for the whole process: two charts drawn at once would take each other's fonts."""


def png_of(figure: Figure) -> tuple[bytes, int]:
    """Return the PNG, without metadata, and the number of different characters that no font has."""
    with _styled(figure) as missing:
        data = BytesIO()
        canvas_of(figure, Lettering(missing)).savefig(data, format="png", metadata={"Software": None})
    return data.getvalue(), len(missing)


def canvas_of(figure: Figure, lettering: Lettering) -> Canvas:
    """Return the figure drawn on a canvas of 1000 x 600 pixels, in matplotlib's present style."""
    canvas = Canvas(figsize=(10, 6), dpi=100, layout="constrained")
    axes = canvas.subplots()
    MARKS[figure.spec.chart_type](axes, figure, lettering)
    canvas.suptitle(lettering.fitted(figure.title, _TITLE_COLUMNS), fontsize=14)
    notes = "\n".join(lettering.fitted(note, _NOTE_COLUMNS) for note in figure.notes)
    axes.set_title(notes, fontsize=8, color="dimgray", loc="left")
    if figure.spec.chart_type not in {"heatmap", "pie", "box"}:
        _add_legend(canvas, axes, figure, lettering)
    return canvas


def _add_legend(canvas: Canvas, axes: Axes, figure: Figure, lettering: Lettering) -> None:
    handles: Any = axes.containers or axes.get_lines() or axes.collections
    # A name that begins with an underscore would be left out, were it not written afterwards.
    legend = canvas.legend(
        handles, [str(at) for at in range(len(handles))], loc="outside lower center", ncols=_LEGEND_COLUMNS
    )
    for text, name in zip(legend.get_texts(), figure.names, strict=True):
        text.set_text(lettering.fitted(name, _NAME_COLUMNS))


@contextmanager
def _styled(figure: Figure) -> Iterator[set[str]]:
    """Set fonts and colours; yield the characters that no font has."""
    shown = figure.shown
    texts = [figure.title, figure.x_name, figure.y_name, figure.spec.series or "", *figure.notes, *shown.categories]
    families, missing = families_for("".join([*texts, *figure.names]))
    colours = cycler(color=COLOURS)
    wanted = {"font.family": families, "text.parse_math": False, "axes.prop_cycle": colours}
    with _STYLE, style.context(["default", wanted]):
        yield missing

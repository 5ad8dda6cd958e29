"""What a reader of a chart has to know: what was reduced and left out."""

from collections.abc import Collection
from typing import Any

from agent.charts.cells import Number, clean, column, number, percent
from agent.charts.plot_spec import PlotSpec
from agent.messages import Language, render
from agent.sql.result import Result


class Notes:
    """Collects the notes of one chart, in one language."""

    def __init__(self, language: Language) -> None:
        """Begin without a note."""
        self._language = language
        self._texts: list[str] = []
        self._left_out = 0

    def add(self, code: str, **facts: Any) -> None:
        """Note the text of `code` with its facts."""
        self._texts.append(render(code, self._language, **facts))

    def other(self, names: Collection[str]) -> str:
        """Return the name for what is joined, which is none of `names`."""
        name = render("chart_other", self._language)
        while name in names:
            name += " *"
        return name

    def numbers(self, result: Result, spec: PlotSpec, name: str) -> list[Number | None]:
        """Return the cells of a measure as they are drawn, and count those that are left out."""
        cells = column(result, name)
        values = [number(cell) for cell in cells]
        self._left_out += sum(cell is not None and value is None for cell, value in zip(cells, values, strict=True))
        return [percent(value) for value in values] if spec.y_format == "percent" else values

    def texts(self, result: Result) -> tuple[str, ...]:
        """Return every note, with those of the result itself."""
        if self._left_out:
            self.add("chart_left_out", count=self._left_out)
        if result["truncated"]:
            self.add("truncated", count=len(result["rows"]))
        return tuple(clean(text) for text in self._texts)

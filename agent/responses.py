"""Answers as Python users get them: typed by their form."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from agent import notebook
from agent.audit.step import Audit
from agent.charts.drawn import png_of_option
from agent.clarify.types import ClarifyingQuestion
from agent.errors import DriverMissing
from agent.messages import language_of
from agent.state import AnswerChart, AnswerTable


@dataclass(frozen=True)
class Response:
    """An answer. `tables` are the rows that prove it, `clarification` is a question back, answered by `clarify`."""

    answer: str
    sql: str | None
    audit: Audit
    tables: list[AnswerTable]
    clarification: ClarifyingQuestion | None
    plain: Any
    """The value as JSON has it."""

    def __str__(self) -> str:
        return self.answer

    @property
    def value(self) -> Any:
        """The answer as a value."""
        return self.plain

    def _repr_html_(self) -> str:
        return notebook.page(self.answer, self._body(), self.sql)

    def _body(self) -> str:
        return ""


class NumberResponse(Response):
    """One number."""

    @property
    def value(self) -> int | float | Decimal:
        """The number; one that a float cannot keep as int or Decimal."""
        if not isinstance(self.plain, str):
            number: int | float = self.plain
            return number
        exact = Decimal(self.plain)
        return int(exact) if exact == exact.to_integral_value() and "." not in self.plain else exact


class StringResponse(Response):
    """A text: a cell of the rows, or the answer in words. None where the one cell is empty."""

    def _body(self) -> str:
        options = self.clarification["options"] if self.clarification else []
        return notebook.options_of([option["label"] for option in options])


class DataFrameResponse(Response):
    """A table."""

    @property
    def value(self) -> Any:
        """The rows as a pandas DataFrame; `plain` has them as `{"name", "columns", "rows"}`.

        Raises:
            DriverMissing: pandas is not installed.
        """
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise DriverMissing("pandas", "pandas") from error
        return pandas.DataFrame(self.plain["rows"], columns=self.plain["columns"])

    def _body(self) -> str:
        return notebook.table_of(self.plain, language_of(self.answer))


class ChartResponse(Response):
    """A chart; `value` is `{"type", "option"}` with an ECharts option."""

    @property
    def value(self) -> AnswerChart:
        """The type of the chart and its ECharts option."""
        chart: AnswerChart = self.plain
        return chart

    def save(self, path: str | Path) -> Path:
        """Write the chart and return where: `.png` a picture, `.html` a notebook's page, `.json` the ECharts option.

        Raises:
            ValueError: the suffix is another.
            DriverMissing: the extra `charts`, which draws pictures, is not installed.
            OSError: the file cannot be written.
        """
        target = Path(path)
        if target.suffix.lower() == ".json":
            target.write_text(json.dumps(self.value["option"], ensure_ascii=False, allow_nan=False), encoding="utf-8")
        elif target.suffix.lower() == ".png":
            target.write_bytes(self._png())
        elif target.suffix.lower() == ".html":
            target.write_text(notebook.document(self.answer, self._repr_html_()), encoding="utf-8")
        else:
            raise ValueError(f"{target.name}: a chart is saved as .png, .html or .json")
        return target

    def _png(self) -> bytes:
        return png_of_option(self.value["type"], self.value["option"])

    def _body(self) -> str:
        try:
            return notebook.picture_of(self._png(), self.value["option"]["title"]["text"])
        except DriverMissing:
            return "".join(notebook.table_of(table, language_of(self.answer)) for table in self.tables)


_CLASSES: dict[str | None, type[Response]] = {
    "number": NumberResponse,
    "string": StringResponse,
    "dataframe": DataFrameResponse,
    "plot": ChartResponse,
    None: StringResponse,
}
"""By form; an answer without one is a question back to the user."""


def response_of(output: Mapping[str, Any]) -> Response:
    """Return the output of a graph that ended without an error, by its form."""
    form, clarification = output["output_type"], output.get("clarification")
    return _CLASSES[form](
        answer=output["answer"],
        sql=output.get("sql"),
        audit=output["audit"],
        tables=output.get("tables") or [],
        clarification=clarification,
        plain=output["value"] if form else output["answer"],
    )

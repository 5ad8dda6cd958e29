"""Answers of the Python API, with one class for each output type."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from datasphinx.agent.answers.markdown import without_tables
from datasphinx.agent.charts.png import png_of_option
from datasphinx.agent.conversation.reply import status_of
from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.formatting.formats import CALENDAR, format_rows, format_single, formats_of
from datasphinx.agent.messages import Language, language_in, render
from datasphinx.agent.record.step import Audit
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.types import (
    AnswerChart,
    AnswerTable,
    AppliedDefinition,
    ClarifyingQuestion,
    Confidence,
    Result,
    Status,
    VerifiedAnswer,
)

MAX_ROWS = 50
_REPR_CHARS = 100


_STYLE = (
    "<style>"
    ".datasphinx{font:15px/1.6 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Noto Sans CJK SC',sans-serif;"
    "color:var(--jp-ui-font-color1,light-dark(#1b1f23,#e8eaed));max-width:52rem}"
    ".datasphinx p{margin:.4rem 0;overflow-wrap:anywhere;white-space:pre-wrap}"
    ".datasphinx table{border-collapse:separate;border-spacing:0;margin:.6rem 0;font-size:.9375rem;"
    "border:1px solid var(--jp-border-color2,light-dark(#e2e4e0,#33393f));border-radius:10px;"
    "font-variant-numeric:tabular-nums}"
    ".datasphinx th,.datasphinx td{padding:.4rem .9rem;text-align:left;vertical-align:top;unicode-bidi:isolate;"
    "border-bottom:1px solid var(--jp-border-color2,light-dark(#e2e4e0,#33393f))}"
    ".datasphinx tr:last-child td{border-bottom:0}"
    ".datasphinx th{font-weight:600;background:var(--jp-layout-color2,light-dark(#f2f3f0,#262b30))}"
    ".datasphinx td.number{text-align:right}"
    # Pictures are drawn on white: they stand on a white card, also where the colours around them are dark.
    ".datasphinx img{max-width:100%;box-sizing:border-box;padding:.75rem;border-radius:10px;background:#fff;"
    "border:1px solid var(--jp-border-color2,light-dark(#e2e4e0,#33393f))}"
    ".datasphinx .chips{display:flex;flex-wrap:wrap;gap:.4rem}"
    ".datasphinx .chips>*{padding:.1rem .6rem;border-radius:10px;font-size:.8125rem;"
    "background:var(--jp-layout-color2,light-dark(#f2f3f0,#262b30))}"
    ".datasphinx summary{cursor:pointer;font-size:.875rem;color:var(--jp-ui-font-color2,light-dark(#5c656d,#a2abb4))}"
    ".datasphinx pre{padding:1rem;border-radius:10px;white-space:pre-wrap;overflow-wrap:anywhere;"
    "background:var(--jp-layout-color2,light-dark(#f2f3f0,#262b30))}"
    "</style>"
)
"""The look of the page, in the colours of JupyterLab's theme if there is one."""


def page(answer: str, body: str, sql: str | None) -> str:
    """Return an answer as HTML, with the HTML `body` and a collapsible statement."""
    statement = f"<details><summary>SQL</summary><pre>{escape(sql)}</pre></details>" if sql else ""
    return f'<div class="datasphinx">{_STYLE}{text_of(answer)}{body}{statement}</div>'


def document(title: str, page: str) -> str:
    """Return `page` as a complete HTML document."""
    head = f'<meta charset="utf-8"><title>{escape(one_line(title))}</title>'
    scheme = '<meta name="color-scheme" content="light dark">'
    return f"<!doctype html>\n<html><head>{head}{scheme}</head><body>{page}</body></html>\n"


def text_of(answer: str) -> str:
    """Return the paragraphs of `answer` as HTML, without Markdown tables, which are rendered separately."""
    return "".join(f"<p>{escape(part)}</p>" for part in without_tables(answer).split("\n\n") if part.strip())


def table_of(table: AnswerTable, language: Language, row_ids: str = "") -> str:
    """Return the first 50 rows of `table` as HTML, with the number of omitted rows.

    With `row_ids`, rows have ids that consist of it and their number from 1, for links to them.
    """
    kinds = [' class="number"' if fmt.is_quantity else "" for fmt in formats_of(table)]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, table["columns"], strict=True))
    rows = ""
    for number, row in enumerate(format_rows(table, language, MAX_ROWS), 1):
        cells = "".join(f"<td{kind}>{escape(text)}</td>" for kind, text in zip(kinds, row, strict=True))
        rows += f'<tr id="{row_ids}{number}">{cells}</tr>' if row_ids else f"<tr>{cells}</tr>"
    omitted = len(table["rows"]) - MAX_ROWS
    note = f"<p>+ {format_single(omitted, language)}</p>" if omitted > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"


def picture_of(png: bytes, answer: str) -> str:
    """Return a PNG as an HTML image with a data URL; `answer` is the alternative text."""
    return f'<img alt="{escape(answer)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'


def drawing_of(chart: AnswerChart) -> str:
    """Return `chart` as an HTML image; empty without the extra `charts`."""
    try:
        return picture_of(png_of_option(chart["option"]), chart["option"]["title"]["text"])
    except DriverMissing:
        return ""


def options_of(labels: list[str]) -> str:
    """Return the options of a clarifying question as an HTML list."""
    return f"<ol>{''.join(f'<li>{escape(label)}</li>' for label in labels)}</ol>" if labels else ""


@dataclass(frozen=True, repr=False)
class Response:
    """An answer. `tables` contains its result rows; `clarification` is a question to be answered with `clarify`."""

    answer: str
    sql: str | None
    audit: Audit
    tables: list[AnswerTable]
    clarification: ClarifyingQuestion | None
    plain: Any
    """The value as a JSON value."""
    definitions: list[AppliedDefinition] = field(default_factory=list)
    """The entries of the business knowledge that the statement uses."""
    verified: VerifiedAnswer | None = None
    """The verified query that answered the question; None if a model wrote the statement."""
    status: Status = "ok"
    """`unsure` for a draft: its value is that of its statement all the same, and its text has the reason."""
    confidence: Confidence | None = None
    """The probability that the answer is right; None if none was fitted."""
    language: Language = "en"
    """The code of the language of the answer."""
    types: Sequence[str] = ()
    """The types of the columns of the first table, as in `Result`."""
    filters: Sequence[str] = ()
    """The filters of the statement in words."""
    follow_ups: Sequence[str] = ()
    """Questions that the model proposes to ask next."""
    trust: str = ""
    """How far the answer can be trusted, in words; empty for an answer without a statement."""
    reply: "Callable[[str], Response] | None" = field(default=None, compare=False)
    """Answers `clarification`, as `Agent.clarify` does; None without one."""
    draw: "Callable[[], AnswerChart | None] | None" = field(default=None, compare=False)
    """Draws `chart`; None for an answer that has none."""

    def __str__(self) -> str:
        return self.answer

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {one_line(self.answer, _REPR_CHARS)}>"

    @property
    def value(self) -> Any:
        """The answer as a value."""
        return self.plain

    @cached_property
    def chart(self) -> AnswerChart | None:
        """The chart of a ranking, a trend or shares, drawn without a request; None for other answers."""
        return self.draw() if self.draw else None

    def _repr_html_(self) -> str:
        shown = {render("assumed", self.language, assumptions=each) for each in self._assumptions()}
        text = "\n\n".join(part for part in self.answer.split("\n\n") if part not in shown)
        return page(text, self._body() + self._beside(), self.sql)

    def _assumptions(self) -> Sequence[str]:
        return self.audit.get("assumptions", ())

    def _body(self) -> str:
        return ""

    def _beside(self) -> str:
        """Return how far the answer can be trusted, what it takes for granted and what may be asked next as HTML."""
        definitions = [f"{each['name']} = {each['definition']}" for each in self.definitions]
        chips = f"<b>{escape(self.trust)}</b>" if self.trust else ""
        taken = dict.fromkeys([*self._assumptions(), *definitions, *self.filters])
        chips += "".join(f"<span>{escape(text)}</span>" for text in taken)
        questions = "".join(f"<li>{escape(question)}</li>" for question in self.follow_ups)
        return (f'<p class="chips">{chips}</p>' if chips else "") + (f"<ul>{questions}</ul>" if questions else "")


class NumberResponse(Response):
    """One number."""

    @property
    def value(self) -> int | float | Decimal | None:
        """The number, a Decimal where the database has a decimal. None for a value of no rows, such as a sum."""
        if self.types:
            number: int | float | Decimal | None = _typed([self.plain], self.types[0], "")[0]
            return number
        if not isinstance(self.plain, str):
            return self.plain  # type: ignore[no-any-return]
        exact = Decimal(self.plain)
        return int(exact) if exact == exact.to_integral_value() and "." not in self.plain else exact


class StringResponse(Response):
    """A text: a single cell or the answer in words. The value is None if the cell is empty."""

    @property
    def value(self) -> Any:
        """The text; a date or time of a single cell is one of `datetime`."""
        if len(self.types) == 1 and self.tables and self.tables[0]["rows"] == [[self.plain]]:
            return _typed([self.plain], self.types[0], formats_of(self.tables[0])[0].kind)[0]
        return self.plain

    def _repr_html_(self) -> str:
        if self.clarification is None:
            return super()._repr_html_()
        # The answer in words lists the options, too.
        labels = [option["label"] for option in self.clarification["options"]]
        return page(self.clarification["question"], options_of(labels), self.sql)


class DataFrameResponse(Response):
    """A table."""

    @property
    def value(self) -> Any:
        """The rows as a pandas DataFrame, with dates, decimals and large integers as such.

        `plain` contains `{"name", "columns", "rows"}` with JSON values.

        Raises:
            DriverMissing: pandas is not installed.
        """
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise DriverMissing("pandas", "pandas") from error
        table = self.plain
        columns = zip(*table["rows"], strict=True) if table["rows"] else ((),) * len(table["columns"])
        types = self.types or [""] * len(table["columns"])
        typed = [
            _typed(cells, kind, fmt.kind) for cells, kind, fmt in zip(columns, types, formats_of(table), strict=True)
        ]
        # pandas has no integers beside missing values but as floats, which hold them up to 2 to the 53rd.
        series = [
            pandas.Series(
                cells, dtype=object if any(type(cell) is int and abs(cell) > 2**53 for cell in cells) else None
            )
            for cells in typed
        ]
        # Names of columns may repeat.
        frame = pandas.DataFrame(dict(enumerate(series)))
        frame.columns = pandas.Index(table["columns"])
        return frame

    def _body(self) -> str:
        table = table_of(self.plain, self.language)
        return table if self.chart is None else f"{drawing_of(self.chart)}{table}"


class ChartResponse(Response):
    """A chart; `value` is `{"type", "option"}` with an ECharts option."""

    @property
    def value(self) -> AnswerChart:
        """The type of the chart and its ECharts option."""
        chart: AnswerChart = self.plain
        return chart

    def save(self, path: str | Path) -> Path:
        """Write the chart to `path` and return the path: `.png`, `.html`, or `.json` with the ECharts option.

        Raises:
            ValueError: the suffix is not supported.
        """
        target = Path(path)
        if target.suffix.lower() == ".json":
            target.write_text(json.dumps(self.value["option"], ensure_ascii=False, allow_nan=False), encoding="utf-8")
        elif target.suffix.lower() == ".png":
            target.write_bytes(png_of_option(self.value["option"]))
        elif target.suffix.lower() == ".html":
            target.write_text(document(self.value["option"]["title"]["text"], self._repr_html_()), encoding="utf-8")
        else:
            raise ValueError(f"{target.name}: a chart is saved as .png, .html or .json")
        return target

    def _body(self) -> str:
        return drawing_of(self.value) or "".join(table_of(table, self.language) for table in self.tables)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "integer": int,
    "float": float,
    "decimal": lambda value: Decimal(str(value)),
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
}


def _typed(cells: Sequence[Any], kind: str, shown_as: str) -> list[Any]:
    """Return the JSON values of a column as values of its type; if one of them is none, all stay as they are.

    Texts that are shown as dates or times are such, in databases without types for them.
    """
    if kind == "string" and shown_as in CALENDAR:
        kind = "date" if all(cell is None or len(cell) == len("2024-01-31") for cell in cells) else "datetime"
    read = _READERS.get(kind)
    try:
        return [cell if cell is None or read is None else read(cell) for cell in cells]
    except (ValueError, TypeError, ArithmeticError):
        # Such as a year before Christ, or a text in a column of SQLite.
        return list(cells)


_CLASSES: dict[str | None, type[Response]] = {
    "number": NumberResponse,
    "string": StringResponse,
    "dataframe": DataFrameResponse,
    "plot": ChartResponse,
    None: StringResponse,
}
"""The classes by output type; an answer without one is a clarifying question."""


def response_of(
    output: Mapping[str, Any],
    reply: Callable[[str], Response] | None = None,
    draw: Callable[[], AnswerChart | None] | None = None,
    result: Result | None = None,
) -> Response:
    """Return the response for the output of a graph that ended without an error.

    `reply` answers its clarification, and `draw` returns the chart of rows that no chart was requested for. `result`
    has the types of the first table.
    """
    from datasphinx.agent.answers.confidence import trust_in_words

    output_type, clarification, tables = output["output_type"], output.get("clarification"), output.get("tables") or []
    is_shown = result is not None and (not tables or len(result["columns"]) == len(tables[0]["columns"]))
    return _CLASSES[output_type](
        answer=output["answer"],
        sql=output.get("sql"),
        audit=output["audit"],
        tables=tables,
        clarification=clarification,
        definitions=output.get("definitions") or [],
        verified=output.get("verified"),
        plain=output["value"] if output_type else output["answer"],
        status=status_of(output),
        confidence=output.get("confidence"),
        language=language_in(output),
        filters=output.get("filters") or (),
        follow_ups=output.get("follow_ups") or (),
        trust=trust_in_words(output, language_in(output)),
        types=result["types"] if result and is_shown else (),
        reply=reply if clarification else None,
        draw=draw,
    )

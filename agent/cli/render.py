"""Terminal output of a question: progress bars and steps, then answer, rows, statement and cost."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, cast

from pygments.token import Comment, Keyword, Number, String
from rich.bar import Bar
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.table import Table
from rich.text import Text

from datasphinx.agent.answers.markdown import without_tables
from datasphinx.agent.answers.progress import step_line
from datasphinx.agent.charts.cells import axis_title
from datasphinx.agent.cli.text import printable
from datasphinx.agent.conversation.reply import Reply
from datasphinx.agent.formatting.formats import format_rows, formats_of
from datasphinx.agent.messages import CONVENTIONS, Language, language_in
from datasphinx.agent.record.waiting import StartEvent, Wait
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.state import Output
from datasphinx.agent.types import AnswerTable

_SLOW_LOAD_S = 1.0

_WAITS: dict[Wait, str] = {
    "loading_model": "loading the model",
    "waiting_for_model": "waiting for the model, which answers another question",
}
_STAGES = {
    "schema": "reading the schema",
    "read": "reading the file",
    "examine": "examining the columns",
    "write": "writing the dataset",
}


class LoadingBar:
    """A progress bar for a schema or a file, shown if reading takes longer than a second. Use it in a `with` block."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        self._bar = Progress(*columns, console=console, transient=True)
        self._task = self._bar.add_task("", total=1.0)
        self._begun = time.monotonic()
        self._is_shown = False

    def __call__(self, stage: str, share: float) -> None:
        """Show that `share` of a stage, from 0 to 1, is done."""
        self._bar.update(self._task, description=_STAGES[stage], completed=share)
        if share >= 1:
            self._hide()
        elif not self._is_shown and self._bar.console.is_terminal and time.monotonic() - self._begun > _SLOW_LOAD_S:
            self._bar.start()
            self._is_shown = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hide()

    def _hide(self) -> None:
        if self._is_shown:
            self._bar.stop()
            self._is_shown = False


_SHOWN_ROWS = 20
_BAR_WIDTH = 40
_MAX_WIDTH = 10_000
_SQL_THEME = ANSISyntaxTheme(
    {
        Keyword: Style(bold=True),
        String: Style(color="green"),
        Number: Style(color="cyan"),
        Comment: Style(dim=True),
    }
)
"""Colours of the terminal, which are readable on a light and on a dark background."""


class StepView:
    """The completed steps of a run, or the current one in a line that disappears. Use it in a `with` block."""

    def __init__(self, console: Console, *, is_transient: bool) -> None:
        """Print to `console`; with `is_transient`, show one line that disappears."""
        self._console = console
        self._status = console.status("", spinner_style="dim") if is_transient else None

    def show(self, updates: Mapping[str, Any]) -> None:
        """Print a line for each completed node in `updates`, where steps are lines."""
        for node, update in updates.items() if self._status is None else ():
            line = step_line(node, update)
            if line:
                self._console.print(line)

    def show_start(self, start: StartEvent) -> None:
        """Show the node that begins, where one line is shown."""
        if self._status:
            attempt, limit = start["attempt"], start.get("limit")
            again = f", attempt {attempt} of {limit}" if limit else f" ({attempt})"
            again = again if attempt > 1 else ""
            self._status.update(Text(one_line(start["node"].replace("_", " ")) + again, style="dim"))

    def show_waiting(self, wait: Wait) -> None:
        """Show what the run waits for, except the reading of a schema, which has a bar of its own."""
        if wait == "reading_schema":
            return
        if self._status is None:
            self._console.print(Text(f"… {_WAITS[wait]}", style="dim"))
        else:
            self._status.update(Text(_WAITS[wait], style="dim"))

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()


def show(output: Output | Reply, console: Console, *, details: bool = True) -> None:
    """Print answer, rows, filters, applied definitions and thread id; with `details`, also statement, notes and cost.

    Notes about files are printed without `details` too; a note that the answer has is not repeated. An error after
    which a clarifying question is open again is printed without its details, which `details` adds. The id of a
    thread is not printed after an error before the first model call, unless a clarifying question is open.
    """
    language = language_in(output)
    single = output.get("output_type") in {"number", "string"}
    tables = [rows_view(table, language, console) for table in output["tables"] if table["rows"] and not single]
    answer = printable(without_tables(output["answer"]) if tables else output["answer"])
    parts: list[RenderableType] = []
    error, question = output["error"], output.get("clarification")
    if error and question:
        from datasphinx.agent.answers.outputs import question_text

        parts.append(Text(printable(error["message"]), style="bold red"))
        parts += [Text(answer, style="dim")] if details else []
        parts.append(Text(printable(question_text(question)), style="bold green"))
    elif answer:
        parts.append(Text(answer, style="bold red" if error else "bold green"))
    parts += tables
    parts += _filter_line(output, language)
    if output.get("sql") and (details or output.get("status") == "unsure"):
        sql = printable(output["sql"] or "")
        parts.append(Syntax(sql, "sql", theme=_SQL_THEME, word_wrap=True, background_color="default"))
    for applied in output["definitions"]:
        parts.append(Text(printable(f"{applied['name']} = {applied['definition']}; {applied['place']}"), style="dim"))
    if output["charts"]:
        parts.append(Text(f"drawn: {', '.join(chart['type'] for chart in output['charts'])}", style="dim"))
    said = output["answer"].casefold()
    if details or any("tool" in step for step in output["audit"]["steps"]):
        notes = [note for note in output["audit"]["notes"] if note.casefold() not in said]
        parts += [Text(f"note: {printable(note)}", style="yellow") for note in notes]
    if output.get("sql"):
        from datasphinx.agent.answers.confidence import trust_in_words

        trust = trust_in_words(output, language)
        parts += [Text(trust, style="dim")] if trust and trust.casefold() not in said else []
    has_begun = bool(output["audit"]["llm_calls"]) or not error
    if details and has_begun:
        parts.append(cost_line(output))
    console.print(Group(*parts))
    thread_id = cast(Reply, output).get("thread_id")
    if thread_id and (has_begun or question):
        console.print(Text(f"thread {thread_id}", style="dim"), soft_wrap=True)


def _filter_line(output: Output | Reply, language: Language) -> list[Text]:
    filters = output.get("filters") or ()
    listed = printable(CONVENTIONS[language].semicolon.join(filters))
    return [Text(f"filters: {listed}", style="dim")] if filters else []


def rows_view(table: AnswerTable, language: Language, console: Console) -> RenderableType:
    """Return the first rows of `table`: as a table, or if the console is too narrow for its words, as records.

    Names with one measure have bars.
    """
    rows = format_rows(table, language, _SHOWN_ROWS)
    titles = [printable(axis_title(one_line(name), language)) for name in table["columns"]]
    rendered = Table(header_style="bold")
    for title, fmt in zip(titles, formats_of(table), strict=True):
        rendered.add_column(escape(title), justify="right" if fmt.is_quantity else "left")
    bars = _bars(table)
    if bars:
        rendered.add_column(max_width=_BAR_WIDTH)
    for row, bar in zip(rows, bars or [()] * len(rows), strict=True):
        rendered.add_row(*map(escape, row), *bar)
    parts: list[RenderableType] = [rendered]
    unlimited = console.options.update(max_width=_MAX_WIDTH)
    if Measurement.get(console, unlimited, rendered).minimum > console.width:
        parts = []
        for number, row in enumerate(rows, 1):
            parts.append(Text(f"─ {number}", style="dim"))
            for title, text in zip(titles, row, strict=True):
                parts.append(Text.assemble((f"{title}: ", "bold"), text))
    more = len(table["rows"]) - _SHOWN_ROWS
    if more > 0:
        parts.append(Text(f"and {more:,} more {'row' if more == 1 else 'rows'}", style="dim italic"))
    return Group(*parts)


def _bars(table: AnswerTable) -> list[tuple[Bar, ...]]:
    """Return a bar for each shown row of a name or period and a quantity of at least 0; else nothing."""
    if [fmt.is_quantity for fmt in formats_of(table)] != [False, True] or len(table["rows"]) < 2:
        return []
    values = [float(value or 0) for _, value in table["rows"][:_SHOWN_ROWS]]
    longest = max(values)
    return [(Bar(longest, 0, value, color="cyan"),) for value in values] if min(values) >= 0 < longest else []


def cost_line(output: Output) -> Text:
    """Return model calls, tokens, cost if there is one, time and trace id of a question in one line."""
    audit = output["audit"]
    cost = audit["llm_cost_usd"]
    money = ["price unknown"] if cost is None else [f"${cost:.4f}"] if cost else []
    calls = f"{audit['llm_calls']} model call{'' if audit['llm_calls'] == 1 else 's'}"
    tokens = f"{audit['prompt_tokens']} + {audit['completion_tokens']} tokens"
    seconds = f"{audit['latency_ms'] / 1000:.1f} s"
    return Text(" · ".join([calls, tokens, *money, seconds, f"trace {audit['trace_id'][:8]}"]), style="dim")

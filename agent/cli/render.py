"""Terminal output of a question: progress bars and steps, then answer, rows, statement and cost."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TaskProgressColumn, TextColumn
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from agent.answers.progress import step_line
from agent.answers.text import format_cell, without_tables
from agent.cli.text import printable
from agent.conversation.reply import Reply
from agent.messages import Language, language_of
from agent.record.waiting import Wait
from agent.state import Output
from agent.types import AnswerTable

if TYPE_CHECKING:
    from agent.analyst import Analyst
    from agent.graph import Graph


_SLOW_TABLES = 200
_SLOW_LOAD_S = 1.0

_WAITS: dict[Wait, str] = {
    "loading_model": "loading the model",
    "waiting_for_model": "waiting for the model, which answers another question",
}
_STAGES = {"read": "reading the file", "examine": "examining the columns", "write": "writing the dataset"}


class ReadingBar:
    """A progress bar for reading a schema, shown for large schemas only."""

    def __init__(self, console: Console) -> None:
        """Show the bar on `console` if that is a terminal."""
        self._bar = Progress(
            TextColumn("reading the schema"), BarColumn(), MofNCompleteColumn(), console=console, transient=True
        )
        self._task: TaskID | None = None

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` tables of `total` were read."""
        if total < _SLOW_TABLES:
            return
        if self._task is None:
            self._task = self._bar.add_task("", total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done)
        if done >= total:
            self._bar.stop()


class LoadingBar:
    """A progress bar for importing files, shown if it takes longer than a second. Use it in a `with` block."""

    def __init__(self, console: Console) -> None:
        """Show the bar on `console` if that is a terminal."""
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


def ask(graph: "Graph | Analyst", inputs: Mapping[str, Any], console: Console | None) -> Output:
    """Run one question and return its output; each completed step is printed to `console` if it is set."""
    output: Output = {}
    for mode, chunk in graph.stream(cast(Any, inputs), stream_mode=["updates", "values"]):
        state = cast(dict[str, Any], chunk)
        if mode == "values":
            output = cast(Output, {name: state[name] for name in Output.__annotations__ if name in state})
        elif console:
            show_steps({node: update for node, update in state.items() if update}, console)
    return output


def show_steps(updates: Mapping[str, Any], console: Console) -> None:
    """Print a line for each completed node in `updates`."""
    for node, update in updates.items():
        line = step_line(node, update)
        if line:
            console.print(line)


def show_waiting(wait: Wait, console: Console) -> None:
    """Print what the run waits for."""
    console.print(Text(f"… {_WAITS[wait]}", style="dim"))


def show(output: Output | Reply, console: Console) -> None:
    """Print answer, rows, statement, applied definitions, cost and thread id."""
    language = language_of(output["answer"])
    single = output.get("output_type") in {"number", "string"}
    tables = [rows_table(table, language) for table in output["tables"] if table["rows"] and not single]
    answer = printable(without_tables(output["answer"]) if tables else output["answer"])
    parts: list[RenderableType] = []
    if answer:
        parts.append(Text(answer, style="bold red" if output["error"] else "bold green"))
    parts += tables
    if output.get("sql"):
        parts.append(Syntax(printable(output["sql"] or ""), "sql", word_wrap=True, background_color="default"))
    for applied in output["definitions"]:
        parts.append(Text(printable(f"{applied['name']} = {applied['definition']}; {applied['place']}"), style="dim"))
    if output["charts"]:
        parts.append(Text(f"drawn: {', '.join(chart['type'] for chart in output['charts'])}", style="dim"))
    parts += [Text(f"note: {printable(text)}", style="yellow") for text in output["audit"]["notes"]]
    parts.append(cost_line(output))
    console.print(Group(*parts))
    thread_id = cast(Reply, output).get("thread_id")
    if thread_id:
        console.print(Text(f"thread {thread_id}", style="dim"), soft_wrap=True)


def rows_table(table: AnswerTable, language: Language) -> Table:
    """Return the first rows of `table`, with numbers aligned right."""
    more = len(table["rows"]) - _SHOWN_ROWS
    caption = f"and {more:,} more rows" if more > 0 else None
    rendered = Table(caption=caption, caption_justify="left", header_style="bold")
    for position, name in enumerate(table["columns"]):
        values = [row[position] for row in table["rows"]]
        numeric = any(isinstance(value, int | float) for value in values)
        rendered.add_column(escape(printable(name)), justify="right" if numeric else "left")
    for row in table["rows"][:_SHOWN_ROWS]:
        rendered.add_row(*(escape(format_cell(value, language)) for value in row))
    return rendered


def cost_line(output: Output) -> Text:
    """Return model calls, tokens, cost, time and trace id of a question in one line."""
    audit = output["audit"]
    cost = audit["llm_cost_usd"]
    money = "price unknown" if cost is None else f"${cost:.4f}"
    calls = f"{audit['llm_calls']} model call{'' if audit['llm_calls'] == 1 else 's'}"
    tokens = f"{audit['prompt_tokens']} + {audit['completion_tokens']} tokens"
    seconds = f"{audit['latency_ms'] / 1000:.1f} s"
    return Text(" · ".join([calls, tokens, money, seconds, f"trace {audit['trace_id'][:8]}"]), style="dim")

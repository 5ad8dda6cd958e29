"""What a question looks like on a terminal: its steps as they happen, then statement, rows, answer and cost."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from agent.answers.text import format_cell
from agent.conversation.reply import Reply
from agent.messages import Language, language_of
from agent.state import AnswerTable, Output
from agent.terminal_steps import step_line
from agent.terminal_text import printable

if TYPE_CHECKING:
    from agent.analyst import Analyst
    from agent.graph import Graph

_SHOWN_ROWS = 20


def ask(graph: "Graph | Analyst", given: Mapping[str, Any], console: Console | None) -> Output:
    """Run one question and return its output; each step is printed to `console`, if there is one, when it ends."""
    output: Output = {}
    for mode, chunk in graph.stream(cast(Any, given), stream_mode=["updates", "values"]):
        state = cast(dict[str, Any], chunk)
        if mode == "values":
            output = cast(Output, {name: state[name] for name in Output.__annotations__ if name in state})
        elif console:
            show_steps({node: update for node, update in state.items() if update}, console)
    return output


def show_steps(ended: Mapping[str, Any], console: Console) -> None:
    """Print a line for each node that has ended, with its update."""
    for node, update in ended.items():
        line = step_line(node, update)
        if line:
            console.print(line)


def show(output: Output | Reply, console: Console) -> None:
    """Print statement, rows, answer, the cost line, and the thread to go on with."""
    language = language_of(output["answer"])
    parts: list[RenderableType] = []
    if output.get("sql"):
        parts.append(Syntax(printable(output["sql"] or ""), "sql", word_wrap=True, background_color="default"))
    single = output.get("output_type") in {"number", "string"}
    parts += [rows_table(table, language) for table in output["tables"] if table["rows"] and not single]
    answer = printable(output["answer"])
    if output["error"]:
        parts.append(Text(answer, style="bold red"))
    elif not answer.startswith("| "):
        parts.append(Text(answer, style="bold green"))
    if output["charts"]:
        parts.append(Text(f"drawn: {', '.join(chart['type'] for chart in output['charts'])}", style="dim"))
    parts += [Text(f"note: {printable(text)}", style="yellow") for text in output["audit"]["notes"]]
    parts.append(cost_line(output))
    console.print(Group(*parts))
    thread_id = cast(Reply, output).get("thread_id")
    if thread_id:
        console.print(Text(f"thread {thread_id}", style="dim"), soft_wrap=True)


def rows_table(table: AnswerTable, language: Language) -> Table:
    """Return the first rows of `table`; figures stand to the right."""
    shown = Table(caption=_caption(table), caption_justify="left", header_style="bold")
    for at, name in enumerate(table["columns"]):
        values = [row[at] for row in table["rows"]]
        numeric = any(isinstance(value, int | float) for value in values)
        shown.add_column(escape(printable(name)), justify="right" if numeric else "left")
    for row in table["rows"][:_SHOWN_ROWS]:
        shown.add_row(*(escape(format_cell(value, language)) for value in row))
    return shown


def cost_line(output: Output) -> Text:
    """Return calls, tokens, money and time of a question in one line."""
    audit = output["audit"]
    cost = audit["llm_cost_usd"]
    money = "price unknown" if cost is None else f"${cost:.4f}"
    calls = f"{audit['llm_calls']} model call{'' if audit['llm_calls'] == 1 else 's'}"
    tokens = f"{audit['prompt_tokens']} + {audit['completion_tokens']} tokens"
    seconds = f"{audit['latency_ms'] / 1000:.1f} s"
    return Text(" · ".join([calls, tokens, money, seconds, f"trace {audit['trace_id'][:8]}"]), style="dim")


def _caption(table: AnswerTable) -> str | None:
    more = len(table["rows"]) - _SHOWN_ROWS
    return f"and {more:,} more rows" if more > 0 else None

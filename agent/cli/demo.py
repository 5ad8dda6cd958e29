"""`datasphinx demo`: three questions about the sample data, with answer, chart and SQL."""

from collections.abc import Mapping
from typing import Any, cast

from rich.bar import Bar
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.answers.text import without_tables
from datasphinx.agent.cli import render
from datasphinx.agent.cli.text import printable
from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.formatting.formats import format_rows
from datasphinx.agent.graph import build_graph
from datasphinx.agent.messages import language_in
from datasphinx.agent.sample.spreadsheets import STORES
from datasphinx.agent.services import Services
from datasphinx.agent.sources.names import SAMPLE
from datasphinx.agent.state import Output

JOIN = "Which 5 products sold the most units?"
TREND = "Show the total sales of each month of 2025 as a line chart"
SHEET = "Which store had the highest total revenue, and how much was it?"

_BAR_WIDTH = 40


def run_demo(services: Services, console: Console) -> None:
    """Ask three questions, about the sample shop and a spreadsheet, and print their answers as `datasphinx ask` does.

    The spreadsheet is left out if the packages of the analyst are not installed.
    """
    graph = build_graph(services)
    for question in (JOIN, TREND):
        console.print(Rule(Text(question, style="bold cyan"), align="left"))
        with console.status("the model writes SQL"):
            output = graph.invoke({"question": question, "source": SAMPLE})
        _show(output, console)
    console.print(Rule(Text(f"{SHEET} ({STORES.name})", style="bold cyan"), align="left"))
    try:
        with console.status("the model plans tool calls"):
            output = build_analyst(services).invoke({"question": SHEET, "files": [str(STORES)]})
    except DriverMissing as error:
        console.print(Text(str(error), style="yellow"))
        return
    _show(output, console)


def _show(answer: Mapping[str, Any], console: Console) -> None:
    output = cast(Output, answer)
    if output["output_type"] == "plot" and len(output["tables"][0]["columns"]) == 2:
        console.print(_bars(output))
        output = {**output, "tables": [], "answer": without_tables(output["answer"])}
    render.show(output, console)


def _bars(output: Output) -> Table:
    """Return the rows of a name or period and a value as bars."""
    table = output["tables"][0]
    texts = format_rows(table, language_in(output), len(table["rows"]))
    longest = max((row[1] for row in table["rows"]), default=0)
    bars = Table.grid(padding=(0, 1))
    for (_, value), (name, text) in zip(table["rows"], texts, strict=True):
        bar = Bar(longest, 0, value, width=_BAR_WIDTH, color="cyan")
        bars.add_row(printable(name), bar, Text(text, justify="right"))
    return bars

"""`datasphinx demo`: three questions about the sample data, with answer, rows, bars and SQL."""

from typing import cast

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.cli import render
from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.graph import build_graph
from datasphinx.agent.sample.spreadsheets import STORES
from datasphinx.agent.services import Services
from datasphinx.agent.sources.names import SAMPLE
from datasphinx.agent.state import Output

JOIN = "Which 5 products sold the most units?"
TREND = "Show the total sales of each month of 2025 as a line chart"
SHEET = "Which store had the highest total revenue, and how much was it?"


def run_demo(services: Services, console: Console) -> None:
    """Ask three questions, about the sample shop and a spreadsheet, and print their answers as `datasphinx ask` does.

    The spreadsheet is left out if the packages of the analyst are not installed.
    """
    graph = build_graph(services)
    for question in (JOIN, TREND):
        console.print(Rule(Text(question, style="bold cyan"), align="left"))
        with console.status("the model writes SQL"):
            output = graph.invoke({"question": question, "source": SAMPLE})
        render.show(cast(Output, output), console)
    console.print(Rule(Text(f"{SHEET} ({STORES.name})", style="bold cyan"), align="left"))
    try:
        with console.status("the model plans tool calls"):
            output = build_analyst(services).invoke({"question": SHEET, "files": [str(STORES)]})
    except DriverMissing as error:
        console.print(Text(str(error), style="yellow"))
        return
    render.show(cast(Output, output), console)

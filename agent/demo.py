"""Questions on the sample shop and on two sample spreadsheets, answered live, each beside what a reference gives."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from agent import terminal
from agent.analyst import build_analyst
from agent.datasets.dataset import Dataset
from agent.demo_questions import SHEETS, SHOP, SheetQuestion, ShopQuestion
from agent.errors import DriverMissing
from agent.evals.match import matches
from agent.graph import build_graph
from agent.named_sources import SAMPLE
from agent.queryspec.datasets import Datasets
from agent.queryspec.run import run
from agent.services import Services
from agent.sql.equal_rows import is_ordered
from agent.sql.result import Result
from agent.state import AnswerTable, Output
from agent.terminal_text import printable

_EMBEDDED = (
    "It is small, runs in this process and was trained for SQL. Ordinary questions are what it is for; each answer is "
    "compared with the right one. "
    "For a real model set DATASPHINX_LLM_BASE_URL, DATASPHINX_LLM_MODEL and DATASPHINX_LLM_API_KEY."
)
_SHEETS = "Two spreadsheets, asked by the analyst: its tools are called, and no line of SQL comes from the model."
_EMBEDDED_SHEETS = (
    "The embedded model writes the tools' queries less well than SQL. What the words of a question leave no doubt of "
    "is read without it; it is often wrong where they do."
)


def run_demo(services: Services, console: Console) -> int:
    """Ask all questions, print everything, and return how many were answered as the references."""
    model = services.model
    console.print(f"Five questions on the sample shop, answered by the model {model.name}.")
    if model.profile == "embedded":
        console.print(_EMBEDDED)
    of_shop = _ask_shop(services, console)
    console.print(f"{of_shop} of {len(SHOP)} answered as the reference statements do.\n")
    try:
        datasets = {path: _dataset(path, services) for path in dict.fromkeys(asked.file for asked in SHEETS)}
    except DriverMissing as error:
        console.print(Text(f"The spreadsheets are left out. {error}", style="yellow"))
        return of_shop
    console.print(_SHEETS)
    if model.profile == "embedded":
        console.print(_EMBEDDED_SHEETS)
    of_sheets = _ask_sheets(datasets, services, console)
    console.print(f"{of_sheets} of {len(SHEETS)} answered as the reference queries do.")
    return of_shop + of_sheets


def _ask_shop(services: Services, console: Console) -> int:
    graph, source, right = build_graph(services), services.source(SAMPLE), 0
    for number, asked in enumerate(SHOP, 1):
        _announce(f"{number} of {len(SHOP)}: {asked.kind}", asked, console)
        output = terminal.ask(graph, {"question": asked.question, "source": SAMPLE}, console)
        ordered = is_ordered(asked.sql, source.catalog.dialect)
        right += _compare(asked, output, [source.execute(asked.sql)], ordered, console)
    console.print(Rule(align="left"))
    return right


def _ask_sheets(datasets: Mapping[Path, Dataset], services: Services, console: Console) -> int:
    graph, right = build_analyst(services), 0
    for number, asked in enumerate(SHEETS, 1):
        _announce(f"{number} of {len(SHEETS)}: {asked.kind}, {asked.file.name}", asked, console)
        output = terminal.ask(graph, {"question": asked.question, "files": [str(asked.file)]}, console)
        ordered = bool(asked.specs[0].sort)
        right += _compare(asked, output, _references(asked, datasets, services), ordered, console)
    console.print(Rule(align="left"))
    return right


def _dataset(path: Path, services: Services) -> Dataset:
    return services.registry.create(services.registry.add_file(path))


def _references(asked: SheetQuestion, datasets: Mapping[Path, Dataset], services: Services) -> list[Result]:
    """Return the rows of each reference spec, compiled and run as every spec is."""
    dataset_id = datasets[asked.file].dataset_id
    source = services.datasets([dataset_id])
    return [run(spec, Datasets(dataset_id, source.catalog.tables), source) for spec in asked.specs]


def _announce(title: str, asked: ShopQuestion | SheetQuestion, console: Console) -> None:
    console.print(Rule(title, align="left"))
    console.print(Text(asked.question, style="bold cyan"))


def _compare(
    asked: ShopQuestion | SheetQuestion, output: Output, references: Sequence[Result], ordered: bool, console: Console
) -> bool:
    """Print the output, and whether its main table has the rows of a reference."""
    terminal.show(output, console)
    answered = bool(output["tables"]) and not output["error"]
    if answered and any(matches(each, output["tables"][0], ordered=ordered) for each in references):
        console.print(Text("✓ the same rows as the reference gives", style="green"))
        return True
    got = output["sql"] if not output["error"] else output["error"]["message"]
    console.print(Text(f"✗ not what was asked. Asked: {asked.question} Got: {printable(str(got))}", style="red"))
    table = AnswerTable(name="reference", columns=references[0]["columns"], rows=references[0]["rows"])
    console.print("The reference gives:", terminal.rows_table(table, "en"))
    return False

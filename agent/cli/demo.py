"""`datasphinx demo`: questions about the sample data, with each answer compared to a reference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from agent.analyst import build_analyst
from agent.cli import render
from agent.cli.text import printable
from agent.datasets.dataset import Dataset
from agent.errors import DriverMissing
from agent.evals.match import matches
from agent.graph import build_graph
from agent.queryspec.columns import Datasets
from agent.queryspec.compile import run
from agent.queryspec.spec import QuerySpec
from agent.sample.spreadsheets import RETURNS, STORES
from agent.services import Services
from agent.sources.names import SAMPLE
from agent.sql.compare import is_ordered
from agent.state import Output
from agent.types import AnswerTable, Result

_EMBEDDED = (
    "It is small, runs on this machine and was trained to write SQL for ordinary questions. Each answer is compared "
    "with the right one. To use a larger model, set DATASPHINX_LLM_BASE_URL, DATASPHINX_LLM_MODEL and "
    "DATASPHINX_LLM_API_KEY."
)
_SHEETS = "Two spreadsheets, answered by the analyst: it calls tools, and the model writes no SQL."
_EMBEDDED_SHEETS = (
    "The embedded model is weaker at the tools' queries than at SQL. Built-in rules handle unambiguous wording; other "
    "questions often get a wrong answer."
)


@dataclass(frozen=True)
class ShopQuestion:
    """A question about the sample shop, with the reference statement."""

    kind: str
    question: str
    sql: str


@dataclass(frozen=True)
class SheetQuestion:
    """A question about a sample spreadsheet, with equivalent reference query specs."""

    kind: str
    file: Path
    question: str
    specs: tuple[QuerySpec, ...]


SHOP = (
    ShopQuestion(
        "a count",
        "How many orders were placed in 2025?",
        "SELECT COUNT(*) AS orders FROM orders WHERE ordered_on BETWEEN '2025-01-01' AND '2025-12-31'",
    ),
    ShopQuestion(
        "a ranking",
        "Which 5 products sold the most units?",
        "SELECT p.name, SUM(i.quantity) AS units FROM order_items AS i "
        "JOIN products AS p ON p.product_id = i.product_id GROUP BY p.product_id, p.name ORDER BY units DESC LIMIT 5",
    ),
    ShopQuestion(
        "an average by group",
        "What is the average order amount for each customer segment, rounded to cents?",
        "SELECT c.segment, ROUND(AVG(o.total_amount), 2) AS average_amount FROM orders AS o "
        "JOIN customers AS c ON c.customer_id = o.customer_id GROUP BY c.segment",
    ),
    ShopQuestion(
        "a trend by month",
        "What was the total order amount in each month of 2025, rounded to cents?",
        "SELECT strftime('%Y-%m', ordered_on) AS month, ROUND(SUM(total_amount), 2) AS amount FROM orders "
        "WHERE ordered_on BETWEEN '2025-01-01' AND '2025-12-31' GROUP BY month",
    ),
    ShopQuestion(
        "a share",
        "What percentage of all orders came through each sales channel, by channel name, to one decimal?",
        "SELECT ch.name AS channel, ROUND(100.0 * COUNT(*) / (SELECT COUNT(*) FROM orders), 1) AS percent "
        "FROM orders AS o JOIN channels AS ch ON ch.code = o.channel GROUP BY ch.code, ch.name",
    ),
)


def _sheet(kind: str, file: Path, question: str, *specs: dict[str, object]) -> SheetQuestion:
    return SheetQuestion(kind, file, question, tuple(map(QuerySpec.model_validate, specs)))


def _sum(name: str, column: str) -> dict[str, str]:
    return {"as": name, "agg": "sum", "col": column}


SHEETS = (
    _sheet(
        "a ranking",
        RETURNS,
        "哪个账号的退货数量最多？",
        {
            "group_by": ["账号"],
            "aggregations": [_sum("退货", "退货数量")],
            "sort": [{"by": "退货", "desc": True}],
            "limit": 1,
        },
    ),
    _sheet(
        "a chart",
        RETURNS,
        "每个月的退货数量一共是多少？请画成折线图。",
        {"group_by": ["月份"], "aggregations": [_sum("退货", "退货数量")]},
        {"group_by": [{"col": "月份", "by": "month"}], "aggregations": [_sum("退货", "退货数量")]},
    ),
    _sheet(
        "a count",
        RETURNS,
        "购买风险为高的记录有多少条？",
        {
            "filters": [{"col": "购买风险", "op": "=", "value": "高"}],
            "aggregations": [{"as": "条数", "agg": "count", "col": "*"}],
        },
    ),
    _sheet(
        "a ranking",
        STORES,
        "Which store had the highest total revenue?",
        {
            "group_by": ["Store"],
            "aggregations": [_sum("revenue", "Revenue")],
            "sort": [{"by": "revenue", "desc": True}],
            "limit": 1,
        },
    ),
    _sheet(
        "a chart",
        STORES,
        "Plot the units sold in each month.",
        {"group_by": [{"col": "Week starting", "by": "month"}], "aggregations": [_sum("units", "Units")]},
    ),
    _sheet(
        "a total by group",
        STORES,
        "How many units did each city sell in total?",
        {"group_by": ["City"], "aggregations": [_sum("units", "Units")]},
    ),
)


def run_demo(services: Services, console: Console) -> int:
    """Ask and print all questions; return the number of answers that equal the reference."""
    model = services.model_of("generate")
    console.print(f"Five questions about the sample shop, answered by the model {model.name}.")
    if model.profile == "embedded":
        console.print(_EMBEDDED)
    shop_matches = _ask_shop(services, console)
    console.print(f"{shop_matches} of {len(SHOP)} answered like the reference statements.\n")
    try:
        datasets = {
            path: services.registry.create(services.registry.add_file(path))
            for path in dict.fromkeys(example.file for example in SHEETS)
        }
    except DriverMissing as error:
        console.print(Text(f"The spreadsheets are skipped. {error}", style="yellow"))
        return shop_matches
    console.print(_SHEETS)
    if model.profile == "embedded":
        console.print(_EMBEDDED_SHEETS)
    sheet_matches = _ask_sheets(datasets, services, console)
    console.print(f"{sheet_matches} of {len(SHEETS)} answered like the reference queries.")
    return shop_matches + sheet_matches


def _ask_shop(services: Services, console: Console) -> int:
    graph, source, matches = build_graph(services), services.source(SAMPLE), 0
    for number, example in enumerate(SHOP, 1):
        _announce(f"{number} of {len(SHOP)}: {example.kind}", example, console)
        output = render.ask(graph, {"question": example.question, "source": SAMPLE}, console)
        ordered = is_ordered(example.sql, source.catalog.dialect)
        matches += _compare(example, output, [source.execute(example.sql)], ordered, console)
    console.print(Rule(align="left"))
    return matches


def _ask_sheets(datasets: Mapping[Path, Dataset], services: Services, console: Console) -> int:
    graph, matches = build_analyst(services), 0
    for number, example in enumerate(SHEETS, 1):
        _announce(f"{number} of {len(SHEETS)}: {example.kind}, {example.file.name}", example, console)
        output = render.ask(graph, {"question": example.question, "files": [str(example.file)]}, console)
        ordered = bool(example.specs[0].sort)
        matches += _compare(example, output, _references(example, datasets, services), ordered, console)
    console.print(Rule(align="left"))
    return matches


def _references(example: SheetQuestion, datasets: Mapping[Path, Dataset], services: Services) -> list[Result]:
    """Return the result of each reference spec."""
    dataset_id = datasets[example.file].dataset_id
    source = services.datasets([dataset_id])
    return [run(spec, Datasets(dataset_id, source.catalog.tables), source) for spec in example.specs]


def _announce(title: str, example: ShopQuestion | SheetQuestion, console: Console) -> None:
    console.print(Rule(title, align="left"))
    console.print(Text(example.question, style="bold cyan"))


def _compare(
    example: ShopQuestion | SheetQuestion, output: Output, references: Sequence[Result], ordered: bool, console: Console
) -> bool:
    """Print the output, and return whether its main table has the rows of a reference."""
    render.show(output, console)
    has_answer = bool(output["tables"]) and not output["error"]
    if has_answer and any(matches(expected, output["tables"][0], ordered=ordered) for expected in references):
        console.print(Text("✓ the same rows as the reference", style="green"))
        return True
    answer = output["sql"] if not output["error"] else output["error"]["message"]
    console.print(
        Text(
            f"✗ other rows than the reference. Question: {example.question} Got: {printable(str(answer))}", style="red"
        )
    )
    table = AnswerTable(name="reference", columns=references[0]["columns"], rows=references[0]["rows"])
    console.print("Reference:", render.rows_table(table, "en"))
    return False

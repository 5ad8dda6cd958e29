"""`datasphinx demo`: questions about the sample data, each with its confidence and a comparison with a reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from agent.analyst import build_analyst
from agent.cli import render
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
    "It is small and runs on this machine. The questions are by an author who knew neither its training data nor its "
    "rules; each answer has a confidence, and is compared with the right one. To use a larger model, set "
    "DATASPHINX_LLM_BASE_URL, DATASPHINX_LLM_MODEL and DATASPHINX_LLM_API_KEY."
)
_SHEETS = "Two spreadsheets, answered by the analyst: it calls tools, and the model writes no SQL."


@dataclass(frozen=True)
class ShopQuestion:
    """A question about the sample shop, with the reference statement."""

    kind: str
    question: str
    sql: str


@dataclass(frozen=True)
class SheetQuestion:
    """A question about a sample spreadsheet, with the reference query spec."""

    kind: str
    file: Path
    question: str
    spec: QuerySpec


SHOP = (
    ShopQuestion(
        "a count",
        "How many orders were cancelled in 2025?",
        "SELECT COUNT(*) AS cancelled_orders FROM orders "
        "WHERE status = 'cancelled' AND ordered_on BETWEEN '2025-01-01' AND '2025-12-31'",
    ),
    ShopQuestion(
        "a trend by month",
        "What were our sales in each month of 2025, not counting cancelled orders?",
        "SELECT strftime('%Y-%m', ordered_on) AS month, SUM(total_amount) AS sales FROM orders "
        "WHERE status <> 'cancelled' AND ordered_on BETWEEN '2025-01-01' AND '2025-12-31' GROUP BY month",
    ),
    ShopQuestion(
        "a ranking",
        "Which 5 products sold the most units in 2024? Leave out cancelled orders.",
        "SELECT p.name, SUM(i.quantity) AS units FROM order_items AS i JOIN orders AS o ON o.order_id = i.order_id "
        "JOIN products AS p ON p.product_id = i.product_id WHERE o.status <> 'cancelled' "
        "AND o.ordered_on BETWEEN '2024-01-01' AND '2024-12-31' "
        "GROUP BY p.product_id, p.name ORDER BY units DESC LIMIT 5",
    ),
    ShopQuestion(
        "a count by group",
        "How many Enterprise customers do we have in each country?",
        "SELECT country, COUNT(*) AS customers FROM customers WHERE segment = 'Enterprise' GROUP BY country",
    ),
    ShopQuestion(
        "averages of three groups",
        "Compare the average value of delivered web, store and phone orders in 2025.",
        "SELECT ch.name AS channel, AVG(o.total_amount) AS average_value FROM orders AS o "
        "JOIN channels AS ch ON ch.code = o.channel WHERE o.status = 'delivered' "
        "AND o.ordered_on BETWEEN '2025-01-01' AND '2025-12-31' GROUP BY ch.code, ch.name",
    ),
    ShopQuestion(
        "what never happened",
        "Сколько клиентов ни разу ничего не заказали?",
        "SELECT COUNT(*) AS customers FROM customers AS c "
        "WHERE NOT EXISTS (SELECT 1 FROM orders AS o WHERE o.customer_id = c.customer_id)",
    ),
    ShopQuestion(
        "totals in descending order",
        "2025年每个地区的销售额是多少？不算已取消的订单，从高到低排列。",
        "SELECT r.name AS region, SUM(o.total_amount) AS sales FROM orders AS o "
        "JOIN customers AS c ON c.customer_id = o.customer_id JOIN regions AS r ON r.region_id = c.region_id "
        "WHERE o.status <> 'cancelled' AND o.ordered_on BETWEEN '2025-01-01' AND '2025-12-31' "
        "GROUP BY r.region_id, r.name ORDER BY sales DESC",
    ),
)
"""Worded by an author who knew neither the rules nor the training data, and not changed where the model is wrong."""


def _highest_total(group: str, column: str) -> QuerySpec:
    """Return the query for the group with the highest total of `column`, and that total."""
    return QuerySpec.model_validate({
        "group_by": [group],
        "aggregations": [{"as": "total", "agg": "sum", "col": column}],
        "sort": [{"by": "total", "desc": True}],
        "limit": 1,
    })  # fmt: skip


SHEETS = (
    SheetQuestion(
        "a ranking",
        STORES,
        "Which store had the highest total revenue, and how much was it?",
        _highest_total("Store", "Revenue"),
    ),
    SheetQuestion(
        "a ranking",
        RETURNS,
        "2025年上半年哪个账号的退货数量最多？一共是多少？",
        _highest_total("账号", "退货数量"),
    ),
)
"""As for `SHOP`."""


@dataclass
class _Tally:
    """Numbers of answers to a group of questions."""

    asked: int
    matched: int = 0
    confident_errors: int = 0
    """Answers that differ from the reference, and are presented as answers rather than as drafts or questions."""

    def __str__(self) -> str:
        wrong = self.asked - self.matched
        rest = f" Of the other {wrong}, {self.confident_errors} not marked as not sure." if wrong else ""
        return f"{self.matched} of {self.asked} answered like the reference.{rest}"


def run_demo(services: Services, console: Console) -> int:
    """Ask and print all questions; return the number of answers that equal the reference."""
    model = services.model_of("generate")
    console.print(f"{len(SHOP)} questions about the sample shop, answered by the model {model.name}.")
    if model.profile == "embedded":
        console.print(_EMBEDDED)
    shop = _ask_shop(services, console)
    console.print(f"{shop}\n")
    try:
        datasets = {
            path: services.registry.create(services.registry.add_file(path))
            for path in dict.fromkeys(example.file for example in SHEETS)
        }
    except DriverMissing as error:
        console.print(Text(f"The spreadsheets are skipped. {error}", style="yellow"))
        return shop.matched
    console.print(_SHEETS)
    sheets = _ask_sheets(datasets, services, console)
    console.print(str(sheets))
    return shop.matched + sheets.matched


def _ask_shop(services: Services, console: Console) -> _Tally:
    graph, source, tally = build_graph(services), services.source(SAMPLE), _Tally(len(SHOP))
    for number, example in enumerate(SHOP, 1):
        _announce(f"{number} of {len(SHOP)}: {example.kind}", example, console)
        output = render.ask(graph, {"question": example.question, "source": SAMPLE}, console)
        ordered = is_ordered(example.sql, source.catalog.dialect)
        _compare(output, source.execute(example.sql), ordered, tally, console)
    console.print(Rule(align="left"))
    return tally


def _ask_sheets(datasets: Mapping[Path, Dataset], services: Services, console: Console) -> _Tally:
    graph, tally = build_analyst(services), _Tally(len(SHEETS))
    for number, example in enumerate(SHEETS, 1):
        _announce(f"{number} of {len(SHEETS)}: {example.kind}, {example.file.name}", example, console)
        output = render.ask(graph, {"question": example.question, "files": [str(example.file)]}, console)
        dataset_id = datasets[example.file].dataset_id
        source = services.datasets([dataset_id])
        reference = run(example.spec, Datasets(dataset_id, source.catalog.tables), source)
        _compare(output, reference, bool(example.spec.sort), tally, console)
    console.print(Rule(align="left"))
    return tally


def _announce(title: str, example: ShopQuestion | SheetQuestion, console: Console) -> None:
    console.print(Rule(title, align="left"))
    console.print(Text(example.question, style="bold cyan"))


def _compare(output: Output, reference: Result, ordered: bool, tally: _Tally, console: Console) -> None:
    """Print the output, its confidence, and whether its main table has the rows of the reference."""
    render.show(output, console)
    if confidence := output["confidence"]:
        style = "yellow" if output["status"] == "unsure" else "default"
        console.print(Text(f"confidence {confidence['value']:.2f}: {confidence['word']}", style=style))
    elif output["status"] == "clarification":
        console.print(Text("not sure: asks which one is meant", style="yellow"))
    has_answer = bool(output["tables"]) and not output["error"]
    if has_answer and matches(reference, output["tables"][0], ordered=ordered):
        tally.matched += 1
        console.print(Text("✓ the same rows as the reference", style="green"))
        return
    tally.confident_errors += output["status"] == "ok"
    console.print(Text("✗ not the rows of the reference:", style="red"))
    table = AnswerTable(name="reference", columns=reference["columns"], rows=reference["rows"])
    console.print(render.rows_view(table, "en", console))

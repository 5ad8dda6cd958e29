"""Five questions on the sample shop, answered live, each beside what a reference statement gives."""

from dataclasses import dataclass

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from agent import terminal
from agent.evals.match import matches
from agent.graph import build_graph
from agent.services import SAMPLE, Services
from agent.sql.equal_rows import is_ordered
from agent.state import AnswerTable, Output


@dataclass(frozen=True)
class DemoQuestion:
    """A question with the statement that answers it, against which the agent's answer is compared."""

    kind: str
    question: str
    sql: str


QUESTIONS = (
    DemoQuestion(
        "a count",
        "How many orders were placed in 2025?",
        "SELECT COUNT(*) AS orders FROM orders WHERE ordered_on BETWEEN '2025-01-01' AND '2025-12-31'",
    ),
    DemoQuestion(
        "a ranking",
        "Which 5 products sold the most units?",
        "SELECT p.name, SUM(i.quantity) AS units FROM order_items AS i "
        "JOIN products AS p ON p.product_id = i.product_id GROUP BY p.product_id, p.name ORDER BY units DESC LIMIT 5",
    ),
    DemoQuestion(
        "an average by group",
        "What is the average order amount for each customer segment, rounded to cents?",
        "SELECT c.segment, ROUND(AVG(o.total_amount), 2) AS average_amount FROM orders AS o "
        "JOIN customers AS c ON c.customer_id = o.customer_id GROUP BY c.segment",
    ),
    DemoQuestion(
        "a trend by month",
        "What was the total order amount in each month of 2025, rounded to cents?",
        "SELECT strftime('%Y-%m', ordered_on) AS month, ROUND(SUM(total_amount), 2) AS amount FROM orders "
        "WHERE ordered_on BETWEEN '2025-01-01' AND '2025-12-31' GROUP BY month",
    ),
    DemoQuestion(
        "a share",
        "What percentage of all orders came through each sales channel, by channel name, to one decimal?",
        "SELECT ch.name AS channel, ROUND(100.0 * COUNT(*) / (SELECT COUNT(*) FROM orders), 1) AS percent "
        "FROM orders AS o JOIN channels AS ch ON ch.code = o.channel GROUP BY ch.code, ch.name",
    ),
)


_EMBEDDED = (
    "It is small, runs in this process and was trained for SQL. Ordinary questions are what it is for; each answer is "
    "compared with the right one. "
    "For a real model set DATASPHINX_LLM_BASE_URL, DATASPHINX_LLM_MODEL and DATASPHINX_LLM_API_KEY."
)


def run_demo(services: Services, console: Console) -> int:
    """Ask the five questions, print everything, and return how many were answered as the reference."""
    graph, model = build_graph(services), services.model
    right = 0
    console.print(f"Five questions on the sample shop, answered by the model {model.name}.")
    if model.profile == "embedded":
        console.print(_EMBEDDED)
    for number, asked in enumerate(QUESTIONS, 1):
        console.print(Rule(f"{number} of {len(QUESTIONS)}: {asked.kind}", align="left"))
        console.print(Text(asked.question, style="bold cyan"))
        output = terminal.ask(graph, {"question": asked.question, "source": SAMPLE}, console)
        terminal.show(output, console)
        right += _compare(asked, output, services, console)
    console.print(Rule(align="left"))
    console.print(f"{right} of {len(QUESTIONS)} answered as the reference statements do.")
    return right


def _compare(asked: DemoQuestion, output: Output, services: Services, console: Console) -> bool:
    source = services.source(SAMPLE)
    expected = source.execute(asked.sql)
    ordered = is_ordered(asked.sql, source.catalog.dialect)
    if output["tables"] and matches(expected, output["tables"][0], ordered=ordered):
        console.print(Text("✓ the same rows as the reference statement gives", style="green"))
        return True
    got = output["sql"] if not output["error"] else output["error"]["message"]
    console.print(Text(f"✗ not what was asked. Asked: {asked.question} Got: {got}", style="red"))
    table = AnswerTable(name="reference", columns=expected["columns"], rows=expected["rows"])
    console.print("The reference gives:", terminal.rows_table(table, "en"))
    return False

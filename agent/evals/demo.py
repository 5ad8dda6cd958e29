"""Measurement on the sample data: questions about the shop and two spreadsheets, compared with references."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.evals.match import matches
from datasphinx.agent.graph import build_graph
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import run
from datasphinx.agent.queryspec.spec import QuerySpec
from datasphinx.agent.sample.spreadsheets import RETURNS, STORES
from datasphinx.agent.services import Services
from datasphinx.agent.sources.names import SAMPLE
from datasphinx.agent.sql.compare import is_ordered
from datasphinx.agent.state import Output
from datasphinx.agent.types import Result


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


@dataclass(frozen=True)
class Judged:
    """An answered question of the demo."""

    question: str
    output: Output
    matched: bool
    """Whether the main table of the answer has the rows of the reference."""

    @property
    def is_confident_error(self) -> bool:
        """Whether the answer is wrong, but presented as an answer rather than as a draft or a question."""
        return not self.matched and self.output["status"] == "ok"


def judged_answers(services: Services) -> Iterator[Judged]:
    """Ask all questions, and yield each with its judgement."""
    graph, source = build_graph(services), services.source(SAMPLE)
    for asked in SHOP:
        output = graph.invoke({"question": asked.question, "source": SAMPLE})
        yield _judged(asked.question, output, source.execute(asked.sql), is_ordered(asked.sql, source.catalog.dialect))
    analyst = build_analyst(services)
    for sheet in SHEETS:
        output = analyst.invoke({"question": sheet.question, "files": [str(sheet.file)]})
        dataset_id = services.registry.create(services.registry.add_file(sheet.file)).dataset_id
        data = services.datasets([dataset_id])
        reference = run(sheet.spec, Datasets(dataset_id, data.catalog.tables, values=data.catalog.values), data)
        yield _judged(sheet.question, output, reference, bool(sheet.spec.sort))


def _judged(question: str, answer: Mapping[str, Any], reference: Result, ordered: bool) -> Judged:
    output = cast(Output, answer)
    tables = [] if output["error"] else output["tables"]
    return Judged(question, output, bool(tables) and matches(reference, tables[0], ordered=ordered))

"""Names of months in a database: rows of statements and of query specs follow the calendar."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from datasphinx.agent.generation.execution import execute_with_repair
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import run
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.support.databases import make_table, open_url, url

MONTHS = ["9月", "10月", "11月", "12月", "1月", "2月"]
IN_ORDER = ["1月", "2月", "9月", "10月", "11月", "12月"]
TOTALS = "SELECT month, SUM(sold) AS total FROM sales GROUP BY month"


@pytest.fixture
def sales(tmp_path: Path) -> Iterator[Source]:
    rows = [
        (month, region, 10 * at + (region == "south"))
        for at, month in enumerate(MONTHS)
        for region in ("north", "south")
    ]
    source = open_url(
        url(make_table(tmp_path, "month TEXT, region TEXT, sold INT", rows, table="sales")), Limits(10, 100)
    )
    yield source
    source.close()


def firsts(source: Source, sql: str) -> list[str]:
    """The first cells of the rows of a statement."""
    result = execute_with_repair(sql, source, lambda: None, may_repair=True, is_checked_only=False).result
    assert result
    return [row[0] for row in result["rows"]]


@pytest.mark.parametrize(
    "sql",
    [
        TOTALS,
        f"{TOTALS} ORDER BY month",
        f"{TOTALS} ORDER BY 1",
        "SELECT s.month AS period, COUNT(*) AS n FROM sales AS s GROUP BY s.month ORDER BY s.month",
        "SELECT DISTINCT month FROM sales ORDER BY month",
    ],
)
def test_rows_sorted_as_text_or_not_at_all_follow_the_calendar(sales: Source, sql: str) -> None:
    assert firsts(sales, sql) == IN_ORDER


def test_rows_in_descending_order_follow_the_calendar(sales: Source) -> None:
    assert firsts(sales, f"{TOTALS} ORDER BY month DESC") == IN_ORDER[::-1]


def test_several_rows_of_a_month_keep_their_order(sales: Source) -> None:
    assert firsts(sales, "SELECT month, region FROM sales ORDER BY month") == [name for name in IN_ORDER for _ in "ab"]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"{TOTALS} ORDER BY total", MONTHS),
        (f"{TOTALS} ORDER BY LENGTH(month), month", ["1月", "2月", "9月", "10月", "11月", "12月"]),
        (f"{TOTALS} ORDER BY month LIMIT 4", ["10月", "11月", "12月", "1月"]),
        ("SELECT month FROM sales WHERE region = 'south'", MONTHS),
        ("SELECT region, month FROM sales WHERE region = 'south' ORDER BY region", ["south"] * 6),
    ],
)
def test_other_rows_stay_in_the_order_of_the_statement(sales: Source, sql: str, expected: list[str]) -> None:
    assert firsts(sales, sql) == expected


def test_query_specs_sort_and_compare_by_the_calendar(sales: Source) -> None:
    spec = {
        "group_by": ["month"],
        "aggregations": [{"as": "total", "agg": "sum", "col": "sold"}],
        "derived": [{"as": "change", "expr": "change_from_previous(total)"}],
        "filters": [{"col": "month", "op": "<=", "value": "11月"}],
    }
    datasets = Datasets("sales", sales.catalog.tables, values=sales.catalog.values)
    rows = run(read_spec(spec), datasets, sales)["rows"]

    assert rows == [["1月", 81, None], ["2月", 101, 20], ["9月", 1, -100], ["10月", 21, 20], ["11月", 41, 20]]
    spec = {"from": "earlier", "sort": [{"by": "month", "desc": True}], "limit": 2}
    earlier = {"earlier": read_spec({"from": "sales", "group_by": ["month"]})}
    datasets = Datasets("sales", sales.catalog.tables, earlier, values=sales.catalog.values)
    assert run(read_spec(spec), datasets, sales)["rows"] == [["12月"], ["11月"]]

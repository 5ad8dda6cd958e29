"""Statements made of metrics have the same rows on every engine."""

from collections.abc import Iterator
from typing import Any

import pytest

from datasphinx.agent.knowledge.folder import read_text
from datasphinx.agent.knowledge.metric_query import metric_statement
from datasphinx.agent.llm.schemas import MetricQuery
from datasphinx.agent.sources.source import Source
from tests.agent.queryspec.tables import engine
from tests.support.databases import open_url

TABLES = {
    "metric_branches": (
        {"branch_id": "INTEGER", "city": "VARCHAR(20)"},
        "(1, 'Bonn'), (2, 'Oslo'), (3, NULL)",
    ),
    "metric_accounts": (
        {"account_id": "INTEGER", "branch_id": "INTEGER", "opened_on": "DATE", "credit": "DECIMAL(9, 2)"},
        "(1, 1, '2023-12-31', 100), (2, 2, '2024-01-01', 50.5), (3, 3, '2024-02-29', 7)",
    ),
    "metric_payments": (
        {"account_id": "INTEGER", "paid_on": "DATE", "amount": "DECIMAL(9, 2)"},
        "(1, '2024-01-31', 10), (1, '2024-01-01', 2.5), (2, '2024-02-29', 4), (2, '2024-02-01', 8), "
        "(3, '2024-02-02', 1), (1, '2024-04-01', 100)",
    ),
}
KNOWLEDGE = """
joins:
  - {from: metric_payments.account_id, to: metric_accounts.account_id}
  - {from: metric_accounts.branch_id, to: metric_branches.branch_id}
metrics:
  paid: {expression: SUM(metric_payments.amount), date_column: metric_payments.paid_on}
  mean payment: {expression: AVG(metric_payments.amount), date_column: metric_payments.paid_on}
  credit: {expression: SUM(metric_accounts.credit), date_column: metric_accounts.opened_on}
"""


@pytest.fixture(
    scope="module",
    params=[
        "sqlite",
        "duckdb",
        pytest.param("postgres", marks=[pytest.mark.heavy, pytest.mark.postgres]),
        pytest.param("mysql", marks=[pytest.mark.heavy, pytest.mark.mysql]),
        pytest.param("clickhouse", marks=[pytest.mark.heavy, pytest.mark.clickhouse]),
    ],
)
def bank(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    """A bank with metrics; its tables are dropped after on a server."""
    if request.param == "clickhouse":
        pytest.importorskip("chdb_sqlalchemy", reason="the extra chdb is not installed")
    folder = tmp_path_factory.mktemp("bank")
    with engine(request.param, folder) as (url, admin):
        for name, (columns, rows) in TABLES.items():
            nullable, end = (
                ("Nullable({})", " ENGINE = MergeTree ORDER BY tuple()")
                if request.param == "clickhouse"
                else ("{}", "")
            )
            types = ", ".join(f"{column} {nullable.format(kind)}" for column, kind in columns.items())
            admin(f"DROP TABLE IF EXISTS {name}")
            admin(f"CREATE TABLE {name} ({types}){end}")
            admin(f"INSERT INTO {name} VALUES {rows}")
    source = open_url(url)
    yield source.with_knowledge(read_text(KNOWLEDGE, "bank.yml"))
    source.close()
    if request.param in ("postgres", "mysql"):
        with engine(request.param, folder) as (_, admin):
            for name in TABLES:
                admin(f"DROP TABLE {name}")


def rows_of(source: Source, **query: Any) -> list[list[Any]]:
    """Return the rows of a query of metrics, with numbers as floats."""
    rows = source.execute(metric_statement(MetricQuery(**query), source.knowledge))["rows"]
    return [[number(cell) for cell in row] for row in rows]


def number(cell: Any) -> Any:
    try:
        return round(float(cell), 9)
    except (TypeError, ValueError):
        return cell


def test_metrics_of_different_rows_are_put_together_by_month_and_place(bank: Source) -> None:
    found = rows_of(bank, metrics=["credit", "paid"], dimensions=["month", "metric_branches.city"], before="2024-04-01")

    assert found == [
        ["2023-12", "Bonn", 100.0, None],
        ["2024-01", "Bonn", None, 12.5],
        ["2024-01", "Oslo", 50.5, None],
        ["2024-02", "Oslo", None, 12.0],
        ["2024-02", None, 7.0, 1.0],
    ]


@pytest.mark.parametrize(
    ("period", "values"),
    [
        ("day", ["2024-01-01", "2024-01-31", "2024-02-01", "2024-02-02", "2024-02-29", "2024-04-01"]),
        ("week", ["2024-W01", "2024-W05", "2024-W09", "2024-W14"]),
        ("quarter", ["2024-Q1", "2024-Q2"]),
        ("year", [2024.0]),
    ],
)
def test_periods_are_those_of_the_calendar(bank: Source, period: str, values: list[Any]) -> None:
    assert [row[0] for row in rows_of(bank, metrics=["paid"], dimensions=[period])] == values


def test_a_change_is_broken_down_by_mix_and_rate(bank: Source) -> None:
    """January: 12.5 of 2 payments; February: 13 of 3. The mean of both means is 5.291666667."""
    found = rows_of(
        bank,
        metrics=["mean payment"],
        dimensions=["metric_branches.city AS city"],
        compared_since="2024-01-01",
        compared_before="2024-02-01",
        since="2024-02-01",
        before="2024-03-01",
    )

    assert found == [
        [None, None, 1.0, -1.430555556, -1.430555556, 0.0],
        ["Bonn", 6.25, None, -0.958333333, -0.958333333, 0.0],
        ["Oslo", None, 6.0, 0.472222222, 0.472222222, 0.0],
    ]

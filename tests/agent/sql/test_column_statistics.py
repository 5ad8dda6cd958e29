"""Statistics of columns on every engine, compared with figures computed in Python."""

import random
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasphinx.agent.schema.catalog import Column, Table
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.column_statistics import column_statistics, is_statistics, table_statistics
from datasphinx.agent.types import Result
from tests.agent.sql.engines import ENGINES, over
from tests.support.databases import make_table, open_url, url


def rows_of(result: Result) -> list[dict[str, Any]]:
    assert is_statistics(result)
    return [dict(zip(result["columns"], row, strict=True)) for row in result["rows"]]


def known(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None and name not in ("position", "table_name")}


@over(ENGINES)
def test_statistics_of_a_table(source: Source) -> None:
    table = source.catalog.tables["sphinx_orders"]
    rows = rows_of(source.execute(column_statistics(table, source.catalog.dialect)))
    key, status, amount, created = map(known, rows)
    counts = {"row_count": 3, "column_count": 4}

    assert (key["value_count"], key["distinct_count"]) == (3, 3)
    text = {"distinct_count": 2, "most_frequent": "open", "frequency": 1}
    assert status == {"column_name": "status", "kind": "text", **counts, "value_count": 2, **text}
    figures = {"lowest": 2.5, "highest": 3.0, "average": 2.75, "median": 2.75, "outliers": 0}
    assert amount == {
        "column_name": "amount", "kind": "number", **counts, "value_count": 2, "distinct_count": 2, **figures
    }  # fmt: skip
    day = {"first_date": "2024-02-29", "last_date": "2024-02-29", "months": 1, "days": 1}
    assert created == {
        "column_name": "created", "kind": "date", **counts, "value_count": 1, "distinct_count": 1, **day
    }  # fmt: skip


@over(ENGINES)
def test_statistics_of_tables(source: Source) -> None:
    tables = [source.catalog.tables[name] for name in ("sphinx_orders", "sphinx_numbers")]
    orders, numbers = rows_of(source.execute(table_statistics(tables, source.catalog.dialect)))

    dates = {"date_column": "created", "first_date": "2024-02-29", "last_date": "2024-02-29"}
    assert orders == {"position": 1, "table_name": "sphinx_orders", "row_count": 3, "column_count": 4, **dates}
    assert (numbers["column_count"], numbers["date_column"]) == (1, None)


def naive(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    first, third = (ordered[-(-len(ordered) * share // 4) - 1] for share in (1, 3))
    reach = 1.5 * (third - first)
    return {
        "lowest": ordered[0],
        "highest": ordered[-1],
        "average": round(statistics.fmean(ordered), 6),
        "median": statistics.median(ordered),
        "outliers": sum(value < first - reach or value > third + reach for value in ordered),
    }


def test_figures_are_those_of_the_values(tmp_path: Path) -> None:
    """Also with texts among the numbers, and with names that SQL could misread."""
    chance, name = random.Random(7), "we'ird \\ \"na;me--"
    quoted = '"we\'ird \\ ""na;me--"'
    for count in (1, 2, 3, 4, 5, 8, 30, 31):
        values = [chance.choice([chance.randint(-5, 5), 100, 2.5]) for _ in range(count)]
        cells: list[tuple[Any]] = [(value,) for value in [*values, None, "n/a"]]
        folder = tmp_path / str(count)
        folder.mkdir()
        path = make_table(folder, f"{quoted} REAL", cells)
        source = open_url(url(path))
        (row,) = rows_of(source.execute(column_statistics(source.catalog.tables["things"], "sqlite")))
        source.close()

        assert {key: round(row[key], 6) for key in naive(values)} == naive(values)
        assert (row["column_name"], row["row_count"], row["value_count"]) == (name, count + 2, count + 1)


def test_secret_columns_are_left_out() -> None:
    table = Table("people", (Column("name", "TEXT"), Column("api_key", "TEXT", secret=True)))
    sql = column_statistics(table, "sqlite")

    assert "api_key" not in sql and "CAST(2 AS INTEGER) AS column_count" in sql

"""Statements with their rows, and the catalog that the answers about them are written from."""

from typing import Any

from datasphinx.agent.answers.references import ResultFacts, facts_of
from datasphinx.agent.formatting.checks import with_formats
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.types import Interval, Result

CATALOG = Catalog(
    "sqlite",
    {
        "orders": Table(
            "orders",
            (Column("id", "INTEGER"), Column("city", "TEXT"), Column("total", "NUMERIC"), Column("day", "DATE")),
            primary_key=("id",),
        ),
        "pets": Table(
            "pets",
            (
                Column("id", "INTEGER"),
                Column("name", "TEXT", distinct=20),
                Column("town", "TEXT", distinct=5),
                Column("weight", "NUMERIC"),
            ),
            primary_key=("id",),
        ),
        "visits": Table("visits", (Column("id", "INTEGER"), Column("pet", "INTEGER")), primary_key=("id",)),
    },
)
COUNT = "SELECT COUNT(*) AS n FROM orders WHERE city = 'Berlin' AND day >= '2024-01-01' AND day < '2025-01-01'"
CITIES = "SELECT city, SUM(total) AS sales FROM orders GROUP BY city ORDER BY sales DESC"
MONTHS = "SELECT strftime('%Y-%m', day) AS month, SUM(total) AS u FROM orders GROUP BY 1 ORDER BY 1"
YEARS = "SELECT strftime('%Y', day) AS y, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1"
GRID = "SELECT city, strftime('%Y-%m', day) AS month, SUM(total) AS u FROM orders GROUP BY 1, 2 ORDER BY u DESC"
PETS = (
    "SELECT DISTINCT p.name AS pet, p.id AS id, p.weight AS weight FROM visits v JOIN pets p ON p.id = v.pet "
    "ORDER BY p.name"
)
NAMESAKES = [["Bello", 1, 40], ["Bello", 2, 30], ["Coco", 3, 20], ["Coco", 4, 10]]
SALES = [["Berlin", 500.5], ["Paris", 200], ["Rome", 100]]
TREND = [["2024-01", 500], ["2024-02", 200], ["2024-03", 1100]]
PLACES = [["Berlin", "2024-01", 9], ["Paris", "2024-01", 8], ["Berlin", "2024-02", 7]]


def facts_about(sql: str, rows: list[list[Any]], language: str = "en", **formats: str) -> ResultFacts:
    """Return the facts about `rows` of `sql`, whose outputs all have names."""
    outputs = sql.removeprefix("SELECT ").split(" FROM ")[0].replace("'%Y-%m', ", "").replace("'%Y', ", "").split(", ")
    columns = [item.split(" AS ")[-1].strip('"') for item in outputs]
    kinds = {str: "string", int: "integer", float: "float", bool: "boolean", Interval: "interval", type(None): "null"}
    types = [next((kinds[type(row[at])] for row in rows if row[at] is not None), "null") for at in range(len(columns))]
    result = Result(columns=columns, types=types, rows=rows, truncated=False)
    return facts_of(with_formats(result, sql, CATALOG, formats, ["?"]), sql, CATALOG, language)

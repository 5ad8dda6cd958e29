"""Values of row parameters permit no rows of others: they have the type of the column, and text is compared exactly."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, text

from datasphinx.agent.errors import ConfigurationError
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sql.row_parameters import has_type_of
from datasphinx.agent.sql.row_rules import RowRules, restrict
from tests.support.servers import FOUR_ENGINES, URLS, prepared

TEXT = {
    "sqlite": "TEXT COLLATE NOCASE",
    "duckdb": "VARCHAR COLLATE NOCASE.NOACCENT",
    "postgres": "VARCHAR(20)",
    "mysql": "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
}
SCHEMAS = {"sqlite": "main", "duckdb": "main", "postgres": "public", "mysql": "test", "clickhouse": "default"}


def rules(dialect: str, rule: str) -> RowRules:
    columns = (Column("id", "INTEGER"), Column("region", "VARCHAR(20)"), Column("day", "DATE"))
    return RowRules(
        {"rp_orders": rule}, dialect, Catalog(dialect, {"rp_orders": Table("rp_orders", columns)}, SCHEMAS[dialect])
    )


@pytest.fixture(scope="module", params=FOUR_ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[str, Engine]]:
    name = request.param
    create = (
        f"CREATE TABLE rp_orders (id INT, region {TEXT[name]}, day DATE)",
        "INSERT INTO rp_orders VALUES (1, 'north', '2024-01-01'), (2, 'south', '2024-01-02')",
    )
    with prepared(URLS[name], create, ["DROP TABLE IF EXISTS rp_orders"]) as made:
        yield name, made


@pytest.mark.parametrize(
    "rule", ["region = :r", "region IN (:r, 'west')", "LOWER(region) = LOWER(:r)", "NOT region <> :r"]
)
def test_text_is_compared_exactly(engine: tuple[str, Engine], rule: str) -> None:
    dialect, made = engine
    allowed = {}
    for value in ("north", "NORTH", "nörth", "north ", "", "0", "north\t", "ｎorth"):
        for sql in ("SELECT id FROM rp_orders", "SELECT id + 0 FROM rp_orders"):
            restricted, parameters = restrict(sql, rules(dialect, rule), {"r": value})
            with made.connect() as connection:
                allowed[value] = [row[0] for row in connection.execute(text(restricted), parameters)]

    same = {"north", "NORTH"} if "LOWER" in rule else {"north"}
    assert {value for value, found in allowed.items() if found} == same
    assert allowed["north"] == [1]


def test_numbers_and_dates_are_compared_with_columns_of_their_type(engine: tuple[str, Engine]) -> None:
    dialect, made = engine
    for rule, value in (("id = :r", 1), ("day <= :r", "2024-01-01"), ("id BETWEEN 0 AND :r", 1)):
        restricted, parameters = restrict("SELECT id FROM rp_orders", rules(dialect, rule), {"r": value})
        with made.connect() as connection:
            assert [row[0] for row in connection.execute(text(restricted), parameters)] == [1]


@pytest.mark.parametrize("dialect", ["mysql", "sqlite", "duckdb", "postgres", "clickhouse"])
@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("region = :r", 0),
        ("region IN ('west', :r)", 0.0),
        ("id = :r", "1abc"),
        ("id = :r", "1"),
        ("NOT (id <> :r)", ""),
        ("id = :r", float("nan")),
        ("day = :r", "2024-01-01abc"),
        ("day = :r", 20240101),
        ("id IN (SELECT o.id FROM rp_orders AS o WHERE o.region = :r)", 0),
    ],
)
def test_a_value_of_another_type_is_refused(dialect: str, rule: str, value: Any) -> None:
    access = rules(dialect, rule)

    with pytest.raises(ConfigurationError, match="the parameter :r does not have the type"):
        access.check_parameters({"r": value})
    with pytest.raises(ConfigurationError, match="the parameter :r does not have the type"):
        restrict("SELECT id FROM rp_orders", access, {"r": value})


@pytest.mark.parametrize(
    "kind, value, fits",
    [
        ("BOOLEAN", True, True),
        ("BOOLEAN", 1, True),
        ("BOOLEAN", "true", False),
        ("INTEGER", True, False),
        ("NUMERIC(9, 2)", 1.5, True),
        ("TIMESTAMP", "2024-01-01 10:00:00", True),
        ("TIME", "10:61", False),
        ("UUID", "6f1c2b9e-0000-4000-8000-000000000000", True),
        ("ENUM", 1, False),
        ("TEXT", None, False),
        ("TEXT", ["a"], False),
        ("NULL", 1, True),
    ],
)
def test_types_of_values(kind: str, value: Any, fits: bool) -> None:
    assert has_type_of(value, Column("c", kind)) is fits

"""Names of tables and columns as models write them."""

import pytest

from datasphinx.agent.linking import matching_column, matching_tables
from datasphinx.agent.schema.catalog import Catalog, Column, Table

TABLES = [
    Table("orders", (Column("id", "INT"),)),
    Table("orders", (Column("id", "INT"),), schema="archive"),
    Table("visits", (Column("id", "INT"),), schema="clinic"),
    Table("visits", (Column("id", "INT"),), schema="museum"),
    Table("Order Details", (Column("id", "INT"),)),
    Table("sales (2019)", (Column("id", "INT"),)),
    Table("v1.2", (Column("id", "INT"),)),
]
CATALOG = Catalog("postgres", {table.key: table for table in TABLES})


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("orders", ["orders"]),
        ("ORDERS", ["orders"]),
        ("public.orders", ["orders"]),
        ("shop.public.orders", ["orders"]),
        ("archive.orders", ["archive.orders"]),
        ('"archive"."orders"', ["archive.orders"]),
        ("[Archive].[Orders]", ["archive.orders"]),
        ("`archive`.`orders` (id, total)", ["archive.orders"]),
        ("orders(id, total)", ["orders"]),
        ('  "order details" ', ["Order Details"]),
        ("sales (2019)", ["sales (2019)"]),
        ('"sales (2019)"(id)', ["sales (2019)"]),
        ("v1.2", ["v1.2"]),
        ('"v1.2"', ["v1.2"]),
        ("visits", ["clinic.visits", "museum.visits"]),
        ("museum.visits", ["museum.visits"]),
        ("order", []),
        ("orders_2", []),
        ("id", []),
        ("", []),
        ("...", []),
        ("()", []),
    ],
)
def test_a_table_is_found(name: str, keys: list[str]) -> None:
    assert matching_tables(name, CATALOG) == keys


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("total", "total"),
        ("Total", "total"),
        ('"total"', "total"),
        (" orders.total ", "total"),
        ('public."orders"."total"', "total"),
        ("`unit price`", "unit price"),
        ("a.b", "a.b"),
        ("totals", None),
        ("", None),
    ],
)
def test_a_column_is_found(name: str, column: str | None) -> None:
    assert matching_column(name, ["total", "unit price", "a.b"]) == column

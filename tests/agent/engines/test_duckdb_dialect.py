"""The schema of DuckDB files, as SQLAlchemy's inspector reads it."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from sqlalchemy import Inspector, MetaData, create_engine, inspect, text
from sqlalchemy.exc import NoSuchTableError

from datasphinx.agent.sql import database

assert database  # It registers the dialect.


@pytest.fixture
def inspector(tmp_path: Path) -> Iterator[Inspector]:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in (
            "CREATE TABLE customers (region INTEGER, number INTEGER, tags VARCHAR[], rank UTINYINT "
            "NOT NULL, size ENUM('s', 'm'), PRIMARY KEY (region, number))",
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, region INTEGER, customer INTEGER, total DECIMAL(9, 2), "
            "FOREIGN KEY (region, customer) REFERENCES customers (region, number))",
            "COMMENT ON TABLE orders IS 'one row an order'",
            "COMMENT ON COLUMN orders.total IS 'in euros'",
            "CREATE VIEW totals AS SELECT sum(total) AS total FROM orders",
            "CREATE SCHEMA hr",
            'CREATE TABLE hr."pay ""roll" (name VARCHAR)',
        ):
            connection.execute(statement)
    engine = create_engine(f"duckdb:///{path}", connect_args={"read_only": True})
    with engine.connect() as connected:
        yield inspect(connected)
    engine.dispose()


def test_names(inspector: Inspector) -> None:
    assert inspector.default_schema_name == "main"
    assert inspector.get_schema_names() == ["hr", "main"]
    assert inspector.get_table_names() == ["customers", "orders"]
    assert inspector.get_table_names("hr") == ['pay "roll']
    assert inspector.get_view_names() == ["totals"]
    assert inspector.has_table("totals")
    assert not inspector.has_table("nothing")
    assert "sum(total)" in inspector.get_view_definition("totals")
    with pytest.raises(NoSuchTableError):
        inspector.get_view_definition("orders")


def test_columns(inspector: Inspector) -> None:
    columns = {column["name"]: column for column in inspector.get_columns("customers")}
    total = inspector.get_columns("orders")[3]

    assert {name: str(column["type"]) for name, column in columns.items()} == {
        "region": "INTEGER", "number": "INTEGER", "tags": "VARCHAR[]", "rank": "UTINYINT", "size": "ENUM",
    }  # fmt: skip
    assert [columns[name]["nullable"] for name in ("region", "tags", "rank")] == [False, True, False]
    assert (str(total["type"]), total["comment"]) == ("DECIMAL(9,2)", "in euros")
    assert [column["name"] for column in inspector.get_columns("totals")] == ["total"]


def test_keys_and_comments(inspector: Inspector) -> None:
    (key,) = inspector.get_foreign_keys("orders")

    assert inspector.get_pk_constraint("customers")["constrained_columns"] == ["region", "number"]
    assert inspector.get_pk_constraint("totals")["constrained_columns"] == []
    assert (key["constrained_columns"], key["referred_table"], key["referred_columns"]) == (
        ["region", "customer"], "customers", ["region", "number"],
    )  # fmt: skip
    assert inspector.get_table_comment("orders") == {"text": "one row an order"}
    assert inspector.get_table_comment("customers") == {"text": None}
    assert inspector.get_indexes("orders") == []
    metadata = MetaData()
    metadata.reflect(inspector.engine)
    assert set(metadata.tables) >= {"customers", "orders"}


def test_statements_run_with_parameters(inspector: Inspector) -> None:
    connection = inspector.bind
    assert connection is not None
    assert connection.execute(text("SELECT :one + 1"), {"one": 1}).scalar() == 2  # type: ignore[union-attr]
    connection.rollback()  # type: ignore[union-attr]
    connection.commit()  # type: ignore[union-attr]

"""Lineage finds outputs with values of secret columns through every construct, or counts them as secret."""

import pytest

from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sql.secret_outputs import secret_outputs
from tests.fixtures import Pair, read_pairs

SECRET = {"email", "salary"}


def table(name: str, *columns: str, is_view: bool = False) -> Table:
    return Table(name, tuple(Column(each, "TEXT", secret=each in SECRET) for each in columns), is_view=is_view)


TABLES = (
    table("customers", "id", "name", "email", "city"),
    table("staff", "id", "name", "salary"),
    table("orders", "id", "customer_id", "amount"),
    table("logins", "id", "email", is_view=True),
)


def catalog(dialect: str) -> Catalog:
    return Catalog(dialect, {each.key: each for each in TABLES}, "public" if dialect == "postgres" else "main")


@pytest.mark.parametrize("pair", read_pairs("secret_outputs.sql"), ids=lambda pair: f"{pair.expected} {pair.sql[:60]}")
def test_pairs(pair: Pair) -> None:
    dialect, *positions, _, width = pair.expected.split()
    expected = [] if positions == ["none"] else list(map(int, positions))
    assert secret_outputs(pair.sql, catalog(dialect), int(width)) == expected


@pytest.mark.parametrize("width", [1, 3])
def test_another_number_of_columns_than_the_statement_has_makes_all_of_them_secret(width: int) -> None:
    assert secret_outputs("SELECT id, name FROM customers", catalog("sqlite"), width) == list(range(width))


@pytest.mark.parametrize("sql", ["SELECT ((", "SELECT 1; SELECT email FROM customers"])
def test_what_cannot_be_read_is_secret(sql: str) -> None:
    assert secret_outputs(sql, catalog("sqlite"), 2) == [0, 1]


def test_chains_of_functions_and_subqueries_take_linear_time() -> None:
    functions = ", ".join(f"UNNEST([t{at}.a, t{at}.a]) AS t{at + 1}(a)" for at in range(60))
    sql = f"SELECT t60.a FROM customers, (SELECT name AS a FROM customers) AS t0, {functions}"
    assert secret_outputs(sql, catalog("duckdb"), 1) == []
    tables = ", ".join(f"c{at + 1} AS (SELECT x.a || y.a AS a FROM c{at} AS x, c{at} AS y)" for at in range(40))
    sql = f"WITH c0 AS (SELECT name AS a FROM customers), {tables} SELECT a FROM c40"
    assert secret_outputs(sql, catalog("sqlite"), 1) == []

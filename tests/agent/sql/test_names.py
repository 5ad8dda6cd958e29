"""Names are resolved against the catalog; an error for an unknown name suggests the nearest names."""

import pytest

from datasphinx.agent.errors import NamesUnknown
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sql.names import resolve
from tests.cases import all_cases
from tests.fixtures import Pair, read_pairs


def table(name: str, *columns: str) -> Table:
    return Table(name, tuple(Column(column, "TEXT") for column in columns))


TABLES = (
    table("customers", "id", "name", "city"),
    table("orders", "id", "customer_id", "amount", "ordered_on", "status"),
    table("order items", "unit price"),
)
CATALOG = Catalog("sqlite", {each.key: each for each in TABLES}, default_schema="main")


@all_cases("pair", read_pairs("names.sql"), ids=lambda pair: pair.sql[:60])
def test_pairs(pair: Pair) -> None:
    if pair.expected == "known":
        resolve(pair.sql, CATALOG)
        return
    kind, _, rest = pair.expected.partition(" ")
    name, _, nearest = rest.partition(" -> ")
    with pytest.raises(NamesUnknown) as caught:
        resolve(pair.sql, CATALOG)
    message = f"there is no column {name}" if kind == "unknown" else f"the column {name} is ambiguous"
    assert message in caught.value.unknown
    assert nearest == "-" or nearest in caught.value.unknown


def test_postgres_folds_unquoted_names_and_keeps_quoted_ones() -> None:
    catalog = Catalog("postgres", {"t": table("t", "id", "Mixed")}, default_schema="public")
    resolve('SELECT ID, "Mixed" FROM T', catalog)
    with pytest.raises(NamesUnknown, match="Mixed"):
        resolve("SELECT Mixed FROM t", catalog)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("sql", ['SELECT "Количество" FROM "Продажи"', "SELECT Количество FROM Продажи"])
def test_capitals_beyond_ascii_are_found(dialect: str, sql: str) -> None:
    table = Table("Продажи", (Column("Количество", "INTEGER"), Column("Net Amount", "INTEGER")))
    resolve(sql, Catalog(dialect, {"Продажи": table}))

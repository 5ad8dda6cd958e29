"""What is joined for its key alone is shown by its name."""

import pytest

from datasphinx.agent.embedded.expand import expand
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table

CHANNELS = Table(
    "channels", (Column("code", "TEXT"), Column("name", "TEXT"), Column("fee", "REAL")), primary_key=("code",)
)
SHOPS = Table(
    "shops", (Column("id", "INTEGER"), Column("shop_name", "TEXT"), Column("owner_name", "TEXT")), primary_key=("id",)
)
SALES = Table(
    "sales",
    (Column("sale_id", "INTEGER"), Column("channel", "TEXT"), Column("shop", "INTEGER"), Column("amount", "REAL")),
    primary_key=("sale_id",),
    foreign_keys=(ForeignKey(("channel",), "channels", ("code",)), ForeignKey(("shop",), "shops", ("id",))),
)
CATALOG = Catalog("sqlite", {table.name: table for table in (CHANNELS, SHOPS, SALES)})
BY_CODE = "FROM sales JOIN channels SELECT channels.code, SUM(sales.amount) GROUP BY channels.code"


@pytest.mark.parametrize("text", [BY_CODE, BY_CODE.replace("sales JOIN channels", "channels JOIN sales")])
def test_a_thing_that_is_joined_for_its_key_alone_is_shown_by_its_name(text: str) -> None:
    sql = expand(text, CATALOG, "What is the number of sales by channel?")
    assert sql.startswith("SELECT channels.name, SUM(sales.amount)")
    assert sql.endswith("GROUP BY channels.code, channels.name ORDER BY SUM(sales.amount) DESC")


def test_without_groups_too() -> None:
    text = "FROM sales JOIN channels SELECT sales.sale_id, channels.code ORDER BY sales.amount DESC LIMIT 1"
    sql = expand(text, CATALOG, "the largest sale and its channel")
    assert sql.startswith("SELECT sales.sale_id, channels.name FROM")
    assert "GROUP BY" not in sql


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (BY_CODE, "Sales by the code of the channel"),
        (BY_CODE, ""),
        ("FROM sales SELECT channel, SUM(amount) GROUP BY channel", "Sales by channel"),
        (BY_CODE.replace("SUM(sales.amount)", "MAX(channels.fee)"), "Highest fee by channel"),
        ("FROM sales JOIN channels SELECT COUNT(DISTINCT channels.code)", "How many channels sold something?"),
        ("FROM sales JOIN shops SELECT shops.id, COUNT(*) GROUP BY shops.id", "Sales by shop"),
    ],
)
def test_a_key_that_is_asked_for_or_has_no_one_name_stays(text: str, question: str) -> None:
    assert expand(text, CATALOG, question).partition(" ORDER BY ")[0] == expand(text, CATALOG)

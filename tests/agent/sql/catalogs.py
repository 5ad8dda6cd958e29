"""A hand-written catalog, the same for every dialect."""

from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table

TABLES = (
    Table(
        "customers",
        (
            Column("id", "INTEGER"),
            Column("name", "TEXT"),
            Column("state", "TEXT"),
            Column("born", "DATE"),
            Column("score", "INTEGER"),
        ),
        primary_key=("id",),
    ),
    Table(
        "orders",
        (
            Column("id", "INTEGER"),
            Column("customer_id", "INTEGER"),
            Column("amount", "NUMERIC"),
            Column("status", "VARCHAR(20)"),
        ),
        primary_key=("id",),
        foreign_keys=(ForeignKey(("customer_id",), "customers", ("id",)),),
    ),
    Table("visits", (Column("who", "TEXT"), Column("n", "INTEGER"))),
    Table("Order Lines", (Column("Unit Price", "NUMERIC"), Column("order_id", "INTEGER"))),
)


def catalog(dialect: str) -> Catalog:
    """Return a catalog of the four tables with `dialect`."""
    return Catalog(dialect, {table.key: table for table in TABLES}, default_schema="main")

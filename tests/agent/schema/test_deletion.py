"""Columns that mark rows as deleted are recognised by what they hold and are called, and shown to the model."""

import pytest

from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.deletion import marks_deletion
from datasphinx.agent.schema.describe import describe

STATES = {("people", "status"): ("active", "archived")}
MARKS = (
    Column("deleted_at", "TIMESTAMP"),
    Column("geloescht_am", "DATE", null_share=0.9, distinct=3),
    Column("is_deleted", "INTEGER", nullable=False, null_share=0.0, distinct=2),
    Column("gone", "BOOLEAN", comment="the account was removed"),
    Column("status", "TEXT", null_share=0.0, distinct=2),
)
OTHERS = (
    Column("shipped_at", "TIMESTAMP", null_share=0.9, distinct=3),
    Column("deleted_at", "TIMESTAMP", null_share=1.0, distinct=0),
    Column("is_deleted", "INTEGER", nullable=False, null_share=0.0, distinct=1),
    Column("is_premium", "BOOLEAN", null_share=0.0, distinct=2),
    Column("deleted_by", "INTEGER", nullable=False),
    Column("deleted_at", "TIMESTAMP", secret=True),
)


@pytest.mark.parametrize("column", [*MARKS, *OTHERS])
def test_marks_of_deletion(column: Column) -> None:
    table = Table("people", (Column("id", "INTEGER"), column), primary_key=("id",))
    assert marks_deletion(table, column, STATES) == (column in MARKS)
    text = describe(Catalog("postgres", {"people": table}, values=STATES), {"people": ["id", column.name]}, str)
    assert ("tells which rows are deleted" in text) == (column in MARKS)

"""Statements that are repaired without a model, and statements that are left to it."""

import pytest

from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sql.compare import canonical_sql
from datasphinx.agent.sql.repair import repair
from datasphinx.agent.sql.validation import find_problem
from tests.agent.sql.catalogs import catalog
from tests.fixtures import Pair, read_pairs

CASES = [
    (dialect, pair)
    for dialect in ("sqlite", "postgres", "mysql", "duckdb")
    for pair in read_pairs(f"repairs/{dialect}.sql")
]


@pytest.mark.parametrize("dialect, pair", CASES)
def test_pairs(dialect: str, pair: Pair) -> None:
    known = catalog(dialect)
    found = repair(pair.sql, known)
    if pair.expected == "none":
        assert found is None
        return
    assert found is not None
    assert found.sql == pair.expected
    assert find_problem(found.sql, known) is None
    assert found.description


def test_what_was_done_is_said() -> None:
    found = repair("SELECT TOP 3 Names FROM customer", catalog("sqlite"))
    assert found is not None
    assert found.description == "read as tsql; took customer as customers; took Names as customers.name"


def test_a_table_beside_one_that_differs_in_case_is_named() -> None:
    tables = (Table("Events", (Column("Day", "DATE"),)), Table("events", (Column("day", "DATE"),)))
    known = Catalog("postgres", {table.key: table for table in tables}, default_schema="public")
    found = repair("SELECT day FROM Events", known)
    assert found is not None
    assert found.sql == 'SELECT day FROM "events"'
    assert "although Events exists" in found.description
    assert repair("SELECT day FROM events", known) is None
    assert repair('SELECT "Day" FROM "Events"', known) is None


def test_a_column_beside_one_that_differs_in_case_is_named() -> None:
    table = Table("sales", (Column("Amount", "INTEGER"), Column("amount", "INTEGER")))
    known = Catalog("postgres", {"sales": table}, default_schema="public")
    found = repair("SELECT SUM(Amount) FROM sales", known)
    assert found is not None
    assert found.sql == 'SELECT SUM("amount") FROM sales'
    assert found.description == "took Amount as the column amount, although Amount exists"
    assert repair("SELECT SUM(amount) FROM sales", known) is None
    assert repair('SELECT SUM("Amount") FROM sales', known) is None


DEPOTS = (
    Table("Depots", (Column("DepotID", "INTEGER"), Column("City", "TEXT"))),
    Table("depotStaff", (Column("depotID", "INTEGER"), Column("Wage", "INTEGER"))),
)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT d.City, SUM(s.Wage) FROM Depots d JOIN depotStaff s ON s.depotID = d.DepotID GROUP BY d.City",
            'SELECT "d"."City", SUM("s"."Wage") FROM "Depots" AS d '
            'JOIN "depotStaff" AS s ON "s"."depotID" = "d"."DepotID" GROUP BY "d"."City"',
        ),
        (
            "SELECT City FROM Depots WHERE DepotID IN (SELECT depotID FROM depotStaff WHERE Wage > 6)",
            'SELECT "City" FROM "Depots" '
            'WHERE "DepotID" IN (SELECT "depotID" AS depotID FROM "depotStaff" WHERE "Wage" > 6)',
        ),
        (
            "SELECT City, (SELECT SUM(Wage) FROM depotStaff WHERE depotID = d.DepotID) AS w FROM Depots d",
            'SELECT "City", (SELECT SUM("Wage") FROM "depotStaff" WHERE "depotID" = "d"."DepotID") AS w '
            'FROM "Depots" AS d',
        ),
        (
            "SELECT depotID, SUM(Wage) AS w FROM depotStaff GROUP BY depotID HAVING SUM(Wage) > 5 ORDER BY SUM(Wage)",
            'SELECT "depotID", SUM("Wage") AS w FROM "depotStaff" GROUP BY "depotID" HAVING SUM("Wage") > 5 '
            'ORDER BY SUM("Wage")',
        ),
        (
            "SELECT Depots.City FROM Depots JOIN depotStaff ON depotStaff.depotID = Depots.DepotID",
            'SELECT "Depots"."City" FROM "Depots" JOIN "depotStaff" ON "depotStaff"."depotID" = "Depots"."DepotID"',
        ),
        (
            'SELECT t."city" FROM (SELECT "city" FROM Depots UNION SELECT "city" FROM Depots) t',
            'SELECT t."city" FROM (SELECT "City" AS "city" FROM "Depots" UNION SELECT "City" AS "city" FROM "Depots") '
            "AS t",
        ),
        (
            "SELECT City, COUNT(*) FROM Depots GROUP BY City HAVING City > 'a'",
            'SELECT "City", COUNT(*) FROM "Depots" GROUP BY "City" HAVING "City" > \'a\'',
        ),
        (
            "WITH w AS (SELECT depotID FROM depotStaff s) SELECT w.depotID FROM w",
            'WITH w AS (SELECT "depotID" AS depotID FROM "depotStaff" AS s) SELECT w.depotID FROM w',
        ),
    ],
)
def test_names_in_another_case_are_mended_in_all_parts_of_a_statement(sql: str, expected: str) -> None:
    known = Catalog("postgres", {table.key: table for table in DEPOTS}, default_schema="public")
    found = repair(sql, known)
    assert found is not None
    assert found.sql == expected


def test_a_table_in_another_case_is_mended_where_case_matters_before_the_database_is_asked() -> None:
    found = repair("SELECT COUNT(*) FROM Customers", catalog("mysql"))
    assert found is not None
    assert found.sql == "SELECT COUNT(*) FROM `customers`"
    assert repair("SELECT COUNT(*) FROM Customers", catalog("sqlite")) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("SELECT  name\nFROM customers -- all", "select NAME from Customers", True),
        ("SELECT name FROM customers WHERE state = 'TX'", "SELECT name FROM customers WHERE state = 'tx'", False),
        ("SELECT name FROM", "SELECT  name  FROM", True),
        ("SELECT name FROM customers", "SELECT name FROM customers LIMIT 1", False),
    ],
)
def test_same_form(one: str, other: str, same: bool) -> None:
    assert (canonical_sql(one, "sqlite") == canonical_sql(other, "sqlite")) is same

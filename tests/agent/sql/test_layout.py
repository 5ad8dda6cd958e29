"""Statements in lines."""

import pytest

from datasphinx.agent.sql.compare import canonical_sql
from datasphinx.agent.sql.layout import in_lines

LONG = (
    "SELECT c.name, COUNT(*) AS orders FROM orders AS o JOIN customers AS c ON c.customer_id = o.customer_id "
    "WHERE o.order_id IN (SELECT order_id FROM returns) GROUP BY c.name ORDER BY orders DESC LIMIT 5"
)


def test_clauses_of_a_long_statement_and_its_subqueries_stand_on_their_own_lines() -> None:
    shown = in_lines(LONG, "sqlite")

    assert {"FROM orders AS o", "    FROM returns", "GROUP BY", "LIMIT 5"} <= set(shown.splitlines())
    assert canonical_sql(shown, "sqlite") == canonical_sql(LONG, "sqlite")


@pytest.mark.parametrize("sql", ["SELECT COUNT(*) FROM orders", LONG.replace(" GROUP", "\nGROUP"), f"{LONG} LIMIT"])
def test_short_ones_those_in_lines_and_those_that_are_not_sql_stay(sql: str) -> None:
    assert in_lines(sql, "sqlite") == sql

"""Which outputs of a statement add up."""

import pytest

from datasphinx.agent.sql.output_columns import additive_columns, output_columns
from tests.agent.sql.catalogs import catalog


@pytest.mark.parametrize(
    ("sql", "additive"),
    [
        ("SELECT status, COUNT(*) FROM orders GROUP BY status", [1]),
        ("SELECT status, ROUND(SUM(amount * (1 - 0.1)), 2) AS n FROM orders GROUP BY status", [1]),
        ("SELECT status, COALESCE(ROUND(SUM(amount), 2), 0) AS n FROM orders GROUP BY status", [1]),
        ("SELECT status, SUM(amount) - COUNT(*) AS n FROM orders GROUP BY status", [1]),
        ("SELECT status, n FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) AS t", [1]),
        ("SELECT status, COUNT(DISTINCT customer_id) AS n FROM orders GROUP BY status", []),
        ("SELECT status, AVG(amount) AS n FROM orders GROUP BY status", []),
        ("SELECT COUNT(*) FILTER (WHERE id > 5) AS n, AVG(id) FILTER (WHERE id > 5) AS m FROM orders", [0]),
        ("SELECT status, ROUND(SUM(amount) / 100.0, 2) AS n FROM orders GROUP BY status", [1]),
        # Without their remainders, the quotients add up to less.
        ("SELECT status, SUM(amount) / 100 AS n FROM orders GROUP BY status", []),
        ("SELECT id, amount * 1.2 AS gross, 0.01 * amount AS euros FROM orders", [0, 1, 2]),
        ("SELECT status, AVG(amount) / 100.0 AS n, 100 / SUM(amount) AS m FROM orders GROUP BY status", []),
        ("SELECT status, SUM(amount) / COUNT(*) AS n FROM orders GROUP BY status", []),
        ("SELECT status, ROUND(SUM(amount) / SUM(id), 2) AS n FROM orders GROUP BY status", []),
        ("SELECT SUM(amount) OVER (ORDER BY id) AS n FROM orders", []),
        ("SELECT status, SUM(amount) AS n FROM orders GROUP BY ROLLUP (status)", []),
        ("SELECT SUM(amount) AS n FROM orders UNION SELECT 1", []),
        ("SELECT amount FROM orders", [0]),
        ("SELECT DISTINCT amount FROM orders", []),
        ("SELECT o.amount, c.score FROM orders AS o JOIN customers AS c ON c.id = o.customer_id", [0]),
        ("SELECT amount, score FROM orders AS o JOIN customers AS c ON c.id = o.customer_id", [0]),
        ("WITH a AS (SELECT status, SUM(amount) AS n FROM orders GROUP BY status), b AS (SELECT status, "
         "COUNT(*) AS k FROM orders GROUP BY 1) SELECT l.status, COALESCE(a.n, 0), b.k "
         "FROM (SELECT DISTINCT status FROM orders) AS l LEFT JOIN a ON a.status = l.status "
         "LEFT JOIN b ON b.status = l.status", [1, 2]),
        ("WITH a AS (SELECT status, SUM(amount) AS n FROM orders GROUP BY status), b AS (SELECT status, id, "
         "COUNT(*) AS k FROM orders GROUP BY 1, 2) SELECT a.status, a.n, b.k FROM a JOIN b ON b.status = a.status",
         [2]),
    ],
)  # fmt: skip
def test_sums_counts_and_rows_that_no_join_repeats_add_up(sql: str, additive: list[int]) -> None:
    assert additive_columns(sql, catalog("postgres")) == additive


@pytest.mark.parametrize(
    ("dialect", "groups"),
    [
        ("mysql", "status WITH ROLLUP"),
        ("clickhouse", "status WITH TOTALS"),
        ("postgres", "CUBE (status)"),
        ("duckdb", "GROUPING SETS ((status), ())"),
    ],
)
def test_rows_with_subtotals_do_not_add_up(dialect: str, groups: str) -> None:
    sql = f"SELECT status, SUM(amount) AS n FROM orders GROUP BY {groups}"
    assert additive_columns(sql, catalog(dialect)) == []


def test_averages_of_long_sums_have_no_known_decimals() -> None:
    (output,) = output_columns(f"SELECT AVG(amount){' + 1' * 1200} FROM orders", catalog("postgres"))
    assert output.averaged_decimals is None


def test_long_sums_do_not_add_up() -> None:
    assert additive_columns(f"SELECT amount{' + amount' * 1200} AS n FROM orders", catalog("postgres")) == []

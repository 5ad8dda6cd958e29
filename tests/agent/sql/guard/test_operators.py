"""A keyword operator before a parenthesis is no function call."""

import sqlite3

import duckdb
import pytest

from datasphinx.agent.schema.catalog import ReadableNames
from datasphinx.agent.sql.guard import check, sanitize

ROWS = """
CREATE TABLE t (a TEXT, n INTEGER, date TEXT DEFAULT '2024');
INSERT INTO t (a, n) VALUES ('abc', 1), ('xyz', 2), (NULL, 3);
"""
DIALECTS = ("sqlite", "duckdb", "postgres", "mysql", "clickhouse", "spark", "trino")

CONDITIONS = {
    "a LIKE ('a' || '%')": 1,
    "a NOT LIKE ('a' || '%')": 1,
    "t.a LIKE ('a' || '%')": 1,
    "\"a\" LIKE ('a' || '%')": 1,
    "(a) LIKE ('a' || '%')": 1,
    "LOWER(a) LIKE ('a' || '%')": 1,
    "'abc' LIKE (a)": 1,
    "a GLOB ('a' || '*')": 1,
    "n = 1 AND (a = 'abc' OR a = 'xyz')": 1,
    "n = 1 OR (a = 'xyz')": 2,
    "a IS NULL OR (n = 1)": 2,
    "n IN (1) AND (a = 'abc')": 1,
    "NOT (n = 1) AND (NOT (n = 2))": 1,
    "n BETWEEN (1) AND (2)": 2,
    "n NOT BETWEEN (1) AND (2)": 1,
    "n IN ((1), (2))": 2,
    "n NOT IN (1, 2)": 1,
    "t.date LIKE ('2024' || '%')": 3,
    "a IS DISTINCT FROM ('abc')": 2,
    "CASE (n) WHEN (1) THEN (1) ELSE (0) END = (1)": 1,
    "EXISTS (SELECT 1 FROM t AS u WHERE u.n = (t.n + 1))": 2,
}
"""Conditions that SQLite and DuckDB both support, with the number of rows."""

ONLY_DUCKDB = {
    "a ILIKE ('A' || '%')": 1,
    "a NOT ILIKE ('A' || '%')": 1,
    "a ~~ ('a' || '%')": 1,
    "a SIMILAR TO ('a' || '.*')": 1,
    "n = ANY (SELECT 1)": 1,
    "n = ALL (SELECT 1)": 1,
    "n = SOME (SELECT 1)": 1,
    "TIMESTAMP '2024-01-01 00:00:00' AT TIME ZONE ('U' || 'TC') IS NOT NULL": 3,
}

OTHERS = [
    ("postgres", "a ILIKE ('A' || '%')"),
    ("postgres", "a SIMILAR TO ('a' || '%')"),
    ("postgres", "a GLOB ('a' || '*')"),
    ("postgres", "n BETWEEN SYMMETRIC (2) AND (1)"),
    ("postgres", "ts AT TIME ZONE ('U' || 'TC') IS NOT NULL"),
    ("mysql", "a LIKE ('a' || '%')"),
    ("mysql", "a GLOB ('a' || '*')"),
    ("mysql", "a RLIKE ('a' || '.*')"),
    ("mysql", "a REGEXP ('a' || '.*')"),
    ("mysql", "(n = 1) XOR (n = 2)"),
    ("mysql", "n DIV (2) = 1"),
    ("mysql", "n MOD (2) = 1"),
    ("clickhouse", "a LIKE ('a' || '%')"),
    ("clickhouse", "a ILIKE ('a' || '%')"),
    ("spark", "a LIKE ('a' || '%')"),
    ("spark", "a RLIKE ('a' || '.*')"),
    ("spark", "n = 1 AND (a = 'abc' OR (a = 'xyz'))"),
    ("spark", "n BETWEEN (1) AND (2)"),
    ("trino", "a LIKE ('a' || '%')"),
    ("trino", "a NOT LIKE ('a' || '%')"),
]


def printed(condition: str, dialect: str) -> str:
    """Return the text that the guard lets run."""
    text, findings = sanitize(f"SELECT n FROM t WHERE {condition}", dialect, {"t"})
    assert not findings
    return text


@pytest.mark.parametrize("condition, count", CONDITIONS.items())
def test_sqlite_runs_the_statement(condition: str, count: int) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(ROWS)
    assert len(connection.execute(printed(condition, "sqlite")).fetchall()) == count


@pytest.mark.parametrize("condition, count", (CONDITIONS | ONLY_DUCKDB).items())
def test_duckdb_runs_the_statement(condition: str, count: int) -> None:
    connection = duckdb.connect()
    connection.execute(ROWS)
    assert len(connection.execute(printed(condition, "duckdb")).fetchall()) == count


@pytest.mark.parametrize("dialect, condition", OTHERS)
def test_other_engines(dialect: str, condition: str) -> None:
    assert printed(condition, dialect)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres", "clickhouse", "spark"])
def test_an_offset_may_be_in_parentheses(dialect: str) -> None:
    assert not check("SELECT n FROM t ORDER BY n LIMIT (1) OFFSET (1)", dialect, {"t"})


REFUSED = [
    ("duckdb", "SELECT * FROM glob('/etc/*')"),
    ("duckdb", "SELECT * FROM t, glob('/etc/*')"),
    ("duckdb", "SELECT * FROM t CROSS JOIN glob('/etc/*')"),
    ("duckdb", "SELECT * FROM t CROSS JOIN LATERAL glob('/etc/*')"),
    ("duckdb", "SELECT ALL glob('/etc/*') FROM t"),
    ("duckdb", "SELECT DISTINCT glob('/etc/*') FROM t"),
    ("duckdb", "SELECT n FROM t WHERE NOT glob('/etc/*')"),
    ("duckdb", "SELECT n FROM t WHERE n = ilike('a', 'b')"),
    ("duckdb", "SELECT CASE WHEN ilike('a', 'b') THEN 1 ELSE 0 END FROM t"),
    ("postgres", "SELECT glob(a) FROM t"),
    ("postgres", "SELECT n FROM t WHERE n > 1 AND glob(a)"),
    ("postgres", "SELECT n FROM t WHERE n IN (glob(a))"),
    ("postgres", 'SELECT n FROM t WHERE a LIKE "glob"(a)'),
    ("postgres", 'SELECT "case"(a) FROM t'),
    ("postgres", "SELECT zone(a) FROM t"),
    ("postgres", "SELECT symmetric(a) FROM t"),
    ("mysql", "SELECT glob(a) FROM t"),
    ("mysql", "SELECT n FROM t WHERE a LIKE glob(a)"),
    ("spark", "SELECT glob(a) FROM t"),
]


@pytest.mark.parametrize("dialect, sql", REFUSED)
def test_a_call_of_a_function_with_the_name_of_an_operator_is_refused(dialect: str, sql: str) -> None:
    assert check(sql, dialect, {"t"})


@pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect != "sqlite"])
def test_an_operator_that_is_also_a_user_defined_function_is_refused(dialect: str) -> None:
    names = ReadableNames(frozenset({"t"}), routines=frozenset({"glob"}))
    assert check("SELECT n FROM t WHERE a GLOB ('a')", dialect, names)

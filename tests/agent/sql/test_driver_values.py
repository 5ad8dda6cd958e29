"""Values that drivers lose or mistake: they arrive as the engine has them, on every engine."""

from decimal import Decimal
from pathlib import Path

import pytest

from datasphinx.agent.answers.outputs import compose_answer
from datasphinx.agent.engines.base import Engine
from datasphinx.agent.engines.postgres import PostgreSQL
from datasphinx.agent.engines.postgres_values import money_of
from datasphinx.agent.formatting.formats import format_rows
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.quotients import with_numbers_alike
from datasphinx.agent.sql.summary import summarize_query
from datasphinx.agent.types import Result
from tests.agent.sql.engines import EngineUnderTest, over
from tests.support.databases import make_table, open_url, url


def value(source: Source, expression: str) -> object:
    return source.execute(f"SELECT {expression} AS v")["rows"][0][0]


POSTGRES = [
    ("DATE 'infinity'", "infinity"),
    ("TIMESTAMP '-infinity'", "-infinity"),
    ("DATE '20000-01-31'", "20000-01-31"),
    ("DATE '0044-03-15 BC'", "0044-03-15 BC"),
    ("TIMESTAMP '2024-02-29 10:00'", "2024-02-29T10:00:00"),
    ("TIME '24:00:00'", "24:00:00"),
    ("INTERVAL '1 year 2 months -3 days 04:05:06.5'", "P1Y2M-3DT4H5M6.5S"),
    ("INTERVAL '-1 hour'", "PT-1H"),
    ("INTERVAL '0'", "P0D"),
    ("CAST('NaN' AS DOUBLE PRECISION)", "NaN"),
    ("CAST('Infinity' AS NUMERIC)", "Infinity"),
    ("CAST(0.9 AS REAL)", 0.9),
    ('CAST(\'{"a": 12345678901234567890.5, "b": 0.5}\' AS JSONB)', {"a": "12345678901234567890.5", "b": 0.5}),
    ("CAST(10 AS NUMERIC(12, 4)) / 3", 3.3333333333333335),
    ("CAST('1.234567890123456789' AS NUMERIC(38, 18))", "1.234567890123456789"),
    ("SUM(CAST('123456789012345678.12' AS NUMERIC(20, 2)))", "123456789012345678.12"),
    ("CAST(8610.25 AS MONEY)", 8610.25),
    ("CAST(-3.1 AS MONEY)", -3.1),
    ("SUM(CAST(0.1 AS MONEY))", 0.1),
    ("CAST('90000000000000000.12' AS NUMERIC)::MONEY", "90000000000000000.12"),
    ("ARRAY[CAST(1.5 AS MONEY)]", [1.5]),
]


@over(["postgres"])
def test_values_of_postgres(source: Source) -> None:
    assert [value(source, expression) for expression, _ in POSTGRES] == [expected for _, expected in POSTGRES]
    result = source.execute("SELECT INTERVAL '1 month' AS a, DATE '2024-02-29' AS b, CAST(1234 AS MONEY) AS c")
    assert result["types"] == ["interval", "date", "decimal"]
    assert result["rows"][0][2] == 1234


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("$0.00", "0"),
        ("($3.10)", "-3.1"),
        ("-1 234,50 €", "-1234.5"),
        ("₹12,34,567.89", "1234567.89"),
        ("KD1,234.567", "1234.567"),
        ("0,567 KD", "0.567"),
        ("￥1234", "1234"),
    ],
)
def test_money_is_read_in_the_locale_of_the_server(text: str, number: str) -> None:
    assert money_of(text) == Decimal(number)


@over(["duckdb"])
def test_intervals_of_duckdb_have_months(source: Source) -> None:
    intervals = "INTERVAL '2 months', AGE(DATE '2025-03-05', DATE '2023-01-01'), INTERVAL '-90 minutes'"
    result = source.execute(f"SELECT id, {intervals} FROM range(3) AS t(id) ORDER BY id DESC")
    assert result["types"] == ["integer", "interval", "interval", "interval"]
    assert result["rows"] == [[number, "P2M", "P2Y2M4D", "PT-1H-30M"] for number in (2, 1, 0)]


@over(["postgres"])
def test_values_of_another_engine_with_its_driver(
    engine: EngineUnderTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgreSQL, "prepare_pool", Engine.prepare_pool)
    source = open_url(engine.url, cache_dir=tmp_path)
    try:
        assert [value(source, expression) for expression, _ in POSTGRES] == [expected for _, expected in POSTGRES]
    finally:
        source.close()


@over(["mysql"])
def test_values_of_mysql(source: Source) -> None:
    expected = {
        "SEC_TO_TIME(3600 * 30)": "30:00:00",
        "TIMEDIFF('10:00:00', '20:30:05')": "-10:30:05",
        "CAST('00:00:01.5' AS TIME(1))": "00:00:01.500000",
    }
    assert {expression: value(source, expression) for expression in expected} == expected


@over(["mysql"])
def test_bits_are_booleans_and_numbers(engine: object, source: Source) -> None:
    admin = engine.admin  # type: ignore[attr-defined]
    admin("DROP TABLE IF EXISTS sphinx_bits")
    admin("CREATE TABLE sphinx_bits (id INT PRIMARY KEY, flag BIT(1), flags BIT(10), yes TINYINT(1))")
    admin("INSERT INTO sphinx_bits VALUES (1, b'1', b'1000000001', 1), (2, b'0', b'11', 0)")
    try:
        reopened = open_url(engine.url)  # type: ignore[attr-defined]
        rows = reopened.execute("SELECT flag, flags FROM sphinx_bits ORDER BY id")["rows"]
        assert rows == [[True, 513], [False, 3]]
        assert reopened.execute("SELECT MAX(flag) AS a, MIN(flags) AS b FROM sphinx_bits")["rows"] == [[True, 3]]
        warnings = reopened.warnings_about("SELECT id FROM sphinx_bits WHERE flag = 'yes'")
        assert any("sphinx_bits.flag" in warning and "'yes'" in warning for warning in warnings)
        assert not reopened.warnings_about("SELECT id FROM sphinx_bits WHERE flag = 1")
        reopened.database.engine.dispose()
    finally:
        admin("DROP TABLE sphinx_bits")


@over(["duckdb"])
def test_values_of_duckdb(source: Source) -> None:
    assert value(source, "CAST(0.9 AS FLOAT)") == 0.9
    assert value(source, "CAST(0.9 AS DOUBLE)") == 0.9
    assert value(source, "CAST(16777217 AS FLOAT)") == 16777216
    assert value(source, "CAST('-inf' AS DOUBLE)") == "-Infinity"
    assert value(source, "CAST('12345678901234567890.123' AS DECIMAL(38, 3))") == "12345678901234567890.123"


def test_infinity_of_sqlite(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "numbers.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE numbers (n REAL)")
        connection.execute("INSERT INTO numbers VALUES (9e999), (1.5)")
    assert open_url(f"sqlite:///{path}").execute("SELECT n FROM numbers ORDER BY n")["rows"] == [[1.5], ["Infinity"]]


QUOTIENTS = [
    ("SELECT a / b AS q FROM t", "13.3333333333333333", 13.333333333333334),
    ("SELECT AVG(a) AS q FROM t", "13.3333333333333333", 13.333333333333334),
    ("SELECT q FROM (SELECT a / b AS q FROM t) AS s", "13.3333333333333333", 13.333333333333334),
    ("SELECT a / b AS q FROM t", "6172839450617283945.0625", 6172839450617283945.0625),
    ("SELECT AVG(a) AS q FROM t", "44976.190476190476", 44976.190476190476),
    ("SELECT SUM(a) AS q FROM t", "13.3333333333333333", "13.3333333333333333"),
]


@pytest.mark.parametrize("sql, cell, expected", QUOTIENTS)
def test_a_column_has_numbers_or_texts_of_digits(sql: str, cell: str, expected: object) -> None:
    result = Result(columns=["q"], types=["decimal"], rows=[[cell], [None], [2]], truncated=False)
    assert with_numbers_alike(result, sql, "postgres")["rows"] == [[expected], [None], [type(expected)(2)]]


def test_numbers_and_booleans_are_shown_as_they_are_stored() -> None:
    shown = [[flag, 1.5] for flag in (True, False)]
    result = Result(columns=["flag", "n"], types=["boolean", "float"], rows=shown, truncated=False)
    assert format_rows(result, "en", 1) == [["yes", "1.5"]]
    assert format_rows(result, "de", 2) == [["ja", "1,5"], ["nein", "1,5"]]


def test_a_boolean_that_names_a_row_is_a_word(tmp_path: Path) -> None:
    path = make_table(tmp_path, "id INTEGER, ok INTEGER", [(1, 0), (2, 1), (3, 1)])
    sql = "SELECT ok, COUNT(*) AS n FROM things GROUP BY ok"
    summary = summarize_query(sql, open_url(url(path)).catalog)
    result = Result(columns=["ok", "n"], types=["boolean", "integer"], rows=[[False, 1], [True, 2]], truncated=False)
    told = compose_answer("Things by ok", {"result": result}, requested=None, language="en", sql=sql, summary=summary)
    assert "True" not in told.answer and "| yes | 2 |" in told.answer

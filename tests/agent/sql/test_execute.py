"""Execution on SQLite: results, limits, and read-only access."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest

from datasphinx.agent.engines.read_only import open_sqlite_read_only
from datasphinx.agent.errors import (
    SourceNotFound,
    SourceUnreachable,
    StatementFailed,
    StatementRefused,
)
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.rows import json_safe
from datasphinx.agent.sql.worker import sqlite_cursor
from datasphinx.agent.types import Limits
from tests.support.databases import make_database, open_url


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "small #shop é.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, amount NUMERIC, note BLOB);
        INSERT INTO orders VALUES (1, 'open', 2.5, x'00ff'), (2, NULL, 3, NULL), (3, CAST(x'ff41' AS TEXT), NULL, NULL);
        CREATE TABLE empty (id INTEGER);
        """
    )
    connection.close()
    return path


@pytest.fixture
def source(path: Path) -> Iterator[Source]:
    yield open_url(f"sqlite:///{path}", Limits(1, 2))


def test_rows_types_and_truncation(source: Source) -> None:
    result = source.execute("SELECT id, status, amount, note FROM orders ORDER BY id")
    assert result == {
        "columns": ["id", "status", "amount", "note"],
        "types": ["integer", "string", "float", "bytes"],
        "rows": [[1, "open", 2.5, "00ff"], [2, None, 3, None]],
        "truncated": True,
    }


def test_a_result_of_exactly_the_limit_is_not_truncated(source: Source) -> None:
    assert source.execute("SELECT id FROM orders WHERE id < 3")["truncated"] is False


def test_no_rows(source: Source) -> None:
    assert source.execute("SELECT id FROM empty") == {
        "columns": ["id"],
        "types": ["null"],
        "rows": [],
        "truncated": False,
    }


def test_text_that_is_not_utf_8_is_read_all_the_same(source: Source) -> None:
    assert source.execute("SELECT status FROM orders WHERE id = 3")["rows"] == [["\ufffdA"]]


def test_what_the_database_refuses(source: Source) -> None:
    with pytest.raises(StatementFailed, match="integer overflow"):
        source.execute("SELECT SUM(9223372036854775807) FROM orders")


def test_the_guard_comes_first(source: Source) -> None:
    with pytest.raises(StatementRefused, match="query_only"):
        source.execute("DELETE FROM orders")


@pytest.mark.parametrize(
    "write",
    [
        "DELETE FROM orders",
        "CREATE TABLE x (id INTEGER)",
        "CREATE TEMP TABLE x (id INTEGER)",
        "ATTACH DATABASE '{other}' AS other",
        "VACUUM INTO '{other}'",
        "PRAGMA query_only = 0",
        "SELECT load_extension('{other}')",
        "CREATE VIRTUAL TABLE x USING fts5(body)",
        "CREATE VIRTUAL TABLE x USING json_each",
        "CREATE VIEW x AS SELECT value FROM json_each('[1]')",
        "CREATE TABLE x AS SELECT value FROM json_each('[1]')",
        "INSERT INTO empty SELECT value FROM json_each('[1]')",
        "UPDATE orders SET note = (SELECT value FROM json_each('[1]'))",
        "UPDATE sqlite_master SET sql = ''",
        "UPDATE sqlite_schema SET name = 'json_each'",
        "ALTER TABLE orders RENAME TO json_each",
        "DROP TABLE empty",
        "ANALYZE",
        "PRAGMA writable_schema = 1",
        "PRAGMA journal_mode = delete",
        "SELECT * FROM pragma_table_info('orders')",
        "SELECT * FROM pragma_journal_mode",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM dbstat",
        "SELECT * FROM sqlite_stmt",
        "SELECT * FROM fts3tokenize",
        "SELECT * FROM fts3tokenize('simple')",
        "SELECT * FROM generate_series(1, 3)",
    ],
)
def test_past_the_guard_the_connection_itself_can_only_read(path: Path, tmp_path: Path, write: str) -> None:
    other = tmp_path / "other.db"
    before = path.read_bytes()
    statement = write.format(other=other)
    with closing(open_sqlite_read_only(str(path), timeout_s=1)) as connection, pytest.raises(sqlite3.DatabaseError):
        connection.execute(statement).fetchall()
    with sqlite_cursor({"path": str(path), "timeout_s": 1}, 64) as cursor, pytest.raises(sqlite3.DatabaseError):
        cursor.execute(statement)
        cursor.fetchmany(1)
    assert path.read_bytes() == before
    assert not other.exists()


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT value FROM json_each('[5, 7]')", [[5], [7]]),
        ("SELECT e.key, e.value FROM JSON_EACH('{\"a\": [1, 2]}', '$.a') AS e", [[0, 1], [1, 2]]),
        ("SELECT fullkey FROM json_tree('{\"a\": 1}') WHERE atom IS NOT NULL", [["$.a"]]),
        ("SELECT o.id, e.value FROM orders AS o, json_each('[' || o.id || ']') AS e WHERE o.id < 3", [[1, 1], [2, 2]]),
        (
            "SELECT o.id, t.value FROM orders AS o JOIN json_tree('[' || o.id || ']', '$[0]') AS t ON 1 = 1 LIMIT 1",
            [[1, 1]],
        ),
        ("SELECT COUNT(*) FROM orders WHERE id IN (SELECT value FROM json_each('[1, 3]'))", [[2]]),
    ],
)
def test_table_functions_of_json(source: Source, sql: str, rows: list[list[object]]) -> None:
    assert source.execute(sql)["rows"] == rows


@pytest.mark.parametrize("name", ["json_each", "json_tree"])
def test_a_table_that_has_the_name_of_a_table_function(tmp_path: Path, name: str) -> None:
    path = make_database(tmp_path, f"CREATE TABLE {name} (id INTEGER)", f"INSERT INTO {name} VALUES (4)")
    source = open_url(f"sqlite:///{path}", Limits(1, 2))
    assert source.execute(f"SELECT id FROM {name}")["rows"] == [[4]]


@pytest.mark.parametrize(
    "function",
    ["pragma_table_info('orders')", "pragma_database_list", "dbstat", "sqlite_stmt", "fts3tokenize('simple')"],
)
def test_other_table_functions_are_refused_by_the_guard(source: Source, function: str) -> None:
    with pytest.raises(StatementRefused):
        source.execute(f"SELECT * FROM {function}")


def test_no_value_grows_past_the_limit(source: Source) -> None:
    with pytest.raises(StatementFailed, match="too big"):
        source.execute(f"SELECT replace(printf('%.*c', 9000, 'x'), 'x', '{'y' * 1000}') FROM orders")


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound, match="does not exist"):
        Database(f"sqlite:///{tmp_path}/none.db")
    assert not (tmp_path / "none.db").exists()


def test_a_file_that_breaks_between_two_statements(source: Source, path: Path) -> None:
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(SourceUnreachable, match="not a database"):
        source.execute("SELECT COUNT(*) FROM orders")


def test_a_password_is_never_shown() -> None:
    database = Database("postgresql://user:secret@127.0.0.1:1/none")
    with pytest.raises(SourceUnreachable) as caught, database.connect():
        pass
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        (Decimal("2.50"), 2.5),
        (Decimal("1E+2"), 100),
        (Decimal("NaN"), "NaN"),
        (Decimal("Infinity"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (True, True),
        (2**53 - 1, 2**53 - 1),
        (2**63, "9223372036854775808"),
        (Decimal("0.1"), 0.1),
        (Decimal("12345678901234567890.12"), "12345678901234567890.12"),
        (timedelta(days=3, seconds=90, microseconds=500000), "P3DT1M30.5S"),
        (timedelta(0), "P0D"),
        (-timedelta(hours=1), "-PT1H"),
        (date(2024, 2, 29), "2024-02-29"),
        (datetime(2024, 2, 29, 12, tzinfo=UTC), "2024-02-29T12:00:00+00:00"),
        (b"\x00\xff", "00ff"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ([Decimal(1), {"a": b"b"}], [1, {"a": "62"}]),
    ],
)
def test_values_as_json_can_hold_them(value: object, safe: object) -> None:
    assert json_safe(value) == safe

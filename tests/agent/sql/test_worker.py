"""What the worker process answers to a request, asked in this process: a worker takes a second to start."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import duckdb
import pytest

from datasphinx.agent.sql.worker import OpenDuckDB, serve

MEMORY_MB = 500
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n"
Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with databases of three numbers, and files that are none. Workers only read them."""
    folder = tmp_path_factory.mktemp("files")
    rows = "CREATE TABLE t AS SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3"
    with closing(sqlite3.connect(folder / "t.sqlite")) as lite:
        lite.execute(rows)
    with closing(duckdb.connect(str(folder / "t.duckdb"))) as duck:
        duck.execute(rows)
    for name in ("broken.sqlite", "broken.duckdb"):
        (folder / name).write_bytes(b"no database at all" * 1000)
    return folder


@pytest.fixture
def ask(folder: Path) -> Ask:
    """Sends a statement about the numbers to a worker; gives its messages."""

    def send(engine: str, sql: str, name: str = "t", **given: Any) -> list[dict[str, Any]]:
        request = {
            "cursor": f"{engine}_cursor",
            "path": str(folder / f"{name}.{engine}"),
            "has_views": False,
            "view_files": None,
            "sql": sql,
            "parameters": [],
            "kinds": {},
            "timeout_s": 30,
            "row_limit": 100,
            "byte_limit": 100_000,
            **given,
        }
        ours, theirs = Pipe()
        opened = OpenDuckDB(MEMORY_MB)
        with ours, theirs:
            serve(theirs, request, opened, MEMORY_MB)
            opened.release()
            messages = []
            while ours.poll():
                messages.append(json.loads(ours.recv_bytes()))
        return messages

    return send


@pytest.fixture(params=["sqlite", "duckdb"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def rows_of(messages: list[dict[str, Any]]) -> list[list[Any]]:
    return [row for message in messages for row in message.get("rows", ())]


def test_rows_come_in_chunks_and_columns_at_the_end(ask: Ask, engine: str) -> None:
    messages = ask(engine, "SELECT a, a * 2 AS twice FROM t ORDER BY a")
    assert messages[0] == {"rows": [], "opened": True}
    assert rows_of(messages) == [[1, 2], [2, 4], [3, 6]]
    assert messages[-1]["columns"] == ["a", "twice"] and messages[-1]["truncated"] is False


def test_no_more_rows_than_the_limit(ask: Ask, engine: str) -> None:
    messages = ask(engine, "SELECT a FROM t ORDER BY a", row_limit=2)
    assert rows_of(messages) == [[1], [2]] and messages[-1]["truncated"] is True


def test_parameters_are_values(ask: Ask, engine: str) -> None:
    assert rows_of(ask(engine, "SELECT a FROM t WHERE a > ? ORDER BY a", parameters=[1])) == [[2], [3]]


@pytest.mark.parametrize(
    ("sql", "name", "error"),
    [
        ("SELECT nothing FROM t", "t", "failed"),
        ("DELETE FROM t", "t", "failed"),
        ("SELECT a FROM t", "missing", "unreachable"),
        ("SELECT a FROM t", "broken", "unreachable"),
        (ENDLESS, "t", "timeout"),
    ],
)
def test_errors_have_a_kind_and_a_reason(ask: Ask, engine: str, sql: str, name: str, error: str) -> None:
    last = ask(engine, sql, name, timeout_s=0.05 if error == "timeout" else 30)[-1]
    assert last["error"] == error and last["reason"] and last["code"]


def test_intervals_of_duckdb_are_read_as_texts(ask: Ask) -> None:
    sql = "SELECT a, INTERVAL 2 MONTH + INTERVAL 3 DAY AS span FROM t WHERE a = 1"
    assert rows_of(ask("duckdb", sql, kinds={"INTERVAL": "interval"})) == [[1, "P2M3D"]]

"""Worker processes: enforcement of limits that engines lack, isolation, and termination."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from datasphinx.agent.errors import DatasphinxError, StatementFailed, StatementTimeout
from datasphinx.agent.sql.workers import DatabaseFile, Workers
from datasphinx.agent.types import Limits
from tests.support.databases import make_database, open_url

pytestmark = pytest.mark.process

ONE_LONG_CALL = "SELECT instr(printf('%.900000c', 'a'), printf('%.400000c', 'a') || 'b')"
"""No progress handler runs inside one call of a function, and this one takes minutes."""


@pytest.fixture
def workers() -> Iterator[Workers]:
    pool = Workers(memory_mb=512)
    yield pool
    del pool


@pytest.fixture
def sqlite(tmp_path: Path) -> DatabaseFile:
    path = make_database(tmp_path, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1), (2)")
    return DatabaseFile("sqlite", str(path), "t")


@pytest.fixture
def duckdb(tmp_path: Path) -> DatabaseFile:
    import duckdb as driver

    path = str(tmp_path / "t.duckdb")
    with driver.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS a FROM range(2)")
    return DatabaseFile("duckdb", path, "t")


def children() -> set[int]:
    command = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(os.getpid())]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {int(line.split()[0]) for line in found.splitlines() if "datasphinx.agent.sql.worker" in line}


def test_one_long_call_is_killed_and_the_next_statement_runs(workers: Workers, sqlite: DatabaseFile) -> None:
    started = time.monotonic()
    with pytest.raises(StatementTimeout):
        workers.run(sqlite, ONE_LONG_CALL, (), Limits(0.3, 10))
    assert time.monotonic() - started < 5
    assert workers.run(sqlite, "SELECT COUNT(*) FROM t", (), Limits(5, 10))["rows"] == [[2]]


def test_memory_is_bounded(workers: Workers, duckdb: DatabaseFile) -> None:
    with pytest.raises(StatementFailed, match="512 MB"):
        workers.run(duckdb, "SELECT length(repeat('a', 2000000000)) FROM t", (), Limits(20, 10))
    assert workers.run(duckdb, "SELECT COUNT(*) FROM t", (), Limits(5, 10))["rows"] == [[2]]


@pytest.mark.clickhouse
def test_chdb_has_limits_and_only_reads(tmp_path: Path) -> None:
    pytest.importorskip("chdb_sqlalchemy", reason="the extra chdb is not installed")
    folder = tmp_path / "chdb"
    engine = create_engine(f"chdb:///{folder}", poolclass=NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a Int64) ENGINE = MergeTree ORDER BY a")
        connection.exec_driver_sql("INSERT INTO t VALUES (1), (2)")
    pool, database = Workers(memory_mb=300), DatabaseFile("chdb", str(folder), "shop")

    rows = "SELECT length(groupArray(toString(number) || repeat('x', 1000))) FROM numbers(5000000)"
    with pytest.raises(StatementFailed) as failed:
        pool.run(database, rows, (), Limits(30, 10))
    assert failed.value.kind == "resource"
    started = time.monotonic()
    with pytest.raises(StatementTimeout):
        pool.run(database, "SELECT count() FROM numbers(1000000000000) WHERE cityHash64(number) = 1", (), Limits(1, 10))
    assert time.monotonic() - started < 10
    for sql in ("INSERT INTO t VALUES (3)", "SELECT * FROM file('/etc/hostname', 'LineAsString')", "SET readonly = 0"):
        with pytest.raises(StatementFailed):
            pool.run(database, sql, (), Limits(5, 10))
    assert pool.run(database, "SELECT count(), '%s%%' FROM t", (), Limits(5, 10))["rows"] == [[2, "%s%%"]]


@pytest.mark.clickhouse
def test_statements_on_one_chdb_folder_wait_for_each_other(tmp_path: Path) -> None:
    pytest.importorskip("chdb_sqlalchemy", reason="the extra chdb is not installed")
    (tmp_path / "chdb").mkdir()
    source = open_url(f"chdb:///{tmp_path / 'chdb'}", Limits(30, 10))
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda number: source.execute(f"SELECT {number}")["rows"], range(4)))
    source.close()
    assert answers == [[[number]] for number in range(4)]


@pytest.mark.heavy
def test_a_sort_that_does_not_fit_spills_nowhere(duckdb: DatabaseFile, tmp_path: Path) -> None:
    workers = Workers(memory_mb=128)
    big = "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY hash(range)) AS r, range FROM range(10000000))"
    with pytest.raises(StatementFailed, match="memory"):
        workers.run(duckdb, big, (), Limits(60, 10))
    assert [path.name for path in tmp_path.iterdir()] == ["t.duckdb"]


def test_a_worker_serves_one_file_after_another(workers: Workers, sqlite: DatabaseFile, duckdb: DatabaseFile) -> None:
    for _ in range(2):
        assert workers.run(sqlite, "SELECT MAX(a) FROM t", (), Limits(5, 10))["rows"] == [[2]]
        assert workers.run(duckdb, "SELECT MAX(a) FROM t", (), Limits(5, 10))["rows"] == [[1]]


def test_duckdb_types(workers: Workers, duckdb: DatabaseFile) -> None:
    sql = """SELECT 9007199254740993, 1.50::DECIMAL(5,2), 'nan'::DOUBLE, DATE '2024-02-29',
        TIMESTAMPTZ '2024-02-29 12:00:00+02', [1, 2], {'a': 1}, 'ab'::BLOB, INTERVAL 3 DAYS, TRUE,
        NULL, TIME '12:30:00'"""
    rows = workers.run(duckdb, sql, (), Limits(5, 10))
    types = "integer decimal float date datetime array json bytes interval boolean null time"
    assert rows["types"] == types.split()
    (row,) = rows["rows"]
    assert row[:4] == ["9007199254740993", 1.5, "NaN", "2024-02-29"]
    assert row[4] in {"2024-02-29T10:00:00+00:00", "2024-02-29T12:00:00+02:00"}
    assert row[5:] == [[1, 2], {"a": 1}, "6162", "P3D", True, None, "12:30:00"]


def test_a_worker_knows_nothing_of_the_environment(sqlite: DatabaseFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_LLM_API_KEY", "sk-secret")
    before = children()
    pool = Workers(memory_mb=512)
    pool.run(sqlite, "SELECT 1", (), Limits(5, 10))
    (worker,) = children() - before
    assert b"sk-secret" not in Path(f"/proc/{worker}/environ").read_bytes()


@pytest.mark.process
def test_no_process_outlives_its_pool(sqlite: DatabaseFile) -> None:
    before = children()
    pool = Workers(memory_mb=512)
    with pytest.raises(DatasphinxError):
        pool.run(sqlite, ONE_LONG_CALL, (), Limits(0.2, 10))
    pool.run(sqlite, "SELECT 1", (), Limits(5, 10))
    assert children() > before
    del pool
    assert children() == before


def test_no_process_outlives_a_killed_parent(sqlite: DatabaseFile) -> None:
    program = f"""
        import os, signal, subprocess
        from datasphinx.agent.sql.workers import DatabaseFile, Workers
        from datasphinx.agent.types import Limits
        pool = Workers(memory_mb=512)
        pool.run(DatabaseFile("sqlite", {sqlite.path!r}, "t"), "SELECT 1", (), Limits(5, 10))
        print(pool._idle.queue[0]._process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL
    worker = Path(f"/proc/{int(done.stdout)}/stat")
    deadline = time.monotonic() + 10
    while worker.exists() and worker.read_text().split()[2] != "Z" and time.monotonic() < deadline:
        os.sched_yield()
    assert not worker.exists() or worker.read_text().split()[2] == "Z"

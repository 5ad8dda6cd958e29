"""Known bypasses of read-only connections, executed without the guard: another limit stops each of them."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from datasphinx.agent.errors import DatasphinxError, StatementFailed, StatementTimeout
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.execute import execute
from datasphinx.agent.types import Limits, Result
from tests.agent.sql.engines import EngineUnderTest, over

pytestmark = pytest.mark.integration

Ask = Callable[..., Result]


@pytest.fixture
def ask(source: Source, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setattr("datasphinx.agent.sql.execute.validated_sql", lambda sql, *_: sql)

    def run(sql: str, timeout_s: float = 5) -> Result:
        return execute(sql, source.database, source.catalog, Limits(timeout_s, 100))

    return run


@over(["duckdb"])
def test_duckdb_takes_several_statements_and_writes_none(ask: Ask, engine: EngineUnderTest) -> None:
    with pytest.raises(StatementFailed, match="read-only|attached in read"):
        ask("SELECT 1; DELETE FROM sphinx_orders")
    assert engine.admin("SELECT COUNT(*) FROM sphinx_orders")[0][0] == 3


@over(["duckdb"])
@pytest.mark.parametrize(
    ("leaves", "looks"),
    [
        ("CREATE TEMP TABLE kept AS SELECT 1", "SELECT * FROM kept"),
        ("SET VARIABLE kept = 1", "SELECT 'kept' WHERE getvariable('kept') = 1"),
        ("CREATE TEMP MACRO kept(x) AS x", "SELECT kept(1)"),
        ("PREPARE kept AS SELECT 1", "EXECUTE kept"),
        ("BEGIN TRANSACTION", "ROLLBACK"),
    ],
)
def test_what_duckdb_lets_a_reader_leave_is_gone(ask: Ask, leaves: str, looks: str) -> None:
    ask(leaves)
    try:
        assert ask(looks)["rows"] == []
    except StatementFailed:
        pass


@over(["duckdb"])
@pytest.mark.parametrize(
    "attack",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')",
        "COPY sphinx_orders TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/other.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
        "SET lock_configuration = false",
    ],
)
def test_duckdb_reaches_nothing_outside_its_file(ask: Ask, tmp_path: Path, attack: str) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(StatementFailed):
        ask(attack.format(folder=tmp_path))
    assert sorted(tmp_path.iterdir()) == before


@over(["mysql"])
def test_benchmark_that_is_interrupted_gives_no_answer(ask: Ask) -> None:
    """MariaDB interrupts it at the time limit and returns 0 instead of an error."""
    started = time.monotonic()
    with pytest.raises(StatementTimeout):
        ask("SELECT BENCHMARK(10000000000, MD5('a')) FROM sphinx_orders LIMIT 1", timeout_s=0.5)
    assert time.monotonic() - started < 5


@over(["mysql"])
@pytest.mark.parametrize("write", ["CREATE TABLE sphinx_made (a INT)", "COMMIT", "SET SESSION TRANSACTION READ WRITE"])
def test_mariadb_ends_no_read_only_session(ask: Ask, engine: EngineUnderTest, write: str) -> None:
    try:
        ask(write)
    except DatasphinxError:
        pass
    with pytest.raises(StatementFailed, match="(?i)read.only"):
        ask("DELETE FROM sphinx_orders")
    assert engine.admin("SELECT COUNT(*) FROM sphinx_orders")[0][0] == 3
    assert engine.admin("SHOW TABLES LIKE 'sphinx_made'") == []


@over(["postgres"])
def test_postgres_takes_one_statement(ask: Ask, engine: EngineUnderTest) -> None:
    with pytest.raises(StatementFailed):
        ask("SELECT 1; DELETE FROM sphinx_orders")
    assert engine.admin("SELECT COUNT(*) FROM sphinx_orders")[0][0] == 3


@over(["postgres"])
@pytest.mark.parametrize("leave", ["SELECT pg_advisory_lock(4712)", "SELECT set_config('role', 'pg_monitor', false)"])
def test_nothing_of_a_statement_stays_on_the_session(ask: Ask, engine: EngineUnderTest, leave: str) -> None:
    ask(leave)
    assert ask("SELECT current_user = session_user")["rows"] == [[True]]
    assert engine.admin("SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4712")[0][0] == 0


@over(["sqlite"])
@pytest.mark.parametrize(
    "attack",
    [
        "ATTACH '{folder}/other.db' AS other",
        "VACUUM INTO '{folder}/copy.db'",
        "PRAGMA writable_schema = 1",
        "SELECT load_extension('{folder}/x')",
        "SELECT zeroblob(2000000000)",
        "SELECT hex(randomblob(900000))",
    ],
)
def test_sqlite_reaches_nothing_and_grows_nothing(ask: Ask, tmp_path: Path, attack: str) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(StatementFailed):
        ask(attack.format(folder=tmp_path))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.heavy
@over(["sqlite"])
def test_one_call_of_printf_makes_no_giant(ask: Ask) -> None:
    try:
        ((value,),) = ask("SELECT printf('%.*c', 900000000, 'x')")["rows"]
    except StatementTimeout:  # it makes them all before it throws them away
        return
    assert value is None or len(value) <= 1_000_000

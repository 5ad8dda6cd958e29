"""Faults around a statement: each raises a typed error within the time limit and leaves nothing behind."""

import gc
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url

from datasphinx.agent.errors import SourceUnreachable, StatementFailed, StatementTimeout, Unavailable
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql import database as database_module
from datasphinx.agent.sql.execute import execute
from datasphinx.agent.types import Limits
from tests.agent.sql.engines import POSTGRES_URL, SESSIONS, EngineUnderTest, shop
from tests.support.databases import open_url

COUNT = "SELECT COUNT(*) FROM sphinx_orders"
KILL = {"postgres": "SELECT pg_terminate_backend({})", "mysql": "KILL {}"}


@pytest.fixture(
    params=[pytest.param("postgres", marks=pytest.mark.postgres), pytest.param("mysql", marks=pytest.mark.mysql)]
)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EngineUnderTest]:
    with shop(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def source(server: EngineUnderTest) -> Iterator[Source]:
    opened = open_url(server.url, Limits(5, 10))
    yield opened
    opened.close()


def wait_for_session(server: EngineUnderTest) -> str:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = [str(row[0]) for row in server.admin(SESSIONS[server.name])]
        if found:
            return found[0]
    raise AssertionError("the statement never ran")


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_that_dies_in_the_middle(server: EngineUnderTest, source: Source) -> None:
    failures: list[Exception] = []

    def ask() -> None:
        try:
            execute(server.slow, source.database, source.catalog, Limits(30, 10))
        except Exception as error:
            failures.append(error)

    asking = threading.Thread(target=ask)
    started = time.monotonic()
    asking.start()
    server.admin(KILL[server.name].format(wait_for_session(server)))
    asking.join(20)
    assert time.monotonic() - started < 20
    assert [type(error) for error in failures] == [SourceUnreachable]
    failures.clear()
    # psycopg warns about a cursor that could not be closed on a lost connection.
    gc.collect()
    assert source.execute(COUNT)["rows"] == [[3]]


def test_a_connection_that_the_server_has_closed_is_opened_again(server: EngineUnderTest, source: Source) -> None:
    identity = "pg_backend_pid" if server.name == "postgres" else "connection_id"
    with source.database.connect() as connection:
        number = connection.exec_driver_sql(f"SELECT {identity}()").scalar()
    server.admin(KILL[server.name].format(number))
    assert source.execute(COUNT)["rows"] == [[3]]


def test_a_lock_that_another_session_holds(server: EngineUnderTest, source: Source) -> None:
    lock = {"postgres": "LOCK TABLE sphinx_orders IN ACCESS EXCLUSIVE MODE", "mysql": "LOCK TABLES sphinx_orders WRITE"}
    engine = create_engine(server.url)
    with engine.connect() as other:
        other.exec_driver_sql(lock[server.name])
        started = time.monotonic()
        with pytest.raises(StatementTimeout):
            execute(COUNT, source.database, source.catalog, Limits(0.5, 10))
        assert time.monotonic() - started < 5
        if server.name == "mysql":
            other.exec_driver_sql("UNLOCK TABLES")
    engine.dispose()
    assert source.execute(COUNT)["rows"] == [[3]]


@pytest.mark.heavy
def test_a_pool_that_is_exhausted(
    server: EngineUnderTest, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    for name, value in {"_POOL_SIZE": 1, "_POOL_OVERFLOW": 0, "_POOL_WAIT_S": 0.1}.items():
        monkeypatch.setattr(database_module, name, value)
    source = open_url(server.url, Limits(5, 10))
    request.addfinalizer(source.close)
    with source.database.connect(), pytest.raises(Unavailable, match="All 1 connections"):
        source.execute(COUNT)
    assert source.execute(COUNT)["rows"] == [[3]]


@pytest.mark.heavy
def test_no_session_is_left_on_the_server(server: EngineUnderTest) -> None:
    counting = {
        "postgres": "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()",
        "mysql": "SELECT COUNT(*) FROM information_schema.processlist WHERE db = database()",
    }
    before = server.admin(counting[server.name])[0][0]
    source = open_url(server.url, Limits(5, 10))
    with pytest.raises(StatementTimeout):
        execute(server.slow, source.database, source.catalog, Limits(0.3, 10))
    source.execute(COUNT)
    source.close()
    deadline = time.monotonic() + 10
    while server.admin(counting[server.name])[0][0] > before and time.monotonic() < deadline:
        pass
    assert server.admin(counting[server.name])[0][0] <= before


@pytest.mark.postgres
def test_what_a_statement_sets_is_gone_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A SELECT can make the session's transactions writable, take locks, and define a custom setting."""
    monkeypatch.setattr(database_module, "_POOL_SIZE", 1)
    monkeypatch.setattr(database_module, "_POOL_OVERFLOW", 0)
    with shop("postgres", tmp_path) as server:
        source = open_url(server.url, Limits(5, 10))
        with monkeypatch.context() as past_the_guard:
            past_the_guard.setattr("datasphinx.agent.sql.execute.validated_sql", lambda sql, *_: sql)
            for attack in (
                "SELECT set_config('default_transaction_read_only', 'off', false)",
                "SELECT set_config('statement_timeout', '0', false)",
                "SELECT set_config('my.own', 'kept', false)",
                "SELECT pg_advisory_lock(4711)",
            ):
                source.execute(attack)
            kept = source.execute("SELECT current_setting('my.own', true)")["rows"]
            assert kept in ([[None]], [[""]])
            with pytest.raises(StatementFailed, match="read-only|syntax error"):
                source.execute("DELETE FROM sphinx_orders")
            with pytest.raises(StatementTimeout):
                execute(server.slow, source.database, source.catalog, Limits(0.3, 10))
        assert server.admin("SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711")[0][0] == 0
        source.close()


@pytest.mark.heavy
@pytest.mark.postgres
def test_a_disk_that_is_full_for_temporary_files(tmp_path: Path) -> None:
    with shop("postgres", tmp_path) as server:
        clean = (
            "DO $$ BEGIN IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'sphinx_small')"
            " THEN DROP OWNED BY sphinx_small; DROP ROLE sphinx_small; END IF; END $$"
        )
        for statement in (
            clean,
            "CREATE ROLE sphinx_small LOGIN",
            "ALTER ROLE sphinx_small SET temp_file_limit = '1MB'",
            "ALTER ROLE sphinx_small SET work_mem = '64kB'",
            "GRANT SELECT ON sphinx_numbers TO sphinx_small",
        ):
            server.admin(statement)
        url = make_url(POSTGRES_URL).set(username="sphinx_small").render_as_string(hide_password=False)
        source = open_url(url, Limits(20, 10))
        with pytest.raises(StatementFailed, match="temporary file size"):
            source.execute("SELECT a.n + b.n AS s FROM sphinx_numbers a, sphinx_numbers b WHERE b.n < 200 ORDER BY s")
        assert source.execute("SELECT COUNT(*) FROM sphinx_numbers")["rows"] == [[4000]]
        source.close()
        server.admin(clean)


@pytest.mark.heavy
@pytest.mark.process
def test_a_sqlite_file_that_is_being_written(tmp_path: Path) -> None:
    with shop("sqlite", tmp_path) as engine:
        source = open_url(engine.url, Limits(0.5, 10))
        with closing(sqlite3.connect(tmp_path / "shop.sqlite", isolation_level=None)) as writer:
            writer.execute("BEGIN EXCLUSIVE")
            with pytest.raises((SourceUnreachable, StatementTimeout), match="locked|stopped"):
                source.execute(COUNT)
            writer.execute("ROLLBACK")
        assert source.execute(COUNT)["rows"] == [[3]]
        source.close()

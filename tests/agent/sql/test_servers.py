"""Execution on PostgreSQL and MariaDB: reading, server-side time limits, and lost connections."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from datasphinx.agent.errors import SourceUnreachable, StatementFailed, StatementTimeout
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.execute import execute
from datasphinx.agent.types import Limits
from tests.databases import open_url
from tests.support.servers import SERVERS

SLOW = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)"
    " SELECT COUNT(*) FROM n AS a, n AS b, n AS c"
)
KILL = {
    "postgres": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE pid <> pg_backend_pid() AND datname = current_database()",
    "mysql": "SELECT CONCAT('KILL ', id) FROM information_schema.processlist"
    " WHERE id <> connection_id() AND db = database()",
}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=getattr(pytest.mark, name)) for name in SERVERS])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    """An engine with all privileges and one table."""
    name = request.param
    engine = create_engine(SERVERS[name], isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text("DROP TABLE IF EXISTS sphinx_orders"))
            connection.execute(
                text("CREATE TABLE sphinx_orders (id INT PRIMARY KEY, status VARCHAR(20), amount NUMERIC(9,2))")
            )
            connection.execute(text("INSERT INTO sphinx_orders VALUES (1, 'open', 2.50), (2, 'paid', 3)"))
    except OperationalError as error:
        engine.dispose()
        pytest.skip(f"no {name} server answers: {error.orig}")
    yield name, engine
    with engine.connect() as connection:
        connection.execute(text("DROP TABLE IF EXISTS sphinx_orders"))
    engine.dispose()


@pytest.fixture
def source(server: tuple[str, Any]) -> Iterator[Source]:
    opened = open_url(SERVERS[server[0]], Limits(1, 10))
    yield opened
    opened.database.engine.dispose()


def test_reads(source: Source) -> None:
    result = source.execute("SELECT status, amount FROM sphinx_orders ORDER BY id")
    assert result["rows"] == [["open", 2.5], ["paid", 3]]
    assert source.catalog.values["sphinx_orders", "status"] == ("open", "paid")


def test_a_statement_is_stopped_on_the_server_and_the_connection_goes_on(source: Source) -> None:
    with pytest.raises(StatementTimeout):
        source.execute(SLOW)
    assert source.execute("SELECT COUNT(*) FROM sphinx_orders")["rows"] == [[2]]


def test_past_the_guard_the_transaction_can_only_read(
    source: Source, server: tuple[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasphinx.agent.sql.execute.validated_sql", lambda sql, *_: sql)
    for write in ("DELETE FROM sphinx_orders", "CREATE TABLE sphinx_copy (id INT)"):
        with pytest.raises(StatementFailed, match="(?i)read.only|syntax error"):
            execute(write, source.database, source.catalog, Limits(1, 10))
    with server[1].connect() as connection:
        assert connection.execute(text("SELECT COUNT(*) FROM sphinx_orders")).scalar() == 2


def test_a_server_that_drops_the_connection_is_reached_again(source: Source, server: tuple[str, Any]) -> None:
    source.execute("SELECT COUNT(*) FROM sphinx_orders")
    with server[1].connect() as connection:
        for (statement,) in connection.execute(text(KILL[server[0]])).all():
            if server[0] == "mysql":
                connection.execute(text(statement))
    assert source.execute("SELECT COUNT(*) FROM sphinx_orders")["rows"] == [[2]]


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(SourceUnreachable, match="127.0.0.1:1/"):
        open_url("postgresql://nobody@127.0.0.1:1/none", Limits(1, 1))

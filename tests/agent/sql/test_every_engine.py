"""Behaviours shared by all engines: reading, read-only sessions, limits, cancellation, and recovery."""

import threading
import time

import pytest

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import (
    DatasphinxError,
    StatementCancelled,
    StatementFailed,
    StatementTimeout,
)
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.execute import execute
from datasphinx.agent.types import Limits, Result
from tests.agent.sql.engines import (
    CANCELLABLE,
    ENGINES,
    LIMITED,
    QUICK,
    SESSIONS,
    STREAMING,
    WALLED,
    EngineUnderTest,
    over,
)

COUNT = "SELECT COUNT(*) FROM sphinx_orders"


def run(source: Source, sql: str, limits: Limits, cancellation: Cancellation | None = None) -> Result:
    return execute(sql, source.database, source.catalog, limits, cancellation=cancellation)


@over(ENGINES)
def test_the_schema_is_read(source: Source) -> None:
    orders = source.catalog.tables["sphinx_orders"]
    assert orders.column_names == ("id", "status", "amount", "created")
    assert orders.primary_key == (() if source.catalog.dialect == "spark" else ("id",))
    # Spark takes longer to start than a sample may take.
    if source.catalog.dialect != "spark":
        assert source.catalog.values["sphinx_orders", "status"] == ("open", "paid")


@over(ENGINES)
def test_rows_come_with_their_types(source: Source) -> None:
    result = source.execute("SELECT id, status, amount, created FROM sphinx_orders ORDER BY id")
    assert result["rows"] == [[1, "open", 2.5, "2024-02-29"], [2, "paid", 3, None], [3, None, None, None]]
    assert result["types"][:2] == ["integer", "string"]
    assert result["truncated"] is False


@over(ENGINES)
def test_a_percent_sign_and_a_colon_are_text(source: Source) -> None:
    result = source.execute("SELECT '100 %s :x ?' AS a FROM sphinx_orders WHERE status LIKE '%pen%'")
    assert result["rows"] == [["100 %s :x ?"]]


@over(STREAMING)
def test_no_more_rows_than_the_limit(source: Source) -> None:
    result = run(source, "SELECT a.n FROM sphinx_numbers a, sphinx_numbers b", Limits(60, 300))
    assert len(result["rows"]) == 300
    assert result["truncated"] is True
    assert source.execute(COUNT)["rows"] == [[3]]


@over(ENGINES)
def test_no_more_bytes_than_the_limit(source: Source) -> None:
    sql = "SELECT CONCAT('a long text to be repeated ', n, status) AS t FROM sphinx_numbers, sphinx_orders"
    if source.catalog.dialect == "sqlite":
        sql = "SELECT 'a long text to be repeated ' || n || status AS t FROM sphinx_numbers, sphinx_orders"
    result = run(source, sql, Limits(30, 100_000, byte_limit=5000))
    assert result["truncated"] is True
    assert 2000 < sum(len(str(row[0])) for row in result["rows"]) <= 5000


@over(sorted(WALLED))
@pytest.mark.parametrize(
    "write",
    [
        "DELETE FROM sphinx_orders",
        "UPDATE sphinx_orders SET status = 'x'",
        "INSERT INTO sphinx_orders (id) VALUES (9)",
        "DROP TABLE sphinx_orders",
        "CREATE TABLE sphinx_copy (id INTEGER)",
    ],
)
def test_past_the_guard_nothing_can_be_written(
    source: Source, engine: EngineUnderTest, write: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasphinx.agent.sql.execute.validated_sql", lambda sql, *_: sql)
    with pytest.raises(StatementFailed):
        source.execute(write)
    assert engine.admin(COUNT)[0][0] == 3
    assert engine.admin("SELECT COUNT(*) FROM sphinx_orders WHERE status = 'x'")[0][0] == 0
    monkeypatch.undo()
    assert source.execute(COUNT)["rows"] == [[3]]


@over(LIMITED)
def test_a_statement_is_stopped_at_its_limit(source: Source, engine: EngineUnderTest) -> None:
    started = time.monotonic()
    with pytest.raises(StatementTimeout) as caught:
        run(source, engine.slow, Limits(0.5, 10))
    assert caught.value.seconds == 0.5
    assert time.monotonic() - started < 8
    assert running(engine) == []
    # On a busy machine, Spark's tasks of a stopped statement end late.
    assert run(source, COUNT, Limits(120, 10))["rows"] == [[3]]


@over(sorted(CANCELLABLE))
def test_a_statement_is_cancelled_from_another_thread(source: Source, engine: EngineUnderTest) -> None:
    cancellation = Cancellation()
    timer = threading.Timer(0.3, cancellation.cancel)
    timer.start()
    with pytest.raises(StatementCancelled):
        run(source, engine.slow, Limits(30, 10), cancellation)
    timer.join()
    assert running(engine) == []
    with pytest.raises(StatementCancelled):
        run(source, COUNT, Limits(5, 10), cancellation)
    assert run(source, COUNT, Limits(120, 10))["rows"] == [[3]]


@over(QUICK)
def test_statements_run_side_by_side(source: Source) -> None:
    results: list[object] = []

    def ask(number: int) -> None:
        results.append(source.execute(f"SELECT n FROM sphinx_numbers WHERE n = {number}")["rows"][0][0])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(12))


@over(QUICK)
def test_no_thread_is_left_behind(source: Source) -> None:
    before = threading.active_count()
    source.execute(COUNT)
    with pytest.raises(DatasphinxError):
        source.execute("SELECT no_such_function(1) FROM sphinx_orders")
    assert threading.active_count() == before


def running(engine: EngineUnderTest) -> list[object]:
    """Return the sessions whose statements still run on a test's server."""
    sql = SESSIONS.get({"redshift": "postgres"}.get(engine.name, engine.name))
    return engine.admin(sql) if sql else []


@over(["postgres", "mysql", "redshift"])
def test_a_limit_that_is_almost_nothing_is_a_limit(source: Source, engine: EngineUnderTest) -> None:
    with pytest.raises(StatementTimeout):
        run(source, engine.slow, Limits(0.0001, 10))

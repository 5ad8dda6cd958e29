"""All supported engines, each with a small shop, for the suite of behaviours that they share."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, make_url
from sqlalchemy.pool import NullPool

from tests.support.servers import MYSQL_URL, POSTGRES_URL, prepared

CREATE = (
    "CREATE TABLE sphinx_orders (id INTEGER PRIMARY KEY, status VARCHAR(20), amount DECIMAL(12,2), created DATE)",
    "INSERT INTO sphinx_orders VALUES (1, 'open', 2.50, DATE '2024-02-29')",
    "INSERT INTO sphinx_orders VALUES (2, 'paid', 3, NULL), (3, NULL, NULL, NULL)",
    "CREATE TABLE sphinx_numbers (n INTEGER PRIMARY KEY)",
)
DROP = ("DROP TABLE IF EXISTS sphinx_orders", "DROP TABLE IF EXISTS sphinx_numbers")


@dataclass(frozen=True)
class EngineUnderTest:
    """An engine with the tables `sphinx_orders` and `sphinx_numbers`.

    `admin` runs a statement with all privileges and returns its rows; `slow` runs longer than any limit in the tests.
    """

    name: str
    url: str
    admin: Callable[[str], list[Any]]
    slow: str
    create: tuple[str, ...] = CREATE
    connect_args: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


@contextmanager
def sqlite(folder: Path) -> Iterator[EngineUnderTest]:
    import sqlite3

    path = folder / "shop.sqlite"

    def admin(sql: str) -> list[Any]:
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute(sql.replace("DATE '", "'")).fetchall()
            connection.commit()
            return rows

    slow = "SELECT COUNT(*) FROM sphinx_numbers a, sphinx_numbers b, sphinx_numbers c"
    yield EngineUnderTest("sqlite", f"sqlite:///{path}", admin, slow)


@contextmanager
def duckdb(folder: Path) -> Iterator[EngineUnderTest]:
    import duckdb as driver

    path = folder / "shop.duckdb"

    def admin(sql: str) -> list[Any]:
        # A worker keeps a file open for one second after reading it.
        with closing(driver.connect(str(path), read_only=sql.startswith("SELECT"))) as connection:
            return connection.execute(sql).fetchall()

    slow = "SELECT COUNT(*) FROM sphinx_numbers a, sphinx_numbers b, sphinx_numbers c WHERE a.n + b.n * c.n > 7"
    yield EngineUnderTest("duckdb", f"duckdb:///{path}", admin, slow)


@contextmanager
def postgres(folder: Path) -> Iterator[EngineUnderTest]:
    slow = "SELECT COUNT(*) FROM sphinx_numbers a, sphinx_numbers b, sphinx_numbers c"
    with prepared(POSTGRES_URL) as engine:
        yield EngineUnderTest("postgres", POSTGRES_URL, lambda sql: _run(engine, sql), slow)


@contextmanager
def redshift(folder: Path) -> Iterator[EngineUnderTest]:
    """Redshift's dialect, driver and session over PostgreSQL."""
    with postgres(folder) as engine:
        url = make_url(POSTGRES_URL).set(drivername="redshift").render_as_string(hide_password=False)
        yield replace(engine, name="redshift", url=url)


@contextmanager
def snowflake(folder: Path) -> Iterator[EngineUnderTest]:
    """Snowflake's dialect and driver over fakesnow, which does not stop statements."""
    from tests.support.fakesnow_server import fakesnow_arguments

    arguments = fakesnow_arguments()
    url = "snowflake://reader:password@fakesnow/shop/sales?warehouse=small"
    engine = create_engine(url, connect_args=arguments)
    yield EngineUnderTest("snowflake", url, lambda sql: _run(engine, sql), "", connect_args=arguments)
    engine.dispose()


@contextmanager
def mysql(folder: Path) -> Iterator[EngineUnderTest]:
    slow = "SELECT COUNT(*) FROM sphinx_numbers a, sphinx_numbers b, sphinx_numbers c"
    with prepared(MYSQL_URL) as engine:
        yield EngineUnderTest("mysql", MYSQL_URL, lambda sql: _run(engine, sql), slow)


def _run(engine: Engine, sql: str) -> list[Any]:
    with engine.connect() as connection:
        cursor = connection.execution_options(no_parameters=True).exec_driver_sql(sql)
        return list(cursor.fetchall()) if cursor.returns_rows else []


@contextmanager
def clickhouse(folder: Path) -> Iterator[EngineUnderTest]:
    """ClickHouse's engine in this process; a cluster differs only by its URL."""
    pytest.importorskip("chdb_sqlalchemy", reason="the extra chdb is not installed")
    url = f"chdb:///{folder / 'clickhouse'}"
    engine = create_engine(url, poolclass=NullPool)
    create = (
        "CREATE TABLE sphinx_orders (id Int64, status Nullable(String), amount Nullable(Decimal(12,2)),"
        " created Nullable(Date)) ENGINE = MergeTree PRIMARY KEY id",
        *CREATE[1:3],
        "CREATE TABLE sphinx_numbers (n Int64) ENGINE = MergeTree PRIMARY KEY n",
    )
    slow = "SELECT COUNT(*) FROM sphinx_numbers a, sphinx_numbers b, sphinx_numbers c WHERE a.n + b.n * c.n > 7"
    yield EngineUnderTest("clickhouse", url, lambda sql: _run(engine, sql), slow, create)
    engine.dispose()


@contextmanager
def spark(folder: Path) -> Iterator[EngineUnderTest]:
    """A Spark SQL Thrift server for the test session."""
    from tests.support.spark_server import spark_url

    url = spark_url()
    engine = create_engine(url)
    create = tuple(
        f"{statement.replace(' PRIMARY KEY', '')} USING parquet" if "PRIMARY" in statement else statement
        for statement in CREATE
    )
    # Spark finishes running tasks of a cancelled job, so tasks must be short.
    numbers = "sphinx_numbers a, sphinx_numbers b, sphinx_numbers c"
    slow = f"SELECT COUNT(*) FROM {numbers} WHERE c.n < 200 AND a.n + b.n * c.n > 7"
    yield EngineUnderTest("spark", url, lambda sql: _run(engine, sql), slow, create)
    engine.dispose()


ENGINES = {
    "sqlite": sqlite,
    "duckdb": duckdb,
    "postgres": postgres,
    "mysql": mysql,
    "clickhouse": clickhouse,
    "spark": spark,
    "redshift": redshift,
    "snowflake": snowflake,
}
SERVERS = {"postgres", "mysql", "spark", "redshift", "snowflake"}
"""Those whose tables outlive a test."""

QUICK = [name for name in ENGINES if name != "spark"]
"""Those that start a statement in less than a second."""

STREAMING = [name for name in QUICK if name != "snowflake"]
"""Those of them that return the first rows at once; the emulation of Snowflake computes all first."""

WALLED = {"sqlite", "duckdb", "postgres", "mysql", "clickhouse", "redshift"}
"""Those whose connection can be made read-only. Spark and Snowflake know no such thing: grants have to do it."""

LIMITED = [name for name in ENGINES if name != "snowflake"]
"""Those that stop a statement; the emulation of Snowflake does not."""

CANCELLABLE = {"sqlite", "duckdb", "postgres", "mysql", "redshift"}
"""Those that stop at once when somebody else asks; the others stop at the time limit."""


@contextmanager
def shop(name: str, folder: Path) -> Iterator[EngineUnderTest]:
    """Yield the engine with its tables; on a server they are dropped afterwards."""
    drop = DROP if name in SERVERS else ()
    with ENGINES[name](folder) as engine:
        for statement in (*drop, *engine.create):
            engine.admin(statement)
        numbers = ", ".join(f"({number})" for number in range(4000))
        engine.admin(f"INSERT INTO sphinx_numbers VALUES {numbers}")
        yield engine
        for statement in drop:
            engine.admin(statement)


def over(names: Iterable[str]) -> pytest.MarkDecorator:
    """Run a test on the engines with these names."""
    marks = {name: name for name in ("postgres", "mysql", "clickhouse", "spark")} | {
        "snowflake": "warehouse",
        "redshift": "postgres",
    }
    params = [pytest.param(name, marks=[getattr(pytest.mark, marks[name])] if name in marks else []) for name in names]
    return pytest.mark.parametrize("engine", params, indirect=True)


ENDLESS = """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900000)
SELECT COUNT(*) FROM n AS a, n AS b, n AS c"""
SESSIONS = {
    # A streamed statement appears as FETCH of its cursor.
    "postgres": "SELECT pid FROM pg_stat_activity WHERE query LIKE 'FETCH%' AND state = 'active'",
    "mysql": "SELECT id FROM information_schema.processlist WHERE info LIKE '%sphinx_numbers a%'"
    " AND id <> connection_id()",
}

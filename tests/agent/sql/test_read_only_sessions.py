"""Statements that the guard rejects, run without the guard on a read-only connection.

Neither layer alone is relied on. Each test records which of them stops its statement as a property (kept by
`--junit-xml`, shown with `-s`). No statement passes both and changes data, reads a file, or exceeds its limits. Servers
are accessed with an account that may only SELECT: the corpus contains SHUTDOWN and KILL, and others use the server.
"""

import gc
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy.engine import make_url

from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.files import database_of
from datasphinx.agent.sources.reflect import reflect
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.execute import execute
from datasphinx.agent.sql.guard import check
from datasphinx.agent.types import Limits
from tests.support.heavy import sample
from tests.support.servers import MYSQL_URL, POSTGRES_URL, administer, prepared

GUARD_DATA = Path(__file__).resolve().parents[4] / "shared/guard"
LIMITS = Limits(0.5, 100, memory_mb=512)
GRACE_S = 4.0
"""Seconds beyond the limit in which an answer has to come, on a machine that others use too."""

READER = "guard_corpus_reader"
GRANTS = {
    "postgres": (
        f"CREATE ROLE {READER} LOGIN PASSWORD '{{password}}' NOSUPERUSER NOCREATEDB NOCREATEROLE",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER}",
    ),
    "mariadb": (
        f"CREATE USER {READER} IDENTIFIED BY '{{password}}'",
        f"GRANT SELECT ON guard_corpus.* TO {READER}",
    ),
}
FORGET = {
    "postgres": (f"DROP OWNED BY {READER}", f"DROP ROLE {READER}"),
    "mariadb": (f"DROP USER {READER}",),
}

pytestmark = [
    pytest.mark.benchdata,
    pytest.mark.skipif(not GUARD_DATA.is_dir(), reason="the guard corpus is not beside the project"),
]


@dataclass(frozen=True)
class CorpusDatabase:
    """A database with the tables of the corpus: the reader's settings, and a snapshot of everything that could be
    changed.
    """

    settings: SourceSettings
    content: Callable[[], Any]


CORPORA = {"corpus": "schema", "corpus2": "schema2"}
"""Statements, and the file that names their tables."""

TABLES_OF_CORPUS2 = (
    "CREATE TABLE customers (id INTEGER, name VARCHAR(50), region VARCHAR(20), manager_id INTEGER)",
    "CREATE TABLE orders (id INTEGER, customer_id INTEGER, region VARCHAR(20), year INTEGER, amount DECIMAL(12,2),"
    " note VARCHAR(50), created_at TIMESTAMP NULL)",
    "CREATE TABLE events (id INTEGER, payload VARCHAR(200))",
    "CREATE TABLE secrets (k VARCHAR(50), v VARCHAR(50))",
    "CREATE TABLE salaries (id INTEGER, amount INTEGER)",
    "CREATE VIEW v_orders AS SELECT * FROM orders",
    "INSERT INTO customers VALUES (1, 'Ann', 'north', NULL), (2, 'Bo', 'south', 1)",
    "INSERT INTO orders VALUES (1, 1, 'north', 2024, 120.5, 'a', '2024-01-05 10:00:00'),"
    " (2, 1, 'north', 2024, 20, 'b', '2024-01-07 11:00:00'), (3, 2, 'south', 2023, 70, 'c', '2023-02-01 09:00:00')",
    "INSERT INTO events VALUES (1, '{\"x\": [1, 2]}')",
    "INSERT INTO secrets VALUES ('Ann', 's')",
    "INSERT INTO salaries VALUES (1, 10)",
)
"""The second schema comes without data definitions; these are the same for every engine."""


def schema(corpus: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((GUARD_DATA / f"{CORPORA[corpus]}.json").read_text(encoding="utf-8"))
    return data


def definitions(corpus: str, name: str) -> list[str]:
    ddl = schema(corpus).get("ddl")
    return list(ddl[name] if ddl else TABLES_OF_CORPUS2)


def cases(corpus: str, dialect: str) -> list[dict[str, str]]:
    lines = (GUARD_DATA / f"{corpus}.jsonl").read_text(encoding="utf-8").splitlines()
    named = {"mariadb": {"mariadb", "mysql"}, "view_files": {"duckdb"}}.get(dialect, {dialect})
    return [case for case in map(json.loads, lines) if case["dialect"] in named][:: sample(1, 4)]


@contextmanager
def sqlite(folder: Path, corpus: str) -> Iterator[CorpusDatabase]:
    import sqlite3

    path = folder / "corpus.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        for statement in definitions(corpus, "sqlite"):
            connection.execute(statement)
        connection.commit()
    yield CorpusDatabase(settings_of(f"sqlite:///{path}"), lambda: _files(folder))


@contextmanager
def duckdb(folder: Path, corpus: str) -> Iterator[CorpusDatabase]:
    import duckdb as driver

    path = folder / "corpus.duckdb"
    with closing(driver.connect(str(path))) as connection:
        for statement in definitions(corpus, "duckdb"):
            connection.execute(statement)
    yield CorpusDatabase(settings_of(f"duckdb:///{path}"), lambda: _files(folder))


@contextmanager
def view_files(folder: Path, corpus: str) -> Iterator[CorpusDatabase]:
    """The tables and views of the corpus for DuckDB as views over Parquet files."""
    import duckdb as driver

    with closing(driver.connect()) as connection:
        for statement in definitions(corpus, "duckdb"):
            connection.execute(statement)
        names = [name for (name,) in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()]
        for name in names:
            connection.execute(f"COPY \"{name}\" TO '{folder}/{name}.parquet'")
    settings = SourceSettings.model_validate({"files": {name: f"{folder}/{name}.parquet" for name in names}})
    yield CorpusDatabase(settings, lambda: _files(folder))


def settings_of(url: str) -> SourceSettings:
    return SourceSettings(url=SecretStr(url))


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@contextmanager
def server(name: str, admin_url: str, corpus: str) -> Iterator[CorpusDatabase]:
    """A separate database on a server, with an account that may only read it."""
    password, url = token_hex(12), make_url(admin_url).set(database="guard_corpus")
    drop = (
        f"DROP DATABASE IF EXISTS guard_corpus{' WITH (FORCE)' if name == 'postgres' else ''}",
        f"DROP {'ROLE' if name == 'postgres' else 'USER'} IF EXISTS {READER}",
    )
    create = (*definitions(corpus, name), *(grant.format(password=password) for grant in GRANTS[name]))
    with prepared(admin_url, ["CREATE DATABASE guard_corpus"], drop), prepared(url, create) as engine:
        reader = url.set(username=READER, password=password).render_as_string(hide_password=False)
        yield CorpusDatabase(settings_of(reader), lambda: _content(engine, corpus))
        administer(engine, *FORGET[name])


def _content(engine: Any, corpus: str) -> dict[str, list[str]]:
    """Return everything that the corpus could change: the names of the tables and their rows."""
    names = [*schema(corpus)["allowed_tables"], *schema(corpus)["forbidden_tables"]]
    with engine.connect() as connection:
        tables = connection.exec_driver_sql(
            "SELECT table_name FROM information_schema.tables WHERE table_schema IN ('public', 'guard_corpus')"
        )
        found = {"tables": sorted(str(row[0]) for row in tables)}
        for name in names:
            found[name] = sorted(str(tuple(row)) for row in connection.exec_driver_sql(f"SELECT * FROM {name}"))
    return found


ENGINES = (
    "sqlite",
    "duckdb",
    "view_files",
    pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("mariadb", marks=pytest.mark.mysql),
)


@pytest.fixture(params=ENGINES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["corpus", pytest.param("corpus2", marks=pytest.mark.heavy)])
def corpus(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def walled(name: str, corpus: str, tmp_path: Path) -> Iterator[CorpusDatabase]:
    makers = {
        "sqlite": lambda: sqlite(tmp_path, corpus),
        "duckdb": lambda: duckdb(tmp_path, corpus),
        "view_files": lambda: view_files(tmp_path, corpus),
        "postgres": lambda: server("postgres", POSTGRES_URL, corpus),
        "mariadb": lambda: server("mariadb", MYSQL_URL, corpus),
    }
    with makers[name]() as made:
        yield made


def answered(database: Database, sql: str) -> bool:
    """Run `sql` on the read-only connection; return whether it succeeded. It must end within the time limit."""
    started = time.monotonic()
    try:
        rows = execute(sql, database, Catalog(database.dialect, {}), LIMITS)["rows"]
        came_back = True
    except DatasphinxError:
        rows, came_back = [], False
    assert time.monotonic() - started < LIMITS.timeout_s + GRACE_S, sql
    assert "root:" not in str(rows), f"a file was read: {sql}"
    return came_back


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_refused_statement_is_also_stopped_by_the_connection(
    name: str, corpus: str, walled: CorpusDatabase, record_property: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialect = {"mariadb": "mysql", "view_files": "duckdb"}.get(name, name)
    tables = {*schema(corpus)["allowed_tables"]}
    database, before = database_of(walled.settings), walled.content()
    monkeypatch.setattr("datasphinx.agent.sql.execute.validated_sql", lambda sql, *_: sql)
    # Columns are named from the tree of an accepted statement; some of these statements cannot be parsed.
    monkeypatch.setattr("datasphinx.agent.sql.execute._distinct_names", lambda columns, *_: columns)
    layers: Counter[str] = Counter()
    passed_both = []
    for case in cases(corpus, name):
        if case["verdict"] == "allow":
            continue
        guard, connection = bool(check(case["sql"], dialect, tables)), not answered(database, case["sql"])
        layers["both" if guard and connection else "guard alone" if guard else "connection alone"] += 1
        # Statements that merely consume resources may pass if they end within the limits, as `answered` asserts.
        if not guard and not connection and not case["why"].startswith("runtime"):
            passed_both.append(case["sql"])
    database.engine.dispose()
    # psycopg warns about cursors that could not be closed because their statement ended the session.
    gc.collect()
    record_property("layers", dict(layers))
    print(name, corpus, dict(layers))

    assert passed_both == []
    assert walled.content() == before


def test_a_legitimate_statement_runs(name: str, corpus: str, walled: CorpusDatabase) -> None:
    database = database_of(walled.settings)
    catalog = reflect(database)
    for case in cases(corpus, name):
        if case["verdict"] == "allow":
            execute(case["sql"], database, catalog, Limits(10, 1000))
    database.engine.dispose()

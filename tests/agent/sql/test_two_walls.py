"""Every statement that the guard blocks is also sent past it, straight to the read-only connection
of an account that may only SELECT.

Which of the two walls stops it is recorded as a property of the test (`--junit-xml` keeps it) and shown with `-s`. None
passes both and changes anything or holds the process beyond its limit. SQLite runs in a process of its own, which is
killed where one long call of a function holds it.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError

from agent.sql.database import Database
from agent.sql.guard import check

GUARD_DATA = Path(__file__).resolve().parents[4] / "shared/guard"
URLS = {
    "postgres": os.environ.get("TEST_POSTGRES_URL", "postgresql+psycopg://postgres@127.0.0.1:5432/test"),
    "mariadb": os.environ.get("TEST_MYSQL_URL", "mysql+pymysql://root@127.0.0.1:3306/test"),
}
PLACES = {"postgres": "SCHEMA", "mariadb": "DATABASE"}
LIMIT_S = 0.5
GRACE_S = 4.0
"""Seconds beyond the limit in which a server has to have answered, on a machine that others use too."""

needs_corpus = [
    pytest.mark.benchdata,
    pytest.mark.skipif(not GUARD_DATA.is_dir(), reason="the guard corpus is not beside the project"),
]
pytestmark = needs_corpus


def blocked(dialect: str) -> list[str]:
    lines = (GUARD_DATA / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    return [case["sql"] for case in cases if case["dialect"] == dialect and case["verdict"] == "block"]


def schema() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((GUARD_DATA / "schema.json").read_text(encoding="utf-8"))
    return data


def is_refused(sql: str, dialect: str) -> bool:
    tables = {*schema()["allowed_tables"]}
    return bool(check(sql, "mysql" if dialect == "mariadb" else dialect, tables))


READER = "guard_walls_reader"
GRANTS = {
    "postgres": (
        f"CREATE ROLE {READER} LOGIN PASSWORD '{{password}}' NOSUPERUSER NOCREATEDB NOCREATEROLE",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER}",
    ),
    "mariadb": (
        f"CREATE USER {READER} IDENTIFIED BY '{{password}}'",
        f"GRANT SELECT ON guard_walls.* TO {READER}",
    ),
}
FORGET = {
    "postgres": (f"DROP OWNED BY {READER}", f"DROP ROLE {READER}"),
    "mariadb": (f"DROP USER {READER}",),
}
WHO = {
    "postgres": "SELECT current_user, rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles"
    " WHERE rolname = current_user",
    "mariadb": "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1), COUNT(*) FROM information_schema.user_privileges"
    " WHERE privilege_type <> 'USAGE'",
}
"""Who a connection is, and whether it may do anything to the server as a whole."""


@pytest.fixture(
    params=[pytest.param("postgres", marks=pytest.mark.postgres), pytest.param("mariadb", marks=pytest.mark.mysql)]
)
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any, str]]:
    """A server with the tables of the corpus in a database of their own, an engine with all rights, a reader's URL.

    The corpus has SHUTDOWN, KILL and the like, and others use the server: nothing is sent to it as an administrator.
    """
    name = request.param
    password = token_hex(12)
    admin = create_engine(URLS[name], isolation_level="AUTOCOMMIT")
    url = make_url(URLS[name]).set(database="guard_walls")
    try:
        with admin.connect() as connection:
            connection.exec_driver_sql("DROP DATABASE IF EXISTS guard_walls")
            connection.exec_driver_sql("CREATE DATABASE guard_walls")
    except OperationalError as error:
        admin.dispose()
        pytest.skip(f"no {name} server answers: {error.orig}")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in (*schema()["ddl"][name], *(grant.format(password=password) for grant in GRANTS[name])):
            connection.exec_driver_sql(statement)
    yield name, engine, url.set(username=READER, password=password).render_as_string(hide_password=False)
    with engine.connect() as connection:
        for statement in FORGET[name]:
            connection.exec_driver_sql(statement)
    engine.dispose()
    with admin.connect() as connection:
        force = " WITH (FORCE)" if name == "postgres" else ""
        connection.exec_driver_sql(f"DROP DATABASE guard_walls{force}")
    admin.dispose()


def assert_reader(database: Database, name: str) -> None:
    """Fail before anything is sent where the connection is not the account that may only SELECT."""
    with database.connect(LIMIT_S) as connection:
        who, may_harm = connection.exec_driver_sql(WHO[name]).one()
    assert (who, bool(may_harm)) == (READER, False)


def content(engine: Any) -> dict[str, list[str]]:
    """Everything that the corpus could change: the rows of each table, and the tables there are."""
    names = [*schema()["allowed_tables"], *schema()["forbidden_tables"]]
    with engine.connect() as connection:
        tables = connection.exec_driver_sql(
            "SELECT table_name FROM information_schema.tables WHERE table_schema IN ('public', 'guard_walls')"
        )
        found = {"tables": sorted(str(row[0]) for row in tables)}
        for name in names:
            found[name] = sorted(str(tuple(row)) for row in connection.exec_driver_sql(f"SELECT * FROM {name}"))
    return found


def outcome(database: Database, sql: str) -> str:
    """Send `sql` to the read-only connection; return `stopped` or `answered`, and fail where it took too long."""
    started = time.monotonic()
    try:
        with database.connect(LIMIT_S) as connection:
            for statement in database.session_statements(connection, LIMIT_S):
                connection.exec_driver_sql(statement)
            cursor = connection.execution_options(no_parameters=True, stream_results=True).exec_driver_sql(sql)
            if cursor.returns_rows:
                cursor.fetchmany(100)
            cursor.close()
            result = "answered"
    except (DBAPIError, ValueError, IndexError):
        result = "stopped"
    assert time.monotonic() - started < LIMIT_S + GRACE_S, sql
    return result


def test_servers_stop_what_the_guard_would_have(server: tuple[str, Any, str], record_property: Any) -> None:
    name, engine, url = server
    before = content(engine)
    database = Database(url)
    assert_reader(database, name)
    walls: Counter[str] = Counter()
    passed_both = []
    for sql in blocked(name):
        guard, connection = is_refused(sql, name), outcome(database, sql) == "stopped"
        walls["both" if guard and connection else "guard alone" if guard else "connection alone"] += 1
        if not guard and not connection:
            passed_both.append(sql)
    database.engine.dispose()
    record_property("walls", dict(walls))
    print(name, dict(walls))

    assert passed_both == []
    assert content(engine) == before


# The program of the process in which SQLite runs: a statement a line in, an outcome a line out.
SQLITE_PROCESS = """
import json, sys
from sqlalchemy.exc import DBAPIError
from agent.sql.database import Database
database = Database(sys.argv[1])
for line in sys.stdin:
    try:
        with database.connect(1.0) as connection:
            cursor = connection.execution_options(no_parameters=True).exec_driver_sql(json.loads(line))
            if cursor.returns_rows:
                cursor.fetchmany(100)
            print("answered", flush=True)
    except (DBAPIError, ValueError, IndexError):
        print("stopped", flush=True)
"""


def test_sqlite_stops_what_the_guard_would_have(tmp_path: Path, record_property: Any) -> None:
    path = tmp_path / "walls.sqlite"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        for statement in schema()["ddl"]["sqlite"]:
            connection.exec_driver_sql(statement)
    engine.dispose()
    bytes_before, files_before = path.read_bytes(), sorted(tmp_path.iterdir())
    walls: Counter[str] = Counter()
    statements = blocked("sqlite")
    process = subprocess.run(
        [sys.executable, "-c", SQLITE_PROCESS, f"sqlite:///{path}"],
        input="".join(json.dumps(sql) + "\n" for sql in statements),
        capture_output=True,
        text=True,
        timeout=len(statements) * (LIMIT_S + GRACE_S),
        cwd=Path(__file__).resolve().parents[3],
        check=True,
    )
    outcomes = process.stdout.split()
    for sql, found in zip(statements, outcomes, strict=True):
        guard = is_refused(sql, "sqlite")
        assert guard or found == "stopped", sql
        walls["both" if guard and found == "stopped" else "guard alone" if guard else "connection alone"] += 1
    record_property("walls", dict(walls))
    print("sqlite", dict(walls))

    assert path.read_bytes() == bytes_before
    assert sorted(tmp_path.iterdir()) == files_before

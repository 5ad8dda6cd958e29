"""Connections that fail say why, and those that a moment helps are waited for."""

import os
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import duckdb
import pytest
from sqlalchemy import URL, make_url, text

from datasphinx.agent.conversation.postgres_threads import PostgresThreads
from datasphinx.agent.engines.read_only import open_duckdb_read_only
from datasphinx.agent.errors import SourceUnreachable, StatementFailed
from datasphinx.agent.messages import Message
from datasphinx.agent.record.store import Store
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.worker import OpenDuckDB
from datasphinx.agent.sql.workers import Workers
from datasphinx.agent.types import Limits
from tests.agent.sql.engines import MYSQL_URL, POSTGRES_URL
from tests.support.eventually import eventually


def reason(database: Database) -> str:
    """Return the code of the reason why the database cannot be opened."""
    with pytest.raises(SourceUnreachable) as raised, database.connect():
        pass
    found = raised.value.reason
    assert isinstance(found, Message)
    return str(found.facts.get("cause", found).code)


@contextmanager
def writer(path: Path) -> Iterator[None]:
    """Another process that has opened a DuckDB file for writing."""
    code = f"import duckdb; c = duckdb.connect({str(path)!r}); print('open', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


@pytest.fixture
def duckdb_file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    return path


@pytest.mark.process
def test_a_writer_of_a_duckdb_file_is_waited_for_and_then_named(
    duckdb_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasphinx.agent.engines.read_only._LOCK_WAIT_S", 0.1)
    database = Database(f"duckdb:///{duckdb_file}")
    with writer(duckdb_file):
        assert reason(database) == "database_in_use"
        with pytest.raises(SourceUnreachable, match=r"in use.*PID \d+"), database.connect():
            pass
        monkeypatch.setattr("datasphinx.agent.engines.read_only._LOCK_WAIT_S", 60)
        opened: list[int] = []

        def read() -> None:
            with database.connect() as connection:
                opened.append(connection.execute(text("SELECT a FROM t")).scalar_one())

        waiting = threading.Thread(target=read)
        waiting.start()
    waiting.join()
    assert opened == [1]


@pytest.mark.process
def test_a_moment_after_a_statement_others_can_write_to_a_duckdb_file(duckdb_file: Path) -> None:
    workers, database = Workers(500), Database(f"duckdb:///{duckdb_file}")

    def can_be_written() -> bool:
        with suppress(duckdb.IOException), closing(duckdb.connect(str(duckdb_file))) as connection:
            connection.execute("INSERT INTO t VALUES (2)")
            return True
        return False

    for sql in ("SELECT a FROM t", "SELECT b FROM t"):
        with suppress(StatementFailed):
            workers.run(database.file, sql, (), Limits(30, 10))
        eventually(can_be_written)
    assert workers.run(database.file, "SELECT COUNT(*) FROM t", (), Limits(30, 10))["rows"] == [[3]]


def test_statements_that_follow_each_other_open_a_duckdb_file_once(
    duckdb_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Mock(side_effect=open_duckdb_read_only)
    monkeypatch.setattr("datasphinx.agent.sql.worker.open_duckdb_read_only", opened)
    request = {"path": str(duckdb_file), "has_views": False, "view_files": None, "timeout_s": 30}
    database = OpenDuckDB(500)

    def values() -> list[tuple[int]]:
        with database.cursor(request) as cursor:
            cursor.execute("SELECT a FROM t")
            return cursor.fetchmany(10)

    assert values() == values() == [(1,)]
    assert opened.call_count == 1
    other = duckdb_file.with_name("other.duckdb")
    with closing(duckdb.connect(str(other))) as connection:
        connection.execute("CREATE TABLE t AS SELECT 5 AS a")
    other.replace(duckdb_file)
    assert values() == [(5,)]
    database.release()


@pytest.mark.heavy
@pytest.mark.process
def test_a_statement_waits_for_a_writer_longer_than_its_own_time_limit(duckdb_file: Path) -> None:
    workers, database = Workers(500), Database(f"duckdb:///{duckdb_file}")
    with writer(duckdb_file), pytest.raises(SourceUnreachable, match=r"in use.*PID \d+"):
        workers.run(database.file, "SELECT a FROM t", (), Limits(0.5, 10))


def test_a_sqlite_file_with_a_log_is_read_in_a_folder_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        connection.commit()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with Database(f"sqlite:///{path}").connect() as connection:
        assert connection.execute(text("SELECT a FROM t")).scalar_one() == 1
        assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_file_that_is_gone_or_no_database_says_so(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"no database at all" * 900)
    database = Database(f"{engine}:///{path}")
    worker = Workers(500)

    def of_worker() -> str:
        with pytest.raises(SourceUnreachable) as raised:
            worker.run(database.file, "SELECT 1 FROM sqlite_master", (), Limits(30, 10))
        found = raised.value.reason
        assert isinstance(found, Message)
        return str(found.facts.get("cause", found).code)

    assert of_worker() == "not_a_database"
    path.unlink()
    assert of_worker() == "source_file_missing"


_SERVER_SAYS = {
    'password authentication failed for user "ann"': "account_refused",
    'no pg_hba.conf entry for host "::1", user "ann", database "shop", no encryption': "tls_required",
    "sorry, too many clients already": "connections_exhausted",
    "remaining connection slots are reserved for roles with the SUPERUSER attribute": "connections_exhausted",
    'database "shop" does not exist': "database_unknown",
    'role "ann" does not exist': "account_refused",
    "the database system is starting up": "database_starting",
    "unsupported startup parameter: search_path": "connection_option_refused",
}


@contextmanager
def serving(handle: Callable[[socket.socket], None]) -> Iterator[int]:
    """The port of a server that handles each connection in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=handle, args=(client,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def _refuse(client: socket.socket, message: str) -> None:
    """Refuse a connection as a PostgreSQL server does, with this message."""
    body = b"SFATAL\0C08P01\0M" + message.encode() + b"\0\0"
    with client:
        client.sendall(b"E" + struct.pack("!I", len(body) + 4) + body)


def _startup(client: socket.socket) -> bytes:
    """Return the message with which a client begins, after refusing encryption."""
    while True:
        head = client.recv(4, socket.MSG_WAITALL)
        body = client.recv(struct.unpack("!I", head)[0] - 4, socket.MSG_WAITALL)
        if struct.unpack("!I", body[:4])[0] not in (80877103, 80877104):
            return head + body
        client.sendall(b"N")


@pytest.mark.parametrize("message", _SERVER_SAYS)
def test_postgres_says_why_it_refuses_a_connection(message: str) -> None:
    def refuse(client: socket.socket) -> None:
        _startup(client)
        _refuse(client, message)

    with serving(refuse) as port:
        assert reason(Database(f"postgresql+psycopg://ann:pw@127.0.0.1:{port}/shop")) == _SERVER_SAYS[message]


def test_a_server_that_is_not_there_does_not_respond() -> None:
    assert reason(Database("postgresql+psycopg://ann@127.0.0.1:9/shop")) == "database_silent"
    assert reason(Database("mysql+pymysql://ann@127.0.0.1:9/shop")) == "database_silent"


@pytest.mark.mysql
def test_mysql_says_why_it_refuses_a_connection() -> None:
    url = make_url(MYSQL_URL)
    assert reason(Database(url.set(database="nowhere_at_all").render_as_string(False))) == "database_unknown"
    other = url.set(username="nobody_at_all", password="wrong")
    assert reason(Database(other.render_as_string(False))) == "account_refused"


def _forward(target: URL, client: socket.socket) -> None:
    """Forward to PostgreSQL, but refuse the startup parameter `options`, as poolers do by default."""
    start = _startup(client)
    if b"\0options\0" in start:
        _refuse(client, "unsupported startup parameter: options")
        return
    with client, socket.create_connection((target.host or "127.0.0.1", target.port or 5432)) as server:
        server.sendall(start)
        back = threading.Thread(target=_pump, args=(client, server), daemon=True)
        back.start()
        _pump(server, client)
        back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@pytest.mark.postgres
def test_stores_and_sources_are_opened_through_a_pooler_that_refuses_options() -> None:
    target = make_url(POSTGRES_URL)
    with serving(partial(_forward, target)) as port:
        url = target.set(host="127.0.0.1", port=port).render_as_string(False)
        assert Store(url).head()[0] >= 0
        with PostgresThreads(url).saver() as saver:
            assert saver.get_tuple({"configurable": {"thread_id": "none", "checkpoint_ns": ""}}) is None
        with Database(url).connect() as connection:
            assert connection.execute(text("SELECT 1")).scalar_one() == 1

"""Connections that can only read: engines, session limits, and the dialect that a source speaks.

Nothing here runs a statement. `agent.sql.execute` does, and runs what `session_statements` asks for first.
"""

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, Inspector, create_engine, inspect, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from agent.errors import ConfigurationError, DriverMissing, SourceNotFound, SourceUnreachable

DRIVERS = {
    "postgresql": ("psycopg", "postgres", "postgresql+psycopg"),
    "mysql": ("pymysql", "mysql", "mysql+pymysql"),
    "mariadb": ("pymysql", "mysql", "mariadb+pymysql"),
}
"""For each engine: the package that its driver comes in, the extra that brings it, the URL scheme."""

_SQLITE_READS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_PASSWORD = re.compile(r"(?<=:)[^:/@][^@]*(?=@)")
_SQLITE_MAX_VALUE_BYTES = 1_000_000
_PROGRESS_INSTRUCTIONS = 10_000
_CONNECT_TIMEOUT_S = 10


class Database:
    """One database, opened for reading. `name` is what users see: the URL without its password."""

    def __init__(self, url: str) -> None:
        """Prepare an engine for `url`, without connecting to a server yet.

        Raises:
            SourceNotFound: the URL cannot be read, or its SQLite file does not exist.
            DriverMissing: the driver of this engine is not installed.
            ConfigurationError: no read-only connection is known for this engine.
        """
        self.url = _parse(url)
        self.name = self.url.render_as_string(hide_password=True)
        self.engine = _engine(self.url)

    @property
    def dialect(self) -> str:
        """The name that sqlglot has for the SQL of this database."""
        backend = self.url.get_backend_name()
        return {"postgresql": "postgres", "mariadb": "mysql"}.get(backend, backend)

    def quote(self, name: str) -> str:
        """Return `name` as an identifier of this database, quoted where it has to be."""
        return self.engine.dialect.identifier_preparer.quote(name)

    @contextmanager
    def connect(self, timeout_s: float) -> Iterator[Connection]:
        """Yield a connection whose statements stop after `timeout_s` seconds; SQLite can only read through it.

        Raises:
            SourceUnreachable: the database does not answer.
        """
        connection = self._open()
        try:
            driver = connection.connection.driver_connection
            if isinstance(driver, sqlite3.Connection):
                _limit_sqlite(driver, timeout_s)
            yield connection
        finally:
            connection.close()

    @contextmanager
    def inspector(self) -> Iterator[Inspector]:
        """Yield an inspector that reads the schema.

        Raises:
            SourceUnreachable: the database does not answer.
        """
        connection = self._open()
        try:
            yield inspect(connection)
        except SQLAlchemyError as error:
            raise SourceUnreachable(self.name, reason_of(error)) from error
        finally:
            connection.close()

    def session_statements(self, connection: Connection, timeout_s: float) -> tuple[str, ...]:
        """Return what has to run first in a transaction, so that it can only read and stops in time."""
        if self.dialect == "postgres":
            return ("SET TRANSACTION READ ONLY", f"SET LOCAL statement_timeout = {int(timeout_s * 1000)}")
        if self.dialect == "mysql":
            mariadb = getattr(connection.dialect, "is_mariadb", False)
            limit = f"max_statement_time = {timeout_s}" if mariadb else f"max_execution_time = {int(timeout_s * 1000)}"
            # Of the session, since DDL ends a transaction that was merely started as read-only.
            return (f"SET SESSION {limit}", "SET SESSION TRANSACTION READ ONLY", "ROLLBACK", "START TRANSACTION")
        return ()

    def _open(self) -> Connection:
        try:
            return self.engine.connect()
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise SourceUnreachable(self.name, reason_of(error)) from error


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError) as error:
        raise SourceNotFound(_PASSWORD.sub("***", url), "that is no URL such as sqlite:///shop.db") from error
    if backend == "sqlite":
        return parsed
    if backend not in DRIVERS:
        known = ", ".join(["sqlite", *DRIVERS])
        raise ConfigurationError(
            "DATASPHINX_SOURCE", f"no read-only connection is known for {backend}, only for {known}"
        )
    package, extra, scheme = DRIVERS[backend]
    if find_spec(package) is None:
        raise DriverMissing(package, extra)
    return parsed.set(drivername=scheme)


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": _CONNECT_TIMEOUT_S})
    path = Path(url.database or "")
    if not path.is_file():
        raise SourceNotFound(str(url), "the file does not exist")
    uri = f"file:{quote(str(path.absolute()))}?mode=ro"

    def open_file() -> sqlite3.Connection:
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection

    return create_engine("sqlite://", creator=open_file, poolclass=NullPool)


def _limit_sqlite(driver: sqlite3.Connection, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    driver.set_progress_handler(lambda: int(time.monotonic() > deadline), _PROGRESS_INSTRUCTIONS)
    driver.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    driver.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _SQLITE_MAX_VALUE_BYTES)
    driver.set_authorizer(_authorize_sqlite)


def _authorize_sqlite(action: int, first: str | None, second: str | None, *_: object) -> int:
    if action == sqlite3.SQLITE_FUNCTION and second == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _SQLITE_READS else sqlite3.SQLITE_DENY


def reason_of(error: Exception) -> str:
    """Return what the driver says of `error`, in one line."""
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]

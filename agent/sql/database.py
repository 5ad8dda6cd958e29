"""A database, opened for reading: its engine, its dialect, and connections to it."""

import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, Inspector, create_engine, inspect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.pool import NullPool

from agent.errors import SourceBusy, SourceNotFound, SourceUnreachable
from agent.sql.duckdb_walls import LOCKED
from agent.sql.engines import EngineKind, parse_url
from agent.sql.known_results import KnownResults
from agent.sql.redact import without_paths
from agent.sql.sessions import read_by_default_rules, reset_on_return
from agent.sql.sqlite_walls import connect_read_only
from agent.sql.workers import File

_CONNECT_TIMEOUT_S = 10
_POOL_SIZE = 5
_POOL_OVERFLOW = 10
_POOL_WAIT_S = 10.0


class Database:
    """One database. `name` is what users see: the URL without its password."""

    known_results: KnownResults | None = None
    """What it has given already, where it never changes."""

    def __init__(self, url: str) -> None:
        """Prepare an engine for `url`, without connecting to a server yet.

        Raises:
            SourceNotFound: the URL cannot be read, or its file does not exist.
            DriverMissing: the driver of this engine is not installed.
            ConfigurationError: no read-only connection is known for this engine.
        """
        self.url, self.kind = parse_url(url)
        self.name = self.url.render_as_string(hide_password=True)
        self.engine = _file_engine(self.url) if self.kind.in_worker else _server_engine(self.url, self.kind)
        # A database that nobody holds any more leaves no session behind.
        weakref.finalize(self, self.engine.dispose)

    @property
    def dialect(self) -> str:
        """The name that sqlglot has for the SQL of this database."""
        return self.kind.dialect

    @property
    def default_schema(self) -> str | None:
        """The schema of unqualified names, for engines whose inspector does not say it; None for the others."""
        if self.dialect == "clickhouse" and self.kind.scheme == "chdb":
            return "default"
        return self.url.database or "default" if self.dialect in {"clickhouse", "spark"} else None

    @cached_property
    def file(self) -> File:
        """The file, for an engine whose statements run in workers."""
        return File(self.kind.scheme, str(_path_of(self.url).absolute()), self.name)

    def quote(self, name: str) -> str:
        """Return `name` as an identifier of this database, quoted where it has to be."""
        return self.engine.dialect.identifier_preparer.quote(name)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Yield a connection.

        Raises:
            SourceUnreachable: the database does not answer.
            SourceBusy: every connection of the pool stayed in use.
        """
        try:
            connection = self.engine.connect()
        except PoolExhausted as error:
            raise SourceBusy(self.name, _POOL_SIZE + _POOL_OVERFLOW) from error
        except (SQLAlchemyError, sqlite3.Error, RuntimeError) as error:
            raise SourceUnreachable(self.name, reason_of(error)) from error
        with connection:
            yield connection

    @contextmanager
    def inspector(self) -> Iterator[Inspector]:
        """Yield an inspector that reads the schema.

        Raises:
            SourceUnreachable: the database does not answer.
        """
        with self.connect() as connection:
            try:
                yield inspect(connection)
            except (SQLAlchemyError, RuntimeError) as error:
                raise SourceUnreachable(self.name, reason_of(error)) from error


def _file_engine(url: URL) -> Engine:
    path = _path_of(url)
    if not path.is_file():
        raise SourceNotFound(str(url), "the file does not exist")
    if url.drivername == "sqlite":
        return create_engine("sqlite://", creator=lambda: connect_read_only(str(path)), poolclass=NullPool)
    options = {"read_only": True, "config": LOCKED}
    return create_engine(URL.create("duckdb", database=str(path)), connect_args=options, poolclass=NullPool)


def _path_of(url: URL) -> Path:
    return Path(url.database or "")


def _server_engine(url: URL, kind: EngineKind) -> Engine:
    options: dict[str, Any] = {"pool_size": _POOL_SIZE, "max_overflow": _POOL_OVERFLOW, "pool_timeout": _POOL_WAIT_S}
    arguments: dict[str, Any] = {}
    if kind.dialect in {"postgres", "mysql"}:
        arguments["connect_timeout"] = _CONNECT_TIMEOUT_S
    if kind.dialect == "mysql":
        # In character sets such as gbk a backslash may be the second byte of a character.
        arguments["charset"] = "utf8mb4"
    if kind.dialect == "postgres":
        # Prepared plans would not outlive the reset of the session.
        arguments["prepare_threshold"] = None
        options["pool_reset_on_return"] = None
    if url.drivername == "chdb":
        options = {"poolclass": NullPool}
    engine = create_engine(url, pool_pre_ping=url.drivername != "chdb", connect_args=arguments, **options)
    read_by_default_rules(engine, kind.dialect)
    reset_on_return(engine, kind.dialect)
    return engine


def reason_of(error: Exception) -> str:
    """Return the driver's message of `error`, in one line and without the directories of this machine."""
    return without_paths(str(getattr(error, "orig", None) or error).strip().splitlines()[0])

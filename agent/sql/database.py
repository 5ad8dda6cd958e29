"""Read access to a database: engine, dialect and connections."""

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

from agent.core.redact import without_paths
from agent.core.result_cache import ResultCache
from agent.errors import SourceBusy, SourceNotFound, SourceUnreachable
from agent.messages import Message
from agent.sql.engines import EngineKind, parse_url
from agent.sql.read_only import LOCKED_CONFIG, connect_read_only
from agent.sql.sessions import reset_on_checkin, set_parser_defaults
from agent.sql.workers import DatabaseFile

_CONNECT_TIMEOUT_S = 10
_POOL_SIZE = 5
_POOL_OVERFLOW = 10
_POOL_WAIT_S = 10.0


class Database:
    """A database. `name` is its URL without the password, for display."""

    result_cache: ResultCache | None = None
    """Cache of results, only for a database that never changes."""

    def __init__(self, url: str) -> None:
        """Prepare an engine for `url`, without connecting to a server.

        Raises:
            SourceNotFound: the URL is invalid, or its file does not exist.
            DriverMissing: the driver of this engine is not installed.
            ConfigurationError: this kind of database is not supported.
        """
        self.url, self.kind = parse_url(url)
        self.name = self.url.render_as_string(hide_password=True)
        self.engine = _file_engine(self.url) if self.kind.in_worker else _server_engine(self.url, self.kind)
        # Close the pooled sessions once the database is garbage-collected.
        weakref.finalize(self, self.engine.dispose)

    @property
    def dialect(self) -> str:
        """The SQL dialect, by its sqlglot name."""
        return self.kind.dialect

    @property
    def default_schema(self) -> str | None:
        """The schema of unqualified names; None for engines whose inspector reports it."""
        if self.dialect == "clickhouse" and self.kind.scheme == "chdb":
            return "default"
        return self.url.database or "default" if self.dialect in {"clickhouse", "spark"} else None

    @property
    def identity(self) -> str:
        """The URL without its password; for a file, with the absolute path."""
        url = self.url.set(password=None)
        if url.database and not url.host:
            url = url.set(database=str(Path(url.database).absolute()))
        return url.render_as_string()

    @cached_property
    def file(self) -> DatabaseFile:
        """The database file, for engines that run in worker processes."""
        return DatabaseFile(self.kind.scheme, str(Path(self.url.database or "").absolute()), self.name)

    def quote(self, name: str) -> str:
        """Return `name` as an identifier of this database, quoted if necessary."""
        return self.engine.dialect.identifier_preparer.quote(name)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Yield a connection.

        Raises:
            SourceUnreachable: the database does not answer.
            SourceBusy: no pooled connection became free in time.
        """
        try:
            connection = self.engine.connect()
        except PoolExhausted as error:
            raise SourceBusy(self.name, _POOL_SIZE + _POOL_OVERFLOW) from error
        except (SQLAlchemyError, sqlite3.Error, RuntimeError) as error:
            raise SourceUnreachable(self.name, driver_message(error)) from error
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
                raise SourceUnreachable(self.name, driver_message(error)) from error


def _file_engine(url: URL) -> Engine:
    path = Path(url.database or "")
    if not path.is_file():
        raise SourceNotFound(str(url), Message("source_file_missing"))
    if url.drivername == "sqlite":
        return create_engine("sqlite://", creator=lambda: connect_read_only(str(path)), poolclass=NullPool)
    options = {"read_only": True, "config": LOCKED_CONFIG}
    return create_engine(URL.create("duckdb", database=str(path)), connect_args=options, poolclass=NullPool)


def _server_engine(url: URL, kind: EngineKind) -> Engine:
    options: dict[str, Any] = {"pool_size": _POOL_SIZE, "max_overflow": _POOL_OVERFLOW, "pool_timeout": _POOL_WAIT_S}
    arguments: dict[str, Any] = {}
    if kind.dialect in {"postgres", "mysql"}:
        arguments["connect_timeout"] = _CONNECT_TIMEOUT_S
    if kind.dialect == "mysql":
        # In character sets such as gbk, a backslash may be the second byte of a character.
        arguments["charset"] = "utf8mb4"
    if kind.dialect == "postgres":
        # DISCARD ALL at check-in (see `reset_on_checkin`) would drop prepared statements.
        arguments["prepare_threshold"] = None
        options["pool_reset_on_return"] = None
    if url.drivername == "chdb":
        options = {"poolclass": NullPool}
    engine = create_engine(url, pool_pre_ping=url.drivername != "chdb", connect_args=arguments, **options)
    set_parser_defaults(engine, kind.dialect)
    reset_on_checkin(engine, kind.dialect)
    return engine


def driver_message(error: Exception) -> str:
    """Return the first line of the driver's message, without local directories."""
    return without_paths(str(getattr(error, "orig", None) or error).strip().splitlines()[0])

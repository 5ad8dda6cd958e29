"""Read access to a database: engine, dialect and connections."""

import sqlite3
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Connection, Inspector, create_engine, event, inspect, make_url
from sqlalchemy import Engine as SQLAlchemyEngine
from sqlalchemy.dialects import registry
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.pool import NullPool

from datasphinx.agent.core.redact import without_password, without_paths, without_secrets
from datasphinx.agent.core.result_cache import ResultCache
from datasphinx.agent.core.text import valid_text
from datasphinx.agent.engines import dialect_of, engine_called, engines
from datasphinx.agent.engines.base import Engine
from datasphinx.agent.engines.privileges import Grants
from datasphinx.agent.errors import (
    ConfigurationError,
    DriverMissing,
    SourceFilesUnreadable,
    SourceNotFound,
    SourceUnreachable,
    Unavailable,
)
from datasphinx.agent.messages import Message
from datasphinx.agent.sql.failures import connection_failure
from datasphinx.agent.sql.workers import DatabaseFile

if TYPE_CHECKING:
    from datasphinx.agent.sql.view_files import ViewFiles

for _engine in engines().values():
    if _engine.sqlalchemy_dialect:
        registry.register(_engine.driver, *_engine.sqlalchemy_dialect)

_POOL_SIZE = 5
_POOL_OVERFLOW = 10
_POOL_WAIT_S = 10.0


def parse_url(text: str) -> tuple[URL, Engine]:
    """Parse a database URL; return it with the driver set, and its engine.

    Raises:
        SourceNotFound: `text` is not a valid URL.
        ConfigurationError: the engine is not supported.
        DriverMissing: the driver of this engine is not installed.
    """
    if valid_text(text) != text:
        raise SourceNotFound(without_password(valid_text(text)), Message("url_not_unicode"))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise SourceNotFound(without_password(text), Message("not_a_url")) from error
    scheme = url.drivername.partition("+")[0]
    engine = engine_called(scheme)
    if engine is None:
        supported = ", ".join(engines())
        raise ConfigurationError(
            "DATASPHINX_SOURCE", Message("engine_not_supported", engine=scheme, supported=supported)
        )
    for package in engine.packages:
        try:
            spec = find_spec(package)
        except ModuleNotFoundError:  # the parent of the package is missing
            spec = None
        if spec is None:
            raise DriverMissing(package, engine.extra or engine.name)
    return url.set(drivername=engine.driver), engine


@dataclass(frozen=True)
class FileList:
    """The files of a database of views: for display, for the cache, and the function that lists them."""

    name: str
    identity: str
    list: "Callable[[], ViewFiles]"


class Database:
    """A database. `name` is its URL without the password, for display."""

    result_cache: ResultCache | None = None
    """Cache of results, only for a database that never changes."""

    view_files: "ViewFiles | None" = None
    """The views and files of a database of views over files, as listed last."""

    def __init__(
        self, url: str, files: "FileList | None" = None, connect_args: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """Prepare an engine for `url`, without connecting to a server; with `files`, for views over them.

        `connect_args` are arguments for the driver of a server.

        Raises:
            SourceNotFound: the URL is invalid, or its file does not exist.
            DriverMissing: the driver of this engine is not installed.
            ConfigurationError: this kind of database is not supported, or the driver refuses the URL.
            DatasphinxError: any error of `files.list`.
        """
        self.url, self.kind = parse_url(url)
        self.name = files.name if files else without_secrets(self.url.render_as_string(hide_password=True))
        self._files = files
        secrets = (self.url.password, *(value for value in connect_args.values() if isinstance(value, str)))
        self._secrets = tuple(str(secret) for secret in secrets if secret)
        if connect_args and self.kind.in_worker:
            raise ConfigurationError("DATASPHINX_SOURCES", Message("connect_args_need_server"))
        self.list_files()
        if files:
            self.engine = self._views_engine()
        else:
            self.engine = (
                _file_engine(self.url, self.kind)
                if self.kind.in_worker
                else _server_engine(self.url, self.kind, connect_args)
            )
        # Close the pooled sessions once the database is garbage-collected.
        weakref.finalize(self, self.engine.dispose)

    @property
    def dialect(self) -> str:
        """The SQL dialect, by the name under which `engine_of` finds the engine."""
        return dialect_of(self.kind)

    @cached_property
    def product(self) -> str:
        """Name and version of the engine for prompts. Connects to the server once, which tells the version."""
        if not self.kind.in_worker:
            with suppress(SourceUnreachable, Unavailable), self.connect():
                pass
        return self.kind.product(self.engine.dialect)

    @property
    def default_schema(self) -> str | None:
        """The schema of unqualified names; None for engines whose inspector reports it."""
        return self.kind.default_schema(self.url)

    @property
    def identity(self) -> str:
        """The URL without its password; for a file, with the absolute path."""
        if self._files:
            return self._files.identity
        url = self.url.set(password=None)
        if url.database and not url.host:
            url = url.set(database=str(Path(url.database).absolute()))
        return without_secrets(url.render_as_string())

    @property
    def file(self) -> DatabaseFile:
        """The database file, for engines that run in worker processes."""
        if self.view_files:
            return DatabaseFile(self.kind.driver, self.view_files.stamp, self.name, self.view_files)
        return DatabaseFile(self.kind.driver, str(Path(self.url.database or "").absolute()), self.name)

    def list_files(self) -> bool:
        """List the files of a database of views again; return whether they have changed."""
        if not self._files:
            return False
        before, self.view_files = self.view_files, self._files.list()
        return before is None or before.stamp != self.view_files.stamp

    def _views_engine(self) -> SQLAlchemyEngine:
        from datasphinx.agent.sql.read_only_files import ViewUnreadable, open_views
        from datasphinx.agent.sql.view_files import PROTOCOL

        def connect() -> Any:
            assert self.view_files
            try:
                return open_views(self.view_files)[0]
            except ViewUnreadable as error:
                view, reason = error.args
                raise SourceFilesUnreadable(view, without_paths(reason)) from error

        engine = create_engine(f"{self.kind.driver}://", creator=connect, poolclass=NullPool)
        # A file system that stays registered would keep the connection alive.
        event.listen(engine, "close", lambda connection, _: connection.unregister_filesystem(PROTOCOL))
        return engine

    def quote(self, name: str) -> str:
        """Return `name` as an identifier of this database, quoted if necessary."""
        preparer = self.engine.dialect.identifier_preparer
        quoted = preparer.quote(name)
        # The preparer of some drivers doubles % for statements with parameters.
        return quoted.replace("%%", "%") if preparer._double_percents else quoted

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Yield a connection. Raise SourceUnreachable without one, and Unavailable if none became free in time."""
        with self.file.in_use(_POOL_WAIT_S) if self.kind.in_worker else nullcontext(), self._open() as connection:
            yield connection

    def _open(self) -> Connection:
        try:
            return self.engine.connect()
        except PoolExhausted as error:
            raise Unavailable("source_busy", source=self.name, places=_POOL_SIZE + _POOL_OVERFLOW) from error
        except (SQLAlchemyError, sqlite3.Error, OSError, RuntimeError) as error:
            raise self.unreachable(error) from error

    @contextmanager
    def inspector(self) -> Iterator[Inspector]:
        """Yield an inspector that reads the schema. Raise SourceUnreachable if the database does not answer."""
        with self.connect() as connection:
            try:
                yield inspect(connection)
            except (SQLAlchemyError, RuntimeError) as error:
                raise self.unreachable(error) from error

    def grants(self) -> Grants:
        """Return the privileges of the account other than read access; files are always opened read-only."""
        if self.kind.in_worker:
            return Grants()
        with self.connect() as connection:
            try:
                return self.kind.grants(connection)
            except SQLAlchemyError as error:
                raise self.unreachable(error) from error

    def unreachable(self, error: Exception) -> SourceUnreachable:
        """Return the error for a connection that fails, or is lost, with the driver's `error`."""
        path = self.file.path if self.kind.in_worker and not self._files else ""
        return connection_failure(self.name, self.kind, error, self.message_of(error), path)

    def message_of(self, error: Exception) -> str:
        """Return the first line of the driver's message, without local directories and secrets of the connection."""
        return without_secrets(driver_message(error), self._secrets)


def folder_engine(kind: Engine, path: str) -> SQLAlchemyEngine:
    """Return an engine over the folder `path`, which is open while a connection is."""
    return create_engine(URL.create(kind.driver, database=path), poolclass=NullPool)


def _file_engine(url: URL, kind: Engine) -> SQLAlchemyEngine:
    path = Path(url.database or "")
    if not (path.is_dir() if kind.is_folder else path.is_file()):
        raise SourceNotFound(str(url), Message("source_file_missing"))
    if kind.is_folder:
        return folder_engine(kind, str(path))
    return create_engine(f"{kind.driver}://", creator=lambda: kind.open_file(str(path)), poolclass=NullPool)


def _server_engine(url: URL, kind: Engine, connect_args: Mapping[str, Any]) -> SQLAlchemyEngine:
    options = {"pool_size": _POOL_SIZE, "max_overflow": _POOL_OVERFLOW, "pool_timeout": _POOL_WAIT_S}
    arguments = {**connect_args, **kind.driver_arguments}
    try:
        engine = create_engine(
            kind.connection_url(url), pool_pre_ping=True, connect_args=arguments, **options, **kind.pool_options
        )
    except Exception as error:
        # Some dialects read files with credentials and check parameters of the URL here.
        if not kind.checks_url:
            raise
        secrets = [value for value in (url.password, *connect_args.values()) if isinstance(value, str)]
        raise ConfigurationError("DATASPHINX_SOURCES", without_secrets(driver_message(error), secrets)) from error
    if engine.dialect.driver == "psycopg":
        from datasphinx.agent.engines.postgres_values import register

        event.listen(engine, "connect", register)
    kind.prepare_pool(engine)
    return engine


def driver_message(error: Exception) -> str:
    """Return the first line of the driver's message, without local directories."""
    return without_paths(str(getattr(error, "orig", None) or error).strip().splitlines()[0])

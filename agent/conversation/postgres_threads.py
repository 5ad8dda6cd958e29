"""Threads in a PostgreSQL database, for servers on several machines."""

import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.pool import QueuePool

from agent.conversation.postgres_claims import Claims, try_lock, unlock
from agent.conversation.threads import PLAIN_VALUES, Threads
from agent.errors import ConfigurationError, DriverMissing, ThreadsUnavailable
from agent.sql.redact import without_password, without_secrets

if TYPE_CHECKING:
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg import Connection
    from psycopg.rows import DictRow

_CONNECT_S = 5
_ANSWER_S = 10
_CONNECTIONS = 8
_LIMITS = f"-c statement_timeout={_ANSWER_S}s -c lock_timeout={_ANSWER_S}s"
_TABLES = "tables"
"""The key that stands for the making of tables."""


class PostgresThreads(Threads):
    """Threads in a database. A process has one connection for its claims, and a few for whoever reads or writes."""

    def __init__(self, url: str) -> None:
        """Take the URL, in SQLAlchemy's spelling or PostgreSQL's; nothing is connected yet.

        Raises:
            ConfigurationError: it is not the URL of a PostgreSQL database.
            DriverMissing: the extra `postgres` is not installed.
        """
        try:
            import langgraph.checkpoint.postgres  # noqa: F401
            import psycopg
        except ImportError as error:
            raise DriverMissing("langgraph-checkpoint-postgres", "postgres") from error
        super().__init__(without_password(url))
        self._failures: tuple[type[Exception], ...] = (psycopg.Error, OSError, TimeoutError, PoolExhausted)
        connect = partial(_connected, _conninfo(url))
        self._claims = Claims(connect)
        self._pool = QueuePool(cast(Any, connect), pool_size=_CONNECTIONS, max_overflow=0, timeout=_ANSWER_S)
        weakref.finalize(self, self._pool.dispose)
        self._turn = threading.Lock()
        self._is_set_up = False

    @contextmanager
    def alone(self, key: str) -> Iterator[bool]:
        """Hold an advisory lock of the database."""
        with ExitStack() as held:
            with self._failing():
                is_ours = held.enter_context(self._claims.of(key))
            yield is_ours

    @contextmanager
    def saver(self) -> "Iterator[PostgresSaver]":
        """Give the connected database; its tables are made the first time."""
        from langgraph.checkpoint.postgres import PostgresSaver

        with self._failing(), self._lent() as connection:
            saver = PostgresSaver(connection, serde=PLAIN_VALUES)
            with self._turn:
                if not self._is_set_up:
                    _set_up(saver, connection)
                    self._is_set_up = True
            yield saver

    @contextmanager
    def _lent(self) -> "Iterator[Connection[DictRow]]":
        """Give a connection that is alive, for this thread alone."""
        for left in reversed(range(_CONNECTIONS + 1)):
            lent = self._pool.connect()
            connection: Any = lent.dbapi_connection
            try:
                connection.execute("SELECT 1")
                break
            except self._failures:
                # Those that were open may all be dead; a new one says itself whether the database can be reached.
                lent.invalidate()
                if not left:
                    raise
        with closing(lent):
            yield connection

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
            raise ThreadsUnavailable(self.name, without_secrets(reason).rstrip(".")) from error


def _connected(conninfo: str) -> "Connection[DictRow]":
    import psycopg
    from psycopg.rows import dict_row

    return psycopg.connect(conninfo, autocommit=True, prepare_threshold=0, row_factory=dict_row)


def _conninfo(text: str) -> str:
    from psycopg.conninfo import make_conninfo

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.drivername.partition("+")[0] not in ("postgres", "postgresql"):
        reason = "it has to be the URL of a PostgreSQL database: postgresql://..."
        raise ConfigurationError("DATASPHINX_THREADS_URL", reason) from None
    query = {name: value if isinstance(value, str) else ",".join(value) for name, value in url.query.items()}
    limits = {"connect_timeout": _CONNECT_S, "options": _LIMITS, "tcp_user_timeout": _ANSWER_S * 1000}
    given: dict[str, Any] = {**limits, **query}
    named = {"host": url.host, "port": url.port, "user": url.username, "password": url.password, "dbname": url.database}
    return make_conninfo("", **{**given, **{name: value for name, value in named.items() if value is not None}})


def _set_up(saver: "PostgresSaver", connection: "Connection[DictRow]") -> None:
    """Make the tables where they are not there yet; one process at a time does it.

    The others ask again and again instead of waiting inside the database: a statement that waits there would itself be
    waited for, by the making of an index.
    """
    found = connection.execute("SELECT to_regclass('checkpoint_migrations') IS NOT NULL AS is_there").fetchone()
    if found and found["is_there"]:
        made = connection.execute("SELECT max(v) AS version FROM checkpoint_migrations").fetchone()
        if made and made["version"] == len(saver.MIGRATIONS) - 1:
            return
    until = time.monotonic() + _ANSWER_S
    while not try_lock(connection, _TABLES):
        if time.monotonic() > until:
            raise TimeoutError("another process has been making the tables for too long")
        time.sleep(0.05)
    try:
        saver.setup()
    finally:
        unlock(connection, _TABLES)

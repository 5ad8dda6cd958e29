"""Thread store in a PostgreSQL database, for servers on several machines."""

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import make_url
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import ArgumentError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.pool import QueuePool

from datasphinx.agent.conversation.threads import LIST_TABLE, SERIALIZER, Threads
from datasphinx.agent.core.redact import without_password, without_secrets
from datasphinx.agent.engines import engine_called
from datasphinx.agent.errors import ConfigurationError, DriverMissing, Unavailable
from datasphinx.agent.messages import Message, message_of

if TYPE_CHECKING:
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg import Connection
    from psycopg.rows import DictRow


_CONNECT_S = 5
_ANSWER_S = 10
_CONNECTIONS = 8
_LIMITS = f"SET statement_timeout = '{_ANSWER_S}s'; SET lock_timeout = '{_ANSWER_S}s'"
"""Statements for each new session. Poolers refuse them as options of the connection."""
_SETUP_KEY = "tables"
"""The key that is locked while tables are created."""


class AdvisoryLocks:
    """The advisory locks of this process, all on one connection, so that many runs need only one.

    If the connection is lost, its locks are lost as well; the next call of `lock` takes them again, except for those
    that another process holds by then.
    """

    def __init__(self, connect: "Callable[[], Connection[DictRow]]") -> None:
        """Use `connect` to open the connection with the first lock."""
        self._connect = connect
        self._connection: Connection[DictRow] | None = None
        self._close: Callable[[], object] = lambda: None
        self._mutex = threading.Lock()
        self._keys: set[str] = set()

    @contextmanager
    def lock(self, key: str) -> Iterator[bool]:
        """Lock `key` for the duration of the block, without waiting; yield False if it is locked already."""
        with self._mutex:
            is_locked = key not in self._keys and try_lock(self._open_connection(), key)
            if is_locked:
                self._keys.add(key)
        try:
            yield is_locked
        finally:
            if is_locked:
                self._release(key)

    def is_locked_elsewhere(self, key: str) -> bool:
        """Return whether another connection holds `key`."""
        with self._mutex:
            return key not in self._keys and is_held(self._open_connection(), key)

    def _open_connection(self) -> "Connection[DictRow]":
        import psycopg

        if self._connection:
            try:
                self._connection.execute("SELECT 1")
                return self._connection
            except (psycopg.Error, OSError):
                self._close()
        self._connection = self._connect()
        self._close = weakref.finalize(self, self._connection.close)
        for key in self._keys:
            try_lock(self._connection, key)
        return self._connection

    def _release(self, key: str) -> None:
        import psycopg

        with self._mutex:
            self._keys.remove(key)
            # A lost connection holds no locks.
            with suppress(psycopg.Error, OSError):
                if self._connection:
                    unlock(self._connection, key)


def try_lock(connection: "Connection[DictRow]", key: str) -> bool:
    """Take the advisory lock of `key` without waiting; return False if another connection holds it."""
    row = connection.execute("SELECT pg_try_advisory_lock(%s) AS is_locked", (_lock_id(key),)).fetchone()
    return bool(row and row["is_locked"])


def is_held(connection: "Connection[DictRow]", key: str) -> bool:
    """Return whether a connection holds the advisory lock of `key`."""
    row = connection.execute(
        "SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database AND datname = current_database() "
        "WHERE locktype = 'advisory' AND objsubid = 1 AND (classid::bigint << 32) | objid::bigint = %s",
        (_lock_id(key),),
    ).fetchone()
    return row is not None


def unlock(connection: "Connection[DictRow]", key: str) -> None:
    """Release the advisory lock of `key`."""
    connection.execute("SELECT pg_advisory_unlock(%s)", (_lock_id(key),))


def _lock_id(key: str) -> int:
    return int.from_bytes(sha256(f"datasphinx threads {key}".encode()).digest()[:8], "big", signed=True)


class PostgresThreads(Threads):
    """Threads in a PostgreSQL database. A process uses one connection for its locks and at most eight others."""

    def __init__(self, url: str) -> None:
        """Set the URL, in the form of SQLAlchemy or of PostgreSQL; the first use connects.

        Raises:
            DriverMissing: the extra `postgres` is not installed.
        """
        try:
            import langgraph.checkpoint.postgres  # noqa: F401
            import psycopg
        except ImportError as error:
            raise DriverMissing("langgraph-checkpoint-postgres", "postgres") from error
        super().__init__(without_password(url))
        self._failures: tuple[type[Exception], ...] = (psycopg.Error, OSError, TimeoutError, PoolExhausted)
        connect = partial(_connect, _conninfo(url))
        self._locks = AdvisoryLocks(connect)
        self._pool = QueuePool(
            cast(Any, connect),
            pool_size=_CONNECTIONS,
            max_overflow=0,
            timeout=_ANSWER_S,
            pre_ping=True,
            dialect=PGDialect_psycopg(dbapi=psycopg),  # type: ignore[no-untyped-call]
        )
        self._mutex = threading.Lock()
        # Views of owners share the mutex, and may outlive this object.
        weakref.finalize(self._mutex, self._pool.dispose)
        self._is_set_up = False

    @contextmanager
    def lock(self, key: str) -> Iterator[bool]:
        """Hold an advisory lock of the database."""
        with ExitStack() as locks:
            with self._convert_errors():
                is_locked = locks.enter_context(self._locks.lock(key))
            yield is_locked

    def is_locked_elsewhere(self, key: str) -> bool:
        """Look the lock up in the database."""
        with self._convert_errors():
            return self._locks.is_locked_elsewhere(key)

    @contextmanager
    def saver(self) -> "Iterator[PostgresSaver]":
        """Yield the store on a pooled connection; its tables are created on first use."""
        from langgraph.checkpoint.postgres import PostgresSaver

        with self._convert_errors(), closing(self._pool.connect()) as pooled:
            connection = cast("Connection[DictRow]", pooled.dbapi_connection)
            saver = PostgresSaver(connection, serde=SERIALIZER)
            with self._mutex:
                if not self._is_set_up:
                    _set_up(saver, connection)
                    self._is_set_up = True
            yield saver

    def rows(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows of a statement, which is committed."""
        with self.saver() as saver:
            cursor = cast("Connection[DictRow]", saver.conn).execute(statement.replace("?", "%s"), values)
            return [tuple(row.values()) for row in cursor] if cursor.description else []

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            raise Unavailable("threads_unavailable", url=self.name, reason=_reason(error)) from error


def _reason(error: Exception) -> str:
    """Return our own message, or the first line of the database's."""
    text = message_of(error)
    if isinstance(text, Message):
        return text
    return without_secrets((text.strip() or type(error).__name__).splitlines()[0][:300]).rstrip(".")


def _connect(conninfo: str) -> "Connection[DictRow]":
    import psycopg
    from psycopg.rows import dict_row

    connection = psycopg.connect(conninfo, autocommit=True, prepare_threshold=None, row_factory=dict_row)
    connection.execute(_LIMITS)
    return connection


def _conninfo(text: str) -> str:
    from psycopg.conninfo import make_conninfo

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    engine = url and engine_called(url.drivername)
    if url is None or engine is None or not engine.store.keeps_threads:
        raise ConfigurationError(
            "DATASPHINX_THREADS_URL", "it is not a PostgreSQL URL such as postgresql://..."
        ) from None
    query = {name: ",".join(values) for name, values in url.normalized_query.items()}
    limits = {"connect_timeout": _CONNECT_S, "tcp_user_timeout": _ANSWER_S * 1000}
    parameters: dict[str, Any] = {**limits, **query, **url.translate_connect_args(database="dbname", username="user")}
    return make_conninfo("", **parameters)


def _set_up(saver: "PostgresSaver", connection: "Connection[DictRow]") -> None:
    """Create or migrate the tables if necessary, in one process at a time.

    The other processes poll instead of waiting for the lock in the database: CREATE INDEX CONCURRENTLY waits for all
    running statements, and would wait for the statement that waits for the lock.
    """
    tables = "to_regclass('checkpoint_migrations') IS NOT NULL AND to_regclass('conversations') IS NOT NULL"
    exists = connection.execute(f"SELECT {tables} AS value").fetchone()
    if exists and exists["value"]:
        version = connection.execute("SELECT max(v) AS value FROM checkpoint_migrations").fetchone()
        if version and version["value"] == len(saver.MIGRATIONS) - 1:
            return
    deadline = time.monotonic() + _ANSWER_S
    while not try_lock(connection, _SETUP_KEY):
        if time.monotonic() > deadline:
            raise TimeoutError(Message("tables_not_created", seconds=_ANSWER_S))
        time.sleep(0.05)
    try:
        saver.setup()
        connection.execute(LIST_TABLE)
    finally:
        unlock(connection, _SETUP_KEY)

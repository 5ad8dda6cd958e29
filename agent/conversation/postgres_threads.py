"""Threads in a PostgreSQL database, for servers on several machines."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from agent.conversation.threads import PLAIN_VALUES, Threads
from agent.errors import ConfigurationError, DriverMissing, ThreadsUnavailable
from agent.sql.redact import without_password, without_secrets

if TYPE_CHECKING:
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg import Connection
    from psycopg.rows import DictRow

_CONNECT_S = 5
_ANSWER_S = 10
_LIMITS = f"-c statement_timeout={_ANSWER_S}s -c lock_timeout={_ANSWER_S}s"
_TABLES = "tables"
"""The key that stands for the making of tables."""


class PostgresThreads(Threads):
    """Threads in a database. Each use opens a connection of its own; a run on a thread holds one to its end."""

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
        self._conninfo = _conninfo(url)
        self._failures: tuple[type[Exception], ...] = (psycopg.Error, OSError, TimeoutError)
        self._turn = threading.Lock()
        self._is_set_up = False

    @contextmanager
    def alone(self, key: str) -> Iterator[bool]:
        """Hold an advisory lock of the database, which goes with its connection."""
        with self._failing():
            connection = self._connected()
        try:
            with self._failing():
                is_ours = _try_lock(connection, key)
            yield is_ours
        finally:
            connection.close()

    @contextmanager
    def saver(self) -> "Iterator[PostgresSaver]":
        """Give the connected database; its tables are made the first time."""
        from langgraph.checkpoint.postgres import PostgresSaver

        with self._failing(), self._connected() as connection:
            saver = PostgresSaver(connection, serde=PLAIN_VALUES)
            with self._turn:
                if not self._is_set_up:
                    _set_up(saver, connection)
                    self._is_set_up = True
            yield saver

    def _connected(self) -> "Connection[DictRow]":
        import psycopg
        from psycopg.rows import dict_row

        return psycopg.connect(self._conninfo, autocommit=True, prepare_threshold=0, row_factory=dict_row)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
            raise ThreadsUnavailable(self.name, without_secrets(reason).rstrip(".")) from error


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
    given: dict[str, Any] = {"connect_timeout": _CONNECT_S, "options": _LIMITS, **query}
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
    while not _try_lock(connection, _TABLES):
        if time.monotonic() > until:
            raise TimeoutError("another process has been making the tables for too long")
        time.sleep(0.05)
    saver.setup()


def _try_lock(connection: "Connection[DictRow]", key: str) -> bool:
    number = int.from_bytes(sha256(f"datasphinx threads {key}".encode()).digest()[:8], "big", signed=True)
    row = connection.execute("SELECT pg_try_advisory_lock(%s) AS is_ours", (number,)).fetchone()
    return bool(row and row["is_ours"])

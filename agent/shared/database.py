"""The PostgreSQL database that several processes share, for what they keep there beside threads and record."""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from agent.audit.migrations import StoreTooNew, is_current, migrate
from agent.audit.store import connected, reason_of
from agent.errors import ThreadsUnavailable
from agent.shared.tables import MIGRATIONS, applied
from agent.sql.redact import without_password

_CONNECTIONS = 4
_LONG_ONES = 2
_WAIT_S = 10
_LONG_WAIT_S = 120


class SharedDatabase:
    """A few connections, made at first use, as the tables are. Safe to share between threads."""

    def __init__(self, url: str) -> None:
        """Take the URL; `name` is what users see of it: without its password."""
        self.name = without_password(url)
        self._url, self._lock = url, threading.Lock()
        self._opened: Engine | None = None
        self._long_turns = threading.BoundedSemaphore(_LONG_ONES)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Give a connection inside a transaction, which has to be short: others wait for the connection.

        Raises:
            ThreadsUnavailable: the database cannot be reached or refuses.
        """
        try:
            with self._engine().begin() as connection:
                yield connection
        except (SQLAlchemyError, OSError, ImportError, StoreTooNew) as error:
            raise ThreadsUnavailable(self.name, reason_of(error)) from error

    @contextmanager
    def long_transaction(self) -> Iterator[Connection]:
        """Give a connection inside a transaction that may take long: only a part of them are used so at once.

        Raises:
            ThreadsUnavailable: the database cannot be reached or refuses.
        """
        with self._long_turns, self.transaction() as connection:
            for limit in ("lock_timeout", "statement_timeout"):
                connection.execute(text(f"SET LOCAL {limit} = '{_LONG_WAIT_S}s'"))
            yield connection

    def _engine(self) -> Engine:
        with self._lock:
            if self._opened is None:
                engine = connected(self._url, pool_size=_CONNECTIONS, max_overflow=0, pool_timeout=_WAIT_S)
                weakref.finalize(self, engine.dispose)
                with engine.connect() as connection:
                    current = is_current(connection, MIGRATIONS, applied)
                if not current:
                    migrate(engine, MIGRATIONS, applied)
                self._opened = engine
            return self._opened

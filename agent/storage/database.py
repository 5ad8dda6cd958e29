"""Connections to the database shared by several processes, and the migrations of its tables.

It is PostgreSQL; for boards and usage, a SQLite file if no PostgreSQL database is configured.
"""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)
from sqlalchemy.exc import SQLAlchemyError

from datasphinx.agent.core.redact import without_password
from datasphinx.agent.errors import Unavailable
from datasphinx.agent.record.migrations import Migration, StoreTooNew, is_current, migrate, migrations_table
from datasphinx.agent.record.store import create_store_engine, reason_of

APPLIED_SHARED = migrations_table("datasphinx_shared_migrations")
"""Applied migrations; separate from those of the record, which may be in the same database."""

_CONNECTIONS = 4
_LONG_TRANSACTIONS = 2
_POOL_TIMEOUT_S = 10
_LONG_TIMEOUT_S = 120


def shared_0001_counts(connection: Connection) -> None:
    """Create the table of usage counts per tenant."""
    Table(
        "datasphinx_counts",
        MetaData(),
        Column("owner", String(100), primary_key=True),
        Column("counted", Text, nullable=False),
    ).create(connection)


def shared_0002_files(connection: Connection) -> None:
    """Create the tables of files and of their content, in parts that are deleted with the file."""
    metadata = MetaData()
    Table(
        "datasphinx_files",
        metadata,
        Column("owner", String(100), primary_key=True),
        Column("id", String(40), primary_key=True),
        Column("body", Text, nullable=False),
        Column("bytes", BigInteger, nullable=False),
        Column("sha256", String(64), nullable=False),
        Column("kept_at", String(40), nullable=False),
    )
    Table(
        "datasphinx_file_parts",
        metadata,
        Column("owner", String(100), primary_key=True),
        Column("id", String(40), primary_key=True),
        Column("number", Integer, primary_key=True),
        Column("content", LargeBinary, nullable=False),
        ForeignKeyConstraint(["owner", "id"], ["datasphinx_files.owner", "datasphinx_files.id"], ondelete="CASCADE"),
    )
    metadata.create_all(connection)


def shared_0003_boards(connection: Connection) -> None:
    """Create the tables of boards, of their pinned answers, and of the last result of each answer by audience."""
    metadata = MetaData()
    Table(
        "datasphinx_boards",
        metadata,
        Column("tenant", String(100), primary_key=True),
        Column("id", String(40), primary_key=True),
        Column("due_at", Float, nullable=True, index=True),
        Column("body", Text, nullable=False),
    )
    Table(
        "datasphinx_pins",
        metadata,
        Column("tenant", String(100), primary_key=True),
        Column("board", String(40), primary_key=True),
        Column("id", String(40), primary_key=True),
        Column("position", Integer, nullable=False),
        Column("body", Text, nullable=False),
    )
    Table(
        "datasphinx_pin_results",
        metadata,
        Column("tenant", String(100), primary_key=True),
        Column("board", String(40), primary_key=True),
        Column("pin", String(40), primary_key=True),
        Column("audience", String(64), primary_key=True),
        Column("body", Text, nullable=False),
    )
    metadata.create_all(connection)


MIGRATIONS: tuple[Migration, ...] = (shared_0001_counts, shared_0002_files, shared_0003_boards)
"""All migrations, numbered from 1 by position. A released migration is never changed."""


class SharedDatabase:
    """A small connection pool. Connects and creates the tables on first use. Thread-safe."""

    def __init__(self, url: str) -> None:
        """Set the URL; `name` is the URL without its password."""
        self.name = without_password(url)
        self._url, self._lock = url, threading.Lock()
        self._cached_engine: Engine | None = None
        self._long_slots = threading.BoundedSemaphore(_LONG_TRANSACTIONS)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Provide a connection in a transaction, which must be short: others wait. Raise Unavailable on any error."""
        try:
            with self._engine().begin() as connection:
                yield connection
        except (SQLAlchemyError, OSError, ImportError, StoreTooNew) as error:
            raise Unavailable("threads_unavailable", url=self.name, reason=reason_of(error)) from error

    @contextmanager
    def long_transaction(self) -> Iterator[Connection]:
        """Provide a connection in a transaction of up to two minutes, one of two. Raise Unavailable on any error."""
        with self._long_slots, self.transaction() as connection:
            for limit in ("lock_timeout", "statement_timeout"):
                connection.execute(text(f"SET LOCAL {limit} = '{_LONG_TIMEOUT_S}s'"))
            yield connection

    def _engine(self) -> Engine:
        with self._lock:
            if self._cached_engine is None:
                # On SQLite, a transaction takes the lock of writers at its beginning and waits for it.
                engine = create_store_engine(
                    self._url, pool_size=_CONNECTIONS, max_overflow=0, pool_timeout=_POOL_TIMEOUT_S
                ).execution_options(writes=True)
                weakref.finalize(self, engine.dispose)
                with engine.connect() as connection:
                    current = is_current(connection, MIGRATIONS, APPLIED_SHARED)
                if not current:
                    migrate(engine, MIGRATIONS, APPLIED_SHARED)
                self._cached_engine = engine
            return self._cached_engine

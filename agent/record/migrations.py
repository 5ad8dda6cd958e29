"""Numbered migrations, applied once each, in order and in one transaction; the migrations of the record."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    insert,
    inspect,
    select,
    text,
)

from datasphinx.agent.engines import engine_called
from datasphinx.agent.engines.store import Store
from datasphinx.agent.messages import Message
from datasphinx.agent.record.events import BEGINNING

Migration = Callable[[Connection], None]
"""A migration. MariaDB and MySQL commit each CREATE TABLE, so a migration must be repeatable there."""

_LOCK = 1_346_458_920
_LOCK_WAIT_S = 5


def migrations_table(name: str) -> Table:
    """Return the table with this name that lists applied migrations."""
    return Table(
        name,
        MetaData(),
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("name", String(100), nullable=False),
        Column("applied_at", String(40), nullable=False),
    )


APPLIED = migrations_table("datasphinx_migrations")
"""Applied migrations of the record."""


def _store_of(connection: Connection) -> Store:
    engine = engine_called(connection.dialect.name)
    return engine.store if engine else Store()


def migration_0001_events(connection: Connection) -> None:
    """Create the table of events, and the table whose only row holds the end of the chain."""
    metadata = MetaData()
    Table(
        "datasphinx_events",
        metadata,
        Column("position", BigInteger, primary_key=True, autoincrement=False),
        Column("trace_id", String(64), nullable=False),
        Column("sequence", Integer, nullable=False),
        Column("time", String(40), nullable=False),
        Column("kind", String(20), nullable=False, index=True),
        Column("body", _store_of(connection).long_text(), nullable=False),
        Column("previous", String(64), nullable=False),
        Column("hash", String(64), nullable=False, index=True),
        UniqueConstraint("trace_id", "sequence"),
    )
    head = Table(
        "datasphinx_head",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("position", BigInteger, nullable=False),
        Column("hash", String(64), nullable=False),
    )
    metadata.create_all(connection)
    if connection.execute(select(head.c.id)).first() is None:
        connection.execute(insert(head).values(id=1, position=0, hash=BEGINNING))


def migration_0002_proposals(connection: Connection) -> None:
    """Create the table of proposals for the business knowledge."""
    metadata = MetaData()
    Table(
        "datasphinx_proposals",
        metadata,
        Column("id", String(100), primary_key=True),
        Column("owner", String(63), nullable=False, index=True),
        Column("source", String(500), nullable=False),
        Column("status", String(10), nullable=False),
        Column("proposed_at", String(40), nullable=False),
        Column("body", _store_of(connection).long_text(), nullable=False),
    )
    metadata.create_all(connection)


MIGRATIONS: tuple[Migration, ...] = (migration_0001_events, migration_0002_proposals)
"""All migrations, numbered from 1 by position. A released migration is never changed."""


class StoreTooNew(Exception):
    """The tables were created by a later version of datasphinx."""


def migrate(engine: Engine, migrations: Sequence[Migration] = MIGRATIONS, applied: Table = APPLIED) -> list[int]:
    """Apply the pending migrations in one transaction and return their numbers.

    Processes that start at the same time wait for each other; later ones find nothing to apply.

    Raises:
        StoreTooNew: a migration was applied that is not in `migrations`.
        TimeoutError: another process holds the lock too long.
    """
    with engine.connect().execution_options(writes=True) as connection, _exclusive_lock(connection), connection.begin():
        if lock := _store_of(connection).lock:
            connection.execute(text(lock.format(number=_LOCK)))
        applied.create(connection, checkfirst=True)
        last = _last_applied(connection, applied)
        if last > len(migrations):
            raise StoreTooNew(Message("tables_too_new", version=last, supported=len(migrations)))
        pending = list(enumerate(migrations[last:], last + 1))
        for number, migration in pending:
            migration(connection)
            now = datetime.now(UTC).isoformat()
            connection.execute(insert(applied).values(number=number, name=migration.__name__, applied_at=now))
    return [number for number, _ in pending]


def is_current(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS, applied: Table = APPLIED) -> bool:
    """Return whether all migrations are applied, without writing."""
    return inspect(connection).has_table(applied.name) and _last_applied(connection, applied) == len(migrations)


def _last_applied(connection: Connection, applied: Table) -> int:
    return max(connection.execute(select(applied.c.number)).scalars(), default=0)


@contextmanager
def _exclusive_lock(connection: Connection) -> Iterator[None]:
    """Hold a named lock where each CREATE TABLE commits the transaction; elsewhere that of the transaction suffices."""
    if not _store_of(connection).commits_ddl:
        yield
        return
    status = connection.execute(text(f"SELECT GET_LOCK('datasphinx_record', {_LOCK_WAIT_S})")).scalar()
    connection.commit()
    if status != 1:
        raise TimeoutError(Message("migration_running"))
    try:
        yield
    finally:
        connection.execute(text("SELECT RELEASE_LOCK('datasphinx_record')"))
        connection.commit()

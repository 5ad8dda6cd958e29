"""Tables that are made by numbered steps, each applied once, in order, in a transaction; the steps of the record."""

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
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.dialects.mysql import LONGTEXT

from agent.audit.events import BEGINNING

Migration = Callable[[Connection], None]
"""A step. MariaDB and MySQL commit each table at once, so that a step has to bear being begun again there."""

_LOCK = 1_346_458_920
_LOCK_WAIT_S = 5


def applied_in(name: str) -> Table:
    """Return the table of this name, which has the steps that were applied."""
    return Table(
        name,
        MetaData(),
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("name", String(100), nullable=False),
        Column("applied_at", String(40), nullable=False),
    )


APPLIED = applied_in("datasphinx_migrations")
"""Which steps of the record were applied."""


def migration_0001_events(connection: Connection) -> None:
    """Make the table of events, and the one row that holds the end of the chain."""
    metadata = MetaData()
    Table(
        "datasphinx_events",
        metadata,
        Column("position", BigInteger, primary_key=True, autoincrement=False),
        Column("trace_id", String(64), nullable=False),
        Column("sequence", Integer, nullable=False),
        Column("time", String(40), nullable=False),
        Column("kind", String(20), nullable=False, index=True),
        Column("body", Text().with_variant(LONGTEXT(), "mysql", "mariadb"), nullable=False),
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


MIGRATIONS: tuple[Migration, ...] = (migration_0001_events,)
"""All steps; the number of each is its place, from 1. One that was released is never changed."""


class StoreTooNew(Exception):
    """The tables were made by a later version of datasphinx."""


def migrate(engine: Engine, migrations: Sequence[Migration] = MIGRATIONS, applied: Table = APPLIED) -> list[int]:
    """Apply what is not `applied` yet, all in one transaction, and return the numbers of it.

    Processes that start at the same time wait for each other, and the later finds nothing to do.

    Raises:
        StoreTooNew: a step was applied that is not among `migrations`.
        TimeoutError: another process holds the lock for long.
    """
    with engine.connect().execution_options(writes=True) as connection, _alone(connection), connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        applied.create(connection, checkfirst=True)
        last = _last_applied(connection, applied)
        if last > len(migrations):
            raise StoreTooNew(f"its tables are of version {last}, and this datasphinx knows {len(migrations)}")
        due = list(enumerate(migrations[last:], last + 1))
        for number, migration in due:
            migration(connection)
            now = datetime.now(UTC).isoformat()
            connection.execute(insert(applied).values(number=number, name=migration.__name__, applied_at=now))
    return [number for number, _ in due]


def is_current(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS, applied: Table = APPLIED) -> bool:
    """Return whether nothing is left to apply, without writing."""
    return inspect(connection).has_table(applied.name) and _last_applied(connection, applied) == len(migrations)


def _last_applied(connection: Connection, applied: Table) -> int:
    return max(connection.execute(select(applied.c.number)).scalars(), default=0)


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Hold the lock that MariaDB and MySQL need past the commits that come with each table.

    SQLite's and PostgreSQL's are those of the transaction.
    """
    if connection.dialect.name not in ("mysql", "mariadb"):
        yield
        return
    locked = connection.execute(text(f"SELECT GET_LOCK('datasphinx_record', {_LOCK_WAIT_S})")).scalar()
    connection.commit()
    if locked != 1:
        raise TimeoutError("another process is changing its tables")
    try:
        yield
    finally:
        connection.execute(text("SELECT RELEASE_LOCK('datasphinx_record')"))
        connection.commit()

"""The count of a tenant in PostgreSQL, for the processes of any number of machines."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import column, func, table, update
from sqlalchemy.dialects.postgresql import insert

from agent.service.count import Count
from agent.shared.database import SharedDatabase

_counts = table("datasphinx_counts", column("owner"), column("counted"))
_NEW = insert(_counts)
# The row is made or, without a change, held until the end of the transaction: one at a time comes by here. The time
# is the database's, which is the same for all machines, and that at which the row was got hold of.
_HELD = _NEW.on_conflict_do_update(index_elements=[_counts.c.owner], set_={"owner": _NEW.excluded.owner}).returning(
    _counts.c.counted, func.extract("epoch", func.clock_timestamp())
)


class PostgresCounts:
    """A row that one transaction holds at a time. Safe to share between threads."""

    def __init__(self, database: SharedDatabase, owner: str) -> None:
        """Count what `owner` asks."""
        self._database, self._owner = database, owner

    @contextmanager
    def counting(self) -> Iterator[tuple[Count, float]]:
        """Give the count and the time, as `Counts` says."""
        with self._database.transaction() as connection:
            kept, now = connection.execute(_HELD, {"owner": self._owner, "counted": ""}).one()
            count = Count.read(kept, float(now))
            yield count, float(now)
            own = update(_counts).where(_counts.c.owner == self._owner)
            connection.execute(own.values(counted=count.write()))

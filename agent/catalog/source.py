"""A source: a database with what is known of it."""

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import time

from agent.catalog.background import Background
from agent.catalog.cache import Entry, file_stamp, fingerprint
from agent.catalog.index import SchemaIndex
from agent.catalog.learning import Learning
from agent.catalog.reflect import Progress
from agent.catalog.schema import Catalog
from agent.catalog.value_index import ValueIndex
from agent.sql.database import Database
from agent.sql.execute import Result, execute

_REFRESH_AFTER_S = 300.0


@dataclass(frozen=True)
class Source:
    """A database with its catalog, the index over it, and the limits of its statements. Safe to share by threads."""

    database: Database
    catalog: Catalog
    index: SchemaIndex
    timeout_s: float
    row_limit: int
    learning: Learning | None = None
    """How its catalog is read again; None for a source that was put together by hand."""
    background: Background | None = None
    """The refresh that was started when the catalog came from the cache; `background.error` says how it failed."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def execute(self, sql: str) -> Result:
        """Return the rows of `sql`; everything that `agent.sql.execute.execute` says holds."""
        return execute(sql, self.database, self.catalog, timeout_s=self.timeout_s, row_limit=self.row_limit)

    @property
    def values(self) -> ValueIndex:
        """The index of stored values: read from the cache, or from the database where there is none yet."""
        with self._lock:
            return self._values

    @cached_property
    def _values(self) -> ValueIndex:
        learning = self.learning or Learning(self.database)
        return learning.values(self.catalog)

    def refreshed(self) -> "Source | None":
        """Return this source with its schema read again; None where the schema is as it was.

        Raises:
            SourceUnreachable: the database does not answer.
        """
        learning = self.learning or Learning(self.database)
        catalog = learning.reflect()
        if fingerprint(catalog) == fingerprint(self.catalog):
            return None
        if self.background:
            self.background.stop()
        catalog = learning.profile(catalog)
        learning.forget_values()
        learning.store(catalog)
        return Source(self.database, catalog, SchemaIndex(catalog), self.timeout_s, self.row_limit, learning)

    def close(self) -> None:
        """Stop what goes on in the background and let go of files and connections."""
        if self.background:
            self.background.stop()
        with self._lock:
            if "_values" in self.__dict__:
                self._values.close()
        self.database.engine.dispose()


def open_source(
    url: str,
    *,
    timeout_s: float,
    row_limit: int,
    cache_dir: Path | None = None,
    secret_columns: Sequence[str] = (),
    schemas: Collection[str] | None = None,
    progress: Progress | None = None,
    refresh_after_s: float = _REFRESH_AFTER_S,
    profile_budget_s: float = 3.0,
) -> Source:
    """Return the source behind `url`, its catalog from the cache in `cache_dir` or read from the database.

    A catalog from the cache is read again in the background once it is older than `refresh_after_s` seconds, or at
    once where the database is a file that has changed; the next source that is opened has it. `secret_columns` are
    patterns as in `agent.catalog.secret`; `schemas` and `progress` as in `agent.catalog.reflect`. Reading samples of a
    database that is not in the cache takes at most about `profile_budget_s` seconds; with a cache the rest is read in
    the background.

    Raises:
        SourceNotFound, SourceUnreachable, DriverMissing, ConfigurationError: as `Database` says.
    """
    database = Database(url)
    learning = Learning(database, cache_dir, tuple(secret_columns), None if schemas is None else tuple(schemas))
    entry = learning.load()
    if entry is None:
        catalog = learning.profile(learning.reflect(progress), profile_budget_s)
        learning.store(catalog)
    else:
        catalog = entry.catalog
    due = entry is None or _is_old(entry, database, refresh_after_s)
    background = learning.start(catalog, is_fresh=entry is None) if due and cache_dir else None
    return Source(database, catalog, SchemaIndex(catalog), timeout_s, row_limit, learning, background)


def _is_old(entry: Entry, database: Database, refresh_after_s: float) -> bool:
    stamp = file_stamp(database)
    if stamp:
        return stamp != entry.stamp
    return not 0 <= time() - entry.stored_at <= refresh_after_s

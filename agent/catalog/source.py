"""A source: a database with what is known of it."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import time
from types import MappingProxyType

from sqlglot import exp

from agent.catalog.background import Background
from agent.catalog.cache import Entry, file_stamp, fingerprint
from agent.catalog.index import SchemaIndex
from agent.catalog.learning import Learning
from agent.catalog.reflect import Progress
from agent.catalog.schema import Catalog
from agent.catalog.secret import unmet
from agent.catalog.semantic import Embedder
from agent.catalog.value_index import ValueIndex
from agent.errors import AccountCanWrite, ConfigurationError, NotPermitted
from agent.source_settings import SourceSettings
from agent.sql.database import Database
from agent.sql.dialects import print_statement
from agent.sql.execute import RowAccess, execute
from agent.sql.grants import grants_of
from agent.sql.limits import Cancellation, Limits
from agent.sql.parameters import Value
from agent.sql.result import Result
from agent.sql.row_rules import restrict

_REFRESH_AFTER_S = 300.0
_SHOWN_RIGHTS = 3


@dataclass(frozen=True)
class Source:
    """A database with its catalog, the index over it, and the limits of its statements. Safe to share by threads."""

    database: Database
    catalog: Catalog
    index: SchemaIndex
    limits: Limits
    learning: Learning
    """How its catalog is read again."""
    access: RowAccess | None = None
    """The row rules that every statement gets."""
    background: Background | None = None
    """The refresh that was started when the catalog came from the cache; `background.error` says how it failed."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def execute(
        self,
        sql: str,
        cancellation: Cancellation | None = None,
        *,
        parameters: Mapping[str, Value] = MappingProxyType({}),
    ) -> Result:
        """Return the rows of `sql` with `parameters` bound; all that `agent.sql.execute.execute` says holds."""
        return execute(
            sql,
            self.database,
            self.catalog,
            self.limits,
            parameters=parameters,
            access=self.access,
            cancellation=cancellation,
        )

    def is_open(self, key: str) -> bool:
        """Return whether the row rules leave the table `key` open; of a closed one no row may be read."""
        if self.access is None:
            return True
        table = self.catalog.tables[key]
        query = exp.select(exp.Star()).from_(exp.table_(table.name, db=table.schema, quoted=True))
        try:
            restrict(print_statement(query, self.catalog.dialect), self.access.rules, self.access.parameters)
        except NotPermitted:
            return False
        return True

    @property
    def values(self) -> ValueIndex:
        """The index of stored values: read from the cache, or from the database where there is none yet."""
        with self._lock:
            return self._values

    @cached_property
    def _values(self) -> ValueIndex:
        return self.learning.values(self.catalog)

    def refreshed(self) -> "Source | None":
        """Return this source with its schema read again; None where the schema is as it was.

        Raises:
            SourceUnreachable: the database does not answer.
        """
        catalog = self.learning.reflect()
        if fingerprint(catalog) == fingerprint(self.catalog):
            return None
        if self.background:
            self.background.stop()
        catalog = self.learning.profile(catalog)
        self.learning.forget_values()
        index = self.learning.index(catalog, self.learning.store(catalog))
        return Source(self.database, catalog, index, self.limits, self.learning, self.learning.access(catalog))

    def close(self) -> None:
        """Stop what goes on in the background and let go of files and connections."""
        if self.background:
            self.background.stop()
        self.let_go()

    def let_go(self) -> None:
        """Let go of files and connections; what goes on in the background may be for others too."""
        with self._lock:
            if "_values" in self.__dict__:
                self._values.close()
        self.database.engine.dispose()


def open_source(
    settings: SourceSettings,
    limits: Limits,
    *,
    cache_dir: Path | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
    refresh_after_s: float = _REFRESH_AFTER_S,
    profile_budget_s: float = 3.0,
) -> Source:
    """Return the source that `settings` name, its catalog from the cache in `cache_dir` or read from the database.

    A catalog from the cache is read again in the background once it is older than `refresh_after_s` seconds, or at
    once where the database is a file that has changed; the next source that is opened has it. `progress` is as in
    `agent.catalog.reflect`. Reading samples of a database that is not in the cache takes at most about
    `profile_budget_s` seconds; with a cache the rest is read in the background.

    Raises:
        SourceNotFound, SourceUnreachable, DriverMissing, ConfigurationError: as `Database` and `RowRules` say.
        RowRuleParameterMissing: a row rule has a parameter without a value.
        AccountCanWrite: the account may do more than read, and that is not allowed.
    """
    database = Database(settings.url.get_secret_value())
    if not settings.allow_writable_account:
        _refuse_writers(database)
    learning = Learning(database, settings, cache_dir, embedder)
    entry = learning.load()
    catalog = entry.catalog if entry else learning.reflect(progress)
    _refuse_misspelt(settings, catalog)
    access = learning.access(catalog)
    if entry is None:
        catalog = learning.profile(catalog, profile_budget_s)
    index = learning.index(catalog, entry.digest if entry else learning.store(catalog))
    due = entry is None or _is_old(entry, database, refresh_after_s)
    background = learning.start(catalog, is_fresh=entry is None) if due and cache_dir else None
    return Source(database, catalog, index, limits, learning, access, background)


def _refuse_misspelt(settings: SourceSettings, catalog: Catalog) -> None:
    misspelt = unmet(settings.secret_columns, catalog) if settings.secret_columns else []
    if misspelt:
        raise ConfigurationError("DATASPHINX_SOURCES", f"secret_columns: there is no column {', '.join(misspelt)}")


def _refuse_writers(database: Database) -> None:
    rights = grants_of(database).beyond_reading
    if rights:
        shown = "; ".join(rights[:_SHOWN_RIGHTS])
        more = f" and {len(rights) - _SHOWN_RIGHTS} more" if len(rights) > _SHOWN_RIGHTS else ""
        raise AccountCanWrite(database.name, f"{shown}{more}")


def _is_old(entry: Entry, database: Database, refresh_after_s: float) -> bool:
    stamp = file_stamp(database)
    if stamp:
        return stamp != entry.stamp
    return not 0 <= time() - entry.stored_at <= refresh_after_s

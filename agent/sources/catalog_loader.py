"""Loading of a source's catalog and indexes: from the cache, from the database, or in the background."""

from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from datasphinx.agent.errors import RowRuleParameterMissing
from datasphinx.agent.retrieval.index import IndexCache, SchemaIndex
from datasphinx.agent.retrieval.semantic import Embedder
from datasphinx.agent.retrieval.value_index import ValueIndex
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.background import Background, start_once
from datasphinx.agent.sources.cache import CacheEntry, CatalogCache, file_stamp
from datasphinx.agent.sources.profile import STATEMENT_TIMEOUT_S, Sampler, is_profiled, profile, read_values
from datasphinx.agent.sources.reflect import Progress, reflect
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.execute import RowAccess
from datasphinx.agent.sql.row_rules import RowRules

_BUDGET_S = 3.0
_BACKGROUND_BUDGET_S = 120.0
_VALUES_TIMEOUT_S = 5.0
"""Limit of a statement that reads the values of a table or column, in seconds."""
_FIRST_VALUES_BUDGET_S = 0.5
"""Seconds for which the values of the tables sampled for the first question are read before it is answered."""
_SMALL_SCHEMA, _FIRST_TABLES = 20, 3
"""Before the first question is answered, all tables of a small schema are sampled; of a larger one only so many, if the
others can be sampled in the background."""


class CatalogLoader:
    """Reads and indexes the catalog and values of one source, and caches them if `cache_dir` is set."""

    def __init__(
        self,
        database: Database,
        settings: SourceSettings,
        cache_dir: Path | None = None,
        embedder: Embedder | None = None,
        personal: frozenset[str] = frozenset(),
        question: str = "",
    ) -> None:
        """Set the source's settings, the cache directory, and the embedder for the index.

        The values of the columns `personal`, as `table.column` in lower case, are never read. The tables that fit
        `question` best by their names are sampled and read first.
        """
        self._database, self._settings, self._embedder, self._personal = database, settings, embedder, personal
        self._question = question
        self._stamp = file_stamp(database)
        # A cached catalog is valid only for the same visible data.
        visible = settings.model_dump_json(include={"secret_columns", "schemas", "row_rules", "row_parameters"})
        self._cache = CatalogCache(cache_dir, database, (visible, *sorted(personal))) if cache_dir else None
        self._indexes = IndexCache(self._cache.index_path, embedder) if self._cache else None
        self._index: SchemaIndex | None = None
        """The last index, which orders the tables."""
        self._unsaved_values: ValueIndex | None = None
        """The index of all stored values if the cache cannot be written."""

    def access(self, catalog: Catalog) -> RowAccess | None:
        """Return the row rules for `catalog`; None if the source has none.

        Raises:
            ConfigurationError: a rule does not match the catalog, or the value of a parameter not its column.
            RowRuleParameterMissing: a parameter of a rule has no value.
        """
        settings = self._settings
        if not settings.row_rules:
            return None
        rules = RowRules(settings.row_rules, catalog.dialect, catalog)
        for name, table in rules.parameters.items():
            if name not in settings.row_parameters:
                raise RowRuleParameterMissing(table, name)
        rules.check_parameters(settings.row_parameters)
        return RowAccess(rules, settings.row_parameters)

    @property
    def is_cached(self) -> bool:
        """Whether there is a cached catalog."""
        return self._cache is not None and self._cache.path.exists()

    def load(self) -> CacheEntry | None:
        """Return the cached catalog; None if there is none."""
        return self._cache.load() if self._cache else None

    def reflect(self, progress: Progress | None = None) -> Catalog:
        """Return the current schema, without samples; views over files read the files that exist now."""
        settings = self._settings
        self._database.list_files()
        # Taken before reading, so that a write during the reading makes the cache outdated.
        self._stamp = file_stamp(self._database)
        return reflect(
            self._database, schemas=settings.schemas, secret_columns=settings.secret_columns, progress=progress
        )

    def profile(
        self,
        catalog: Catalog,
        budget_s: float = _BUDGET_S,
        stop: Callable[[], bool] = lambda: False,
        *,
        max_tables: int | None = None,
    ) -> Catalog:
        """Return `catalog` with data from samples of at most `max_tables` tables, read for at most `budget_s` seconds.

        Tables that are sampled already are left unchanged.
        """
        return profile(self._sampler(catalog, budget_s, stop), max_tables)

    def read_first(self, catalog: Catalog, budget_s: float) -> tuple[Catalog, SchemaIndex]:
        """Return `catalog`, which was never sampled, with samples, and its index; both are cached.

        Of more than 20 tables, only three are sampled, and the index has no values; `start` completes both. Without a
        cache, all are sampled.
        """
        is_small = self._cache is None or len(catalog.tables) <= _SMALL_SCHEMA
        self._index = SchemaIndex(catalog, None if is_small else self._embedder)
        catalog = self.profile(catalog, budget_s, max_tables=None if is_small else _FIRST_TABLES)
        digest = self.store(catalog)
        if is_small:
            return catalog, self.index(catalog, digest)
        if self._indexes and digest:
            self._indexes.store(self._index, digest)
        return catalog, self._index

    def store(self, catalog: Catalog) -> str | None:
        """Cache `catalog` and return its digest; None if it could not be cached."""
        with suppress(OSError):
            return self._cache.store(catalog, self._stamp) if self._cache else None
        return None

    def index(self, catalog: Catalog, digest: str | None) -> SchemaIndex:
        """Return the index over `catalog`: the cached one with `digest`, or else a new one, which is cached."""
        index = self._indexes.load(list(catalog.tables), digest) if self._indexes and digest else None
        if index is None:
            index = SchemaIndex(catalog, self._embedder)
            if self._indexes and digest:
                self._indexes.store(index, digest)
        self._index = index
        return index

    def cached_values(self) -> ValueIndex | None:
        """Return the index of all stored values that background work has built; None if there is none."""
        return self._unsaved_values or (ValueIndex.load(self._cache.values_path) if self._cache else None)

    def read_values(self, catalog: Catalog) -> ValueIndex:
        """Return an index of the values of sampled tables: those that can be read in half a second, or were sampled.

        `start` and `start_values` build the index of all values.
        """
        return self._build_values(catalog, None, lambda: False, _FIRST_VALUES_BUDGET_S, sampled_only=True)

    def clear_values(self) -> None:
        """Delete the cached index of values, which a change of the schema makes invalid."""
        if self._cache:
            self._cache.clear_values()

    def start(self, catalog: Catalog, *, is_current: bool) -> Background:
        """Complete and cache `catalog` in the background, or read it again if it is not current.

        If an update of this source is already running in the process, no other is started.
        """
        return start_once(self._name, lambda stop: self._update(catalog if is_current else None, stop))

    def start_values(self, catalog: Catalog) -> Background:
        """Build the index of all stored values in the background, unless an update is running, and cache it."""
        return start_once(self._name, lambda stop: self._store_values(catalog, stop))

    @property
    def _name(self) -> str:
        # Without a cache, sources with other row rules share nothing.
        return str(self._cache.path) if self._cache else f"{self._database.name} {id(self)}"

    def _update(self, current: Catalog | None, stop: Callable[[], bool]) -> None:
        catalog = current or self.reflect()
        if not is_profiled(catalog, self._personal):
            catalog = self.profile(catalog, _BACKGROUND_BUDGET_S, stop)
        if stop():
            return
        if catalog is not current:
            self.index(catalog, self.store(catalog))
        elif self._has_all_values():
            return
        self._store_values(catalog, stop)

    def _has_all_values(self) -> bool:
        values = ValueIndex.load(self._cache.values_path) if self._cache else None
        if values is None:
            return False
        with closing(values):
            return not values.lacks_columns

    def _store_values(self, catalog: Catalog, stop: Callable[[], bool]) -> None:
        path = self._cache.values_path if self._cache else None
        index = self._build_values(catalog, path, stop, _BACKGROUND_BUDGET_S)
        if index.is_stored:
            index.close()
        elif not stop():
            self._unsaved_values = index

    def _build_values(
        self,
        catalog: Catalog,
        path: Path | None,
        stop: Callable[[], bool],
        budget_s: float,
        *,
        sampled_only: bool = False,
    ) -> ValueIndex:
        columns = read_values(self._sampler(catalog, budget_s, stop, _VALUES_TIMEOUT_S), sampled_only=sampled_only)
        return ValueIndex.build(columns, path, folds_case=catalog.engine.ignores_case_of_text, stop=stop)

    def _sampler(
        self, catalog: Catalog, budget_s: float, stop: Callable[[], bool], timeout_s: float = STATEMENT_TIMEOUT_S
    ) -> Sampler:
        return Sampler(
            self._database,
            catalog,
            access=self.access(catalog),
            personal=self._personal,
            first=self._index.rank(self._question) if self._index else (),
            budget_s=budget_s,
            timeout_s=timeout_s,
            stop=stop,
        )

"""How the catalog of one source is read, kept and read again."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from agent.catalog.background import Background, start_once
from agent.catalog.cache import CatalogCache, Entry, file_stamp
from agent.catalog.index import SchemaIndex
from agent.catalog.index_cache import IndexCache
from agent.catalog.profile import profile
from agent.catalog.reflect import Progress, reflect
from agent.catalog.schema import Catalog
from agent.catalog.semantic import Embedder
from agent.catalog.value_index import ValueIndex
from agent.catalog.values import read_values
from agent.errors import RowRuleParameterMissing
from agent.source_settings import SourceSettings
from agent.sql.database import Database
from agent.sql.execute import RowAccess
from agent.sql.row_rules import RowRules

_BUDGET_S = 3.0
_BACKGROUND_BUDGET_S = 60.0


class Learning:
    """Reads the catalog and the values of one source, indexes them, and keeps all in a folder where one is given."""

    def __init__(
        self,
        database: Database,
        settings: SourceSettings,
        cache_dir: Path | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        """Take what is set for the source: secret columns, schemas to read, row rules; and what gives words meaning."""
        self._database, self._settings, self._embedder = database, settings, embedder
        # Taken before anything is read: what is written meanwhile must make the cache look old.
        self._stamp = file_stamp(database)
        # What may be seen decides what was stored.
        seen = settings.model_dump_json(include={"secret_columns", "schemas", "row_rules", "row_parameters"})
        self._cache = CatalogCache(cache_dir, database, (seen,)) if cache_dir else None
        self._indexes = IndexCache(self._cache.index_path, embedder) if self._cache else None

    def access(self, catalog: Catalog) -> RowAccess | None:
        """Return the row rules as they hold for `catalog`; None where the source has none.

        Raises:
            ConfigurationError: a rule does not fit the catalog.
            RowRuleParameterMissing: a rule has a parameter without a value.
        """
        settings = self._settings
        if not settings.row_rules:
            return None
        rules = RowRules(settings.row_rules, catalog.dialect, catalog)
        for name, table in rules.parameters.items():
            if name not in settings.row_parameters:
                raise RowRuleParameterMissing(table, name)
        return RowAccess(rules, settings.row_parameters, settings.log_database_errors)

    def load(self) -> Entry | None:
        """Return the stored catalog; None where there is none."""
        return self._cache.load(self.reflect) if self._cache else None

    def reflect(self, progress: Progress | None = None) -> Catalog:
        """Return the schema as it is now, without samples.

        Raises:
            SourceUnreachable: the database does not answer.
        """
        settings = self._settings
        return reflect(
            self._database, schemas=settings.schemas, secret_columns=settings.secret_columns, progress=progress
        )

    def profile(
        self, catalog: Catalog, budget_s: float = _BUDGET_S, stop: Callable[[], bool] = lambda: False
    ) -> Catalog:
        """Return `catalog` with what samples tell, as far as they can be read in `budget_s` seconds."""
        return profile(self._database, catalog, access=self.access(catalog), budget_s=budget_s, stop=stop)

    def store(self, catalog: Catalog) -> str | None:
        """Keep `catalog` for the next time and return its digest; None where it could not be kept."""
        with suppress(OSError):
            return self._cache.store(catalog, self._stamp) if self._cache else None
        return None

    def index(self, catalog: Catalog, digest: str | None) -> SchemaIndex:
        """Return the index over `catalog`: from the cache where that with `digest` is there, else built and kept.

        Raises:
            ModelUnreachable, ModelRejected: an embedder that is an endpoint gave no vectors.
        """
        if self._indexes is None or digest is None:
            return SchemaIndex(catalog, self._embedder)
        known = self._indexes.load(list(catalog.tables), digest)
        if known is None:
            known = SchemaIndex(catalog, self._embedder)
            self._indexes.store(known, digest)
        return known

    def values(self, catalog: Catalog) -> ValueIndex:
        """Return the index of stored values, from the cache where it is there."""
        path = self._cache.values_path if self._cache else None
        known = ValueIndex.load(path) if path else None
        return known or self._build(catalog, path, lambda: False)

    def forget_values(self) -> None:
        """Remove the stored index of values, since the tables that it speaks of have changed."""
        if self._cache:
            self._cache.forget_values()

    def start(self, known: Catalog, *, is_fresh: bool) -> Background:
        """Complete what is known, or read everything again where it is not fresh, in the background, and keep it.

        Where that goes on already for this source, in whatever thread, nothing else is started.
        """
        name = str(self._cache.path) if self._cache else self._database.name
        return start_once(name, lambda stop: self._learn(known if is_fresh else None, stop))

    def _learn(self, known: Catalog | None, stop: Callable[[], bool]) -> None:
        catalog = known or self.reflect()
        if known is None or not _is_profiled(known):
            catalog = self.profile(catalog, _BACKGROUND_BUDGET_S, stop)
        if not stop():
            self.index(catalog, self.store(catalog))
            if self._cache:
                self._build(catalog, self._cache.values_path, stop).close()

    def _build(self, catalog: Catalog, path: Path | None, stop: Callable[[], bool]) -> ValueIndex:
        columns = read_values(self._database, catalog, access=self.access(catalog), stop=stop)
        return ValueIndex.build(columns, path, folds_case=catalog.dialect == "mysql", stop=stop)


def _is_profiled(catalog: Catalog) -> bool:
    return all(
        any(column.distinct is not None or column.secret for column in table.columns)
        for table in catalog.tables.values()
    )

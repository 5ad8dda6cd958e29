"""Open datasets as read-only data sources, with the same protection as any DuckDB file."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cachetools import LRUCache
from pydantic import SecretStr
from sqlalchemy import URL

from datasphinx.agent.core.duckdb_text import literal, quote_name
from datasphinx.agent.core.result_cache import ResultCache
from datasphinx.agent.datasets.limits import Loading
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.datasets.workspace import workspace
from datasphinx.agent.engines import FILES_ENGINE
from datasphinx.agent.errors import NotFound
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import Limits

_MAX_OPEN = 64
"""Maximum number of open sources."""


def open_datasets(
    registry: Registry,
    dataset_ids: Sequence[str],
    limits: Limits,
    *,
    is_cached: bool = False,
    result_cache: ResultCache | None = None,
) -> Source:
    """Return a source with one table for each dataset, named by its `dataset_id`.

    A single dataset is read in place. Several are first copied into one file, which is kept, because a statement can
    read only one file. Datasets never change, so a repeated statement is answered from `result_cache`. With
    `is_cached`, the profiles read on opening are stored and deleted with the datasets.

    Raises:
        NotFound: There is no such dataset.
    """
    ids = sorted(set(dataset_ids))
    paths = [registry.path_of(dataset_id) for dataset_id in ids]
    path = paths[0] if len(paths) == 1 else _join_datasets(registry, ids, paths)
    url = URL.create(FILES_ENGINE, database=str(path.absolute())).render_as_string(hide_password=False)
    cache_dir = registry.cache_of(ids) if is_cached else None
    source = open_source(SourceSettings(url=SecretStr(url)), limits, cache_dir=cache_dir)
    datasets = {dataset_id: registry.dataset(dataset_id) for dataset_id in ids}
    formats = {(name, column): shown for name, each in datasets.items() for column, shown in each.formats.items()}
    source = replace(source, catalog=replace(source.catalog, formats=formats))
    source.database.result_cache = result_cache or ResultCache()
    return source


def _join_datasets(registry: Registry, dataset_ids: list[str], paths: Sequence[Path]) -> Path:
    def build(target: Path) -> None:
        # DuckDB looks for the write-ahead log of an attached file, even if none exists.
        readable = [*paths, *(path.with_name(f"{path.name}.wal") for path in paths)]
        with workspace(target, readable, Loading(", ".join(dataset_ids), registry.limits)) as work:
            for dataset_id, path in zip(dataset_ids, paths, strict=True):
                text, table = literal(str(path)), quote_name(dataset_id)
                work.run(f"ATTACH {text} AS part (READ_ONLY)")
                work.run(f"CREATE TABLE {table} AS SELECT * FROM part.main.{table}")
                work.run("DETACH part")

    return registry.joined_path(dataset_ids, build)


class DatasetSources:
    """The most recently used dataset sources, each opened once. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sources: LRUCache[tuple[str, ...], Source] = LRUCache(maxsize=_MAX_OPEN)
        # One cache for all sources, since each could grow to hundreds of megabytes.
        self._results = ResultCache()

    def source(self, registry: Registry, dataset_ids: Sequence[str], limits: Limits) -> Source:
        """Return the source for these datasets, opening it if necessary."""
        ids = tuple(sorted(set(dataset_ids)))
        # Another process may have deleted a dataset.
        for dataset_id in ids:
            try:
                registry.path_of(dataset_id)
            except NotFound:
                self.forget(dataset_id)
                raise
        with self._lock:
            source = self._sources.get(ids)
        if source is None or not Path(source.database.engine.url.database or "").exists():
            source = open_datasets(registry, ids, limits, is_cached=True, result_cache=self._results)
            with self._lock:
                self._sources[ids] = source
        return source

    def forget(self, dataset_id: str) -> None:
        """Drop the sources with this dataset, and stop their background work."""
        with self._lock:
            dropped = [self._sources.pop(ids) for ids in list(self._sources) if dataset_id in ids]
        for source in dropped:
            if source.background:
                source.background.stop()

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            sources = list(self._sources.values())
        for source in sources:
            source.release()

"""The sources of datasets that were asked, each opened once."""

import threading
from collections.abc import Sequence
from pathlib import Path

from cachetools import LRUCache

from agent.catalog.source import Source
from agent.datasets.registry import Registry
from agent.datasets.source import open_datasets
from agent.sql.limits import Limits

_MOST = 64


class OpenedDatasets:
    """The sources that were asked last. Safe to share between threads."""

    def __init__(self) -> None:
        """Begin without any."""
        self._lock = threading.Lock()
        self._sources: LRUCache[tuple[str, ...], Source] = LRUCache(maxsize=_MOST)

    def source(self, registry: Registry, dataset_ids: Sequence[str], limits: Limits, cache_dir: Path) -> Source:
        """Return the source with these datasets, opened now or before.

        Raises:
            DatasphinxError: as `open_datasets` says.
        """
        wanted = tuple(sorted(set(dataset_ids)))
        # One that was deleted, by whatever process, is not answered from any more.
        for dataset_id in wanted:
            registry.path_of(dataset_id)
        with self._lock:
            known = self._sources.get(wanted)
        if known is None or not Path(known.database.engine.url.database or "").exists():
            known = open_datasets(registry, wanted, limits, cache_dir=cache_dir)
            with self._lock:
                self._sources[wanted] = known
        return known

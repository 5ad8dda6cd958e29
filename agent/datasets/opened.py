"""The sources of datasets that were asked, each opened once."""

import threading
from collections.abc import Sequence
from pathlib import Path

from cachetools import LRUCache

from agent.catalog.source import Source
from agent.datasets.registry import Registry
from agent.datasets.source import open_datasets
from agent.errors import DatasetUnknown
from agent.sql.known_results import KnownResults
from agent.sql.limits import Limits

_MOST = 64


class OpenedDatasets:
    """The sources that were asked last. Safe to share between threads."""

    def __init__(self) -> None:
        """Begin without any."""
        self._lock = threading.Lock()
        self._sources: LRUCache[tuple[str, ...], Source] = LRUCache(maxsize=_MOST)
        # Of all together: each of them may grow to hundreds of megabytes.
        self._known = KnownResults()

    def source(self, registry: Registry, dataset_ids: Sequence[str], limits: Limits) -> Source:
        """Return the source with these datasets, opened now or before.

        Raises:
            DatasphinxError: as `open_datasets` says.
        """
        wanted = tuple(sorted(set(dataset_ids)))
        # One that was deleted, by whatever process, is not answered from any more.
        for dataset_id in wanted:
            try:
                registry.path_of(dataset_id)
            except DatasetUnknown:
                self.forget(dataset_id)
                raise
        with self._lock:
            known = self._sources.get(wanted)
        if known is None or not Path(known.database.engine.url.database or "").exists():
            known = open_datasets(registry, wanted, limits, is_cached=True, known=self._known)
            with self._lock:
                self._sources[wanted] = known
        return known

    def forget(self, dataset_id: str) -> None:
        """Let go of the sources with this dataset, and stop what is still read from them."""
        with self._lock:
            gone = [self._sources.pop(wanted) for wanted in list(self._sources) if dataset_id in wanted]
        for source in gone:
            if source.background:
                source.background.stop()

    def close(self) -> None:
        """Let go of all files."""
        with self._lock:
            sources = list(self._sources.values())
        for source in sources:
            source.let_go()

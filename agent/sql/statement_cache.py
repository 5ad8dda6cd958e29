"""Cache of values that follow from a statement and a catalog."""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import ref

from cachetools import LRUCache

from datasphinx.agent.schema.catalog import Catalog

T = TypeVar("T")

_MAX_VALUES = 512
"""The statement of the model, and the printed one, of each of the 256 questions that run at once."""


class StatementCache(Generic[T]):
    """The last 512 values computed from a statement and a catalog alone. Thread-safe.

    Catalogs may be large, so the cache holds weak references to them; values must not refer to them either.
    """

    def __init__(self) -> None:
        self._values: LRUCache[tuple[Hashable, int], tuple[ref[Catalog], T]] = LRUCache(maxsize=_MAX_VALUES)
        self._lock = threading.Lock()

    def value(self, key: Hashable, catalog: Catalog, compute: Callable[[], T]) -> T:
        """Return what `compute` returned for `key`, with the statement in it, and `catalog`; errors are not kept."""
        with self._lock:
            cached = self._values.get((key, id(catalog)))
        # The id of a deleted catalog may be that of another one.
        if cached and cached[0]() is catalog:
            return cached[1]
        value = compute()
        with self._lock:
            self._values[key, id(catalog)] = ref(catalog), value
        return value

"""Cache of query results for databases that never change."""

import threading
from collections.abc import Hashable

from cachetools import LRUCache

from agent.types import Result

_MAX_CELLS = 2_000_000


class ResultCache:
    """Least-recently-used cache of up to two million cells. Thread-safe."""

    def __init__(self) -> None:
        """Create an empty cache."""
        self._lock = threading.Lock()
        self._results: LRUCache[Hashable, Result] = LRUCache(_MAX_CELLS, getsizeof=_cells)

    def get(self, key: Hashable) -> Result | None:
        """Return a copy of the result stored under `key`, or None."""
        with self._lock:
            result = self._results.get(key)
        return _copy(result) if result else None

    def put(self, key: Hashable, result: Result) -> None:
        """Store a copy of `result`, unless it exceeds the size of the cache."""
        if _cells(result) <= _MAX_CELLS:
            with self._lock:
                self._results[key] = _copy(result)


def _cells(result: Result) -> int:
    return 1 + len(result["rows"]) * len(result["columns"])


def _copy(result: Result) -> Result:
    return Result(
        columns=list(result["columns"]),
        types=list(result["types"]),
        rows=[list(row) for row in result["rows"]],
        truncated=result["truncated"],
    )

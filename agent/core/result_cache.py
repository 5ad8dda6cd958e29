"""Cache of query results: of one run, or of databases that never change."""

import threading
from collections.abc import Hashable

from cachetools import LRUCache, TTLCache

from datasphinx.agent.types import Result

_MAX_CELLS = 2_000_000
_MAX_RUNS, _RUN_TTL_S = 256, 600
"""Limits of the kept results of runs that did not end."""


class ResultCache:
    """Least-recently-used cache of up to two million cells. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: LRUCache[Hashable, tuple[Result, int]] = LRUCache(_MAX_CELLS, getsizeof=_cells)

    def get(self, key: Hashable, row_limit: int) -> Result | None:
        """Return a copy of the result stored under `key`; None unless it is the one that `row_limit` gives."""
        with self._lock:
            result, stored_limit = self._results.get(key, (None, 0))
        if result is None:
            return None
        is_whole = not result["truncated"] and len(result["rows"]) <= row_limit
        return _copy(result) if is_whole or stored_limit == row_limit else None

    def put(self, key: Hashable, row_limit: int, result: Result) -> None:
        """Store a copy of `result`, read with `row_limit`, unless it exceeds the size of the cache."""
        entry = (_copy(result), row_limit)
        if _cells(entry) <= _MAX_CELLS:
            with self._lock:
                self._results[key] = entry


class RunResults:
    """The results of the statements of each run, kept until `forget`, at most ten minutes. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._caches: TTLCache[str, ResultCache] = TTLCache(_MAX_RUNS, _RUN_TTL_S)

    def of(self, trace_id: str) -> ResultCache:
        """Return the results of a run."""
        with self._lock:
            return self._caches.setdefault(trace_id, ResultCache())

    def forget(self, trace_id: str) -> None:
        """Forget the results of a run."""
        with self._lock:
            self._caches.pop(trace_id, None)


def _cells(entry: tuple[Result, int]) -> int:
    return 1 + len(entry[0]["rows"]) * len(entry[0]["columns"])


def _copy(result: Result) -> Result:
    return Result(
        columns=list(result["columns"]),
        types=list(result["types"]),
        rows=[list(row) for row in result["rows"]],
        truncated=result["truncated"],
    )

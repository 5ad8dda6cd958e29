"""The judgements of statements that are known already, so that the same one is not asked for twice."""

import hashlib
import json
import threading
from collections.abc import Callable, Mapping

from cachetools import LRUCache

from agent.audit.step import record_event
from agent.state import Validation

_MOST = 1000


class Validations:
    """Judgements by their key. Safe to share between threads."""

    def __init__(self, known: Mapping[str, Validation]) -> None:
        self._lock = threading.Lock()
        self._known: LRUCache[str, Validation] = LRUCache(maxsize=_MOST)
        self._known.update(known)

    def of(self, key: tuple[str, str, str], judge: Callable[[], Validation]) -> Validation:
        """Return the judgement for (statement, question, schema) from the cache, else from `judge`; errors pass."""
        digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()
        with self._lock:
            known = self._known.get(digest)
        if known is not None:
            record_event("cached", {"key": digest, "validation": known})
            return known
        known = judge()
        with self._lock:
            self._known[digest] = known
        return known

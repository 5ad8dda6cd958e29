"""Validations of statements by a model, kept for the same prompts."""

import json
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType

from cachetools import LRUCache

from datasphinx.agent.core.canonical import digest
from datasphinx.agent.record.step import record_event
from datasphinx.agent.types import Validation

_MAX_VALIDATIONS = 1000


class Validations:
    """A cache of validations of statements. Thread-safe."""

    def __init__(self, validations: Mapping[str, Validation] = MappingProxyType({})) -> None:
        """Begin with these validations, by the hash of their key."""
        self._lock = threading.Lock()
        self._validations: LRUCache[str, Validation] = LRUCache(maxsize=_MAX_VALIDATIONS)
        self._validations.update(validations)

    def of(self, key: tuple[str, ...], validate: Callable[[], Validation]) -> Validation:
        """Return the validation of `key`, all texts of its prompt, cached or from `validate`; errors are not cached."""
        key_hash = digest(json.dumps(key))
        with self._lock:
            validation = self._validations.get(key_hash)
        if validation is not None:
            record_event("cached", {"key": key_hash, "validation": validation})
            return validation
        validation = validate()
        with self._lock:
            self._validations[key_hash] = validation
        return validation

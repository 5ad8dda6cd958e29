"""The open sources of a graph, each with the business knowledge in its files now."""

import threading
from collections.abc import Callable, Iterable

from cachetools import TTLCache

from datasphinx.agent.knowledge.folder import KnowledgeFolder
from datasphinx.agent.knowledge.knowledge import NO_KNOWLEDGE, Knowledge
from datasphinx.agent.record.step import current_step
from datasphinx.agent.sources.source import Source

_CATALOG_TTL_S = 300
_STOP_S = 30.0
"""Maximum time to wait for the end of the background work on a source, in seconds."""
_MAX_RUNS, _RUN_TTL_S = 256, 600
"""Limits of the kept knowledge of runs that did not end."""


class OpenSources:
    """Sources and their business knowledge by name or URL, opened at first use. Thread-safe."""

    def __init__(
        self, open_source: Callable[[str, Knowledge, str], Source], folder_of: Callable[[str], KnowledgeFolder | None]
    ) -> None:
        """Set what reads a source.

        `open_source` opens a source with its knowledge for a question, and `folder_of` returns the folder of its
        knowledge; both raise SourceNotFound for an unknown source.
        """
        self._open_source, self._folder_of = open_source, folder_of
        self._lock = threading.RLock()
        self._open_locks: dict[str, threading.Lock] = {}
        self._sources: TTLCache[str, Source] = TTLCache(maxsize=64, ttl=_CATALOG_TTL_S)
        self._folders: dict[str, KnowledgeFolder] = {}
        self._run_knowledge: TTLCache[tuple[str, str], Knowledge] = TTLCache(_MAX_RUNS, _RUN_TTL_S)
        self._changes = 0

    def source(self, key: str, question: str) -> Source:
        """Return a source, opened for `question` if it is not open or has been sampled completely since."""
        with self._lock:
            source = self._sources.get(key)
        if source and not source.is_superseded and (updated := self._with_current_knowledge(key, source)):
            return updated
        # An unknown source gets no lock.
        self.knowledge(key)
        with self._lock:
            open_lock = self._open_locks.setdefault(key, threading.Lock())
        # Only questions to the same source wait while it is opened.
        with open_lock:
            with self._lock:
                source, changes = self._sources.get(key), self._changes
            if source and not source.is_superseded:
                return source
            source = self._open_source(key, self.knowledge(key), question)
            with self._lock:
                # The sources may have been replaced meanwhile.
                if self._changes == changes:
                    self._sources[key] = source
            return source

    def knowledge(self, key: str) -> Knowledge:
        """Return the knowledge as its files are now; within a run, as they were for its first node.

        Raises:
            SourceNotFound, DriverMissing: errors of `folder_of` and of `KnowledgeFolder.current`.
        """
        step = current_step.get()
        if step is None:
            return self._read_knowledge(key)
        run = step.previous_audit["trace_id"], key
        with self._lock:
            knowledge = self._run_knowledge.get(run)
        if knowledge is None:
            knowledge = self._read_knowledge(key)
            with self._lock:
                self._run_knowledge[run] = knowledge
        return knowledge

    def put(self, key: str, source: Source) -> None:
        """Use `source` for all later questions."""
        with self._lock:
            self._sources[key] = source

    def forget(self, keys: Iterable[str]) -> None:
        """Open these sources again at their next use."""
        with self._lock:
            self._changes += 1
            for key in keys:
                self._sources.pop(key, None)
                self._folders.pop(key, None)

    def close(self) -> None:
        """Close the files and connections of all sources."""
        with self._lock:
            sources = list(self._sources.values())
            self._sources.clear()
        for source in sources:
            source.release()

    def _read_knowledge(self, key: str) -> Knowledge:
        with self._lock:
            folder = self._folders.get(key)
        if folder is None:
            folder = self._folder_of(key)
            if folder is None:
                return NO_KNOWLEDGE
            with self._lock:
                folder = self._folders.setdefault(key, folder)
        return folder.current()

    def _with_current_knowledge(self, key: str, source: Source) -> Source | None:
        """Return `source` with the knowledge in its files now; None if the source has to be opened again."""
        knowledge, present = self.knowledge(key), source.knowledge.knowledge
        if knowledge.hash == present.hash:
            return source
        # Values of personal columns must not stay in the cached samples and indexes.
        updated = source.with_knowledge(knowledge) if knowledge.personal == present.personal else None
        with self._lock:
            if updated:
                self._sources[key] = updated
            else:
                self._sources.pop(key, None)
        if updated is None:
            # It would write the values of the new personal columns into the cache.
            source.stop_background(_STOP_S)
        return updated

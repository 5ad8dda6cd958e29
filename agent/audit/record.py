"""Puts what a run does on the record: the one place that all of it goes through.

A question whose beginning cannot be recorded is not asked: that raises. A record that cannot be written later, in
mid-run, costs nobody the answer: its events are held, tried once more at the end, and where that fails too the answer
says so.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from cachetools import LRUCache

from agent.audit.canonical import plain
from agent.audit.events import Event, Kind
from agent.errors import RecordUnavailable
from agent.sql.redact import without_secrets

logger = logging.getLogger("datasphinx")

_MOST_HELD_RUNS = 1000
_LOGGED = ("node", "schema", "source", "tool", "rows", "latency_ms", "prompt_tokens", "completion_tokens")
"""What the log has of an event: figures and names, no text of a question, a prompt or an answer."""


class Sink(Protocol):
    """Where events go."""

    def append(self, events: Sequence[Event]) -> None:
        """Put `events` at the end, all of them or none; raise `RecordUnavailable` where that cannot be done."""


class Recorder:
    """Records runs into a sink, without secrets; with no sink it only logs. Safe to share between threads."""

    def __init__(self, sink: Sink | None, secrets: Sequence[str] = (), tenant: str = "") -> None:
        """Take where events go, the texts that none of them may hold, and whose runs these are, where that counts."""
        self._whose = {"tenant": tenant} if tenant else {}
        self._sink = sink
        self._secrets = secrets
        self._lock = threading.Lock()
        self._held: LRUCache[str, list[Event]] = LRUCache(maxsize=_MOST_HELD_RUNS)
        self._lost: LRUCache[str, RecordUnavailable] = LRUCache(maxsize=_MOST_HELD_RUNS)

    def begin(self, trace_id: str, body: Mapping[str, Any]) -> None:
        """Record that a run begins.

        Raises:
            RecordUnavailable: that cannot be recorded.
        """
        self.add(trace_id, "run", {**body, **self._whose})
        with self._lock:
            lost = self._lost.get(trace_id)
        if lost:
            raise lost

    def add(self, trace_id: str, kind: Kind, body: Mapping[str, Any]) -> None:
        """Record what happened; what cannot be written is held until the run ends."""
        clean = plain(body, lambda text: without_secrets(text, self._secrets))
        event = Event(trace_id, datetime.now(UTC).isoformat(timespec="microseconds"), kind, clean)
        _log(event)
        if self._sink is None:
            return
        with self._lock:
            held = self._held.get(trace_id)
            if held is not None:
                held.append(event)
                return
        try:
            self._sink.append([event])
        except RecordUnavailable as error:
            with self._lock:
                self._held[trace_id], self._lost[trace_id] = [event], error

    def end(self, trace_id: str) -> RecordUnavailable | None:
        """Write what was held of a run; return why that cannot be done, None where the whole run is on the record."""
        with self._lock:
            held, lost = self._held.pop(trace_id, None), self._lost.pop(trace_id, None)
        if self._sink is None or not held:
            return lost
        try:
            self._sink.append(held)
        except RecordUnavailable as error:
            logger.error("[RECORD] %d events are lost: %s trace_id=%s", len(held), error, trace_id)
            return error
        return None

    @property
    def is_on(self) -> bool:
        """Whether events go anywhere but to the log."""
        return self._sink is not None


def _log(event: Event) -> None:
    facts = {name: event.body[name] for name in _LOGGED if name in event.body}
    error = event.body.get("error")
    if isinstance(error, Mapping):
        facts["error"] = error.get("code")
    logger.info("[EVENT] %s", event.kind, extra={"trace_id": event.trace_id, "event_kind": event.kind, **facts})

"""Recording of runs.

If the start of a question cannot be recorded, an error is raised and the question is not processed. If recording fails
later, the events are buffered and written again when the run ends; if that also fails, the answer says so.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from cachetools import LRUCache

from agent.core.canonical import plain
from agent.core.redact import without_secrets
from agent.errors import RecordUnavailable
from agent.record.events import Event, Kind

logger = logging.getLogger("datasphinx")

_MAX_BUFFERED_RUNS = 1000
_LOG_FIELDS = ("node", "schema", "source", "tool", "rows", "latency_ms", "prompt_tokens", "completion_tokens")
"""Fields of an event that are logged: numbers and names, no text of a question, prompt or answer."""


class Sink(Protocol):
    """Destination of events."""

    def append(self, events: Sequence[Event]) -> None:
        """Append all `events` or none; raise `RecordUnavailable` on failure."""


class Recorder:
    """Writes runs to a sink, without secrets; without a sink it only logs. Thread-safe."""

    def __init__(self, sink: Sink | None, secrets: Sequence[str] = (), tenant: str = "") -> None:
        """Set the sink, the secrets to redact, and the tenant to whom the runs belong, if any."""
        self._tenant_fields = {"tenant": tenant} if tenant else {}
        self._sink = sink
        self._secrets = secrets
        self._lock = threading.Lock()
        self._buffered: LRUCache[str, list[Event]] = LRUCache(maxsize=_MAX_BUFFERED_RUNS)
        self._errors: LRUCache[str, RecordUnavailable] = LRUCache(maxsize=_MAX_BUFFERED_RUNS)

    def begin(self, trace_id: str, body: Mapping[str, Any]) -> None:
        """Record the start of a run.

        Raises:
            RecordUnavailable: the event cannot be written.
        """
        self.add(trace_id, "run", {**body, **self._tenant_fields})
        with self._lock:
            error = self._errors.get(trace_id)
        if error:
            raise error

    def add(self, trace_id: str, kind: Kind, body: Mapping[str, Any]) -> None:
        """Record an event; if it cannot be written, buffer it until the run ends."""
        clean = plain(body, lambda text: without_secrets(text, self._secrets))
        event = Event(trace_id, datetime.now(UTC).isoformat(timespec="microseconds"), kind, clean)
        _log(event)
        if self._sink is None:
            return
        with self._lock:
            buffered = self._buffered.get(trace_id)
            if buffered is not None:
                buffered.append(event)
                return
        try:
            self._sink.append([event])
        except RecordUnavailable as error:
            with self._lock:
                self._buffered[trace_id], self._errors[trace_id] = [event], error

    def end(self, trace_id: str) -> RecordUnavailable | None:
        """Write the buffered events of a run; return the error on failure, None if the whole run is recorded."""
        with self._lock:
            buffered, failure = self._buffered.pop(trace_id, None), self._errors.pop(trace_id, None)
        if self._sink is None or not buffered:
            return failure
        try:
            self._sink.append(buffered)
        except RecordUnavailable as error:
            logger.error("[RECORD] %d events are lost: %s trace_id=%s", len(buffered), error, trace_id)
            return error
        return None

    @property
    def is_on(self) -> bool:
        """True if events are recorded, not only logged."""
        return self._sink is not None


def _log(event: Event) -> None:
    facts = {name: event.body[name] for name in _LOG_FIELDS if name in event.body}
    error = event.body.get("error")
    if isinstance(error, Mapping):
        facts["error"] = error.get("code")
    logger.info("[EVENT] %s", event.kind, extra={"trace_id": event.trace_id, "event_kind": event.kind, **facts})

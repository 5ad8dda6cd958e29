"""Recording of runs.

If the start of a question cannot be recorded, an error is raised and the question is not processed. Later events are
buffered for a short time, so that a run needs few transactions. If they cannot be written, they are written again when
the run ends; if that also fails, the answer says so.
"""

import logging
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from datasphinx.agent.core.canonical import plain
from datasphinx.agent.core.redact import without_secrets
from datasphinx.agent.errors import Unavailable
from datasphinx.agent.record.events import Event, Kind

logger = logging.getLogger("datasphinx")

RECORD_DELAY_S = 1.0
"""Seconds for which the events of questions may be buffered. See docs/record.md for what a crash can lose."""

_MAX_BUFFERED_RUNS = 1000
_LOG_FIELDS = ("node", "schema", "source", "tool", "rows", "latency_ms", "prompt_tokens", "completion_tokens")
"""Fields of an event that are logged: numbers and names, no text of a question, prompt or answer."""


class Sink(Protocol):
    """Destination of events."""

    def append(self, events: Sequence[Event]) -> None:
        """Append all `events` or none; raise `Unavailable` on failure."""


@dataclass
class _Run:
    """The events of a run that are not written yet."""

    written_at: float
    """The time of the last write, by the monotonic clock."""
    events: list[Event] = field(default_factory=list)
    error: Unavailable | None = None
    """The error of the last write; after it, nothing is written until the run ends."""


class Recorder:
    """Writes runs to a sink, without secrets; without a sink it only logs. Thread-safe."""

    def __init__(
        self, sink: Sink | None, secrets: Sequence[str] = (), tenant: str = "", *, delay_s: float = 0.0
    ) -> None:
        """Set the sink, the secrets to redact, and the tenant to whom the runs belong, if any.

        The events of a run are written when it ends, and earlier with the first event `delay_s` seconds or more after
        the last write.
        """
        self._tenant_fields = {"tenant": tenant} if tenant else {}
        self._sink = sink
        self.is_on = sink is not None
        """True if events are recorded, not only logged."""
        self._secrets = secrets
        self._delay_s = delay_s
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        # At the end of the process, the events of interrupted runs are written.
        weakref.finalize(self, _write_all, sink, self._runs)

    def begin(self, trace_id: str, body: Mapping[str, Any]) -> None:
        """Record the start of a run. Raise Unavailable if the event cannot be written."""
        self.add(trace_id, "run", {**body, **self._tenant_fields})
        self.flush(trace_id)
        with self._lock:
            run = self._runs.get(trace_id)
        if run and run.error:
            raise run.error

    def add(self, trace_id: str, kind: Kind, body: Mapping[str, Any]) -> None:
        """Record an event; if it cannot be written, it is kept until the run ends."""
        clean = plain(body, lambda text: without_secrets(text, self._secrets))
        event = Event(trace_id, datetime.now(UTC).isoformat(timespec="microseconds"), kind, clean)
        _log(event)
        if self._sink is None:
            return
        abandoned = None
        with self._lock:
            run = self._runs.setdefault(trace_id, _Run(time.monotonic()))
            run.events.append(event)
            is_due = time.monotonic() - run.written_at >= self._delay_s
            if len(self._runs) > _MAX_BUFFERED_RUNS:
                _, abandoned = self._runs.popitem(last=False)
        if is_due:
            self.flush(trace_id)
        if abandoned:
            self._write(abandoned)

    def flush(self, trace_id: str) -> None:
        """Write the events of a run that are still buffered, unless an earlier write of the run failed."""
        with self._lock:
            run = self._runs.get(trace_id)
        if run and not run.error:
            self._write(run)

    def end(self, trace_id: str) -> Unavailable | None:
        """Write the remaining events of a run; return the error on failure, None if the whole run is recorded."""
        with self._lock:
            run = self._runs.pop(trace_id, None)
        if run is None or not run.events:
            return None
        error = self._write(run)
        if error:
            logger.error("[RECORD] %d events are lost: %s trace_id=%s", len(run.events), error, trace_id)
        return error

    def _write(self, run: _Run) -> Unavailable | None:
        with self._lock:
            events, run.events = run.events, []
        if not events or self._sink is None:
            return None
        try:
            self._sink.append(events)
        except Unavailable as error:
            with self._lock:
                run.events, run.error = [*events, *run.events], error
            return error
        run.written_at = time.monotonic()
        return None


def _log(event: Event) -> None:
    if not logger.isEnabledFor(logging.INFO):
        return
    facts = {name: event.body[name] for name in _LOG_FIELDS if name in event.body}
    error = event.body.get("error")
    if isinstance(error, Mapping):
        facts["error"] = error.get("code")
    logger.info("[EVENT] %s", event.kind, extra={"trace_id": event.trace_id, "event_kind": event.kind, **facts})


def _write_all(sink: Sink | None, runs: Mapping[str, _Run]) -> None:
    events = [event for run in runs.values() for event in run.events]
    if sink and events:
        with suppress(Unavailable):
            sink.append(events)

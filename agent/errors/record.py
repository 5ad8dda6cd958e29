"""Errors of the record of runs."""

from dataclasses import dataclass

from agent.errors.base import Terminal


@dataclass(eq=False)
class RecordUnavailable(Terminal):
    """The record of runs cannot be written or read."""

    code = "record_unavailable"
    store: str
    reason: str


@dataclass(eq=False)
class TraceUnknown(Terminal):
    """No run is on the record under this trace id, or it cannot be replayed from what is there."""

    code = "trace_unknown"
    trace_id: str
    reason: str

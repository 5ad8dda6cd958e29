"""Hears what runs put on the record, in place of a database: each thread its own, and only while it listens."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from agent.audit.events import Event

_heard: ContextVar[list[Event] | None] = ContextVar("heard_events", default=None)


class Transcript:
    """A sink of the record that gives events to whoever listens in the context in which they happen."""

    def append(self, events: Sequence[Event]) -> None:
        """Add `events` to what is heard; nothing is kept where nobody listens."""
        heard = _heard.get()
        if heard is not None:
            heard.extend(events)


@contextmanager
def listening() -> Iterator[list[Event]]:
    """Yield the list that fills with the events of the block, in their order."""
    events: list[Event] = []
    token = _heard.set(events)
    try:
        yield events
    finally:
        _heard.reset(token)

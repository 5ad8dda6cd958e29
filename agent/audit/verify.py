"""Checks the chain of the record: each event has its own hash, follows the one before it, and the last is the last."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from agent.audit.events import BEGINNING, StoredEvent
from agent.audit.store import Store

Problem = Literal["changed", "removed", "inserted", "reordered"]


@dataclass(frozen=True)
class Finding:
    """A place where the chain is broken: a position among all events, and the run that it belongs to, where known."""

    problem: Problem
    position: int
    trace_id: str | None
    explanation: str


@dataclass
class Verification:
    """What a check found. `head` is the hash of the last event: noted elsewhere, it proves all that stands before."""

    events: int = 0
    head: str = BEGINNING
    findings: list[Finding] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return it as `datasphinx trace verify --json` prints it."""
        return {"events": self.events, "head": self.head, "findings": [vars(each) for each in self.findings]}


def verify(store: Store) -> Verification:
    """Return whether every event of `store` is as it was written, and where not.

    Raises:
        RecordUnavailable: the record cannot be read.
    """
    walk = _Walk(store)
    walk.over(store.scan())
    position, head = store.head()
    # Between the two readings more may have been written.
    walk.over(event for event in store.scan(walk.position) if event.position <= position)
    walk.done.findings += _broken_end(walk.last, position, head)
    return walk.done


class _Walk:
    """Goes along the chain. `last` is the event it stands at; `displaced` are positions that are known to be wrong."""

    def __init__(self, store: Store) -> None:
        self.done = Verification()
        self.last: StoredEvent | None = None
        self._store = store
        self._displaced: set[int] = set()

    @property
    def position(self) -> int:
        return self.last.position if self.last else 0

    def over(self, events: Iterable[StoredEvent]) -> None:
        for event in events:
            self.done.findings += self._broken_link(event)
            if event.own_hash != event.hash:
                text = f"event {event.position} ({event.kind}) is not as it was written"
                self.done.findings.append(Finding("changed", event.position, event.trace_id, text))
            self.done.events, self.done.head, self.last = self.done.events + 1, event.hash, event

    def _broken_link(self, event: StoredEvent) -> Iterator[Finding]:
        """Yield what is wrong between the last event and `event`, which stands after it."""
        if event.previous == self.done.head:
            return
        if event.position > self.position + 1:
            yield _removed(self.position + 1, event.position - 1, event.trace_id)
            return
        owner = self._store.with_hash(event.previous)
        at = 0 if event.previous == BEGINNING else owner.position if owner else None
        if at is None:
            text = f"event {event.position} follows one that is not there: the event before it was changed or replaced"
            yield Finding("changed", self.position, self.last.trace_id if self.last else None, text)
        elif at > event.position:
            self._displaced |= {event.position, at}
            text = f"event {event.position} stands before event {at}, which it follows"
            yield Finding("reordered", event.position, event.trace_id, text)
        elif event.position not in self._displaced:
            for wrong in sorted(set(range(at + 1, event.position)) - self._displaced):
                text = f"event {wrong} was put between event {at} and the one that follows it"
                yield Finding("inserted", wrong, self.last.trace_id if self.last else None, text)


def _broken_end(last: StoredEvent | None, position: int, head: str) -> Iterator[Finding]:
    place, found = (last.position, last.hash) if last else (0, BEGINNING)
    if place < position:
        yield _removed(place + 1, position, None)
    elif place > position:
        trace_id = last.trace_id if last else None
        yield Finding("inserted", position + 1, trace_id, f"events {position + 1} to {place} were put after the end")
    elif found != head:
        trace_id = last.trace_id if last else None
        yield Finding("changed", place, trace_id, f"event {place}, the last, was changed or replaced")


def _removed(first: int, last: int, trace_id: str | None) -> Finding:
    which = f"event {first} is" if first == last else f"events {first} to {last} are"
    return Finding("removed", first, trace_id, f"{which} missing")

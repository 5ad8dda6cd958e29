"""Verifies the hash chain of the record, and compares it with an anchor: the end of the chain at an earlier time.

The chain proves that each event is as it was written and follows the one before it. Its end is noted in the same
database, so whoever may write there can remove the last events and correct the note. An anchor that is kept elsewhere
shows this: the event at its position has to be there still, with the same hash.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
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


@dataclass(frozen=True)
class Anchor:
    """The end of the chain at some time: position and hash of the last event; position 0 for an empty record."""

    position: int
    hash: str


_HASH = re.compile(r"[0-9a-f]{64}")


def read_anchor(path: Path) -> Anchor:
    """Return the anchor in the file at `path`.

    Raises:
        FileNotFoundError: there is no such file.
        OSError: it cannot be read.
        ValueError: it is not an anchor.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        anchor = Anchor(content["position"], content["hash"])
        if type(anchor.position) is int and anchor.position >= 0 and _HASH.fullmatch(anchor.hash):
            return anchor
    except (ValueError, TypeError, KeyError):
        pass
    raise ValueError("it is not an anchor: it needs a position and a hash of 64 hexadecimal digits")


def write_anchor(anchor: Anchor, path: Path) -> None:
    """Write `anchor` to the file at `path`, in place of one that is there; an interrupted write leaves that one.

    Raises:
        OSError: it cannot be written.
    """
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        unfinished.write_text(json.dumps(asdict(anchor)) + "\n", encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


@dataclass
class Verification:
    """The result of a check: the number of events, position and hash of the last one, and where the chain is broken."""

    events: int = 0
    position: int = 0
    head: str = BEGINNING
    findings: list[Finding] = field(default_factory=list)

    @property
    def anchor(self) -> Anchor:
        """The end of the chain, to be kept outside the record's database."""
        return Anchor(self.position, self.head)

    def as_json(self) -> dict[str, Any]:
        """Return it as `datasphinx trace verify --json` prints it."""
        return {
            "events": self.events,
            "position": self.position,
            "head": self.head,
            "findings": [vars(each) for each in self.findings],
        }


def verify(store: Store, anchor: Anchor | None = None) -> Verification:
    """Return whether every event of `store` is as it was written, and where not.

    With `anchor` the events up to its position have to be those that were there when it was taken.

    Raises:
        RecordUnavailable: the record cannot be read.
    """
    walk = _Walk(store, anchor)
    walk.over(store.scan())
    position, head = store.head()
    # Between the two readings more may have been written.
    walk.over(event for event in store.scan(walk.position) if event.position <= position)
    walk.done.findings += _broken_end(walk.last, position, head)
    walk.done.findings += walk.broken_anchor()
    return walk.done


class _Walk:
    """Goes along the chain. `last` is the event it stands at; `displaced` are positions that are known to be wrong."""

    def __init__(self, store: Store, anchor: Anchor | None) -> None:
        self.done = Verification()
        self.last: StoredEvent | None = None
        self._store, self._anchor = store, anchor
        self._anchored: StoredEvent | None = None
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
            if self._anchor and event.position == self._anchor.position:
                self._anchored = event
            self.done.events, self.done.head, self.last = self.done.events + 1, event.hash, event
            self.done.position = event.position

    def broken_anchor(self) -> Iterator[Finding]:
        """Yield what is wrong between the anchor and the event at its position."""
        anchor, event = self._anchor, self._anchored
        if anchor is None or anchor.position == 0:
            return
        if event and event.hash != anchor.hash:
            text = f"event {event.position} is not that of the anchor: this event or one before it was replaced"
            yield Finding("changed", event.position, event.trace_id, text)
        elif self.position < anchor.position:
            known = {(each.problem, each.position) for each in self.done.findings}
            if ("removed", self.position + 1) not in known:
                yield _removed(self.position + 1, anchor.position, None)

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

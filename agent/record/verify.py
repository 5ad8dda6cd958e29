"""Verification of the record's hash chain, and comparison with an anchor: an earlier end of the chain.

The chain proves that each event is unchanged and follows its predecessor. The end of the chain is stored in the same
database, so an account with write access can delete the last events and correct the stored end. An anchor kept
elsewhere reveals this: the event at its position must still exist with the same hash.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from datasphinx.agent.record.events import BEGINNING, StoredEvent
from datasphinx.agent.record.store import Store

Problem = Literal["changed", "removed", "inserted", "reordered"]


@dataclass(frozen=True)
class Finding:
    """A break in the chain: its position among all events and, if known, the run it belongs to."""

    problem: Problem
    position: int
    trace_id: str | None
    explanation: str


@dataclass(frozen=True)
class Anchor:
    """Position and hash of the last event at some time; position 0 for an empty record."""

    position: int
    hash: str


_HASH = re.compile(r"[0-9a-f]{64}")


def read_anchor(path: Path) -> Anchor:
    """Return the anchor in the file at `path`.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: the file does not contain an anchor.
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
    """Write `anchor` atomically to the file at `path`, replacing an existing file."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        unfinished.write_text(json.dumps(asdict(anchor)) + "\n", encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


@dataclass
class Verification:
    """Result of a check: number of events, position and hash of the last one, and breaks in the chain."""

    events: int = 0
    position: int = 0
    head: str = BEGINNING
    findings: list[Finding] = field(default_factory=list)

    @property
    def anchor(self) -> Anchor:
        """The end of the chain, to be kept outside of the record's database."""
        return Anchor(self.position, self.head)

    def as_json(self) -> dict[str, Any]:
        """Return the result as `datasphinx trace verify --json` prints it."""
        return {
            "events": self.events,
            "position": self.position,
            "head": self.head,
            "findings": [vars(finding) for finding in self.findings],
        }


def verify(store: Store, anchor: Anchor | None = None) -> Verification:
    """Return whether all events in `store` since the last pruned one are unchanged, and the breaks in the chain.

    With `anchor`, also check that the events up to its position are those that existed when it was taken.
    """
    check = _ChainCheck(store, anchor)
    check.follow(store.scan())
    position, head = store.head()
    # Events may have been added between reading the chain and reading its end.
    check.follow(event for event in store.scan(check.position) if event.position <= position)
    check.result.findings += check.compare_end(position, head)
    check.result.findings += check.compare_anchor()
    return check.result


class _ChainCheck:
    """Checks the chain event by event. `last` is the last event; `_displaced` contains positions already reported."""

    def __init__(self, store: Store, anchor: Anchor | None) -> None:
        self._start = store.start()
        self.result = Verification(0, *self._start)
        self.last: StoredEvent | None = None
        self._store, self._anchor = store, anchor
        self._event_at_anchor: StoredEvent | None = None
        self._displaced: set[int] = set()

    @property
    def position(self) -> int:
        return self.last.position if self.last else self._start[0]

    def follow(self, events: Iterable[StoredEvent]) -> None:
        for event in events:
            self.result.findings += self._check_link(event)
            if event.computed_hash != event.hash:
                text = f"event {event.position} ({event.kind}) is not as it was written"
                self.result.findings.append(Finding("changed", event.position, event.trace_id, text))
            if self._anchor and event.position == self._anchor.position:
                self._event_at_anchor = event
            self.result.events, self.result.head, self.last = self.result.events + 1, event.hash, event
            self.result.position = event.position

    def compare_end(self, position: int, head: str) -> Iterator[Finding]:
        """Yield a finding if the last event is not the stored end of the chain."""
        last, trace_id = self.position, self.last.trace_id if self.last else None
        if last < position:
            yield _removal(last + 1, position, None)
        elif last > position:
            text = f"events {position + 1} to {last} were added after the end"
            yield Finding("inserted", position + 1, trace_id, text)
        elif (self.last.hash if self.last else self._start[1]) != head:
            yield Finding("changed", last, trace_id, f"event {last}, the last, was changed or replaced")

    def compare_anchor(self) -> Iterator[Finding]:
        """Yield a finding if the event at the anchor's position is missing or different."""
        anchor, event = self._anchor, self._event_at_anchor
        if anchor is None or anchor.position == 0 or (anchor.position, anchor.hash) == self._start:
            return
        if anchor.position <= self._start[0]:
            text = f"the events up to {self._start[0]} were pruned, so that the anchor cannot be compared"
            yield Finding("removed", anchor.position, None, text)
        elif event and event.hash != anchor.hash:
            text = f"event {event.position} differs from the anchor: this event or an earlier one was replaced"
            yield Finding("changed", event.position, event.trace_id, text)
        elif self.position < anchor.position:
            reported = {(finding.problem, finding.position) for finding in self.result.findings}
            if ("removed", self.position + 1) not in reported:
                yield _removal(self.position + 1, anchor.position, None)

    def _check_link(self, event: StoredEvent) -> Iterator[Finding]:
        """Yield the breaks between the last event and its successor `event`."""
        if event.previous == self.result.head:
            return
        if event.position > self.position + 1:
            yield _removal(self.position + 1, event.position - 1, event.trace_id)
            return
        owner = self._store.with_hash(event.previous)
        start, start_hash = self._start
        owner_position = start if event.previous == start_hash else owner.position if owner else None
        if owner_position is None:
            text = (
                f"the event that event {event.position} follows is missing: the one before it was changed or replaced"
            )
            yield Finding("changed", self.position, self.last.trace_id if self.last else None, text)
        elif owner_position > event.position:
            self._displaced |= {event.position, owner_position}
            text = f"event {event.position} is stored before event {owner_position}, which precedes it in the chain"
            yield Finding("reordered", event.position, event.trace_id, text)
        elif event.position not in self._displaced:
            for position in sorted(set(range(owner_position + 1, event.position)) - self._displaced):
                text = f"event {position} was inserted between event {owner_position} and its successor"
                yield Finding("inserted", position, self.last.trace_id if self.last else None, text)


def _removal(first: int, last: int, trace_id: str | None) -> Finding:
    subject = f"event {first} is" if first == last else f"events {first} to {last} are"
    return Finding("removed", first, trace_id, f"{subject} missing")

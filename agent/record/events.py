"""Events on the record, each linked to its predecessor by a hash."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from datasphinx.agent.core.canonical import canonical, digest

Kind = Literal["run", "llm", "cached", "examples", "verified", "tool", "statement", "chart", "part", "step", "output"]
"""The kind of event: a run started; a model was called; a cached verdict replaced a model call; few-shot examples were
selected; a verified query was selected; a tool was called; a statement ran; a chart was created; a question of a report
was answered by a run of its own; a node of the graph ended; the run ended with its output.
"""

BEGINNING = "0" * 64
"""Predecessor hash of the first event."""


@dataclass(frozen=True)
class Event:
    """Something that happened in a run. `time` is UTC in ISO 8601 with microseconds; `body` is plain JSON."""

    trace_id: str
    time: str
    kind: Kind
    body: Mapping[str, Any]


@dataclass(frozen=True)
class StoredEvent:
    """An event on the record. `body` is JSON text.

    `position` counts all events and `sequence` those of the run, both from 1.
    """

    position: int
    trace_id: str
    sequence: int
    time: str
    kind: str
    body: str
    previous: str
    hash: str

    @property
    def content(self) -> dict[str, Any]:
        """The decoded body; empty if it is not a JSON object, which `verify` reports as a change."""
        try:
            content = json.loads(self.body)
        except ValueError:
            return {}
        return content if isinstance(content, dict) else {}

    @property
    def computed_hash(self) -> str:
        """Hash computed from the stored fields; equal to `hash` unless the event was changed."""
        return chained_hash(self.previous, self.trace_id, self.sequence, self.time, self.kind, self.body)

    def as_json(self) -> dict[str, Any]:
        """Return the event as `datasphinx trace show --json` prints it."""
        return {**vars(self), "body": self.content}


def chained_hash(previous: str, trace_id: str, sequence: int, time: str, kind: str, body: str) -> str:
    """Return the hash of an event.

    It is SHA-256 over the ASCII bytes of the JSON array of all arguments, without white space. `previous` is the hash
    of the preceding event. `body` is included as a string: the stored text, itself JSON with sorted keys. `position` is
    not included, since it follows from the chain.
    """
    return digest(canonical([previous, trace_id, sequence, time, kind, body]))

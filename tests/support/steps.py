"""The record of what a test does outside of a graph."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from datasphinx.agent.record.step import Step, new_audit, recorded_on


@contextmanager
def recorded() -> Iterator[tuple[Step, list[dict[str, Any]]]]:
    """A step on which the `with` block is recorded, and the bodies of its events."""
    events: list[dict[str, Any]] = []
    step = Step("execute_sql", new_audit("t"))
    step.event = lambda kind, body: events.append(dict(body))  # type: ignore[method-assign]
    with recorded_on(step):
        yield step, events

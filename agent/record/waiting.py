"""Reports of what a run does and waits for, for interfaces that show it."""

from typing import Any, Literal, NotRequired

from langgraph.config import get_stream_writer
from typing_extensions import TypedDict

Wait = Literal["loading_model", "waiting_for_model", "reading_schema"]
"""What a run waits for: the start of the embedded model, the end of another answer of it, or a large schema."""

WaitEvent = TypedDict("WaitEvent", {"for": Wait, "done": NotRequired[int], "total": NotRequired[int]})
"""An event of a stream. For a schema, `done` tables of `total` are read."""


class StartEvent(TypedDict):
    """The start of a node, for the first or a later time in a run (`attempt`, counted from 1)."""

    node: str
    attempt: int
    limit: NotRequired[int]
    """The last attempt that the limits of the settings allow, where they limit this one."""


def report_start(node: str, attempt: int, limit: int | None) -> None:
    """Add the start of `node` to the stream "custom" of the running graph."""
    start = StartEvent(node=node, attempt=attempt)
    _write({"event": "started", "data": start if limit is None else StartEvent(**start, limit=limit)})


def report_waiting(wait: Wait, **progress: int) -> None:
    """Add `wait` with its `progress` to the stream "custom" of the running graph, if there is one."""
    _write({"event": "waiting", "data": {"for": wait, **progress}})


def _write(event: dict[str, Any]) -> None:
    try:
        write = get_stream_writer()
    except RuntimeError:
        # Called outside of a graph.
        return
    write(event)

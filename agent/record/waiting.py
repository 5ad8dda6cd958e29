"""Reports of what a run waits for, for interfaces that show it."""

from typing import Literal, NotRequired

from langgraph.config import get_stream_writer
from typing_extensions import TypedDict

Wait = Literal["loading_model", "waiting_for_model", "reading_schema"]
"""What a run waits for: the start of the embedded model, the end of another answer of it, or a large schema."""

WaitEvent = TypedDict("WaitEvent", {"for": Wait, "done": NotRequired[int], "total": NotRequired[int]})
"""An event of a stream. For a schema, `done` tables of `total` are read."""


def report_waiting(wait: Wait, **progress: int) -> None:
    """Add `wait` with its `progress` to the stream "custom" of the running graph, if there is one."""
    try:
        write = get_stream_writer()
    except RuntimeError:
        # Called outside of a graph.
        return
    write({"event": "waiting", "data": {"for": wait, **progress}})

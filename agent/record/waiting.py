"""Reports of what a run waits for, for interfaces that show it."""

from typing import Literal

from langgraph.config import get_stream_writer
from typing_extensions import TypedDict

Wait = Literal["loading_model", "waiting_for_model"]
"""What a run waits for: the start of the embedded model, or the end of another answer of it."""

WaitEvent = TypedDict("WaitEvent", {"for": Wait})
"""An event of a stream."""


def report_waiting(wait: Wait) -> None:
    """Add `wait` to the stream "custom" of the running graph, if there is one."""
    try:
        write = get_stream_writer()
    except RuntimeError:
        # Called outside of a graph.
        return
    write({"event": "waiting", "data": {"for": wait}})

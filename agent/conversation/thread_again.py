"""A thread as a recorded run found it."""

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from agent.state import Output

_THREAD = RunnableConfig(configurable={"thread_id": "replay"})


def replayed(graph: Any, given: Mapping[str, Any], carried: Mapping[str, Any], *, last: str) -> Output:
    """Return the output of `graph` for what came with a run, on a thread that holds what the run carried on.

    `graph` has a checkpointer, and `last` is the node that ends its runs.
    """
    if carried:
        # What was carried on was of the source that the run came with.
        before = {name: given[name] for name in ("source",) if given.get(name)}
        graph.update_state(_THREAD, {"given": before, **carried}, as_node=last)
    output = graph.invoke(given, _THREAD)
    return cast(Output, {name: value for name, value in output.items() if name in Output.__annotations__})

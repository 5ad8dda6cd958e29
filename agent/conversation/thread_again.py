"""A thread as a recorded run found it."""

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from agent.errors import NothingAsked
from agent.state import Output

_THREAD = RunnableConfig(configurable={"thread_id": "replay"})


def replayed(
    graph: Any, given: Mapping[str, Any], carried: Mapping[str, Any], error: str | None, *, last: str
) -> Output:
    """Return the output of `graph` for what came with a run, on a thread that holds what the run carried on.

    `graph` has a checkpointer, `last` is the node that ends its runs, and `error` the code in which the run ended.
    """
    # That nothing was asked is only found where there was a thread.
    if carried or error == NothingAsked.code:
        # What was carried on was of the source that the run came with.
        before = {name: given[name] for name in ("source",) if given.get(name)}
        graph.update_state(_THREAD, {"given": before, **carried}, as_node=last)
    output = graph.invoke(given, _THREAD)
    return cast(Output, {name: value for name, value in output.items() if name in Output.__annotations__})

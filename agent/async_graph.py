"""Compiled graphs whose asynchronous methods run a question in one worker thread."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any, Generic

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.typing import ContextT, InputT, OutputT, StateT

from agent.conversation.conversations import CANCELLATION
from agent.core.cancellation import Cancellation
from agent.core.worker_threads import iterate_in_thread


class AsyncGraph(CompiledStateGraph[StateT, ContextT, InputT, OutputT], Generic[StateT, ContextT, InputT, OutputT]):
    """A compiled graph for many concurrent questions: `ainvoke`, `abatch` and `astream` use a thread per question.

    LangGraph itself runs each node and each router of the asynchronous methods in the default executor of the event
    loop, which has four threads more than cores, and returns to the event loop after each of them. If the task of a
    question is cancelled, its statement is stopped and no further model call is made.
    """

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        """Return the result of `invoke`."""
        if self._is_async_only(config):
            return await super().ainvoke(input, config, **options)

        def invoke(config: RunnableConfig) -> Iterator[Any]:
            yield self.invoke(input, config, **options)

        [result] = [result async for result in _in_thread(invoke, config)]
        return result

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """Yield the chunks of `stream`."""
        if self._is_async_only(config):
            async for chunk in super().astream(input, config, **options):
                yield chunk
            return
        async with aclosing(_in_thread(lambda config: self.stream(input, config, **options), config)) as chunks:
            async for chunk in chunks:
                yield chunk

    def _is_async_only(self, config: RunnableConfig | None) -> bool:
        """Return whether the checkpointer, that of the graph or of a parent graph, has no synchronous methods."""
        savers = [self.checkpointer, *ensure_config(config)["configurable"].values()]
        return any(
            isinstance(saver, BaseCheckpointSaver) and type(saver).get_tuple is BaseCheckpointSaver.get_tuple
            for saver in savers
        )


def compile_graph(
    builder: StateGraph[StateT, ContextT, InputT, OutputT],
    name: str,
    checkpointer: BaseCheckpointSaver[Any] | None,
    recursion_limit: int,
) -> AsyncGraph[StateT, ContextT, InputT, OutputT]:
    """Return the compiled graph; a run has at most `recursion_limit` steps."""
    compiled = vars(builder.compile(checkpointer=checkpointer, name=name))
    attributes = {key: value for key, value in compiled.items() if key != "__orig_class__"}
    return AsyncGraph(**{**attributes, "config": RunnableConfig(recursion_limit=recursion_limit)})


def _in_thread(run: Callable[[RunnableConfig], Iterator[Any]], config: RunnableConfig | None) -> AsyncGenerator[Any]:
    """Yield the items of `run` for `config` with a `Cancellation`, which is cancelled with the task."""
    configurable = (config or {}).get("configurable", {})
    cancellation = configurable.get(CANCELLATION) or Cancellation()
    own_config: RunnableConfig = {**(config or {}), "configurable": {**configurable, CANCELLATION: cancellation}}
    return iterate_in_thread(lambda: run(own_config), cancellation.cancel)

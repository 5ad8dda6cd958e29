"""Compiled graphs: runs are traced as the settings say, and asynchronous runs use one worker thread each."""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractContextManager, aclosing, closing, contextmanager, nullcontext
from functools import partial
from typing import Any, Generic, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import TAG_HIDDEN
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.typing import ContextT, InputT, OutputT, StateT

from datasphinx.agent.conversation.conversations import CANCELLATION
from datasphinx.agent.conversation.inputs import run_input
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.langsmith import langsmith, without_tracer
from datasphinx.agent.core.worker_threads import iterate_in_thread
from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.record.telemetry import Run, traced_run
from datasphinx.agent.services import Services

_END = object()
_MAX_STEPS = 500
"""Steps of a run, more than the loops of the graphs can take with the highest limits that the settings allow."""


class CompiledGraph(CompiledStateGraph[StateT, ContextT, InputT, OutputT], Generic[StateT, ContextT, InputT, OutputT]):
    """A compiled graph over `services`, for many concurrent questions.

    `ainvoke`, `abatch` and `astream` use a thread per question. LangGraph itself runs each node and each router of the
    asynchronous methods in the default executor of the event loop, which has four threads more than cores, and returns
    to the event loop after each of them. If the task of a question is cancelled, its statement is stopped and no
    further model call is made.

    Runs are traced by OpenTelemetry if the settings say so, and by LangSmith only if they allow it.
    """

    def __init__(self, *, services: Services, **parts: Any) -> None:
        super().__init__(**parts)
        self.services = services

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        """Run the graph; see `Pregel.stream`. `invoke` uses it."""
        graph, config = self._without_tracer(config)
        run = CompiledStateGraph.stream(graph, run_input(input), config, **self._with_durability(options))
        with (
            self._traced() as step,
            closing(cast(Any, run)) as chunks,
        ):
            while True:
                # Between the chunks, the context of the caller applies.
                with step():
                    chunk = next(chunks, _END)
                if chunk is _END:
                    return
                yield chunk

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        """Return the result of `invoke`."""
        if self._is_async_only(config):
            return await super().ainvoke(input, config, **options)

        def invoke(config: RunnableConfig) -> Iterator[Any]:
            yield self.invoke(input, config, **options)

        [result] = [result async for result in _in_thread(invoke, config)]
        return result

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncGenerator[Any]:
        """Yield the chunks of `stream`."""
        is_native = self._is_async_only(config)
        run = self._stream_natively(input, config, **options) if is_native else None
        chunks = run or _in_thread(lambda config: self.stream(input, config, **options), config)
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk

    async def _stream_natively(self, input: Any, config: RunnableConfig | None, **options: Any) -> AsyncGenerator[Any]:
        """Yield the chunks of LangGraph's own `astream`, for checkpointers without synchronous methods."""
        graph, config = self._without_tracer(config)
        run = CompiledStateGraph.astream(graph, run_input(input), config, **self._with_durability(options))
        stream = cast(Any, run)
        with self._traced() as step:
            async with aclosing(stream) as chunks:
                while True:
                    with step():
                        chunk = await anext(chunks, _END)
                    if chunk is _END:
                        return
                    yield chunk

    def _with_durability(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options of a run: the checkpointer gets the state when the run ends or waits for the user.

        The checkpoint of each node would contain all rows. The caller may choose so, and decides for a sub-graph.
        """
        has_own = isinstance(self.checkpointer, BaseCheckpointSaver)
        return {**options, "durability": options.get("durability") or ("exit" if has_own else None)}

    def _is_async_only(self, config: RunnableConfig | None) -> bool:
        """Return whether the checkpointer, that of the graph or of a parent graph, has no synchronous methods."""
        savers = [self.checkpointer, *ensure_config(config)["configurable"].values()]
        return any(
            isinstance(saver, BaseCheckpointSaver) and type(saver).get_tuple is BaseCheckpointSaver.get_tuple
            for saver in savers
        )

    @property
    def _allows_langsmith(self) -> bool:
        try:
            return self.services.settings.allow_langsmith
        except DatasphinxError:
            # The settings are invalid, and the first node fails.
            return False

    def _without_tracer(self, config: RunnableConfig | None) -> tuple[Any, RunnableConfig | None]:
        """Return the graph and the configuration of a run, without tracers of LangSmith unless they are allowed."""
        if self._allows_langsmith:
            return self, config
        own = without_tracer(self.config) if self.config else self.config
        graph = self if own is self.config else self.copy({"config": own})
        return graph, without_tracer(config) if config else config

    @contextmanager
    def _traced(self) -> Iterator[Callable[[], AbstractContextManager[None]]]:
        """Trace a run; yield a function that returns the context of one of its steps."""
        is_allowed, services = self._allows_langsmith, self.services
        try:
            is_traced = services.settings.otel and not services.is_replay
        except DatasphinxError:
            is_traced = False
        run_span = traced_run(self.name, services.settings, services.owner) if is_traced else nullcontext()
        with run_span as run:

            @contextmanager
            def traced_step(run: Run) -> Iterator[None]:
                with langsmith(is_allowed=is_allowed), run.active():
                    yield

            untraced_step = nullcontext if is_allowed else partial(langsmith, is_allowed=False)
            yield partial(traced_step, run) if run else untraced_step


def compile_graph(
    builder: StateGraph[StateT, ContextT, InputT, OutputT],
    name: str,
    services: Services,
    checkpointer: BaseCheckpointSaver[Any] | None,
) -> CompiledGraph[StateT, ContextT, InputT, OutputT]:
    """Return the compiled graph over `services`."""
    compiled = builder.compile(checkpointer=checkpointer, name=name)
    # The start of a run is no step that a stream shows.
    compiled.nodes["begin"].tags = [TAG_HIDDEN]
    attributes = {key: value for key, value in vars(compiled).items() if key != "__orig_class__"}
    return CompiledGraph(services=services, **{**attributes, "config": RunnableConfig(recursion_limit=_MAX_STEPS)})


def _in_thread(run: Callable[[RunnableConfig], Iterator[Any]], config: RunnableConfig | None) -> AsyncGenerator[Any]:
    """Yield the items of `run` for `config` with a `Cancellation`, which is cancelled with the task."""
    configurable = (config or {}).get("configurable", {})
    cancellation = configurable.get(CANCELLATION) or Cancellation()
    own_config: RunnableConfig = {**(config or {}), "configurable": {**configurable, CANCELLATION: cancellation}}
    return iterate_in_thread(lambda: run(own_config), cancellation.cancel)

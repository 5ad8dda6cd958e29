"""A compiled graph whose runs are traced as the settings say: by OpenTelemetry, and by LangSmith only if allowed."""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractContextManager, aclosing, closing, contextmanager, nullcontext
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.typing import ContextT, InputT, OutputT, StateT

from agent.core.langsmith import langsmith, without_tracer
from agent.errors import DatasphinxError
from agent.services import Services
from agent.telemetry import traced_run

_END = object()


class TracedGraph(CompiledStateGraph[StateT, ContextT, InputT, OutputT]):
    """A compiled graph over `services`. All methods that run a graph use `stream` or `astream`."""

    def __init__(self, *, services: Services, **parts: Any) -> None:
        """Create a graph from the attributes of a compiled graph."""
        super().__init__(**parts)
        self.services = services

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        """Run the graph; see `Pregel.stream`."""
        graph, config = self._without_tracer(config)
        with (
            self._traced() as step,
            closing(cast(Any, CompiledStateGraph.stream(graph, input, config, **options))) as chunks,
        ):
            while True:
                # Between the chunks, the context of the caller applies.
                with step():
                    chunk = next(chunks, _END)
                if chunk is _END:
                    return
                yield chunk

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncGenerator[Any]:
        """Run the graph; see `Pregel.astream`."""
        graph, config = self._without_tracer(config)
        stream = cast(Any, CompiledStateGraph.astream(graph, input, config, **options))
        with self._traced() as step:
            async with aclosing(stream) as chunks:
                while True:
                    with step():
                        chunk = await anext(chunks, _END)
                    if chunk is _END:
                        return
                    yield chunk

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
            def step() -> Iterator[None]:
                with langsmith(is_allowed=is_allowed), run.active() if run else nullcontext():
                    yield

            yield nullcontext if is_allowed and run is None else step


def traced(
    graph: CompiledStateGraph[StateT, ContextT, InputT, OutputT], services: Services
) -> TracedGraph[StateT, ContextT, InputT, OutputT]:
    """Return `graph` as a traced graph over `services`."""
    return TracedGraph(
        services=services, **{name: part for name, part in vars(graph).items() if name != "__orig_class__"}
    )

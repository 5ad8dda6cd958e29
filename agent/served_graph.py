"""A graph as LangServe runs it, and how its values are written."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, from_json, to_json

from agent.conversation.conversations import Event
from agent.conversation.reply import Reply, refusal
from agent.errors import DatasphinxError
from agent.failure import client_failure
from agent.service.metrics import Metrics
from agent.service.tenant import asking
from agent.text import valid_json


class ServedGraph(Runnable[dict[str, Any], Reply]):
    """A graph on threads behind a checked input: plain JSON out, and a stream that ends in the output."""

    def __init__(self, graph: str, question: type[BaseModel], metrics: Metrics) -> None:
        """Serve the graph of this name, as whoever asks has it; LangServe holds every input against `question`."""
        self.graph = graph
        self._question, self._metrics = question, metrics

    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """Return the schema of an input."""
        return self._question

    @property
    def OutputType(self) -> Any:
        """The type of an output."""
        return Reply

    def invoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> Reply:
        """Return what `ainvoke` returns, where no loop runs."""
        return asyncio.run(self.ainvoke(input, config))

    async def ainvoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> Reply:
        """Return the output of one question; an error of the domain is in its `error`.

        Of `config`, LangServe's handler for each event of each node costs as much as the nodes, and nobody reads it.
        """
        *_, reply = [each async for each in self.astream(input)]
        return cast(Reply, reply)

    async def astream(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> AsyncGenerator[Any]:
        """Yield `{node: update}` as each node ends, and at last what `ainvoke` returns."""
        async with aclosing(self.events(input, config)) as events:
            async for _, each in events:
                yield each

    async def events(self, input: Mapping[str, Any], config: RunnableConfig | None = None) -> AsyncGenerator[Event]:
        """Yield what `Conversations.astream` yields, with an error of the domain in the output."""
        given, thread_id = _given(input)
        with self._metrics.question(self.graph) as asked:
            try:
                async with aclosing(asking().graphs[self.graph].astream(given, thread_id, config)) as events:
                    async for kind, each in events:
                        if kind == "output":
                            asked.output = cast(Reply, each)
                        yield cast(Event, (kind, each))
            except DatasphinxError as error:
                failure = client_failure(error, asking().services.settings)
                asked.output = refusal(failure, given, thread_id)
                yield "output", asked.output


def _plain(value: Any) -> Any:
    """Return the fields of a model, and the type's name of anything else that JSON has no form for."""
    return value.model_dump() if isinstance(value, BaseModel) else f"<{type(value).__name__}>"


class PlainJSON:
    """How LangServe writes values: as JSON, and what JSON has no form for, such as an exception, as its type's name."""

    def dumps(self, obj: Any) -> bytes:
        """Return `obj` as JSON text."""
        try:
            return to_json(obj, inf_nan_mode="null", fallback=_plain)
        except (PydanticSerializationError, UnicodeEncodeError):
            # Logs of a run have the messages of the model as they came, which may hold lone surrogates.
            plain = json.loads(json.dumps(obj, default=_plain))
            return to_json(valid_json(plain), inf_nan_mode="null")

    def dumpd(self, obj: Any) -> Any:
        """Return `obj` as plain values."""
        return from_json(self.dumps(obj))


def _given(input: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return what the graph is given, and the thread."""
    given = {name: valid_json(value) for name, value in input.items() if value is not None}
    return given, given.pop("thread_id", None)

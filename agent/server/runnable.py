"""A graph as a LangServe runnable, and the serialization of its values."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, cast

from fastapi.exceptions import RequestValidationError
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from datasphinx.agent.conversation.conversations import Event
from datasphinx.agent.conversation.reply import Reply, refusal
from datasphinx.agent.core.failure import client_failure
from datasphinx.agent.core.text import valid_json
from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.server.metrics import Metrics
from datasphinx.agent.server.tenants import current_tenant


class ServedGraph(Runnable[dict[str, Any], Reply]):
    """Runs a graph on the threads of the current tenant; a stream ends with the output."""

    def __init__(self, graph: str, question: type[BaseModel], metrics: Metrics) -> None:
        """Serve the tenants' graphs with the name `graph`; `question` is the schema of an input."""
        self.graph = graph
        self._question, self._metrics = question, metrics

    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """Return the schema of an input."""
        return self._question

    @property
    def OutputType(self) -> Any:
        """The type of an output."""
        return Reply

    def checked(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the input of `fields` that are not None. Raise RequestValidationError if they do not fit."""
        try:
            return self._question.model_validate(fields).model_dump(exclude_none=True)
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from error

    def invoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> Reply:
        """Return the result of `ainvoke`; no event loop may be running."""
        return asyncio.run(self.ainvoke(input, config))

    async def ainvoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> Reply:
        """Return the output of one question; a domain error is in its `error`.

        `config` is not passed to the graph.
        """
        [(_, reply)] = [event async for event in self.events(input, with_steps=False)]
        return cast(Reply, reply)

    async def astream(
        self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> AsyncGenerator[Any]:
        """Yield `{node: update}` as each node ends, and finally the result of `ainvoke`."""
        async with aclosing(self.events(input, config)) as events:
            async for kind, chunk in events:
                if kind in ("step", "output"):
                    yield chunk

    async def events(
        self,
        input: Mapping[str, Any],
        config: RunnableConfig | None = None,
        *,
        with_steps: bool = True,
        run_id: str | None = None,
        keeps_thread: bool = False,
    ) -> AsyncGenerator[Event]:
        """Yield the events of `Conversations.astream`; a domain error becomes an output."""
        question, thread_id = _split(input)
        with self._metrics.question(self.graph) as running:
            try:
                conversations = current_tenant().graphs[self.graph]
                stream = conversations.astream(
                    question, thread_id, config, with_steps=with_steps, run_id=run_id, keeps_thread=keeps_thread
                )
                async with aclosing(stream) as events:
                    async for kind, content in events:
                        if kind == "output":
                            running.output = cast(Reply, content)
                        yield cast(Event, (kind, content))
            except DatasphinxError as error:
                failure = client_failure(error, current_tenant().services.settings)
                running.output = refusal(failure, question, thread_id)
                yield "output", running.output


def _plain(value: Any) -> Any:
    """Return the fields of a model; for other values that are not JSON, the name of the type."""
    return value.model_dump() if isinstance(value, BaseModel) else f"<{type(value).__name__}>"


def json_bytes(value: Any) -> bytes:
    """Return `value` as JSON text; parts without a JSON form, such as exceptions, become their type's name."""
    try:
        return to_json(value, inf_nan_mode="null", fallback=_plain)
    except (PydanticSerializationError, UnicodeEncodeError):
        # Run logs contain the model's messages unchanged, possibly with lone surrogates.
        plain = json.loads(json.dumps(value, default=_plain))
        return to_json(valid_json(plain), inf_nan_mode="null")


def plain_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return `fields` with the values that their JSON text has."""
    plain: dict[str, Any] = from_json(json_bytes(fields))
    return plain


def _split(input: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return the input of the graph, and the thread id."""
    fields = {name: valid_json(value) for name, value in input.items() if value is not None}
    return fields, fields.pop("thread_id", None)

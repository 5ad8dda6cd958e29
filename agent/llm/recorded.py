"""A model client that replays recorded calls without network access."""

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from datasphinx.agent.errors import BudgetExceeded, DatasphinxError, ModelRejected, ModelUnreachable
from datasphinx.agent.llm.client import ModelClient, Reply, WrittenText, message_bodies
from datasphinx.agent.llm.formats import Tools, format_messages, reasoning_fields
from datasphinx.agent.llm.logprobs import Token
from datasphinx.agent.llm.parse import Answer
from datasphinx.agent.llm.prices import NO_TOKENS, TokenUsage
from datasphinx.agent.llm.schemas import GeneratedSQL
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.messages import Message
from datasphinx.agent.record.step import ModelCall, current_step
from datasphinx.agent.settings import Settings
from datasphinx.agent.types import EmbeddedOptions

_ERRORS: dict[str, type[DatasphinxError]] = {
    error.code: error for error in (BudgetExceeded, ModelRejected, ModelUnreachable)
}
CALL_NOT_RECORDED = Message("call_not_recorded")
"""Reason for the failure of a call that the recorded run did not make."""


class RecordedModel(ModelClient):
    """Returns the recorded outputs per schema in order, whatever the request; requests are compared afterwards.

    Response formats are those of the recorded calls, even if the client now uses another one.
    """

    def __init__(
        self, calls: Iterable[Mapping[str, Any]], settings: Settings, embedded: EmbeddedOptions | None = None
    ) -> None:
        call_list = list(calls)
        name = str(call_list[0]["model"]) if call_list else "recorded"
        super().__init__(ScriptedModel(), settings, name=name, embedded=embedded)
        first = next((call for call in call_list if not call.get("refused_format")), {})
        self.validates = first.get("validates", True)
        self.words_answers = first.get("words_answers", True)
        self._queues: dict[str, deque[Mapping[str, Any]]] = {}
        for call in call_list:
            self._queues.setdefault(call["schema"], deque()).append(call)
        self._current: Mapping[str, Any] = {}

    def _call(
        self,
        schema: type[Answer],
        messages: list[BaseMessage],
        tools: Tools,
        *,
        with_schema: bool,
        without: frozenset[str],
        native_tools: bool = True,
    ) -> tuple[str, str]:
        queue = self._skip_rejected(schema.__name__)
        if queue:
            mode = queue[0]["mode"]
            self.capabilities.modes, self.capabilities.calls_tools = (mode,), mode == "tools"
            self.capabilities.returns_reasoning = False
            last = queue[0]["messages"][-1:]
            with_schema = False
            # Versions up to 0.1.0 described all fields.
            for returns_reasoning, fields in product((False, True), (without, frozenset[str]())):
                omitted = fields | reasoning_fields(schema) if returns_reasoning else fields
                instructions = format_messages(schema, "json_schema", (), with_schema=True, without=omitted)
                if last == message_bodies(instructions):
                    with_schema, self.capabilities.returns_reasoning, without = True, returns_reasoning, fields
                    break
        return super()._call(schema, messages, tools, with_schema=with_schema, without=without)

    def can_answer(self, schema: type[BaseModel]) -> bool:
        """Return whether the recorded run asked for such an answer, of another model perhaps, or may have."""
        return schema.__name__ in self._queues or super().can_answer(schema)

    def repeats(self, schema: type[BaseModel]) -> bool:
        """Return whether the recorded run has another answer of this schema."""
        return bool(self._queues.get(schema.__name__))

    def write(self, messages: list[BaseMessage], **options: Any) -> WrittenText:
        """Return the next recorded text. See `ModelClient.write`."""
        self._skip_rejected(GeneratedSQL.__name__)
        return super().write(messages, **options)

    def _skip_rejected(self, schema: str) -> deque[Mapping[str, Any]]:
        """Return the calls of a schema after those that the endpoint rejected; the next one has another form."""
        queue = self._queues.get(schema, deque())
        while len(queue) > 1 and queue[0].get("refused_format"):
            step, rejected_call = current_step.get(), queue.popleft()
            if step:
                step.calls.append(self._recorded_call(rejected_call))
                step.event("llm", rejected_call)
        return queue

    def _send(self, schema: str, options: dict[str, Any], messages: list[BaseMessage]) -> Reply:
        queue = self._queues.get(schema)
        if not queue:
            self._current = {}
            return Reply(usage=NO_TOKENS, error=ModelUnreachable("record", CALL_NOT_RECORDED))
        self._current = queue.popleft()
        if self._current.get("error"):
            return Reply(error=_error(self._current))
        tokens = [Token(*token) for token in self._current.get("tokens", ())]
        text, problem = self._current["output"], self._current["problem"]
        recorded = {name: self._current.get(name) for name in ("logprob", "perplexity")}
        return Reply(text, problem, **recorded, tokens=tokens)

    def _record(self, schema: str, usage: TokenUsage | None, seconds: float) -> ModelCall:
        return self._recorded_call({"schema": schema, **self._current})

    def _recorded_call(self, call: Mapping[str, Any]) -> ModelCall:
        """Return the recorded tokens, latency and cost of a call, so that a replay reports those of the run."""
        return ModelCall(
            schema=call["schema"],
            model=call.get("model", self.name),
            prompt_tokens=call.get("prompt_tokens", 0),
            completion_tokens=call.get("completion_tokens", 0),
            latency_ms=call.get("latency_ms", 0.0),
            cost_usd=call.get("cost_usd", 0.0),
        )


def _error(call: Mapping[str, Any]) -> Exception:
    code, facts = call["error"]["code"], call["error"]["facts"]
    if call.get("refused_format"):
        return ModelRejected("record", str(facts.get("reason")))
    error_class = _ERRORS.get(code)
    return error_class(**facts) if error_class else RuntimeError(facts.get("reason", code))

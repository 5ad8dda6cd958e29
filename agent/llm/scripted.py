"""A chat model with predefined answers, for tests, replay, and development without a model."""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import BaseModel, PrivateAttr

from datasphinx.agent.errors import ModelUnreachable
from datasphinx.agent.llm.formats import response_format
from datasphinx.agent.llm.schemas import AnalystStep
from datasphinx.agent.messages import Message

Scripted = BaseModel | Mapping[str, Any] | str | Exception | Callable[[list[BaseMessage]], Any]
"""An answer: a message, an object or mapping sent as JSON, raw text, an error, or a function from messages to one."""


class ScriptedCall(BaseModel):
    """A received call: name of the requested schema, messages, and tools in the format of OpenAI's API."""

    model_config = {"arbitrary_types_allowed": True}

    schema_name: str
    messages: list[BaseMessage]
    tools: list[dict[str, Any]] = []

    @property
    def prompt(self) -> str:
        """The text of all messages, joined by line breaks."""
        return "\n".join(str(message.content) for message in self.messages)


class ScriptedModel(BaseChatModel):
    """A chat model that returns queued answers per schema name in order, and keeps every call in `calls`.

    Example: `ScriptedModel({"GeneratedSQL": [{"sql": "SELECT 1"}, "not JSON", TimeoutError()]})`
    """

    repeat_last: bool = False
    """Whether the last answer of a queue repeats forever; otherwise an empty queue raises `ModelUnreachable`."""

    _answers: dict[str, list[Scripted]] = PrivateAttr(default_factory=dict)
    _calls: list[ScriptedCall] = PrivateAttr(default_factory=list)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, answers: Mapping[str, Iterable[Scripted]] | None = None, *, repeat_last: bool = False) -> None:
        """Queue `answers`, a mapping from schema name to answers in order."""
        super().__init__(repeat_last=repeat_last)
        self._answers = {name: list(queue) for name, queue in (answers or {}).items()}

    @property
    def calls(self) -> list[ScriptedCall]:
        """The received calls, oldest first."""
        return self._calls

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        name = response_format(kwargs).get("json_schema", {}).get("name", "text")
        name = AnalystStep.__name__ if kwargs.get("tools") else name
        answer = self._next(ScriptedCall(schema_name=name, messages=messages, tools=kwargs.get("tools", [])))
        if isinstance(answer, Exception):
            raise answer
        metadata = answer.response_metadata if isinstance(answer, AIMessage) else {}
        text = answer if isinstance(answer, str) else answer.text if metadata else _as_json(answer)
        prompt, completion = sum(len(str(message.content)) for message in messages) // 4, len(text) // 4
        usage = UsageMetadata(input_tokens=prompt, output_tokens=completion, total_tokens=prompt + completion)
        message = AIMessage(text, usage_metadata=usage, response_metadata=metadata)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _next(self, call: ScriptedCall) -> Any:
        with self._lock:
            self._calls.append(call)
            queue = self._answers.get(call.schema_name, [])
            if not queue:
                raise ModelUnreachable("scripted", Message("script_exhausted", name=call.schema_name))
            answer = queue[0] if self.repeat_last and len(queue) == 1 else queue.pop(0)
        return answer(call.messages) if callable(answer) else answer


def _as_json(answer: BaseModel | Mapping[str, Any]) -> str:
    return answer.model_dump_json() if isinstance(answer, BaseModel) else json.dumps(answer, ensure_ascii=False)

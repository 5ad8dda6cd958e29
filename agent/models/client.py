"""Asks a chat model for structured answers: one schema in, one validated value out, every call on the record."""

import json
import time
from typing import Any, Literal

import openai
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_function

from agent.audit.cost import cost_usd
from agent.audit.step import ModelCall, current_step
from agent.errors import ModelAnswerUnreadable, ModelRejected, ModelUnreachable
from agent.models.parse import Answer, read_answer
from agent.settings import Settings

_MODES = ("json_schema", "json_object", "text")
_UNREACHABLE = (openai.APIConnectionError, openai.InternalServerError, openai.RateLimitError)
_FORMAT_REFUSED = (openai.BadRequestError, openai.UnprocessableEntityError)
# What langchain-openai raises for a body that is cut, has no choices, or is not a chat completion.
_BROKEN_BODY = (
    openai.LengthFinishReasonError,
    openai.ContentFilterFinishReasonError,
    openai.APIResponseValidationError,
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    AttributeError,
)


class ModelClient:
    """A chat model behind one method, `ask`.

    `profile` is "embedded" for the small local model, which has its own prompts and is only asked for SQL; else
    "standard".
    """

    def __init__(
        self,
        chat: BaseChatModel,
        settings: Settings,
        *,
        name: str,
        profile: Literal["standard", "embedded"] = "standard",
    ) -> None:
        """Wrap `chat`; `name` is the model's name on the record."""
        self.chat = chat
        self.name = name
        self.profile = profile
        self._settings = settings
        self._endpoint = settings.llm_base_url or name
        self._modes: tuple[str, ...] = (
            _MODES if settings.llm_structured_output == "auto" else (settings.llm_structured_output,)
        )

    def ask(self, schema: type[Answer], messages: list[BaseMessage], *, grammar: str | None = None) -> Answer:
        """Return the model's answer as `schema`, after one repair attempt where the first cannot be read.

        `grammar` (GBNF) constrains the text of an endpoint that knows how; it takes the place of the JSON schema.

        Raises:
            ModelAnswerUnreadable: both answers held nothing that fits.
            ModelUnreachable: the endpoint does not answer, or with errors of its own.
            ModelRejected: the endpoint refused the request.
            BudgetExceeded: the question has used up what it may cost.
        """
        text, problem = self._call(schema, messages, grammar)
        for attempt in ("first", "repair"):
            if not problem:
                try:
                    return read_answer(text, schema)
                except ValueError as error:
                    problem = str(error)
            if attempt == "first":
                text, problem = self._call(schema, [*messages, *_repair(text, problem, schema.__name__)], grammar)
        raise ModelAnswerUnreadable(schema.__name__, text or problem)

    def _call(self, schema: type[Answer], messages: list[BaseMessage], grammar: str | None) -> tuple[str, str]:
        """Return text and problem: one of the two is empty."""
        modes = ("text",) if grammar else self._modes
        for mode in modes:
            try:
                text, problem = self._invoke(schema, messages, mode, grammar)
            except _FORMAT_REFUSED as error:
                if mode == modes[-1] or error.code == "context_length_exceeded":
                    raise ModelRejected(self._endpoint, _reason(error)) from error
                continue
            if not grammar:
                self._modes = (mode,)
            return text, problem
        raise AssertionError("at least one mode is always tried")

    def _invoke(
        self, schema: type[Answer], messages: list[BaseMessage], mode: str, grammar: str | None
    ) -> tuple[str, str]:
        step = current_step.get()
        if step:
            step.check_budget(self._settings)
        bound = self.chat.bind(**_request(schema, mode, grammar))
        asked = messages if mode == "json_schema" or grammar else [*messages, HumanMessage(_instruction(schema))]
        started = time.perf_counter()
        answer = None
        try:
            answer = bound.invoke(asked)
        except _UNREACHABLE as error:
            raise ModelUnreachable(self._endpoint, _reason(error)) from error
        except _FORMAT_REFUSED:
            raise
        except openai.APIStatusError as error:
            raise ModelRejected(self._endpoint, _reason(error)) from error
        except _BROKEN_BODY as error:
            return "", f"the answer was broken off or malformed ({type(error).__name__})"
        finally:
            if step:
                step.calls.append(self._record(schema.__name__, answer, time.perf_counter() - started))
        refusal = answer.additional_kwargs.get("refusal")
        return ("", f"the model refused: {refusal}") if refusal else (answer.text, "")

    def _record(self, schema: str, answer: AIMessage | None, seconds: float) -> ModelCall:
        usage = answer.usage_metadata if answer else None
        prompt, completion = (usage["input_tokens"], usage["output_tokens"]) if usage else (0, 0)
        local = self.profile == "embedded"
        return ModelCall(
            schema=schema,
            model=self.name,
            prompt_tokens=prompt,
            completion_tokens=completion,
            latency_ms=round(seconds * 1000, 1),
            cost_usd=0.0 if local else cost_usd(self.name, self._settings.llm_base_url, prompt, completion),
        )


def _request(schema: type[Answer], mode: str, grammar: str | None) -> dict[str, Any]:
    if grammar:
        return {"extra_body": {"grammar": grammar}}
    if mode == "json_object":
        return {"response_format": {"type": "json_object"}}
    if mode == "text":
        return {}
    function = convert_to_openai_function(schema, strict=True)
    wanted = {"name": schema.__name__, "strict": True, "schema": function["parameters"]}
    return {"response_format": {"type": "json_schema", "json_schema": wanted}}


def _instruction(schema: type[Answer]) -> str:
    return f"Answer with one JSON object and nothing else. Its JSON schema: {json.dumps(schema.model_json_schema())}"


def _repair(text: str, problem: str, schema: str) -> list[BaseMessage]:
    said: list[BaseMessage] = [AIMessage(text)] if text else []
    return [
        *said,
        HumanMessage(f"That could not be read as {schema}: {problem}. Answer again, completely and correctly."),
    ]


def _reason(error: openai.APIError) -> str:
    return str(error.message or type(error).__name__).strip().splitlines()[0][:300]

"""Client of a chat model: request an answer of a schema, validate it, and record every call."""

import json
import re
import time
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import openai
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import BaseMessage

from agent.core.redact import SHORTEST_SECRET
from agent.core.text import valid_text
from agent.errors import BudgetExceeded, EmbeddedModelSilent, ModelAnswerUnreadable, ModelRejected, ModelUnreachable
from agent.llm.call_record import Reply, problem_of, reply_body, request_body
from agent.llm.endpoint import (
    ErrorReply,
    UnexpectedReply,
    error_text,
    lacks_version,
    may_reject_format,
    names_format,
    quotation,
)
from agent.llm.formats import (
    Formats,
    Tools,
    body_options,
    format_messages,
    json_schema_options,
    repair_messages,
    request_of,
    tool_names,
)
from agent.llm.logprobs import Logprobs
from agent.llm.parse import Answer, read_answer
from agent.llm.reasoning import has_reasoning
from agent.llm.schemas import GeneratedSQL
from agent.llm.tool_calls import call_of
from agent.messages import Message, message_of
from agent.record.step import ModelCall, current_step
from agent.settings import Settings
from agent.types import EmbeddedOptions

_TOO_LONG = re.compile(
    r"context.{0,3}(length|window|size)|maximum context|(prompt|input|request) is too (long|large)|too many tokens",
    re.I,
)
# Raised by langchain-openai for a truncated body, a body without choices, or one that is not a chat completion.
_MALFORMED_BODY = (openai.APIResponseValidationError, ValueError, IndexError, KeyError, TypeError, AttributeError)
_TIMEOUT_STATUS = 408


def cost_usd(model: str, base_url: str | None, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return the list price of a call in US dollars according to genai-prices; None for an unknown model.

    The provider is derived from `base_url`; a model behind any other address has no known price. Prices may depend on
    the length of the prompt, so each call is priced separately. Cached tokens count at full price.
    """
    from genai_prices import Usage, calc_price

    try:
        usage = Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens)
        return float(calc_price(usage, model, provider_api_url=base_url).total_price)
    except (LookupError, ValueError):
        return None


class ModelClient:
    """Client of a chat model: `ask` returns structured answers, `write` the plain text of the embedded model.

    `embedded` has the decoding options of the embedded model, which has its own prompts and generates only queries;
    `profile` is then "embedded", else "standard".
    """

    def __init__(
        self,
        chat: BaseChatModel,
        settings: Settings,
        *,
        name: str,
        embedded: EmbeddedOptions | None = None,
        endpoint: str | None = None,
        logprobs: bool = False,
    ) -> None:
        """Wrap `chat`; `name` is the recorded model name, `endpoint` the URL named in errors.

        With `logprobs`, the perplexity of each answer is recorded if the endpoint supports it.
        """
        self.chat = chat
        self.name = name
        self.embedded = embedded
        self.profile: Literal["standard", "embedded"] = "embedded" if embedded else "standard"
        self._settings = settings
        self._on_call: Callable[[ModelCall], None] = lambda call: None
        # User, password and query may contain keys.
        parts = urlsplit(endpoint or settings.llm_base_url or name)
        self._endpoint = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        self._logprobs = Logprobs(logprobs)
        self.formats = Formats.of(settings.llm_structured_output)

    def within(self, settings: Settings, on_call: Callable[[ModelCall], None]) -> "ModelClient":
        """Return a copy with the limits of `settings`; `on_call` is called after each model call."""
        client = copy(self)
        client._settings, client._on_call = settings, on_call
        return client

    def ask(self, schema: type[Answer], messages: list[BaseMessage], tools: Tools = ()) -> Answer:
        """Return the model's answer as `schema`; if it cannot be parsed, request it once more.

        With `tools` the answer is a tool call, and `schema` has the fields `tool` and `arguments`. The tool calling of
        the endpoint is used if supported, else a structured answer with the tools in the prompt.

        Raises:
            ModelAnswerUnreadable: neither answer matches the schema.
            ModelUnreachable: the endpoint does not respond, or fails.
            ModelRejected: the endpoint rejected the request.
            BudgetExceeded: the question has reached its cost limit.
        """
        text, problem = self._call(schema, messages, tools, with_schema=self.formats.schema_in_prompt)
        try:
            return _read(text, problem, schema, tools)
        except ValueError as error:
            repair = repair_messages(text, str(error), schema.__name__)
        follows_schema = "{" in text or problem
        text, problem = self._call(schema, [*messages, *repair], tools, with_schema=True)
        try:
            answer = _read(text, problem, schema, tools)
        except ValueError as error:
            raise self._unreadable(schema.__name__, text, message_of(error)) from error
        # Some endpoints accept a JSON schema but ignore it: put it into the prompt from now on.
        self.formats.schema_in_prompt = self.formats.schema_in_prompt or not (follows_schema or tools)
        return answer

    def write(
        self,
        messages: list[BaseMessage],
        *,
        grammar: str | None = None,
        schema: tuple[str, dict[str, Any]] | None = None,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> str:
        """Return the text that the model generates, recorded as a call for `GeneratedSQL` or the name of `schema`.

        `grammar` (GBNF) or `schema` (a name and a JSON Schema) constrains the text on servers that support it. The same
        `seed` gives the same text.

        Raises:
            ModelAnswerUnreadable: the text was cut off.
            EmbeddedModelSilent: the embedded model exceeded the time limit of a question.
            ModelUnreachable, ModelRejected, BudgetExceeded: as for `ask`.
        """
        name = schema[0] if schema else GeneratedSQL.__name__
        options: dict[str, Any] = {"temperature": temperature, "seed": seed}
        if grammar:
            options |= body_options({"grammar": grammar})
        if schema:
            options |= json_schema_options(*schema)
        try:
            text, problem = self._invoke(name, options, messages)
        except openai.APIStatusError as error:
            raise self._failure(error) from error
        if problem:
            raise self._unreadable(name, text, problem)
        return text.strip()

    def _call(
        self, schema: type[Answer], messages: list[BaseMessage], tools: Tools, *, with_schema: bool
    ) -> tuple[str, str]:
        """Return text and problem of the reply; `with_schema` puts the schema into the prompt."""
        modes = self.formats.candidates(with_tools=bool(tools))
        mode, rejection, is_repeated = modes[0], None, False
        while True:
            returns_reasoning = self.formats.returns_reasoning
            instructions = format_messages(
                schema, mode, tools, with_schema=with_schema, returns_reasoning=returns_reasoning
            )
            options = request_of(schema, mode, tools, returns_reasoning=returns_reasoning)
            try:
                reply = self._invoke(schema.__name__, options, [*messages, *instructions])
            except openai.APIStatusError as error:
                plainer_modes = modes[modes.index(mode) + 1 :]
                is_too_long = error.code == "context_length_exceeded" or _TOO_LONG.search(error_text(error)) is not None
                if plainer_modes and not is_too_long:
                    # If the endpoint does not say what it rejects, the next request is the plainest.
                    mode, rejection = (plainer_modes[0] if names_format(error) else plainer_modes[-1]), error
                elif error.status_code >= 500 and mode == modes[0] and not is_repeated:
                    is_repeated = True
                else:
                    raise self._failure(error) from error
            else:
                self.formats.note_accepted(mode, modes, rejection)
                return reply

    def _invoke(self, schema: str, options: dict[str, Any], messages: list[BaseMessage]) -> tuple[str, str]:
        step = current_step.get()
        request = request_body(schema, self.name, options, messages)
        if step:
            try:
                step.check_budget(self._settings)
            except BudgetExceeded as error:
                step.event("llm", {**request, **reply_body(Reply(error=error))})
                raise
        started = time.perf_counter()
        reply = self._send(schema, options, messages)
        reply = replace(reply, text=valid_text(reply.text), problem=valid_text(reply.problem))
        if step:
            call = self._record(schema, reply.usage, time.perf_counter() - started)
            step.calls.append(call)
            step.event("llm", {**request, **call, **reply_body(reply)})
            self._on_call(call)
        if reply.error:
            raise reply.error
        return reply.text, reply.problem

    def _send(self, schema: str, options: dict[str, Any], messages: list[BaseMessage]) -> Reply:
        """Return the outcome of a call; errors are returned, not raised, so that they can be recorded."""
        try:
            answer = self._logprobs.answer(self.chat, options, messages)
        except openai.APIStatusError as error:
            return Reply(usage=(0, 0), error=error if may_reject_format(error) else self._failure(error))
        except (ErrorReply, UnexpectedReply) as error:
            return Reply(error=self._failure(error))
        except _MALFORMED_BODY as error:
            return Reply(problem=Message("answer_malformed", error=type(error).__name__))
        except (openai.APIError, TimeoutError, ConnectionError) as error:
            failure = self._failure(error)
            failure.__cause__ = error
            return Reply(usage=(0, 0) if isinstance(error, openai.APIStatusError) else None, error=failure)
        except Exception as error:
            return Reply(error=error)
        self.formats.returns_reasoning = self.formats.returns_reasoning or has_reasoning(answer)
        tokens = answer.usage_metadata
        usage = (tokens["input_tokens"], tokens["output_tokens"]) if tokens else None
        call = call_of(answer, tool_names(options.get("tools", ())))
        text = json.dumps(call, ensure_ascii=False) if call else answer.text
        return Reply(text, problem_of(answer), usage, perplexity=self._logprobs.perplexity(answer))

    def _failure(self, error: Exception) -> ModelUnreachable | ModelRejected | EmbeddedModelSilent:
        if self.embedded and isinstance(error, openai.APITimeoutError):
            return EmbeddedModelSilent(self._settings.max_question_s)
        if isinstance(error, ErrorReply):
            return ModelRejected(self._endpoint, self._reason(error))
        status = getattr(error, "status_code", None)
        if isinstance(error, UnexpectedReply) or status in (404, 405):
            reason: str = self._reason(error)
            if status is None:
                reason = Message("no_chat_completion", quotation=reason)
            if lacks_version(self._endpoint):
                reason = Message("path_without_version", reason=reason, path="/v1")
            return (ModelUnreachable if status is None else ModelRejected)(self._endpoint, reason)
        is_rejection = isinstance(error, openai.APIError) and not isinstance(error, openai.APIConnectionError)
        if isinstance(error, openai.RateLimitError):
            # The same status means both a temporary rate limit and an exhausted quota, which is permanent.
            is_rejection = error.code == "insufficient_quota"
        elif status is not None:
            is_rejection = status < 500 and status != _TIMEOUT_STATUS
        return (ModelRejected if is_rejection else ModelUnreachable)(self._endpoint, self._reason(error))

    def _unreadable(self, schema: str, text: str, problem: str) -> ModelAnswerUnreadable:
        quote = self._redact(quotation(text)) if text.strip() else ""
        reason = Message("answer_quoted", reason=problem, quotation=quote) if quote else problem
        return ModelAnswerUnreadable(schema, text or problem, reason)

    def _reason(self, error: Exception) -> str:
        if isinstance(error, openai.APIStatusError):
            text = f"Error code: {error.status_code} - {error_text(error)}".removesuffix(" - ")
        else:
            text = str(getattr(error, "message", "") or error)
        text = valid_text(text).strip() or type(error).__name__
        return self._redact(text).splitlines()[0][:300].rstrip(".")

    def _redact(self, text: str) -> str:
        key = self._settings.llm_api_key.get_secret_value() if self._settings.llm_api_key else ""
        if len(key) >= SHORTEST_SECRET:
            text = text.replace(key, "***")
        return text

    def _record(self, schema: str, usage: tuple[int, int] | None, seconds: float) -> ModelCall:
        prompt, completion = usage or (0, 0)
        cost = cost_usd(self.name, self._settings.llm_base_url, prompt, completion) if usage else None
        return ModelCall(
            schema=schema,
            model=self.name,
            prompt_tokens=prompt,
            completion_tokens=completion,
            latency_ms=round(seconds * 1000, 1),
            cost_usd=0.0 if self.profile == "embedded" else cost,
        )


def _read(text: str, problem: str, schema: type[Answer], tools: Tools) -> Answer:
    if problem:
        raise ValueError(problem)
    return read_answer(text, schema, tool_names(tools))

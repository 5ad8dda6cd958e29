"""Client of a chat model: request an answer of a schema, validate it, and record every call."""

import json
import re
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM
from pydantic import BaseModel

from datasphinx.agent.core.canonical import digest, value_hash
from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.core.langsmith import langsmith
from datasphinx.agent.core.text import valid_text
from datasphinx.agent.errors import (
    BudgetExceeded,
    DatasphinxError,
    InternalError,
    ModelAnswerUnreadable,
    ModelRejected,
    ModelUnreachable,
    Unavailable,
)
from datasphinx.agent.llm.ability import Ability
from datasphinx.agent.llm.capabilities import Capabilities
from datasphinx.agent.llm.failures import EndpointFailures
from datasphinx.agent.llm.formats import (
    Tools,
    body_options,
    format_messages,
    json_schema_options,
    reasoning_fields,
    repair_messages,
    request_of,
    response_format,
    tool_names,
)
from datasphinx.agent.llm.logprobs import Logprobs, Token, alternatives_of
from datasphinx.agent.llm.parse import Answer, read_answer
from datasphinx.agent.llm.prices import NO_TOKENS, TokenUsage, cost_usd
from datasphinx.agent.llm.reasoning import has_reasoning, without_reasoning
from datasphinx.agent.llm.rejections import (
    ErrorReply,
    UnexpectedReply,
    error_text,
    may_reject_format,
    names_format,
    openai_errors,
    quotation,
)
from datasphinx.agent.llm.schemas import FORM_FIELDS, GeneratedSQL, SQLValidation
from datasphinx.agent.llm.tool_calls import calls_of, first_complete_call
from datasphinx.agent.messages import Message, message_of
from datasphinx.agent.record.step import ModelCall, current_step
from datasphinx.agent.record.telemetry import current_run, record_model_call
from datasphinx.agent.settings import Settings
from datasphinx.agent.types import EmbeddedOptions

_CUT_BY_TOKENS = Message("answer_cut_by_tokens")
_CUT_OFF_REASONS = {
    **dict.fromkeys(("length", "max_tokens"), _CUT_BY_TOKENS),
    **dict.fromkeys(("content_filter", "safety", "refusal"), Message("answer_cut_by_filter")),
}
"""Reasons of endpoints."""


@dataclass(frozen=True)
class Reply:
    """The outcome of a call: a text and its problem (empty if complete), or an error.

    `usage` is None if unknown. `logprob` and `perplexity` are None unless requested and supported by the endpoint.
    """

    text: str = ""
    problem: str = ""
    usage: TokenUsage | None = None
    error: Exception | None = None
    logprob: float | None = None
    perplexity: float | None = None
    tokens: Sequence[Token] = ()
    """The first tokens with their alternatives, if these were requested."""


def request_body(schema: str, model: str, options: dict[str, Any], messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Return the record of a request: name of the schema, model, decoding options, and messages.

    A grammar and tools are long and follow from the other parts, so only their hashes are recorded.
    """
    grammar, tools = options.get("extra_body", {}).get("grammar"), options.get("tools")
    return {
        "schema": schema,
        "model": model,
        "mode": "tools" if tools else response_format(options).get("type", "text"),
        "temperature": options.get("temperature"),
        "seed": options.get("seed"),
        "grammar_hash": digest(grammar) if grammar else None,
        "tools_hash": value_hash(tools) if tools else None,
        "messages": message_bodies(messages),
    }


def message_bodies(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return role and content of each message."""
    return [{"role": message.type, "content": message.content} for message in messages]


def reply_body(reply: Reply) -> dict[str, Any]:
    """Return the record of a reply; `logprob`, `perplexity` and `tokens` only if known."""
    likelihood = {"logprob": reply.logprob, "perplexity": reply.perplexity}
    known = {name: value for name, value in likelihood.items() if value is not None}
    tokens = {"tokens": [list(token) for token in reply.tokens]} if reply.tokens else {}
    return {"output": reply.text, "problem": reply.problem, **known, **tokens, **_error_body(reply.error)}


def problem_of(answer: AIMessage) -> str:
    """Return why the text of `answer` is incomplete (refused or cut off), or an empty string."""
    refusal = answer.additional_kwargs.get("refusal")
    if refusal:
        return Message("answer_refused", text=str(refusal))
    names = ("finish_reason", "stop_reason", "stopReason")
    reason = next((answer.response_metadata[name] for name in names if answer.response_metadata.get(name)), None)
    return _CUT_OFF_REASONS.get(str(reason).partition(":")[0].lower(), "")


def _error_body(error: Exception | None) -> dict[str, Any]:
    """Return code and facts of an error, and whether the endpoint rejected the response format."""
    if error is None:
        return {"error": None}
    if isinstance(error, DatasphinxError):
        return {"error": failure_of(error)}
    reason = f"{type(error).__name__}: {error}"
    is_status = isinstance(error, openai_errors().APIStatusError)
    return {"error": failure_of(InternalError(reason, "")), "refused_format": is_status}


_TOO_LONG = re.compile(
    r"context.{0,3}(length|window|size)|maximum context|(prompt|input|request) is too (long|large)|too many tokens",
    re.I,
)
# Raised by langchain-openai for a truncated body, a body without choices, or one that is not a chat completion.
_MALFORMED_BODY = (ValueError, IndexError, KeyError, TypeError, AttributeError)

_ALTERNATIVES, _ALTERNATIVE_TOKENS, _MIN_ALTERNATIVE_LOGPROB = 12, 40, -4.0
"""Alternatives to a token: how many are requested, for how many tokens they are kept, and the least logarithm of their
probability."""

_ROLES = {"human": "user", "ai": "assistant"}
"""Roles in traces, by those of langchain."""

Profile = Literal["standard", "embedded"]


class WrittenText(NamedTuple):
    """A text that the model generated."""

    text: str
    logprob: float | None = None
    """The natural logarithm of its probability, the sum over its tokens; None if the endpoint does not return it."""
    tokens: Sequence[Token] = ()
    """Its first tokens with their alternatives, if these were requested and the endpoint returned them."""


class ModelClient:
    """Client of a chat model: `ask` returns structured answers, `write` plain text.

    `embedded` has the decoding options of the embedded model, which has its own prompts and generates only queries.
    The likelihood of its texts is always measured.
    """

    def __init__(
        self,
        chat: BaseChatModel,
        settings: Settings,
        *,
        name: str,
        embedded: EmbeddedOptions | None = None,
        endpoint: str | None = None,
    ) -> None:
        """Wrap `chat`; `name` is the recorded model name, `endpoint` the URL named in errors."""
        self.chat = chat
        self.name = name
        self.embedded = embedded
        self.profile: Profile = "embedded" if embedded else "standard"
        """The tasks given to the model: those of the embedded model, which only writes statements, or all."""
        self.validates = True
        """Whether the model can validate statements, with the profile "standard"."""
        self.words_answers = True
        """Whether the model is asked how the answer of a statement is worded and shown."""
        self.ability: Ability | None = None
        """What the model can do, if its tasks depend on that; the values may not be measured yet."""
        self._settings = settings
        self._base_url = settings.llm_base_url
        self._on_call: Callable[[ModelCall], None] = lambda call: None
        self.failures = EndpointFailures(endpoint or settings.llm_base_url or name, settings.llm_api_key)
        # The statements of the embedded model are selected by their likelihood.
        self.logprobs = Logprobs(embedded is not None)
        """Requests the likelihood of answers."""
        # A check for `EndpointChat` would import the packages of OpenAI, which other models do not need.
        capabilities = getattr(chat, "capabilities", None)
        if not isinstance(capabilities, Capabilities):
            capabilities = Capabilities(settings.llm_structured_output)
        self.capabilities = capabilities
        """What the endpoint accepts, shared by copies of the client."""

    def within(self, settings: Settings, on_call: Callable[[ModelCall], None]) -> "ModelClient":
        """Return a copy with the limits of `settings`; `on_call` is called after each model call."""
        client = copy(self)
        client._settings, client._on_call = settings, on_call
        return client

    def can_answer(self, schema: type[BaseModel]) -> bool:
        """Return whether the model is asked for structured answers, and for validations if `schema` is one."""
        return self.profile == "standard" and (self.validates or schema is not SQLValidation)

    def repeats(self, schema: type[BaseModel]) -> bool:
        """Return whether the next answer of this schema is that of a recorded run, whatever is kept of earlier ones."""
        return False

    def ask(
        self,
        schema: type[Answer],
        messages: list[BaseMessage],
        tools: Tools = (),
        *,
        without: frozenset[str] = frozenset(),
    ) -> Answer:
        """Return the model's answer as `schema`; if it cannot be parsed, request it once more.

        The model is not told of the fields `without`, which keep their defaults if it follows the schema.
        With `tools` the answer is a tool call, and `schema` has the fields `tool` and `arguments`. The tool calling of
        the endpoint is used if supported, else a structured answer with the tools in the prompt.

        Raises:
            ModelAnswerUnreadable: neither answer matches the schema.
            ModelUnreachable: the endpoint does not respond, or fails.
            ModelRejected: the endpoint rejected the request.
            BudgetExceeded: the question has reached its cost limit.
        """
        in_prompt = self.capabilities.schema_in_prompt
        text, problem = self._call(schema, messages, tools, with_schema=in_prompt, without=without)
        try:
            return _read(text, problem, schema, tools)
        except ValueError as error:
            repair = repair_messages(text, str(error), schema.__name__)
        follows_schema = "{" in text or problem
        # Some endpoints accept tools but ignore them, so the second answer is requested with the tools in the prompt.
        repaired = [*messages, *repair]
        text, problem = self._call(schema, repaired, tools, with_schema=True, without=without, native_tools=False)
        try:
            answer = _read(text, problem, schema, tools)
        except ValueError as error:
            raise self._unreadable(schema.__name__, text, message_of(error)) from error
        # Some endpoints accept a JSON schema but ignore it: put it into the prompt from now on.
        self.capabilities.schema_in_prompt = self.capabilities.schema_in_prompt or not (follows_schema or tools)
        self.capabilities.calls_tools = self.capabilities.calls_tools and not tools
        return answer

    def write(
        self,
        messages: list[BaseMessage],
        *,
        grammar: str | None = None,
        schema: tuple[str, dict[str, Any]] | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        alternatives: bool = False,
    ) -> WrittenText:
        """Return the text that the model generates, recorded as a call for `GeneratedSQL` or the name of `schema`.

        `grammar` (GBNF) or `schema` (a name and a JSON Schema) constrains the text on servers that support it. The same
        `seed` gives the same text. By default the temperature is that of the client. With `alternatives`, the result
        contains the first tokens and those that could have stood in their place.

        Raises:
            ModelAnswerUnreadable: the text was cut off.
            Unavailable: the embedded model exceeded the time limit of a question.
            ModelUnreachable, ModelRejected, BudgetExceeded: as for `ask`.
        """
        name = schema[0] if schema else GeneratedSQL.__name__
        values = {"temperature": temperature, "seed": seed}
        options: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        if grammar:
            options |= body_options({"grammar": grammar})
        if schema:
            options |= json_schema_options(*schema)
        if alternatives:
            options["top_logprobs"] = _ALTERNATIVES
        try:
            reply = self._invoke(name, options, messages)
        except openai_errors().APIStatusError as error:
            raise self._failure(error) from error
        if reply.problem:
            raise self._unreadable(name, reply.text, reply.problem)
        return WrittenText(reply.text.strip(), reply.logprob, reply.tokens)

    def answer(self, options: dict[str, Any], messages: list[BaseMessage]) -> AIMessage:
        """Return the reply to one request, which is neither recorded nor limited.

        It is not part of a LangGraph stream: no text of a model reaches a client before its check.

        Raises:
            Exception: any error of the request.
        """
        config = RunnableConfig(tags=[TAG_NOSTREAM])
        with langsmith(is_allowed=self._settings.allow_langsmith):
            return self.logprobs.answer(self.chat, options, messages, config)

    def check(self) -> None:
        """Request one plain answer. Raise ModelUnreachable or ModelRejected if there is none."""
        try:
            self.answer({}, [HumanMessage("Answer with the word: ready")])
        except Exception as error:
            raise self.failures.of(error) from error

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
        """Return text and problem of the reply; `with_schema` puts the schema into the prompt.

        `native_tools` requests a call in the endpoint's own format, if it accepts that.
        """
        modes = self.capabilities.candidates(with_tools=bool(tools) and native_tools)
        mode, rejection, is_repeated = modes[0], None, False
        while True:
            omitted = without if self.words_answers else without | FORM_FIELDS
            omitted = omitted | reasoning_fields(schema) if self.capabilities.returns_reasoning else omitted
            instructions = format_messages(schema, mode, tools, with_schema=with_schema, without=omitted)
            options = request_of(schema, mode, tools, without=omitted)
            try:
                reply = self._invoke(schema.__name__, options, [*messages, *instructions])
            except openai_errors().APIStatusError as error:
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
                self.capabilities.note_accepted(mode, modes, rejection)
                return reply.text, reply.problem

    def _invoke(self, schema: str, options: dict[str, Any], messages: list[BaseMessage]) -> Reply:
        step = current_step.get()
        request = request_body(schema, self.name, options, messages)
        # By these values, a replay selects the implementations. The usual ones are left out.
        request |= {name: False for name in ("validates", "words_answers") if not getattr(self, name)}
        if step:
            try:
                step.check_budget(self._settings)
            except BudgetExceeded as error:
                step.event("llm", {**request, **reply_body(Reply(error=error))})
                raise
            if self.embedded:
                options = {**options, "timeout": max(0.0, self._settings.max_question_s - step.seconds())}
        started = time.perf_counter()
        reply = self._send(schema, options, messages)
        reply = replace(reply, text=valid_text(reply.text), problem=valid_text(reply.problem))
        if current_run():
            self._trace(schema, options, messages, reply, started)
        if step:
            call = self._record(schema, reply.usage, time.perf_counter() - started)
            if reply.logprob is not None:
                call["logprob"] = reply.logprob
            step.calls.append(call)
            step.event("llm", {**request, **call, **reply_body(reply)})
            self._on_call(call)
        if reply.error:
            raise reply.error
        return reply

    def _send(self, schema: str, options: dict[str, Any], messages: list[BaseMessage]) -> Reply:
        """Return the outcome of a call; errors are returned, not raised, so that they can be recorded."""
        try:
            answer = self.answer(options, messages)
        except openai_errors().APIStatusError as error:
            return Reply(usage=NO_TOKENS, error=error if may_reject_format(error) else self._failure(error))
        except (ErrorReply, UnexpectedReply) as error:
            return Reply(error=self._failure(error))
        except (openai_errors().APIResponseValidationError, *_MALFORMED_BODY) as error:
            return Reply(problem=Message("answer_malformed", error=type(error).__name__))
        except (openai_errors().APIError, TimeoutError, ConnectionError) as error:
            failure = self._failure(error)
            failure.__cause__ = error
            return Reply(usage=NO_TOKENS if isinstance(error, openai_errors().APIStatusError) else None, error=failure)
        except Exception as error:
            return Reply(error=error)
        if has_reasoning(answer):
            self.capabilities.returns_reasoning = True
        usage = _usage_of(answer)
        calls = calls_of(answer, tool_names(options.get("tools", ())))
        text = json.dumps(calls if len(calls) > 1 else calls[0], ensure_ascii=False) if calls else answer.text
        likelihood = self.logprobs.likelihood(answer)
        return Reply(
            text,
            problem_of(answer),
            usage,
            logprob=likelihood.logprob if likelihood else None,
            perplexity=likelihood.perplexity if likelihood else None,
            tokens=alternatives_of(answer.response_metadata, _ALTERNATIVE_TOKENS, _MIN_ALTERNATIVE_LOGPROB)
            if "top_logprobs" in options
            else (),
        )

    def _failure(self, error: Exception) -> ModelUnreachable | ModelRejected | Unavailable:
        if self.embedded and isinstance(error, (openai_errors().APITimeoutError, TimeoutError)):
            return Unavailable("embedded_model_silent", seconds=self._settings.max_question_s)
        return self.failures.of(error)

    def _unreadable(self, schema: str, text: str, problem: str) -> ModelAnswerUnreadable:
        quote = self.failures.redact(quotation(text)) if text.strip() else ""
        reason = Message("answer_quoted", reason=problem, quotation=quote) if quote else problem
        return ModelAnswerUnreadable(schema, text or problem, reason)

    def _trace(
        self, schema: str, options: dict[str, Any], messages: list[BaseMessage], reply: Reply, started: float
    ) -> None:
        usage = reply.usage
        is_json = bool(options.get("tools")) or response_format(options).get("type", "text") != "text"
        record_model_call(
            self.name,
            started,
            provider="datasphinx" if self.embedded else "openai",
            url=None if self.embedded else self.failures.url,
            usage=(usage.prompt, usage.completion, usage.cached) if usage else None,
            error=reply.error or (ModelAnswerUnreadable(schema, "") if reply.problem else None),
            request={
                "gen_ai.output.type": "json" if is_json else "text",
                "gen_ai.request.temperature": options.get("temperature"),
                "gen_ai.request.seed": options.get("seed"),
                "datasphinx.schema": schema,
            },
            messages=[
                (_ROLES.get(each["role"], each["role"]), str(each["content"])) for each in message_bodies(messages)
            ],
            answer=reply.text,
        )

    def _record(self, schema: str, usage: TokenUsage | None, seconds: float) -> ModelCall:
        counts = usage or NO_TOKENS
        cost = cost_usd(self.name, self._base_url, counts, self._settings.prices) if usage else None
        return ModelCall(
            schema=schema,
            model=self.name,
            prompt_tokens=counts.prompt,
            completion_tokens=counts.completion,
            latency_ms=round(seconds * 1000, 1),
            cost_usd=0.0 if self.profile == "embedded" else cost,
        )


def _read(text: str, problem: str, schema: type[Answer], tools: Tools) -> Answer:
    if tools and problem == _CUT_BY_TOKENS and (call := first_complete_call(without_reasoning(text))):
        text, problem = call, ""
    if problem:
        raise ValueError(problem)
    return read_answer(text, schema, tool_names(tools))


def _usage_of(answer: AIMessage) -> TokenUsage | None:
    tokens = answer.usage_metadata
    if not tokens:
        return None
    cached = tokens.get("input_token_details", {}).get("cache_read") or 0
    return TokenUsage(tokens["input_tokens"], tokens["output_tokens"], cached)

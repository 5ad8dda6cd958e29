"""Asks a chat model for structured answers: one schema in, one validated value out, every call on the record."""

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

from agent.audit.cost import cost_usd
from agent.audit.step import ModelCall, current_step
from agent.errors import BudgetExceeded, EmbeddedModelSilent, ModelAnswerUnreadable, ModelRejected, ModelUnreachable
from agent.models.call_body import FORMAT_REFUSED, Reply, asked_body, problem_of, reply_body
from agent.models.embedded import EmbeddedOptions
from agent.models.formats import (
    MODES,
    Tools,
    body_options,
    call_as_answer,
    json_schema_options,
    repair_messages,
    request_of,
    spelt_out,
)
from agent.models.logprobs import Logprobs
from agent.models.parse import Answer, read_answer
from agent.models.schemas import GeneratedSQL
from agent.settings import Settings
from agent.sql.redact import SHORTEST_SECRET
from agent.text import valid_text

_TOO_LONG = re.compile(
    r"context.{0,3}(length|window|size)|maximum context|(prompt|input|request) is too (long|large)|too many tokens",
    re.I,
)
# What langchain-openai raises for a body that is cut, has no choices, or is not a chat completion.
_BROKEN_BODY = (openai.APIResponseValidationError, ValueError, IndexError, KeyError, TypeError, AttributeError)
_TIMEOUT_STATUS = 408


class ModelClient:
    """A chat model: `ask` for structured answers, `write` for the text of the embedded model.

    `embedded` says how the small local model is decoded, which has its own prompts and is only asked for SQL; `profile`
    is then "embedded", else "standard".
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
        """Wrap `chat`; `name` is the model's name on the record, `endpoint` the URL that errors name.

        With `logprobs` the record has the perplexity of each answer where the endpoint gives it.
        """
        self.chat = chat
        self.name = name
        self.embedded = embedded
        self.profile: Literal["standard", "embedded"] = "embedded" if embedded else "standard"
        self._settings = settings
        self._heard: Callable[[ModelCall], None] = lambda call: None
        self._endpoint = _without_secrets(endpoint or settings.llm_base_url or name)
        self._spell_out = False
        self._logprobs = Logprobs(logprobs)
        self._calls_tools = settings.llm_structured_output == "auto"
        self._modes: tuple[str, ...] = (
            MODES if settings.llm_structured_output == "auto" else (settings.llm_structured_output,)
        )

    def within(self, settings: Settings, heard: Callable[[ModelCall], None]) -> "ModelClient":
        """Return this client for questions that `settings` bound; `heard` is told of each call."""
        other = copy(self)
        other._settings, other._heard = settings, heard
        return other

    def ask(self, schema: type[Answer], messages: list[BaseMessage], tools: Tools = ()) -> Answer:
        """Return the model's answer as `schema`, after one repair attempt where the first cannot be read.

        With `tools` it is a call of one of them, for which `schema` has `tool` and `arguments`: the endpoint's own way
        of calling where it has one, else a structured answer with the tools in the prompt.

        Raises:
            ModelAnswerUnreadable: both answers held nothing that fits.
            ModelUnreachable: the endpoint does not answer, or with errors of its own.
            ModelRejected: the endpoint refused the request.
            BudgetExceeded: the question has used up what it may cost.
        """
        text, problem = self._call(schema, messages, tools, spell_out=self._spell_out)
        try:
            return _read(text, problem, schema)
        except ValueError as error:
            plea = repair_messages(text, str(error), schema.__name__)
        knew_the_schema = "{" in text or problem
        text, problem = self._call(schema, [*messages, *plea], tools, spell_out=True)
        try:
            answer = _read(text, problem, schema)
        except ValueError as error:
            raise ModelAnswerUnreadable(schema.__name__, text or problem) from error
        # Some endpoints take a JSON schema and ignore it: from now on it stands in the prompt.
        self._spell_out = self._spell_out or not (knew_the_schema or tools)
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
        """Return a statement as the model writes it; on the record it is a call for `GeneratedSQL`.

        `grammar` (GBNF) constrains the text of a server that knows how; so does `schema`, a JSON Schema after its name,
        which is then on the record. The same `seed` gives the same text again.

        Raises:
            ModelAnswerUnreadable: the text was broken off.
            EmbeddedModelSilent: the embedded model takes longer than a question may.
            ModelUnreachable, ModelRejected, BudgetExceeded: as `ask` says.
        """
        name = schema[0] if schema else GeneratedSQL.__name__
        options: dict[str, Any] = {"temperature": temperature, "seed": seed}
        if grammar:
            options |= body_options({"grammar": grammar})
        if schema:
            options |= json_schema_options(*schema)
        try:
            text, problem = self._invoke(name, options, messages)
        except FORMAT_REFUSED as error:
            raise ModelRejected(self._endpoint, self._reason(error)) from error
        if problem:
            raise ModelAnswerUnreadable(name, text or problem)
        return text.strip()

    def _call(
        self, schema: type[Answer], messages: list[BaseMessage], tools: Tools, *, spell_out: bool
    ) -> tuple[str, str]:
        """Return the text, and what is wrong with it where that is known; `spell_out` puts the schema in the prompt."""
        modes = ("tools", *self._modes) if tools and self._calls_tools else self._modes
        for mode in modes:
            asked = [*messages, *spelt_out(schema, mode, tools, spell_out=spell_out)]
            try:
                said = self._invoke(schema.__name__, request_of(schema, mode, tools), asked)
            except FORMAT_REFUSED as error:
                if mode == modes[-1] or _is_too_long(error):
                    raise ModelRejected(self._endpoint, self._reason(error)) from error
                self._calls_tools = self._calls_tools and mode != "tools"
                continue
            if mode != "tools":
                self._modes = (mode,)
            return said
        raise AssertionError("at least one mode is always tried")

    def _invoke(self, schema: str, options: dict[str, Any], messages: list[BaseMessage]) -> tuple[str, str]:
        step = current_step.get()
        asked = asked_body(schema, self.name, options, messages)
        if step:
            try:
                step.check_budget(self._settings)
            except BudgetExceeded as error:
                step.event("llm", {**asked, **reply_body(Reply(error=error))})
                raise
        started = time.perf_counter()
        reply = self._send(schema, options, messages)
        reply = replace(reply, text=valid_text(reply.text), problem=valid_text(reply.problem))
        if step:
            call = self._record(schema, reply.usage, time.perf_counter() - started)
            step.calls.append(call)
            step.event("llm", {**asked, **call, **reply_body(reply)})
            self._heard(call)
        if reply.error:
            raise reply.error
        return reply.text, reply.problem

    def _send(self, schema: str, options: dict[str, Any], messages: list[BaseMessage]) -> Reply:
        """Return what comes of a call; nothing is raised, so that all of it can be recorded."""
        try:
            answer = self._logprobs.answer(self.chat, options, messages)
        except FORMAT_REFUSED as error:
            return Reply(usage=(0, 0), error=error)
        except _BROKEN_BODY as error:
            return Reply(problem=f"the answer was broken off or malformed ({type(error).__name__})")
        except (openai.APIError, TimeoutError, ConnectionError) as error:
            failure = self._failure(error)
            failure.__cause__ = error
            return Reply(usage=(0, 0) if isinstance(error, openai.APIStatusError) else None, error=failure)
        except Exception as error:
            return Reply(error=error)
        spent = answer.usage_metadata
        usage = (spent["input_tokens"], spent["output_tokens"]) if spent else None
        text, perplexity = call_as_answer(answer) or answer.text, self._logprobs.perplexity(answer)
        return Reply(text, problem_of(answer), usage, perplexity=perplexity)

    def _failure(self, error: Exception) -> ModelUnreachable | ModelRejected | EmbeddedModelSilent:
        if self.embedded and isinstance(error, openai.APITimeoutError):
            return EmbeddedModelSilent(self._settings.max_question_s)
        status = getattr(error, "status_code", None)
        refused = isinstance(error, openai.APIError) and not isinstance(error, openai.APIConnectionError)
        if isinstance(error, openai.RateLimitError):
            # The same status says "slow down", which passes, and "no money left", which does not.
            refused = error.code == "insufficient_quota"
        elif status is not None:
            refused = status < 500 and status != _TIMEOUT_STATUS
        return (ModelRejected if refused else ModelUnreachable)(self._endpoint, self._reason(error))

    def _reason(self, error: Exception) -> str:
        text = valid_text(str(getattr(error, "message", "") or error)).strip() or type(error).__name__
        key = self._settings.llm_api_key.get_secret_value() if self._settings.llm_api_key else ""
        if len(key) >= SHORTEST_SECRET:
            text = text.replace(key, "***")
        return text.splitlines()[0][:300].rstrip(".")

    def _record(self, schema: str, usage: tuple[int, int] | None, seconds: float) -> ModelCall:
        prompt, completion = usage or (0, 0)
        known = usage is not None
        cost = cost_usd(self.name, self._settings.llm_base_url, prompt, completion) if known else None
        return ModelCall(
            schema=schema,
            model=self.name,
            prompt_tokens=prompt,
            completion_tokens=completion,
            latency_ms=round(seconds * 1000, 1),
            cost_usd=0.0 if self.profile == "embedded" else cost,
        )


def _read(text: str, problem: str, schema: type[Answer]) -> Answer:
    if problem:
        raise ValueError(problem)
    return read_answer(text, schema)


def _is_too_long(error: openai.APIStatusError) -> bool:
    return error.code == "context_length_exceeded" or _TOO_LONG.search(str(error.message)) is not None


def _without_secrets(endpoint: str) -> str:
    """Return `endpoint` without user, password and query, which may be keys."""
    parts = urlsplit(endpoint)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

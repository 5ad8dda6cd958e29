"""Probe of an endpoint and a model: a few short requests that measure what they support, cached on disk."""

import logging
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import openai
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ValidationError

from datasphinx.agent.errors import ModelRejected, ModelUnreachable
from datasphinx.agent.llm.capabilities import Capabilities
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.endpoint import EndpointChat
from datasphinx.agent.llm.failures import EndpointFailures
from datasphinx.agent.llm.formats import body_options, format_messages, function_schema, request_of
from datasphinx.agent.llm.json_text import json_objects
from datasphinx.agent.llm.probe_result import ProbeResult, load_probe, store_probe
from datasphinx.agent.llm.reasoning import reasoning_mark, without_reasoning
from datasphinx.agent.llm.rejections import ErrorReply, UnexpectedReply, may_reject_format, names_format, quotation
from datasphinx.agent.llm.tool_calls import call_in_text
from datasphinx.agent.record.step import not_recorded, note

logger = logging.getLogger("datasphinx")

_QUESTION: list[BaseMessage] = [
    SystemMessage("You count legs."),
    HumanMessage("A cat has four legs."),
    HumanMessage("How many legs do six cats have?"),
]
_CALL_TOOLS = "Call the tool legs_of twice in one reply: for a cat and for a spider."
_TOOL = "legs_of"
_TOOLS = [
    function_schema(
        _TOOL,
        "The number of legs of an animal.",
        {"type": "object", "properties": {"animal": {"type": "string"}}, "required": ["animal"]},
    )
]


class LegCount(BaseModel):
    """A number of legs."""

    number: int


def probe_and_store(client: ModelClient, cache_dir: Path) -> ProbeResult:
    """Probe the endpoint and model of `client`, and cache the result.

    Raises:
        ModelUnreachable, ModelRejected: the endpoint answers no plain request.
    """
    result = probe(client)
    store_probe(cache_dir, client.failures.url, client.name, result)
    return result


def probe_on_first_use(client: ModelClient, cache_dir: Path) -> None:
    """Set `client.probe_result` and its capabilities, from the cache or by a probe.

    If the probe fails although the endpoint responds, a note is added, and nothing is set.

    Raises:
        ModelUnreachable, ModelRejected: the endpoint answers no plain request, so no question could be answered.
    """
    try:
        cached = load_probe(cache_dir, client.failures.url, client.name)
        client.probe_result = cached or probe_and_store(client, cache_dir)
        client.capabilities.apply(client.probe_result)
    except (ModelUnreachable, ModelRejected):
        raise
    except Exception as error:
        reason = client.failures.reason(error)
        note(f"the probe of the model failed: {reason}")
        logger.warning("[MODEL] the probe failed: %s", reason)


def probe(client: ModelClient) -> ProbeResult:
    """Return what the endpoint and the model of `client` support; takes three requests if they support everything.

    The requests are not part of a question: they are neither recorded nor limited.

    Raises:
        ModelUnreachable, ModelRejected: the endpoint answers no plain request.
    """
    with not_recorded():
        result = _Probe(client).run()
    client.capabilities.apply(result)
    return result


def check_answer(client: ModelClient) -> None:
    """Request one plain answer.

    Raises:
        ModelUnreachable, ModelRejected: there is none.
    """
    try:
        _answer(client, {}, [HumanMessage("Answer with the word: ready")])
    except (ModelUnreachable, ModelRejected):
        raise
    except Exception as error:
        raise client.failures.of(error) from error


class _Probe:
    """One run of the probe, with the values and observations so far."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self._failures: EndpointFailures = client.failures
        self._capabilities: Capabilities = client.capabilities
        self._values: dict[str, Any] = {}
        self._observations: dict[str, str] = {}

    def run(self) -> ProbeResult:
        """Return the result.

        Raises:
            ModelUnreachable, ModelRejected: the endpoint answers no plain request.
        """
        self._probe_json_schema()
        if isinstance(self._client.chat, EndpointChat):
            try:
                self._probe_tools()
                self._probe_streaming()
            except Exception as error:
                # The endpoint answers questions; what is not measured yet stays unknown.
                for name in ("tools", "streaming"):
                    if name not in self._values:
                        reason = getattr(error, "reason", None) or self._failures.reason(error)
                        self._set(name, None, f"not measured: {reason}")
            self._read_rejections()
        measured_at = datetime.now(UTC).isoformat(timespec="seconds")
        observations = {name: self._failures.redact(text) for name, text in self._observations.items()}
        return ProbeResult(measured_at=measured_at, observations=observations, **self._values)

    def _probe_json_schema(self) -> None:
        started = time.perf_counter()
        is_requested = isinstance(self._client.chat, EndpointChat)
        try:
            options = request_of(LegCount, "json_schema" if is_requested else "text", ())
            reply = _answer(self._client, options, _QUESTION)
        except openai.APIStatusError as rejection:
            is_requested = False
            self._note_rejection("json_schema", rejection)
            started = time.perf_counter()
            messages = [*_QUESTION, *format_messages(LegCount, "text", (), with_schema=False)]
            try:
                reply = _answer(self._client, {}, messages)
            except openai.APIStatusError as error:
                raise self._failures.of(error) from error
        self._values["latency_ms"] = round((time.perf_counter() - started) * 1000, 1)
        if is_requested:
            self._set("json_schema", True)
            follows = _has_count(reply.text) if reply.text.strip() else None
            self._set("follows_schema", follows, f"the reply was: {quotation(reply.text)}")
        self._read_usage_and_reasoning(reply)

    def _probe_tools(self) -> None:
        options = {"tools": _TOOLS, "tool_choice": "required", "parallel_tool_calls": True}
        try:
            reply = _answer(self._client, options, [HumanMessage(_CALL_TOOLS)])
        except openai.APIStatusError as error:
            self._note_rejection("tools", error)
            return
        count = len([call for call in (*reply.tool_calls, *reply.invalid_tool_calls) if call["name"]])
        is_in_text = not count and call_in_text(without_reasoning(reply.text), [_TOOL]) is not None
        text = f"no call; the reply was: {quotation(reply.text)}"
        self._set("tools", bool(count or is_in_text), "the call was text" if is_in_text else "" if count else text)
        if count:
            self._set("parallel_tool_calls", count > 1, "" if count > 1 else "one call, although two were requested")

    def _probe_streaming(self) -> None:
        """Request a streamed JSON object; if it is rejected, request only a stream or only a JSON object."""
        stream, json_object = {"stream": True}, request_of(LegCount, "json_object", ())["extra_body"]
        messages = [*_QUESTION, *format_messages(LegCount, "json_object", (), with_schema=False)]
        try:
            self._read_stream(_answer(self._client, body_options({**stream, **json_object}), messages))
            self._set("json_object", True)
            return
        except openai.APIStatusError as error:
            rejection = error
        try:
            if names_format(rejection):
                self._note_rejection("json_object", rejection)
                self._read_stream(_answer(self._client, body_options(stream), messages))
            else:
                _answer(self._client, body_options(json_object), messages)
                self._set("json_object", True)
                self._note_rejection("streaming", rejection)
        except openai.APIStatusError as error:
            self._note_rejection("streaming" if names_format(rejection) else "json_object", error)

    def _read_stream(self, reply: AIMessage) -> None:
        is_streamed = bool(reply.response_metadata.get("streamed"))
        self._set("streaming", is_streamed, "" if is_streamed else "the reply came as a whole")

    def _read_rejections(self) -> None:
        """Set the values of the parts that the requests so far have contained."""
        rejections = self._capabilities.rejections
        contained = ["system_role", "non_streaming"]
        if getattr(self._client.chat, "temperature", None) is not None:
            contained.append("temperature")
        if "system_role" not in rejections:
            # Otherwise messages of one role were merged.
            contained.append("consecutive_messages")
        for part in contained:
            self._set(part, part not in rejections, rejections.get(part, ""))
        if "parallel_tool_calls" in rejections:
            self._set("parallel_tool_calls", False, rejections["parallel_tool_calls"])

    def _read_usage_and_reasoning(self, reply: AIMessage) -> None:
        usage = reply.usage_metadata
        text = f"{usage['input_tokens']} prompt and {usage['output_tokens']} completion tokens" if usage else ""
        self._set("usage", usage is not None, text)
        names = list(reply.response_metadata.get("reasoning_fields", ()))
        if mark := reasoning_mark(reply.text):
            names.append(mark)
        if usage and usage.get("output_token_details", {}).get("reasoning"):
            names.append("reasoning tokens")
        self._values["reasoning"] = tuple(names)

    def _note_rejection(self, name: str, error: openai.APIStatusError) -> None:
        """Set `name` to False; after a server error that names no format, which may be temporary, leave it unknown."""
        is_explained = error.status_code < 500 or error.status_code == 501 or names_format(error)
        self._set(name, False if is_explained else None, self._failures.reason(error))

    def _set(self, name: str, value: bool | None, text: str = "") -> None:
        self._values[name] = value
        if text:
            self._observations[name] = text


def _answer(client: ModelClient, options: dict[str, Any], messages: Sequence[BaseMessage]) -> AIMessage:
    """Return the reply.

    Raises:
        openai.APIStatusError: the endpoint may have rejected a format or tools.
        ModelUnreachable, ModelRejected: the endpoint does not respond, or not with a chat completion.
        Exception: the reply is damaged.
    """
    try:
        return client.answer(options, list(messages))
    except openai.APIStatusError as error:
        if may_reject_format(error):
            raise
        raise client.failures.of(error) from error
    except (openai.APIConnectionError, ErrorReply, UnexpectedReply, OSError) as error:
        raise client.failures.of(error) from error


def _has_count(text: str) -> bool:
    for candidate in json_objects(without_reasoning(text)):
        try:
            LegCount.model_validate(candidate)
        except ValidationError:
            continue
        return True
    return False

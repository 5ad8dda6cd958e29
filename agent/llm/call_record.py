"""The record of a model call: request and reply as they are logged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from agent.core.canonical import digest, value_hash
from agent.core.failure import failure_of
from agent.errors import DatasphinxError, InternalError
from agent.llm.formats import response_format
from agent.llm.logprobs import Token
from agent.llm.prices import TokenUsage
from agent.messages import Message

_CUT_OFF_REASONS = {
    **dict.fromkeys(("length", "max_tokens"), Message("answer_cut_by_tokens")),
    **dict.fromkeys(("content_filter", "safety", "refusal"), Message("answer_cut_by_filter")),
}
"""Reasons of endpoints and providers."""


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
    import openai

    reason = f"{type(error).__name__}: {error}"
    return {"error": failure_of(InternalError(reason, "")), "refused_format": isinstance(error, openai.APIStatusError)}

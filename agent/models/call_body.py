"""A call of the model as it stands on the record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import openai
from langchain_core.messages import AIMessage, BaseMessage

from agent.audit.canonical import digest, value_hash
from agent.errors import DatasphinxError, InternalError
from agent.failure import failure_of
from agent.models.formats import form_of

FORMAT_REFUSED = (openai.BadRequestError, openai.UnprocessableEntityError)
"""Errors of an endpoint that does not know the form in which it was asked to answer."""


_BREAKS_OFF = {"length": "limit of tokens", "content_filter": "content filter"}


@dataclass(frozen=True)
class Reply:
    """What came of a call: text and what is wrong with it, or an error.

    `usage` is the tokens of prompt and completion, None where they are not known; `perplexity` is None where it was not
    asked for or the endpoint does not give it.
    """

    text: str = ""
    problem: str = ""
    usage: tuple[int, int] | None = None
    error: Exception | None = None
    perplexity: float | None = None


def asked_body(schema: str, model: str, options: dict[str, Any], messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Return what was asked: the schema's name, the model, how it is decoded, and the messages.

    A grammar, and tools that are to be called, which are long and follow from the rest, stand there by their hashes.
    """
    grammar, tools = options.get("extra_body", {}).get("grammar"), options.get("tools")
    return {
        "schema": schema,
        "model": model,
        "mode": "tools" if tools else form_of(options).get("type", "text"),
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
    """Return what came of it; the perplexity only where it is known."""
    measured = {} if reply.perplexity is None else {"perplexity": reply.perplexity}
    return {"output": reply.text, "problem": reply.problem, **measured, **_error_body(reply.error)}


def problem_of(answer: AIMessage) -> str:
    """Return why the text of `answer` is not all of one: refused or broken off; empty where it is."""
    refusal = answer.additional_kwargs.get("refusal")
    if refusal:
        return f"the model refused: {refusal}"
    reason = answer.response_metadata.get("finish_reason")
    limit = _BREAKS_OFF.get(str(reason))
    return f"the answer was broken off by the {limit}" if limit else ""


def _error_body(error: Exception | None) -> dict[str, Any]:
    """Return the code and facts of an error, and whether it was only the form of the answer that was refused."""
    if error is None:
        return {"error": None}
    if isinstance(error, DatasphinxError):
        return {"error": failure_of(error)}
    reason = f"{type(error).__name__}: {error}"
    return {"error": failure_of(InternalError(reason, "")), "refused_format": isinstance(error, FORMAT_REFUSED)}

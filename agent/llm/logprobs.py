"""Token log probabilities: request them from an endpoint that supports them, and compute the perplexity."""

import json
import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import openai
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig

logger = logging.getLogger("datasphinx")

_STATEMENT = re.compile(r'"(?:sql|corrected_sql)"\s*:\s*"(?P<sql>(?:[^"\\]|\\.)+)"', re.DOTALL)


def perplexity_of(metadata: Mapping[str, Any]) -> float | None:
    """Return the perplexity of a generated text, at least 1; None without log probabilities.

    The perplexity is exp(-mean(logprob)) over the tokens, as in the published program of Sphinteract (Zhao et al.,
    VLDB 2025). That program generates bare statements; for a JSON answer that contains a statement, only the tokens of
    the statement count.
    """
    tokens = list(_tokens(metadata))
    if not tokens:
        return None
    logprobs = _statement_logprobs(tokens) or [logprob for _, logprob in tokens]
    try:
        return round(math.exp(-sum(logprobs) / len(logprobs)), 6)
    except OverflowError:
        # Some servers return -9999 for a token of probability zero.
        return None


def _tokens(metadata: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    logprobs = metadata.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    for token in content if isinstance(content, Sequence) else ():
        text, logprob = token.get("token"), token.get("logprob")
        if isinstance(text, str) and isinstance(logprob, int | float):
            yield text, float(logprob)


def _statement_logprobs(tokens: Sequence[tuple[str, float]]) -> list[float]:
    """Return the log probabilities of the tokens that overlap the statement in a JSON answer; empty without one."""
    statement = _STATEMENT.search("".join(text for text, _ in tokens))
    if not statement or not json.loads(f'"{statement["sql"]}"', strict=False).strip():
        return []
    logprobs, start = [], 0
    for text, logprob in tokens:
        end = start + len(text)
        if start < statement.end("sql") and end > statement.start("sql"):
            logprobs.append(logprob)
        start = end
    return logprobs


class Logprobs:
    """Requests log probabilities until the endpoint rejects them. Safe to share between threads."""

    def __init__(self, enabled: bool) -> None:
        """Request log probabilities only if `enabled`."""
        self._enabled = enabled

    def answer(
        self, chat: BaseChatModel, options: dict[str, Any], messages: list[BaseMessage], config: RunnableConfig
    ) -> AIMessage:
        """Return the reply of `chat`; if the endpoint rejects only the log probabilities, stop requesting them.

        Raises:
            Exception: any error of the call without log probabilities.
        """
        if self._enabled:
            try:
                return chat.bind(**options, logprobs=True).invoke(messages, config)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                rejection = error
            answer = chat.bind(**options).invoke(messages, config)
            self._enabled = False
            logger.info("[MODEL] the endpoint gives no logprobs: %s", type(rejection).__name__)
            return answer
        return chat.bind(**options).invoke(messages, config)

    def perplexity(self, answer: AIMessage) -> float | None:
        """Return the perplexity of `answer`; None if log probabilities were not requested or not returned."""
        return perplexity_of(answer.response_metadata) if self._enabled else None

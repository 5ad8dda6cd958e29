"""Token log probabilities: request them from an endpoint that supports them, and sum them up."""

import json
import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig

from datasphinx.agent.llm.rejections import openai_errors

logger = logging.getLogger("datasphinx")

_STATEMENT = re.compile(r'"(?:sql|corrected_sql)"\s*:\s*"(?P<sql>(?:[^"\\]|\\.)+)"', re.DOTALL)


class Token(NamedTuple):
    """A generated token, and the tokens that could have stood in its place."""

    text: str
    logprob: float
    """The natural logarithm of its probability."""
    alternatives: Mapping[str, float]
    """Logarithms of the probabilities of the most probable tokens at this position, by text."""


class Likelihood(NamedTuple):
    """The likelihood of a generated text under the model."""

    logprob: float
    """The natural logarithm of its probability: the sum over its tokens."""
    tokens: int

    @property
    def perplexity(self) -> float | None:
        """The perplexity, at least 1: exp(-mean(logprob)); None if it exceeds the largest float.

        It is that of the published program of Sphinteract (Zhao et al., VLDB 2025).
        """
        try:
            return round(math.exp(-self.logprob / self.tokens), 6)
        except OverflowError:
            # Some servers return -9999 for a token of probability zero.
            return None


def likelihood_of(metadata: Mapping[str, Any]) -> Likelihood | None:
    """Return the likelihood of a generated text; None without log probabilities.

    For a JSON answer that contains a statement, only the tokens of the statement count.
    """
    tokens = list(_tokens(metadata))
    if not tokens:
        return None
    logprobs = _statement_logprobs(tokens) or [logprob for _, logprob in tokens]
    return Likelihood(round(sum(logprobs), 4), len(logprobs))


def _tokens(metadata: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    logprobs = metadata.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    for token in content if isinstance(content, Sequence) else ():
        text, logprob = token.get("token"), token.get("logprob")
        if isinstance(text, str) and isinstance(logprob, int | float):
            yield text, float(logprob)


def alternatives_of(metadata: Mapping[str, Any], count: int, min_logprob: float) -> list[Token]:
    """Return the first `count` tokens of a generated text, with the alternatives that are at least so probable."""
    logprobs = metadata.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    return [
        Token(
            token["token"],
            round(token["logprob"], 4),
            {
                other["token"]: round(other["logprob"], 4)
                for other in token.get("top_logprobs") or ()
                if other["logprob"] >= min_logprob and other["token"] != token["token"]
            },
        )
        for token in (content or ())[:count]
    ]


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
        self.is_enabled = enabled

    def answer(
        self, chat: BaseChatModel, options: dict[str, Any], messages: list[BaseMessage], config: RunnableConfig
    ) -> AIMessage:
        """Return the reply of `chat`; if the endpoint rejects only the log probabilities, stop requesting them.

        Raises:
            Exception: any error of the call without log probabilities.
        """
        if self.is_enabled:
            try:
                return chat.invoke(messages, config, **options, logprobs=True)
            except (openai_errors().BadRequestError, openai_errors().UnprocessableEntityError) as error:
                rejection = error
            answer = chat.invoke(messages, config, **options)
            self.is_enabled = False
            logger.info("[MODEL] the endpoint gives no logprobs: %s", type(rejection).__name__)
            return answer
        return chat.invoke(messages, config, **options)

    def likelihood(self, answer: AIMessage) -> Likelihood | None:
        """Return the likelihood of `answer`; None if log probabilities were not requested or not returned."""
        return likelihood_of(answer.response_metadata) if self.is_enabled else None

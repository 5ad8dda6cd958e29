"""Asks a model for the logprobs of what it writes, as long as its endpoint takes that."""

import logging
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from agent.models.call_body import FORMAT_REFUSED
from agent.models.perplexity import perplexity_of

logger = logging.getLogger("datasphinx")


class Logprobs:
    """Whether logprobs are asked for. Safe to share between threads."""

    def __init__(self, wanted: bool) -> None:
        """Take whether they are wanted at all."""
        self._asked_for = wanted

    def answer(self, chat: BaseChatModel, options: dict[str, Any], messages: list[BaseMessage]) -> AIMessage:
        """Return the message of `chat`; an endpoint that refuses logprobs and nothing else is not asked for them again.

        Raises:
            Exception: whatever the call raises without them.
        """
        if self._asked_for:
            try:
                return chat.bind(**options, logprobs=True).invoke(messages)
            except FORMAT_REFUSED as error:
                refused = error
            answer = chat.bind(**options).invoke(messages)
            self._asked_for = False
            logger.info("[MODEL] the endpoint gives no logprobs: %s", type(refused).__name__)
            return answer
        return chat.bind(**options).invoke(messages)

    def perplexity(self, answer: AIMessage) -> float | None:
        """Return the perplexity of `answer`; None where logprobs are not asked for, or were not given."""
        return perplexity_of(answer.response_metadata) if self._asked_for else None

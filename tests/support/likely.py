"""Scripted texts of a model with their probability, as an endpoint with logprobs returns them."""

import math

from langchain_core.messages import AIMessage


def likely(text: str, probability: float) -> AIMessage:
    """Return a reply of one token with this probability."""
    tokens = [{"token": text, "logprob": math.log(probability)}]
    return AIMessage(text, response_metadata={"logprobs": {"content": tokens}})

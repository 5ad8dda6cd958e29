"""Questions that are about something else than the data of a source.

The adapter makes the model begin every answer as a statement. Where the question is about something else, another
beginning is more probable, and with half of the adapter much more. What words the question and the source share does
not tell: "write a poem about our customers" has some, and most questions in other languages have none.
"""

import math
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from datasphinx.agent.llm.client import ModelClient, WrittenText

_SCALE = 0.5
_COMPACT, _SQL = "FROM", "SELECT"
"""How compact statements and those of SQL begin."""
_MAX_OTHER, _MAX_OTHER_AT_HALF = 0.00025, 0.01
"""The greatest probability of another beginning for most questions about the data with the whole adapter, and for all
of them with half of it."""


def is_about_something_else(first: WrittenText, messages: list[BaseMessage], model: ModelClient) -> bool:
    """Return whether the model with half of its adapter would answer `messages` otherwise than with a statement.

    It is asked only if it seems so from `first`, its text for them with the whole adapter.

    Raises:
        ModelUnreachable, ModelRejected, BudgetExceeded: see `ModelClient.write`.
    """
    if not _begins_otherwise(first, [_COMPACT], _MAX_OTHER):
        return False
    written = model.write(
        messages, grammar=f'root ::= "{_COMPACT}"', temperature=0.0, seed=0, alternatives=True, adapter_scale=_SCALE
    )
    return _begins_otherwise(written, [_COMPACT, _SQL], _MAX_OTHER_AT_HALF)


def _begins_otherwise(written: WrittenText, beginnings: Sequence[str], limit: float) -> bool:
    """Return whether the probability of beginnings other than `beginnings` is above `limit`; False if it is unknown."""
    for token in written.tokens[:1]:
        likely = {token.text: token.logprob, **token.alternatives}.items()
        known = sum(math.exp(logprob) for text, logprob in likely if text.strip() in beginnings)
        return bool(token.alternatives) and 1 - known > limit
    return False

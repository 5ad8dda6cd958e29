"""How sure a model was of what it wrote, from the logprobs of its tokens."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_STATEMENT = re.compile(r'"(?:sql|corrected_sql)"\s*:\s*"(?P<sql>(?:[^"\\]|\\.)+)"', re.DOTALL)


def perplexity_of(metadata: Mapping[str, Any]) -> float | None:
    """Return the perplexity of what was written, 1 or more; None where the endpoint gave no logprobs.

    It is exp(-mean(logprob)) over the tokens, as the program that Sphinteract's authors published takes it (Zhao et
    al., VLDB 2025). There the model writes a statement and nothing else; of an answer in JSON that holds a statement,
    its tokens alone count.
    """
    tokens = list(_tokens(metadata))
    if not tokens:
        return None
    counted = _of_statement(tokens) or [logprob for _, logprob in tokens]
    try:
        return round(math.exp(-sum(counted) / len(counted)), 6)
    except OverflowError:
        # Some servers write -9999 for a token that they hold impossible.
        return None


def _tokens(metadata: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    given = metadata.get("logprobs")
    content = given.get("content") if isinstance(given, Mapping) else None
    for token in content if isinstance(content, Sequence) else ():
        text, logprob = token.get("token"), token.get("logprob")
        if isinstance(text, str) and isinstance(logprob, int | float):
            yield text, float(logprob)


def _of_statement(tokens: Sequence[tuple[str, float]]) -> list[float]:
    """Return the logprobs of the tokens that the statement in an answer in JSON touches; none where there is none."""
    found = _STATEMENT.search("".join(text for text, _ in tokens))
    if not found or not json.loads(f'"{found["sql"]}"', strict=False).strip():
        return []
    counted, start = [], 0
    for text, logprob in tokens:
        end = start + len(text)
        if start < found.end("sql") and end > found.start("sql"):
            counted.append(logprob)
        start = end
    return counted

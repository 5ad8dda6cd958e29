"""Selection among executed candidates of the embedded model: the most likely one with rows and without violations.

Candidates without rows are dropped if others return rows, as in execution-guided decoding (Wang et al. 2018, "Robust
Text-to-SQL Generation with Execution-Guided Decoding").
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from datasphinx.agent.sql.compare import comparison_key, is_blank
from datasphinx.agent.types import Result

CandidateT = TypeVar("CandidateT")
"""The type of a candidate."""


@dataclass(frozen=True)
class ExecutedCandidate(Generic[CandidateT]):
    """A candidate and its result."""

    candidate: CandidateT
    content: Hashable
    """The result in comparable form: equal for equal results."""
    gives_rows: bool
    violations: int
    """The number of constraints of the question that the candidate violates."""
    logprob: float | None
    """The natural logarithm of the probability of its text, the sum over the tokens; None if unknown."""


def executed_candidate(
    candidate: CandidateT, result: Result, violations: int, logprob: float | None, *, ordered: bool
) -> ExecutedCandidate[CandidateT]:
    """Return `candidate` with its result; with `ordered`, the order of the rows is compared as well."""
    rows = result["rows"]
    ordered = ordered and len(rows) > 1
    content = (ordered, result["truncated"], comparison_key(result, ordered=ordered))
    return ExecutedCandidate(candidate, content, not is_blank(rows), violations, logprob)


@dataclass(frozen=True)
class Selection(Generic[CandidateT]):
    """The selected candidate, its rivals, and how many of them agree with it."""

    best: ExecutedCandidate[CandidateT]
    others: tuple[ExecutedCandidate[CandidateT], ...]
    """The most likely candidate of each other result, best first."""
    agreement: float
    """The share of the probability of all executed texts that falls on the result of `best`, from 0 to 1."""


def select(executed: Sequence[ExecutedCandidate[CandidateT]]) -> Selection[CandidateT] | None:
    """Return the selection among `executed`, which are distinct; None if there are none.

    - A result without rows, or with only NULL in its single row, loses against every other result. Its usual cause is a
      condition that no row meets.
    - A candidate with more violations loses against one with fewer.
    - Of the others the most likely one is selected, the first of equals.
    """
    ranked = sorted(executed, key=_rank, reverse=True)
    if not ranked:
        return None
    by_content: dict[Hashable, ExecutedCandidate[CandidateT]] = {}
    for item in ranked:
        by_content.setdefault(item.content, item)
    best, *others = by_content.values()
    weights = [1.0 if item.logprob is None else math.exp(item.logprob) for item in ranked]
    same = sum(weight for item, weight in zip(ranked, weights, strict=True) if item.content == best.content)
    return Selection(best, tuple(others), same / sum(weights) if sum(weights) else 1.0)


def _rank(item: ExecutedCandidate[CandidateT]) -> tuple[bool, int, float]:
    return item.gives_rows, -item.violations, -math.inf if item.logprob is None else item.logprob


def is_decided(
    executed: Sequence[ExecutedCandidate[CandidateT]], logprobs: Sequence[float | None], remaining: int
) -> bool:
    """Return whether no further text can be more likely than the best candidate, which has rows and no violations.

    `logprobs` are those of all distinct texts so far: the probability of every other text is at most what they leave
    of 1. `remaining` is the number of texts that can still be generated; at 0, a candidate without violations decides,
    and so does the failure of all candidates.
    """
    if not executed:
        return remaining <= 0
    best = max(executed, key=_rank)
    if not best.gives_rows or best.violations:
        return False
    if remaining <= 0:
        return True
    if best.logprob is None or None in logprobs:
        return False
    rest = 1 - sum(math.exp(logprob) for logprob in logprobs if logprob is not None)
    return math.exp(best.logprob) >= rest

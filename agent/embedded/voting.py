"""Vote of executed candidates of the embedded model: candidates with equal results count as one answer.

Candidates without rows are dropped if others return rows, as in execution-guided decoding (Wang et al. 2018, "Robust
Text-to-SQL Generation with Execution-Guided Decoding"). The result that most of the remaining candidates return wins
(Wang et al. 2022, "Self-Consistency Improves Chain of Thought Reasoning in Language Models").
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent.sql.compare import comparison_key
from agent.types import Result

_SUFFICIENT_VOTES = 2

CandidateT = TypeVar("CandidateT")
"""The type of a candidate."""


@dataclass(frozen=True)
class ExecutedCandidate(Generic[CandidateT]):
    """A candidate and its result."""

    candidate: CandidateT
    content: Hashable
    gives_rows: bool
    violations: int
    """The number of constraints of the question that the candidate violates."""
    is_zero: bool


def executed_candidate(
    candidate: CandidateT, result: Result, violations: int, *, ordered: bool
) -> ExecutedCandidate[CandidateT]:
    """Return `candidate` with its result; with `ordered`, the order of the rows is compared as well."""
    rows = result["rows"]
    ordered = ordered and len(rows) > 1
    content = (ordered, result["truncated"], comparison_key(result, ordered=ordered))
    gives_rows = len(rows) > 1 or any(value is not None for row in rows for value in row)
    return ExecutedCandidate(candidate, content, gives_rows, violations, rows == [[0]])


def winners(executed: Sequence[ExecutedCandidate[CandidateT]]) -> list[ExecutedCandidate[CandidateT]]:
    """Return the candidates with the most frequent result, earliest first; empty if `executed` is empty.

    - A result without rows, or with only NULL in its single row, loses against every other result. Its usual cause is a
      condition that no row meets.
    - A candidate with more violations loses against one with fewer.
    - A single 0, which is also the count of no rows, is a valid answer; it only loses ties.
    """
    return max(_groups(executed), key=lambda group: (len(group), not group[0].is_zero), default=[])


def is_decided(executed: Sequence[ExecutedCandidate[CandidateT]], remaining: int) -> bool:
    """Return whether two candidates without violations agree, or the `remaining` candidates cannot change the vote.

    If none remain, one candidate without violations suffices, and so does the failure of all candidates.

    Stopping at the first agreement costs little accuracy and saves much time (Aggarwal et al. 2023, "Let's Sample Step
    by Step: Adaptive-Consistency for Efficient Reasoning and Coding with LLMs").
    """
    flawless = [item for item in executed if item.gives_rows and not item.violations]
    sizes = sorted((len(group) for group in _groups(flawless)), reverse=True)
    first, second = (*sizes, 0, 0)[:2]
    if remaining <= 0:
        return first > 0 or not executed
    return first > second and (first >= _SUFFICIENT_VOTES or first > second + remaining)


def _groups(executed: Sequence[ExecutedCandidate[CandidateT]]) -> list[list[ExecutedCandidate[CandidateT]]]:
    """Return the candidates that count, grouped by result, in the order of the first candidate of each group."""
    eligible = [item for item in executed if item.gives_rows] or executed
    min_violations = min((item.violations for item in eligible), default=0)
    groups: dict[Hashable, list[ExecutedCandidate[CandidateT]]] = {}
    for item in eligible:
        if item.violations == min_violations:
            groups.setdefault(item.content, []).append(item)
    return list(groups.values())

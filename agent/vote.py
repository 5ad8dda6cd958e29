"""How candidates of the embedded model are told apart by what they find: those with equal results stand for one answer.

Candidates that give nothing where others give something are dropped, as in execution-guided decoding (Wang et al. 2018,
"Robust Text-to-SQL Generation with Execution-Guided Decoding"); of the others those with equal results stand for one
answer, and the answer with the most of them is taken (Wang et al. 2022, "Self-Consistency Improves Chain of Thought
Reasoning in Language Models").
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent.sql.equal_rows import content_of
from agent.sql.result import Result

_AGREEING = 2

Written = TypeVar("Written")
"""What a model wrote."""


@dataclass(frozen=True)
class Ballot(Generic[Written]):
    """A candidate, and what it found."""

    candidate: Written
    content: Hashable
    gives_rows: bool
    lost: int
    """How much of what the question names it leaves out."""
    is_zero: bool


def ballot_of(candidate: Written, result: Result, lost: int, *, ordered: bool) -> Ballot[Written]:
    """Return the ballot of a candidate with this result; where it is `ordered`, the order of its rows counts."""
    rows = result["rows"]
    ordered = ordered and len(rows) > 1
    content = (ordered, result["truncated"], content_of(result, ordered=ordered))
    gives_rows = len(rows) > 1 or any(value is not None for row in rows for value in row)
    return Ballot(candidate, content, gives_rows, lost, rows == [[0]])


def winners(ballots: Sequence[Ballot[Written]]) -> list[Ballot[Written]]:
    """Return the ballots whose result the most have, the earliest first; none where there are none.

    - A result without rows, or with nothing but NULL in its one row, loses against every other: most often it comes of
      a condition that nothing meets.
    - What leaves out something of the question loses against what leaves out less.
    - One row with a 0, which a count of nothing gives too, is an answer that people ask for; it loses a tie alone.
    """
    return max(_groups(ballots), key=lambda group: (len(group), not group[0].is_zero), default=[])


def is_decided(ballots: Sequence[Ballot[Written]], left: int) -> bool:
    """True where two agree that nothing speaks against, or the `left` candidates cannot change what is ahead.

    With none left it is enough that nothing speaks against one, or that all have failed.

    To stop at the first agreement costs little accuracy and saves much time (Aggarwal et al. 2023, "Let's Sample Step
    by Step: Adaptive-Consistency for Efficient Reasoning and Coding with LLMs").
    """
    unobjected = [each for each in ballots if each.gives_rows and not each.lost]
    sizes = sorted((len(group) for group in _groups(unobjected)), reverse=True)
    ahead, second = (*sizes, 0, 0)[:2]
    if left <= 0:
        return ahead > 0 or not ballots
    return ahead > second and (ahead >= _AGREEING or ahead > second + left)


def _groups(ballots: Sequence[Ballot[Written]]) -> list[list[Ballot[Written]]]:
    """Return the ballots that count, those with equal results together, in the order of the first of each."""
    standing = [each for each in ballots if each.gives_rows] or ballots
    least = min((each.lost for each in standing), default=0)
    counting = [each for each in standing if each.lost == least]
    groups: dict[Hashable, list[Ballot[Written]]] = {}
    for ballot in counting:
        groups.setdefault(ballot.content, []).append(ballot)
    return list(groups.values())

"""Alternative FROM clauses of a statement, found at the tokens where the model was uncertain.

FROM stands first in a compact statement, so a greedy decision for a table determines everything after it. The most
probable alternatives to the tokens of the FROM clause are the beginnings of other statements (a beam search of width
one after the branch). A branch costs the decoding of one statement, and none is tried where the model was certain.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.embedded.grammar.statement import StatementGrammar
from agent.llm.logprobs import Token

_END = " SELECT "


_MIN_LOGPROB = -3.9
"""The least logarithm of the probability of a beginning, which is then tried: 2 %."""


@dataclass(frozen=True)
class Branch:
    """The beginning of other statements."""

    start: str
    logprob: float
    """The natural logarithm of the probability of `start`, which no statement that begins so can exceed."""
    grammar: str
    """The grammar of these statements."""


def from_branches(tokens: Sequence[Token], grammar: StatementGrammar) -> list[Branch]:
    """Return the other beginnings of a statement in its first FROM clause, the most probable first.

    `tokens` are those of the generated statement, of which `grammar` allows all. Statements that begin with SELECT have
    no branches.
    """
    if grammar.joins is None:
        return []
    statement = "".join(token.text for token in tokens)
    roots: dict[str, tuple[float, str]] = {}
    before, logprob = "", 0.0
    for token in tokens:
        if _END in before:
            break
        for text, alternative in token.alternatives.items():
            start, total = before + text, logprob + alternative
            # Another division of the same statement into tokens is no other beginning.
            if total >= _MIN_LOGPROB and not statement.startswith(start):
                root = grammar.joins.root(start)
                if root and (root not in roots or roots[root][0] < total):
                    roots[root] = total, start
        before += token.text
        logprob += token.logprob
    ranked = sorted(roots.items(), key=lambda item: -item[1][0])
    return [Branch(start, total, grammar.with_root(root)) for root, (total, start) in ranked]

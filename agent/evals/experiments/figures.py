"""The figures of an experiment."""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

from agent.audit.step import add_costs
from agent.evals.experiments.log import QuestionLog
from agent.evals.experiments.method import FAILED
from agent.evals.match_rule import MatchRule
from agent.evals.report import Report


def figures_of(logs: Sequence[QuestionLog], rounds: int, rule: MatchRule) -> dict[str, Any]:
    """Return the figures of `logs`, of which each had at most `rounds`: what `docs/evaluation.md` says of each."""
    asked = sum(log.questions_asked for log in logs)
    counts = Counter(str(log.num_cq_asked) for log in logs)
    return {
        **Report([log.outcome for log in logs], rule).as_json(),
        "accuracy_by_round": accuracy_by_round(logs, rounds),
        "num_cq_asked": {name: counts[name] for name in (*map(str, range(rounds + 1)), FAILED)},
        "questions_asked": asked,
        "efficiency": efficiency(logs),
        "perplexity": _perplexities(logs),
        "oracle": {
            "calls": sum(log.oracle.calls for log in logs),
            "tokens": sum(log.oracle.tokens for log in logs),
            "cost_usd": add_costs(log.oracle.cost_usd for log in logs),
        },
    }


def accuracy_by_round(logs: Sequence[QuestionLog], rounds: int) -> list[float]:
    """Return the share of questions that are right after round 0, 1 and so on; a right answer stays one."""
    right = [[each.number for each in log.rounds if each.match] for log in logs]
    counted = (sum(any(at <= number for at in found) for found in right) for number in range(rounds + 1))
    return [round(count / len(logs), 4) if logs else 0.0 for count in counted]


def efficiency(logs: Sequence[QuestionLog]) -> float | None:
    """Return the gain in accuracy per question asked; None where none was, or one before the first answer.

    It is (accuracy after the last round - accuracy of the first answer) / questions asked per question of the dataset:
    how many questions of the dataset came right for each one that the user had to answer. Sphinteract (Zhao et al.,
    VLDB 2025) reports the two, the gain and the number of questions; the quotient is this project's.
    """
    asked = sum(log.questions_asked for log in logs)
    if any(log.rounds and log.rounds[0].asked for log in logs):
        return None
    gained = sum(log.match and not log.rounds[0].match for log in logs if log.rounds)
    return round(gained / asked, 4) if asked else None


def _perplexities(logs: Sequence[QuestionLog]) -> dict[str, float | None]:
    """Return the median perplexity of last statements, of those that are right and of the others."""
    known = [(log.match, log.perplexity) for log in logs if log.perplexity is not None]
    groups = {"all": {True, False}, "right": {True}, "wrong": {False}}
    found = {name: [value for match, value in known if match in group] for name, group in groups.items()}
    return {name: round(median(values), 4) if values else None for name, values in found.items()}

"""How well it is asked: whether questions are asked where the answer matters, and not where it does not."""

from collections.abc import Sequence
from typing import Any

from agent.evals.bootstrap import bootstrap_interval
from agent.evals.datasets.readings import ReadQuestion
from agent.evals.experiments.log import QuestionLog


def asking_of(questions: Sequence[ReadQuestion], logs: Sequence[QuestionLog]) -> dict[str, Any]:
    """Return the figures over `questions` and their `logs`, in the same order.

    `ask_precision` is the share of the questions that were asked about where it mattered, `ask_recall` the share of
    those where it mattered that were asked about, `over_asking` the share of those where it did not that were; each is
    None where there is none to share, and has its 95 % interval beside it.
    """
    pairs = [(question, log.questions_asked > 0) for question, log in zip(questions, logs, strict=True)]
    asked = [question for question, was_asked in pairs if was_asked]
    hits = sum(question.matters for question in asked)
    matter = sum(question.matters for question in questions)
    by_type = {
        kind: _share([was_asked for question, was_asked in pairs if question.matters and question.type == kind])
        for kind in dict.fromkeys(question.type for question in questions if question.type)
    }
    return {
        "asked": len(asked),
        "mattered": matter,
        **_named("ask_precision", hits, len(asked)),
        **_named("ask_recall", hits, matter),
        **_named("over_asking", len(asked) - hits, len(questions) - matter),
        "ask_recall_by_type": by_type,
        "asked_of_clear": _share([was_asked for question, was_asked in pairs if question.type is None]),
    }


def _named(name: str, part: int, whole: int) -> dict[str, Any]:
    interval = [round(bound, 4) for bound in bootstrap_interval(part, whole)] if whole else None
    return {name: round(part / whole, 4) if whole else None, f"{name}_interval": interval}


def _share(told: list[bool]) -> float | None:
    return round(sum(told) / len(told), 4) if told else None

"""Whether a question that a model has written can be put to a user."""

import re
from collections.abc import Iterable, Sequence

from agent.clarify.types import Clarification

_SQL = re.compile(r"\bselect\b.+\bfrom\b|\b(?:inner|left) join\b|\bgroup by\b.+[,;)]|```|\bwhere\b.+[=<>]", re.I | re.S)


def is_sql(text: str) -> bool:
    """Return whether `text` holds what reads like SQL."""
    return bool(_SQL.search(text))


def why_not_asked(question: str, labels: Sequence[str], said: Iterable[Clarification]) -> str | None:
    """Return why nobody can be asked `question` with options of these labels, or was already; None where they can."""
    apart = {label.casefold() for label in labels if label}
    if not question.strip() or len(apart) < 2:
        return "the review names no two readings"
    if any(map(is_sql, (question, *labels))):
        return "the review asks in SQL"
    for known in said:
        same_options = apart == {label.casefold() for label in known.get("options", ())}
        if same_options or known["question"].casefold() == question.casefold():
            return "it was asked before"
    return None

"""The output where a question to the user has to be answered first."""

from typing import Any

from agent.clarify.text import question_text
from agent.clarify.types import ClarifyingQuestion


def answer_asked(asked: ClarifyingQuestion) -> dict[str, Any]:
    """Return the output that asks: the question with its options as text, and as `clarification`."""
    return {
        "answer": question_text(asked),
        "output_type": None,
        "value": None,
        "sql": None,
        "tables": [],
        "charts": [],
        "clarification": asked,
        "error": None,
    }

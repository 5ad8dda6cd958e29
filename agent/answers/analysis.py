"""The analyst's output where a question has no answer: what went wrong or is asked, and what was found."""

from typing import Any

from agent.analyst_state import AnalystState
from agent.answers.failed import open_again
from agent.clarify.text import question_text
from agent.clarify.types import ClarifyingQuestion
from agent.failure import error_info
from agent.messages import language_of
from agent.state import answer_table


def analysis_failure(failure: dict[str, Any], state: AnalystState) -> dict[str, Any]:
    """Return the output for `failure`: its text, and the results and charts as far as there are any."""
    error = error_info(failure, language_of(str(state.get("question") or "")))
    output = {**_found(state), "failure": failure, "answer": error["message"], "clarification": None, "error": error}
    return {**output, **open_again(state)}


def analysis_question(asked: ClarifyingQuestion, state: AnalystState) -> dict[str, Any]:
    """Return the output for a question to the user, who has to answer first."""
    return {**_found(state), "answer": question_text(asked), "clarification": asked, "error": None}


def _found(state: AnalystState) -> dict[str, Any]:
    results = state.get("results") or {}
    return {
        "output_type": None,
        "value": None,
        "sql": list(results.values())[-1]["sql"] if results else None,
        "tables": [answer_table(name, kept["result"]) for name, kept in results.items()],
        "charts": [each["chart"] for each in state.get("drawn") or ()],
    }

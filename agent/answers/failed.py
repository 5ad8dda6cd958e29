"""The output where a question ends without an answer."""

from collections.abc import Mapping
from typing import Any

from agent.failure import error_info
from agent.messages import language_of
from agent.state import State, answer_table

_OF_CLARIFICATION = ("clarification", "clarifications", "clarification_count", "rejected_sql", "readings")


def answer_failure(failure: dict[str, Any], state: State) -> dict[str, Any]:
    """Return the output for `failure`: its text, and the statement and rows as far as there are any.

    A clarifying question whose answer could not be used, for whatever reason, is open again.
    """
    error = error_info(failure, language_of(str(state.get("question") or "")))
    # Rows without a statement are those of the answer before.
    result = state.get("result") if state.get("sql_request") else None
    table = result and answer_table("result", result)
    reason = failure["facts"].get("reason", "") if failure["code"] == "sql_not_generated" else ""
    return {
        "failure": failure,
        "answer": f"{error['message']}: {reason}" if reason else error["message"],
        "output_type": None,
        "value": None,
        "sql": state.get("sql_request") or None,
        "tables": [table] if table else [],
        "charts": [],
        "clarification": None,
        "error": error,
        **open_again(state),
    }


def open_again(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the clarifying question that a failed run was to go on from, and what was said before; else nothing."""
    given = state.get("given") or {}
    went_on = given.get("clarification_answer") is not None or given.get("feedback") is not None
    if not went_on or not given.get("clarification"):
        return {}
    return {name: given[name] for name in _OF_CLARIFICATION if name in given}

"""What comes out where conversations are kept on threads."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from agent.audit.step import new_audit
from agent.failure import error_info
from agent.messages import language_of
from agent.state import Output

Status = Literal["ok", "clarification", "error"]


class Reply(Output, total=False):
    """An output on a thread."""

    thread_id: str | None
    """The thread to go on with; None where it is not kept."""
    status: Status
    """Whether there is an answer, a question back, or an error."""


def status_of(state: Mapping[str, Any]) -> Status:
    """Return how a run ended that has left `state`."""
    return "error" if state.get("error") else "clarification" if state.get("clarification") else "ok"


def reply_of(state: Mapping[str, Any], thread_id: str | None, kept_as: str | None = None) -> Reply:
    """Return what a graph has left in `state` as it comes out.

    `kept_as` is the id under which the thread has it: each chart is named by it, and by its number from 1.
    """
    output = {name: state[name] for name in Output.__annotations__ if name in state}
    if kept_as and output.get("charts"):
        ids = (f"{thread_id}-{kept_as}-{number}" for number in range(1, len(output["charts"]) + 1))
        output["charts"] = [{**chart, "id": chart_id} for chart, chart_id in zip(output["charts"], ids, strict=True)]
    return cast(Reply, {**output, "thread_id": thread_id, "status": status_of(state)})


def refusal(failure: dict[str, Any], given: Mapping[str, Any], thread_id: str | None) -> Reply:
    """Return the output for a run that could not begin, or could not be kept, for `failure`; it has no trace."""
    text = str(given.get("question") or given.get("clarification_answer") or "")
    info = error_info(failure, language_of(text))
    nothing: dict[str, Any] = {
        "output_type": None,
        "value": None,
        "sql": None,
        "tables": [],
        "charts": [],
        "clarification": None,
    }
    return reply_of({**nothing, "answer": info["message"], "error": info, "audit": new_audit("")}, thread_id)

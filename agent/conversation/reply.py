"""Output of a run on a thread."""

from collections.abc import Mapping
from typing import Any, cast

from datasphinx.agent.answers.answer import Answer
from datasphinx.agent.core.failure import error_info
from datasphinx.agent.messages import language_of
from datasphinx.agent.record.step import new_audit
from datasphinx.agent.state import Output
from datasphinx.agent.types import Report, Status

REPLY_KEYS = (*Output.__annotations__, "report")
"""The keys of a final state that are part of the output."""


class Reply(Output, total=False):
    """The output of a graph with the thread and the status of the run."""

    report: Report | None
    """The report; absent for single questions."""
    thread_id: str | None
    """The thread for follow-ups; None if it is not stored."""
    run_id: str
    """The id of the run in the history of the thread; absent if the run is not stored."""


def status_of(state: Mapping[str, Any]) -> Status:
    """Return how the run with the final state `state` ended; states of earlier versions have no status."""
    status: Status = "error" if state.get("error") else "clarification" if state.get("clarification") else "ok"
    return "unsure" if status == "ok" and state.get("status") == "unsure" else status


def title_of(reply: Reply) -> str:
    """Return the title that the model gives the conversation or the report of `reply`; empty if it gives none."""
    report = reply.get("report")
    return report["title"] if report else reply.get("title", "")


def reply_of(state: Mapping[str, Any], thread_id: str | None, checkpoint_id: str | None = None) -> Reply:
    """Return the reply for the final state of a run.

    `checkpoint_id` is the stored checkpoint of the run, and its `run_id`; the ids of charts consist of the thread id,
    the checkpoint id and a number from 1.
    """
    output = {name: state[name] for name in REPLY_KEYS if name in state}
    if checkpoint_id and output.get("charts"):
        ids = (f"{thread_id}-{checkpoint_id}-{number}" for number in range(1, len(output["charts"]) + 1))
        output["charts"] = [{**chart, "id": chart_id} for chart, chart_id in zip(output["charts"], ids, strict=True)]
    stored = {"run_id": checkpoint_id} if checkpoint_id else {}
    return cast(Reply, {**output, "thread_id": thread_id, **stored, "status": status_of(state)})


def refusal(failure: dict[str, Any], inputs: Mapping[str, Any], thread_id: str | None) -> Reply:
    """Return the reply for a run that could not be started or stored because of `failure`; it has no trace."""
    text = str(inputs.get("question") or inputs.get("clarification_answer") or "")
    language = language_of(text)
    info = error_info(failure, language)
    output = Answer(info["message"], language, status="error", error=info).output()
    return reply_of({**output, "audit": new_audit("")}, thread_id)

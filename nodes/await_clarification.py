"""Node: stop for the user's answer, where a thread keeps the question."""

from typing import Any

from langgraph.config import get_config
from langgraph.types import interrupt

from agent.conversation.thread_run import ENDS_WITH_QUESTION
from agent.services import Services
from agent.state import State

_CHECKPOINTER = "__pregel_checkpointer"
"""Where LangGraph has the checkpointer of a run; without one nothing could go on after an interrupt."""


def await_clarification(state: State, services: Services) -> dict[str, Any]:
    """Give `clarification` to the user and take what comes back as `clarification_answer`.

    Without a checkpointer, or where the caller wants no interrupt, the run ends instead, and the answer comes with the
    next one. What comes back may also be an object with the answer and other inputs, as a first question has them.
    What is no answer is passed on as an empty one, for which the user is told so.
    """
    configurable = get_config()["configurable"]
    if configurable.get(_CHECKPOINTER) is None or configurable.get(ENDS_WITH_QUESTION):
        return {}
    answer = interrupt(state["clarification"])
    given = answer if isinstance(answer, dict) else {"clarification_answer": answer}
    others = {name: given[name] for name in ("clarify", "output_type") if name in given}
    return {**others, "clarification_answer": _as_text(given.get("clarification_answer"))}


def _as_text(answer: Any) -> str:
    is_number = isinstance(answer, int) and not isinstance(answer, bool)
    return answer if isinstance(answer, str) else str(answer) if is_number else ""

"""Node: wait for the user's answer to a clarifying question."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.types import interrupt

from datasphinx.agent.conversation.conversations import ENDS_WITH_QUESTION
from datasphinx.agent.services import Services
from datasphinx.agent.state import State


def await_clarification(state: State, services: Services) -> dict[str, Any]:
    """Interrupt the run with `clarification` and return the value that it is resumed with as `clarification_answer`.

    The value is the answer, or an object with the answer and further inputs. Anything else counts as an empty answer,
    which is reported to the user. Without a checkpointer, or if the caller does not want an interrupt, the run ends
    here, and the answer is an input of the next run.
    """
    configurable = get_config()["configurable"]
    can_resume = any(isinstance(value, BaseCheckpointSaver) for value in configurable.values())
    if not can_resume or configurable.get(ENDS_WITH_QUESTION):
        return {}
    value = interrupt(state["clarification"])
    inputs = value if isinstance(value, dict) else {"clarification_answer": value}
    answer = inputs.get("clarification_answer")
    if isinstance(answer, int) and not isinstance(answer, bool):
        answer = str(answer)
    options = {name: inputs[name] for name in ("clarify", "output_type", "questions") if name in inputs}
    return {**options, "clarification_answer": answer if isinstance(answer, str) else ""}

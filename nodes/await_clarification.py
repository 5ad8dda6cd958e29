"""Node: wait for the user's answer to a clarifying question."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.graph import END
from langgraph.types import interrupt

from datasphinx.agent.clarify.human_interrupt import human_interrupt, inputs_of_answer, is_ignored
from datasphinx.agent.conversation.conversations import ENDS_WITH_QUESTION
from datasphinx.agent.routes import after_await_clarification
from datasphinx.agent.services import Services
from datasphinx.agent.state import State


def await_clarification(state: State, services: Services) -> dict[str, Any]:
    """Interrupt the run with `clarification`, and return the inputs in the value that it is resumed with.

    An empty answer is reported to the user, and an ignored question ends the run. Without a checkpointer, or if the
    caller does not want an interrupt, the run ends here, and the answer is an input of the next run.
    """
    configurable = get_config()["configurable"]
    can_resume = any(isinstance(value, BaseCheckpointSaver) for value in configurable.values())
    if not can_resume or configurable.get(ENDS_WITH_QUESTION):
        return {}
    question = state["clarification"]
    answer = interrupt(human_interrupt(question) if question else question)
    return {"clarification": None} if is_ignored(answer) else inputs_of_answer(answer)


AWAIT_CLARIFICATION = (
    await_clarification,
    after_await_clarification,
    {"begin": "answer of the user", END: "no answer yet"},
)
"""The step of all graphs that waits, with the labels of its edges."""

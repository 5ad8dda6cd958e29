"""Node: rewrite a follow-up question so that it can be understood without the conversation."""

from typing import Any

from agent.conversation.follow_ups import rewrite_standalone
from agent.core.text import clean_question
from agent.services import Services
from agent.state import AnalystState


def rewrite_question(state: AnalystState, services: Services) -> dict[str, Any]:
    """Rewrite `question` using the last turns."""
    question = clean_question(state.get("question"), services.settings.max_question_chars)
    return {"question": rewrite_standalone(question, state["turns"][-services.settings.memory_size :], services)}

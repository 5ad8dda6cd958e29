"""Node: let a question that leans on those before it stand alone."""

from typing import Any

from agent.analyst_state import AnalystState
from agent.conversation.rewriting import standing_alone
from agent.question import clean_question
from agent.services import Services


def rewrite_question(state: AnalystState, services: Services) -> dict[str, Any]:
    """Rewrite `question` with the last turns in sight."""
    question = clean_question(state.get("question"), services.settings.max_question_chars)
    return {"question": standing_alone(question, state["turns"][-services.settings.memory_size :], services)}

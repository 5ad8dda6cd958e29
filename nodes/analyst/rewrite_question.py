"""Node: rewrite a follow-up question so that it can be understood without the conversation."""

from typing import Any

from agent.conversation.follow_ups import rewrite_standalone
from agent.core.text import clean_question
from agent.services import Services
from agent.state import AnalystState


def rewrite_question(state: AnalystState, services: Services) -> dict[str, Any]:
    """Rewrite `question` using the last turns."""
    settings = services.settings
    question = clean_question(state.get("question"), settings.max_question_chars)
    turns = state["turns"][-settings.memory_size :]
    model, instructions = services.roles.text_writer, services.instructions(state.get("source"))
    return {"question": rewrite_standalone(question, turns, model, settings.max_question_chars, instructions)}

"""Node: take note that the user accepted the last answer."""

from typing import Any

from agent.clarify.accepted import keep_as_example
from agent.errors import NothingAnswered
from agent.messages import language_of, render
from agent.services import Services
from agent.state import State


def keep_answer(state: State, services: Services) -> dict[str, Any]:
    """Acknowledge it; where the settings say so, keep the question with its statement as a few-shot example."""
    turns = state.get("turns")
    if not turns:
        raise NothingAnswered()
    if services.settings.keep_accepted_examples:
        keep_as_example(turns[-1], services.source(state.get("source")), services)
    text = render("answer_accepted", language_of(turns[-1]["question"]))
    form = {"output_type": "string", "value": text, "sql": turns[-1]["sql"], "tables": [], "charts": []}
    return {"answer": text, **form, "clarification": None, "error": None}

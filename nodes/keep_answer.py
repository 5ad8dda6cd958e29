"""Node: take note that the user accepted the last answer."""

from typing import Any

from agent.clarify.accepted import keep_as_example
from agent.clarify.hearing import feedback_of
from agent.messages import language_of, render
from agent.services import Services
from agent.state import State


def keep_answer(state: State, services: Services) -> dict[str, Any]:
    """Acknowledge it; where the settings say so, keep the question with its statement as a few-shot example."""
    feedback_of(state)
    last = state["turns"][-1]
    if services.settings.keep_accepted_examples:
        keep_as_example(last, services.source(state.get("source")), services)
    text = render("answer_accepted", language_of(last["question"]))
    form = {"output_type": "string", "value": text, "sql": last["sql"], "tables": [], "charts": []}
    return {"answer": text, **form, "clarification": None, "error": None}

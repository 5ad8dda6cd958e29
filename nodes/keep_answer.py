"""Node: acknowledge that the user accepted the last answer."""

from dataclasses import replace
from typing import Any

from datasphinx.agent.answers.outputs import text_answer
from datasphinx.agent.clarify.feedback import feedback_of
from datasphinx.agent.messages import language_in, render
from datasphinx.agent.proposals import propose
from datasphinx.agent.services import Services
from datasphinx.agent.state import State


def keep_answer(state: State, services: Services) -> dict[str, Any]:
    """Return the acknowledgement; propose the question and its statement as a verified query of the source."""
    feedback_of(state)
    last = state["turns"][-1]
    is_proposed = propose(last, state.get("source") or services.choices[0], services)
    language = language_in(last)
    text = render("answer_proposed" if is_proposed else "answer_accepted", language)
    return replace(text_answer(text, language), sql=last["sql"]).output()

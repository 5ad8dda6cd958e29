"""The prompt of one step: the question, and the calls so far, everything from files marked as data."""

from datetime import date

from langchain_core.messages import BaseMessage

import prompts
from agent.analysis.control import may_ask
from agent.analyst_state import AnalystState, Observation
from agent.answers.narration import LANGUAGES
from agent.messages import language_of
from agent.prompt_data import block, shortened
from agent.settings import Settings

_MOST_CHARS = 40_000
"""Characters of all calls together: of older ones only what was called is shown."""

_ASKING = {
    "auto": "Where readings of the question would give different answers, call ask_user; else do not ask.",
    "always": "Where the question leaves anything open, call ask_user before you compute.",
}
_NOT_ASKING = "Do not ask the user: take the likeliest reading, and say in the answer what you assumed."
_FORMS = {
    "number": "The main result has to be one number: one row with one column.",
    "plot": "The answer has to be a chart.",
    "dataframe": "The answer has to be a table.",
    "string": "The answer has to be text.",
}


def step_messages(state: AnalystState, settings: Settings, today: date) -> list[BaseMessage]:
    """Return the messages that ask for the next call."""
    clarify = state.get("clarify") or settings.clarify
    return prompts.render(
        "analyse",
        today=today.isoformat(),
        language=LANGUAGES[language_of(state["question"])],
        clarify=_ASKING[clarify] if may_ask(state, settings) else _NOT_ASKING,
        form=_FORMS.get(str(state.get("output_type")), ""),
        question=state["question"],
        context="".join(f"Clarified: {each['question']} - {each['answer']}\n" for each in state["clarifications"]),
        calls="\n".join(_calls(state["observations"])) or "none",
        left=str(max(0, settings.max_steps - state["step_count"])),
    )


def _calls(observations: list[Observation]) -> list[str]:
    """Return a block for each call, oldest first."""
    blocks: list[str] = []
    left = _MOST_CHARS
    for number, made in reversed(list(enumerate(observations, 1))):
        call = {"tool": made["tool"], "arguments": made["arguments"]}
        whole = block(shortened({**call, "gave": made["content"]}), call=number)
        text = whole if len(whole) <= left else block(shortened(call), call=number)
        left -= len(text)
        blocks.insert(0, text)
    return blocks

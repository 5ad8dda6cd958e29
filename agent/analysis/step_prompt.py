"""The prompt of one step: the question and the calls so far, with content of files marked as data."""

from datetime import date

from langchain_core.messages import BaseMessage

import prompts
from agent.analysis.controls import may_ask
from agent.answers.narration import LANGUAGES
from agent.core.prompt_data import block, shortened
from agent.messages import language_of
from agent.settings import Settings
from agent.state import AnalystState, Observation

_MAX_CHARS = 40_000
"""Maximum length of all calls together, in characters; older calls are shown without their outcome."""

_CLARIFY_INSTRUCTIONS = {
    "auto": "Where readings of the question would give different answers, call ask_user; else do not ask.",
    "always": "Where the question leaves anything open, call ask_user before you compute.",
}
_NO_CLARIFY_INSTRUCTION = "Do not ask the user: take the likeliest reading, and say in the answer what you assumed."
_OUTPUT_INSTRUCTIONS = {
    "number": "The main result has to be one number: one row with one column.",
    "plot": "The answer has to be a chart.",
    "dataframe": "The answer has to be a table.",
    "string": "The answer has to be text.",
}


def step_messages(state: AnalystState, settings: Settings, today: date) -> list[BaseMessage]:
    """Return the messages that request the next call from the model."""
    clarify = state.get("clarify") or settings.clarify
    return prompts.render(
        "analyse",
        today=today.isoformat(),
        language=LANGUAGES[language_of(state["question"])],
        clarify=_CLARIFY_INSTRUCTIONS[clarify] if may_ask(state, settings) else _NO_CLARIFY_INSTRUCTION,
        form=_OUTPUT_INSTRUCTIONS.get(str(state.get("output_type")), ""),
        question=state["question"],
        context="".join(f"Clarified: {turn['question']} - {turn['answer']}\n" for turn in state["clarifications"]),
        calls="\n".join(_calls(state["observations"])) or "none",
        left=str(max(0, settings.max_steps - state["step_count"])),
    )


def _calls(observations: list[Observation]) -> list[str]:
    """Return one text block per call, oldest first."""
    blocks: list[str] = []
    left = _MAX_CHARS
    for number, observation in reversed(list(enumerate(observations, 1))):
        call = {"tool": observation["tool"], "arguments": observation["arguments"]}
        text = block(shortened({**call, "gave": observation["content"]}), call=number)
        if len(text) > left:
            text = block(shortened(call), call=number)
        left -= len(text)
        blocks.insert(0, text)
    return blocks

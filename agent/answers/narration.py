"""An answer in the model's words, kept only where every figure in it is in the rows."""

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

import prompts
from agent.audit.grounding import ungrounded_figures
from agent.audit.step import note
from agent.messages import Language
from agent.models.client import ModelClient
from agent.models.schemas import NarratedAnswer
from agent.sql.result import Result
from agent.state import OutputType

_LANGUAGES = {"en": "English", "ru": "Russian", "zh": "Chinese"}
_SHOWN_ROWS = 50
_REWRITE = (
    "These figures follow from nothing in the rows: {figures}. Write the answer again without them; state only figures "
    "of the rows, and differences or ratios of two figures that you state beside them."
)


def narrate(
    question: str, result: Result, output_type: OutputType, language: Language, model: ModelClient
) -> str | None:
    """Return a few sentences about `result`; None where there is none to rely on."""
    shown = [dict(zip(result["columns"], row, strict=True)) for row in result["rows"][:_SHOWN_ROWS]]
    messages = prompts.render(
        "narrate",
        model.profile,
        language=_LANGUAGES[language],
        output_type=output_type,
        question=question,
        count=str(len(result["rows"])),
        cut=", more exist" if result["truncated"] else "",
        rows="\n".join(json.dumps(row, ensure_ascii=False)[:500] for row in shown),
    )
    return ask_grounded(messages, result, question, model)


def ask_grounded(
    messages: list[BaseMessage], results: Result | Sequence[Result], question: str, model: ModelClient
) -> str | None:
    """Return what the model narrates to `messages`; None where it fails, says nothing, or invents figures.

    Where a figure follows from nothing in `results` the model hears which, and writes once more.
    """
    try:
        text = model.ask(NarratedAnswer, messages).answer.strip()
        invented = _invented(text, results, question)
        if not invented:
            return text or None
        told = [AIMessage(text), HumanMessage(_REWRITE.format(figures=invented))]
        text = model.ask(NarratedAnswer, [*messages, *told]).answer.strip()
        return None if _invented(text, results, question) else text or None
    except Exception as error:
        # Whatever goes wrong here, there are rows to answer with.
        note(f"there is no narration: {error}")
        return None


def _invented(text: str, results: Result | Sequence[Result], question: str) -> str:
    invented = ", ".join(dict.fromkeys(ungrounded_figures(text, results, question)))
    if invented:
        note(f"the narration was rejected, it states {invented}")
    return invented

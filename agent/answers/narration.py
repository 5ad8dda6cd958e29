"""An answer in the model's words, kept only where every figure in it is in the rows."""

import json

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


def narrate(
    question: str, result: Result, output_type: OutputType, language: Language, model: ModelClient
) -> str | None:
    """Return a few sentences about `result`; None where the model fails or states a figure that is not in the rows."""
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
    try:
        text = model.ask(NarratedAnswer, messages).answer.strip()
    except Exception as error:
        # Whatever goes wrong here, there are rows to answer with.
        note(f"there is no narration: {error}")
        return None
    invented = ungrounded_figures(text, result, question)
    if invented:
        note(f"the narration was rejected, it states {', '.join(invented)}")
        return None
    return text or None

"""An answer in the model's words, kept only where every figure in it is in the rows."""

from collections.abc import Mapping

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

import prompts
from agent.audit.grounding import ungrounded_figures
from agent.audit.step import note
from agent.messages import Language
from agent.models.client import ModelClient
from agent.models.schemas import NarratedAnswer
from agent.prompt_data import escaped, shortened
from agent.sql.result import Result, masked
from agent.state import OutputType

LANGUAGES: dict[Language, str] = {"en": "English", "ru": "Russian", "zh": "Chinese"}
_SHOWN_ROWS = 50
_ROW_CHARS = 500


def narrate(
    question: str,
    results: Mapping[str, Result],
    output_type: OutputType,
    language: Language,
    model: ModelClient,
    draft: str = "",
) -> str | None:
    """Return a few sentences about `results`, the main one first; `draft` where a model has written them already.

    Values of secret columns are masked before anything is read, so that no prompt and no objection has one. A text with
    a figure that is not in the rows is written once more, with the figures named. None where the model fails, or states
    such a figure again.
    """
    results = {name: masked(result) for name, result in results.items()}
    messages = _messages(question, results, output_type, language, model)
    try:
        text = draft or _said(model, messages)
        invented = _invented(text, results, question)
        if invented:
            text = _said(model, [*messages, AIMessage(text), _objection(invented)])
            invented = _invented(text, results, question)
    except Exception as error:
        # Whatever goes wrong here, there are rows to answer with.
        note(f"there is no narration: {error}")
        return None
    return None if invented else text or None


def _said(model: ModelClient, messages: list[BaseMessage]) -> str:
    return model.ask(NarratedAnswer, messages).answer.strip()


def _invented(text: str, results: Mapping[str, Result], question: str) -> list[str]:
    """Return the figures that follow from nothing in the results, each once."""
    invented = list(dict.fromkeys(ungrounded_figures(text, list(results.values()), question)))
    if invented:
        note(f"the narration was rejected, it states {', '.join(invented)}")
    return invented


def _objection(invented: list[str]) -> BaseMessage:
    return HumanMessage(
        f"These figures follow from nothing in the rows: {', '.join(invented)}. Write the answer again without them; "
        "state only figures of the rows, and differences or ratios of two figures that you state beside them."
    )


def _messages(
    question: str, results: Mapping[str, Result], output_type: OutputType, language: Language, model: ModelClient
) -> list[BaseMessage]:
    main = next(iter(results.values()))
    return prompts.render(
        "narrate",
        model.profile,
        language=LANGUAGES[language],
        output_type=output_type,
        question=question,
        count=str(len(main["rows"])),
        cut=", more exist" if main["truncated"] else "",
        rows="\n".join(line for name, result in results.items() for line in _lines(name, result, len(results))),
    )


def _lines(name: str, result: Result, results: int) -> list[str]:
    rows = [dict(zip(result["columns"], row, strict=True)) for row in result["rows"][:_SHOWN_ROWS]]
    shown = [escaped(shortened(row))[:_ROW_CHARS] for row in rows]
    return [f"{name}, {len(result['rows'])} rows:", *shown] if results > 1 else shown

"""An answer in the model's words, kept only where the rows support every figure and claim in it."""

from collections.abc import Mapping

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

import prompts
from agent.audit.step import note
from agent.grounding.binding import Objection
from agent.grounding.claims import unsupported_claims
from agent.grounding.summary import computed_facts
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
    a figure or claim that the rows do not support is written once more, with the claims and reasons named. None where
    the model fails, or states such a claim again.
    """
    results = {name: masked(result) for name, result in results.items()}
    messages = _messages(question, results, output_type, language, model)
    try:
        text = draft or _said(model, messages)
        objections = _objections(text, results, question)
        if objections:
            text = _said(model, [*messages, AIMessage(text), _objection(objections)])
            objections = _objections(text, results, question)
    except Exception as error:
        # Whatever goes wrong here, there are rows to answer with.
        note(f"there is no narration: {error}")
        return None
    return None if objections else text or None


def _said(model: ModelClient, messages: list[BaseMessage]) -> str:
    return model.ask(NarratedAnswer, messages).answer.strip()


def _objections(text: str, results: Mapping[str, Result], question: str) -> list[Objection]:
    """Return what the results do not support."""
    objections = unsupported_claims(text, list(results.values()), question)
    if objections:
        note(f"the narration was rejected, it states {', '.join(dict.fromkeys(each.claim for each in objections))}")
    return objections


def _objection(objections: list[Objection]) -> BaseMessage:
    claims = "\n".join(dict.fromkeys(f"- {each.claim}: {each.reason}" for each in objections))
    return HumanMessage(
        f"The rows do not support these claims:\n{claims}\nWrite the answer again without them. State only figures of "
        "the rows and of the computed facts, each with the name, period and metric that it belongs to, and no causes, "
        "forecasts or judgements."
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
        facts=escaped(computed_facts(list(results.values()), question)) or "nothing",
        rows="\n".join(line for name, result in results.items() for line in _lines(name, result, len(results))),
    )


def _lines(name: str, result: Result, results: int) -> list[str]:
    rows = [dict(zip(result["columns"], row, strict=True)) for row in result["rows"][:_SHOWN_ROWS]]
    shown = [escaped(shortened(row))[:_ROW_CHARS] for row in rows]
    return [f"{name}, {len(result['rows'])} rows:", *shown] if results > 1 else shown

"""Narration: an answer written by the model, used only if the rows support every figure and claim in it."""

from collections.abc import Mapping

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

import prompts
from agent.core.prompt_data import escaped, shortened
from agent.grounding.binding import Objection
from agent.grounding.claims import unsupported_claims
from agent.grounding.summary import computed_facts
from agent.llm.client import ModelClient
from agent.llm.schemas import NarratedAnswer
from agent.messages import Language
from agent.record.step import note
from agent.types import OutputType, Result, masked

LANGUAGES: dict[Language, str] = {"en": "English", "ru": "Russian", "zh": "Chinese"}
"""Names of the languages in prompts."""
_PROMPT_ROWS = 50
_ROW_CHARS = 500


def narrate(
    question: str,
    results: Mapping[str, Result],
    output_type: OutputType,
    language: Language,
    model: ModelClient,
    draft: str = "",
) -> str | None:
    """Return a few sentences about `results`, the main result first; `draft` is a text the model has already written.

    Values of secret columns are masked first, so that no prompt contains them. If the rows do not support a figure or
    claim, the model is told which and why, and rewrites the text once. Returns None if the model fails or the second
    text contains an unsupported claim as well.
    """
    results = {name: masked(result) for name, result in results.items()}
    messages = _messages(question, results, output_type, language, model)
    try:
        text = draft or _ask(model, messages)
        objections = _objections(text, results, question)
        if objections:
            text = _ask(model, [*messages, AIMessage(text), _correction(objections)])
            objections = _objections(text, results, question)
    except Exception as error:
        # The rows can be returned without a narration, so no error ends the run here.
        note(f"narration failed: {error}")
        return None
    return None if objections else text or None


def _ask(model: ModelClient, messages: list[BaseMessage]) -> str:
    return model.ask(NarratedAnswer, messages).answer.strip()


def _objections(text: str, results: Mapping[str, Result], question: str) -> list[Objection]:
    """Return the claims of `text` that the results do not support, and note them."""
    objections = unsupported_claims(text, list(results.values()), question)
    if objections:
        claims = dict.fromkeys(objection.claim for objection in objections)
        note(f"narration rejected, unsupported claims: {', '.join(claims)}")
    return objections


def _correction(objections: list[Objection]) -> BaseMessage:
    claims = "\n".join(dict.fromkeys(f"- {objection.claim}: {objection.reason}" for objection in objections))
    return HumanMessage(
        f"The rows do not support these claims:\n{claims}\nWrite the answer again without them. State only figures of "
        "the rows and of the computed facts, each with the name, period and metric that it belongs to, and no causes, "
        "forecasts or judgements."
    )


def _messages(
    question: str, results: Mapping[str, Result], output_type: OutputType, language: Language, model: ModelClient
) -> list[BaseMessage]:
    main = next(iter(results.values()))
    lines = []
    for name, result in results.items():
        if len(results) > 1:
            lines.append(f"{name}, {len(result['rows'])} rows:")
        rows = [dict(zip(result["columns"], row, strict=True)) for row in result["rows"][:_PROMPT_ROWS]]
        lines += [escaped(shortened(row))[:_ROW_CHARS] for row in rows]
    return prompts.render(
        "narrate",
        model.profile,
        language=LANGUAGES[language],
        output_type=output_type,
        question=question,
        count=str(len(main["rows"])),
        cut=", more exist" if main["truncated"] else "",
        facts=escaped(computed_facts(list(results.values()), question)) or "nothing",
        rows="\n".join(lines),
    )

"""Messages of the model calls about one question: the schema in the system message, the task in the other one.

The system message is the same for all calls of a question. If the whole schema is shown, it is the same for all
questions on a source. Providers then charge less for it, because they cache equal beginnings of prompts.
"""

from collections.abc import Sequence
from datetime import date

from langchain_core.messages import BaseMessage

import prompts
from agent.retrieval.linked_values import linked_values
from agent.schema.describe import describe, literal, quoted_key
from agent.schema.personal import personal_kind
from agent.schema.words import normal_form
from agent.sources.source import Source
from agent.state import State

_OUTPUT_TYPE_HINTS = {
    "number": "The answer has to be one number: one row with one column.",
    "plot": "The answer will be a chart: first the column for the x axis, then the measures, in order.",
}


def question_messages(
    name: str, state: State, source: Source, today: date, *, context: Sequence[str] = (), **variables: str
) -> list[BaseMessage]:
    """Return the messages of the template `name`, which has no system part of its own, for the question in `state`.

    `context` has further paragraphs below the question, and `variables` the other variables of the template.
    """
    columns = state["relevant_tables_with_rel_columns"]
    selection = {key: columns[key] for key in sorted(columns)}
    paragraphs = [*question_context(state, source), *context]
    return prompts.render(
        name,
        instructions=source.instructions,
        dialect=source.catalog.dialect,
        schema=describe(source.shown_catalog, selection, source.database.quote),
        today=today.isoformat(),
        question=state["question"],
        context="".join(f"\n\n{paragraph}" for paragraph in paragraphs),
        **variables,
    )


def _stored_values(state: State, source: Source) -> list[str]:
    """Return a line with the stored values that words of the question or of the user's answers refer to.

    A value that looks personal is shown only if the user wrote all of it.
    """
    said = [state["question"], *(clarification["answer"] for clarification in state.get("clarifications") or ())]
    links = linked_values("\n".join(said), source.values, state["relevant_tables_with_rel_columns"])
    quote = source.database.quote
    conditions = []
    for link in links:
        table, samples = source.catalog.tables[link.table], source.catalog.values.get((link.table, link.column), ())
        is_exact = normal_form(link.phrase) == normal_form(link.value)
        if is_exact or not personal_kind(table.name, link.column, samples):
            conditions.append(f"{quoted_key(table, quote)}.{quote(link.column)} = {literal(link.value)}")
    return [f"Stored values that the question mentions: {'; '.join(conditions)}"] if conditions else []


def question_context(state: State, source: Source) -> list[str]:
    """Return what is known about the question besides its text, a paragraph each.

    These are the stored values that it mentions, the question that a follow-up refers to, clarifications, remarks,
    rejected statements, and the requested output type.
    """
    parts, follows = _stored_values(state, source), state.get("follows")
    if follows:
        parts.append(f"The question follows this one: {follows['question']}\n{follows['sql']}")
    for clarification in state.get("clarifications") or ():
        question, answer = clarification["question"], clarification["answer"]
        parts.append(f"Clarified: {question} - {answer}" if question else f"The user remarks: {answer}")
    parts += [f"The user rejected the answer of: {sql}" for sql in state.get("rejected_sql") or ()]
    parts += [_OUTPUT_TYPE_HINTS[name] for name in (state.get("output_type"),) if name in _OUTPUT_TYPE_HINTS]
    return parts

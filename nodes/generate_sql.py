"""Node: have the model write a statement."""

from datetime import date
from typing import Any

from langchain_core.messages import BaseMessage

import prompts
from agent.audit.step import note
from agent.catalog.describe import describe
from agent.catalog.source import Source
from agent.clarify.types import Clarification
from agent.embedded_statement import write_statement
from agent.errors import ModelAnswerUnreadable, OffTopic, SqlNotGenerated
from agent.examples.prompt import shown_in_prompt
from agent.failure import failure_of
from agent.models.embedded import EmbeddedOptions
from agent.models.schemas import GeneratedSQL
from agent.services import Services
from agent.sql.repair import repair
from agent.sql.same import same_form
from agent.state import State

_FORMS = {
    "number": "The answer has to be one number: one row with one column.",
    "plot": "The answer will be a chart: first the column for the x axis, then the measures, in order.",
}


def generate_sql(state: State, services: Services) -> dict[str, Any]:
    """Write `sql_request`; where the model finds the question off topic, say so in `error` instead.

    An answer that cannot be read counts as a try: an empty statement, which execution sends back. A statement that was
    refused before ends the question: asking again would give it again.
    """
    name = state.get("source") or services.choices[0]
    source, model = services.source(name), services.model
    update: dict[str, Any] = {
        "sql_generate_count": state.get("sql_generate_count", 0) + 1,
        "sql_request": "",
        "error": None,
    }
    if model.embedded:
        return {**update, **_embedded(state, source, services, model.embedded)}
    examples = state.get("examples")
    if examples is None:
        shots = services.settings_of(name).shots
        examples = update["examples"] = services.examples.of(state["question"], source, shots)
    try:
        answer = model.ask(GeneratedSQL, _messages(state, source, services.today(), shown_in_prompt(examples)))
    except ModelAnswerUnreadable as error:
        return {**update, "sql_error_info": str(error)}
    if answer.off_topic:
        update["error"] = "the model finds the question off topic"
        last = state["table_counter"] >= services.settings.max_table_retrievals
        return {**update, "failure": failure_of(OffTopic())} if last else update
    mended = repair(answer.sql, source.catalog)
    sql, how = (mended.sql, mended.how) if mended else (answer.sql, "")
    return {**update, "assumptions": answer.assumptions, **_accepted(sql, how, state, source)}


def _embedded(state: State, source: Source, services: Services, options: EmbeddedOptions) -> dict[str, Any]:
    """Return what the embedded model's statement changes; a failure where that cannot be read, and was so before."""
    chosen = write_statement(state, source, services.model, options, services.today())
    written = {"compact_sql": chosen.compact}
    if chosen.sql:
        return {**written, **_accepted(chosen.sql, chosen.how, state, source)}
    again = state.get("compact_sql") == chosen.compact and state.get("sql_generate_count", 0) > 0
    failure = {"failure": failure_of(SqlNotGenerated(chosen.problem))} if again else {}
    return {**written, **failure, "sql_error_info": chosen.problem}


def _accepted(sql: str, how: str, state: State, source: Source) -> dict[str, Any]:
    """Return the statement with `how` it was repaired; a failure where it is one that was refused before."""
    if how:
        note(f"repaired without the model: {how}")
    update = {"sql_request": sql, "sql_error_info": None, "sql_was_repaired": bool(how)}
    form, dialect = same_form(sql, source.catalog.dialect), source.catalog.dialect
    if form in (same_form(rejected, dialect) for rejected in state.get("rejected_sql") or ()):
        return {
            **update,
            "failure": failure_of(SqlNotGenerated("the model found no other query than the rejected one")),
        }
    if form not in state.get("tried_sql", ()):
        return update
    reason = state.get("sql_error_info") or f"{', '.join(state.get('used_stop_words', ()))} is not allowed"
    return {**update, "sql_error_info": reason, "failure": failure_of(SqlNotGenerated(reason))}


def _messages(state: State, source: Source, today: date, examples: str) -> list[BaseMessage]:
    return prompts.render(
        "generate_sql",
        dialect=source.catalog.dialect,
        today=today.isoformat(),
        schema=describe(source.catalog, state["relevant_tables_with_rel_columns"], source.database.quote),
        examples=examples,
        question=state["question"],
        context=_context(state),
    )


def _said(known: Clarification) -> str:
    if not known["question"]:
        return f"The user remarks: {known['answer']}"
    return f"Clarified: {known['question']} - {known['answer']}"


def _context(state: State) -> str:
    """Return what earlier tries and the user add to the question."""
    follows = state.get("follows")
    parts = [f"The question follows this one: {follows['question']}\n{follows['sql']}"] if follows else []
    parts += [_said(known) for known in state.get("clarifications") or ()]
    parts += [f"The user rejected the answer of: {sql}" for sql in state.get("rejected_sql") or ()]
    parts += [_FORMS[form] for form in (state.get("output_type"),) if form in _FORMS]
    if state.get("sql_request"):
        parts.append(f"Your last query was:\n{state['sql_request']}")
    if state.get("used_stop_words"):
        parts.append(f"It was refused for: {', '.join(state['used_stop_words'])}. Write a SELECT without these.")
    if state.get("sql_error_info"):
        parts.append(f"It failed: {state['sql_error_info']}\nWrite a corrected query.")
    return "\n\n".join(parts)

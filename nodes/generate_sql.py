"""Node: have the model write a statement."""

from datetime import date
from typing import Any

import prompts
from agent.audit.step import note
from agent.catalog.describe import describe, describe_compactly
from agent.catalog.source import Source
from agent.errors import ModelAnswerUnreadable, OffTopic, SqlNotGenerated
from agent.failure import failure_of
from agent.models.grammar import statement_grammar
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
    source, model = services.source(state.get("source")), services.model
    selection = state["relevant_tables_with_rel_columns"]
    embedded = model.profile == "embedded"
    grammar = statement_grammar(source.catalog, selection, state["question"], ()) if embedded else None
    schema = (describe_compactly if embedded else describe)(source.catalog, selection, source.database.quote)
    messages = prompts.render(
        "generate_sql",
        model.profile,
        dialect=source.catalog.dialect,
        today=date.today().isoformat(),
        schema=schema,
        question=state["question"],
        context=_context(state),
    )
    update: dict[str, Any] = {
        "sql_generate_count": state.get("sql_generate_count", 0) + 1,
        "sql_request": "",
        "error": None,
    }
    try:
        answer = model.ask(GeneratedSQL, messages, grammar=grammar)
    except ModelAnswerUnreadable as error:
        return {**update, "sql_error_info": str(error)}
    if answer.off_topic:
        update["error"] = "the model finds the question off topic"
        last = state["table_counter"] >= services.settings.max_table_retrievals
        return {**update, "failure": failure_of(OffTopic())} if last else update
    return {**update, "assumptions": answer.assumptions, **_accepted(answer.sql, state, source)}


def _accepted(sql: str, state: State, source: Source) -> dict[str, Any]:
    """Return the statement, repaired where that needs no model; a failure where it is one that was refused before."""
    mended = repair(sql, source.catalog)
    if mended:
        note(f"repaired without the model: {mended.how}")
    sql = mended.sql if mended else sql
    update = {"sql_request": sql, "sql_error_info": None, "sql_was_repaired": bool(mended)}
    if same_form(sql, source.catalog.dialect) not in state.get("tried_sql", ()):
        return update
    reason = state.get("sql_error_info") or f"{', '.join(state.get('used_stop_words', ()))} is not allowed"
    return {**update, "sql_error_info": reason, "failure": failure_of(SqlNotGenerated(reason))}


def _context(state: State) -> str:
    """Return what earlier tries and the user add to the question."""
    parts = [f"Clarified: {known['question']} - {known['answer']}" for known in state.get("clarifications") or ()]
    parts += [f"The user rejected the answer of: {sql}" for sql in state.get("rejected_sql") or ()]
    parts += [_FORMS[form] for form in (state.get("output_type"),) if form in _FORMS]
    if state.get("sql_request"):
        parts.append(f"Your last query was:\n{state['sql_request']}")
    if state.get("used_stop_words"):
        parts.append(f"It was refused for: {', '.join(state['used_stop_words'])}. Write a SELECT without these.")
    if state.get("sql_error_info"):
        parts.append(f"It failed: {state['sql_error_info']}\nWrite a corrected query.")
    return "\n\n".join(parts)

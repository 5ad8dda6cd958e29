"""Node: let a question that leans on those before it stand alone."""

from typing import Any

from agent.audit.step import note
from agent.clarify.types import Turn
from agent.conversation.form import asks_for_form, form_change
from agent.conversation.last_rows import is_in_order, shown_rows
from agent.conversation.rewriting import standing_alone
from agent.question import clean_question
from agent.services import Services
from agent.sql.redact import without_password
from agent.state import State


def rewrite_question(state: State, services: Services) -> dict[str, Any]:
    """Rewrite `question` with the last turns in sight; where it changes only the form, take the last result again."""
    question = clean_question(state.get("question"), services.settings.max_question_chars)
    turns = state["turns"][-services.settings.memory_size :]
    again = _in_another_form(question, turns[-1], state, services)
    if again:
        note("the last result in another form: nothing was asked of the model")
        return again
    alone = standing_alone(question, turns, services)
    return {"question": alone, "result": None, "follows": turns[-1] if alone != question else None}


def _in_another_form(question: str, last: Turn, state: State, services: Services) -> dict[str, Any] | None:
    """Return what the last answer is in another form; its statement runs again where its rows are not there any more.

    None where the rows cannot have that form without another statement, or another source is asked.
    """
    name = state.get("source")
    if not asks_for_form(question) or without_password(name or "") != last.get("source", ""):
        return None
    source = services.source(name)
    result = state.get("result") or shown_rows(last, source)
    change = form_change(question, result, is_ordered=is_in_order(last, source.catalog.dialect))
    if change is None:
        return None
    given = {**(state.get("given") or state)}
    given["output_type"] = given.get("output_type") or change.output_type
    kept = {"question": last["question"], "sql_request": last["sql"], "sql_request_is_valid": True}
    kept["forms"] = [*last.get("forms", ()), question]
    return {**kept, "result": change.result, "given": given, "clarifications": last["clarifications"]}

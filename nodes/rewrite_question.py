"""Node: rewrite a follow-up question so that it can be understood without the conversation."""

from typing import Any

from agent.conversation.follow_ups import rewrite_standalone
from agent.conversation.format_changes import asks_for_format, format_change
from agent.core.redact import without_password
from agent.core.text import clean_question
from agent.errors import StatementError
from agent.record.step import note
from agent.services import Services
from agent.state import State
from agent.types import Turn


def rewrite_question(state: State, services: Services) -> dict[str, Any]:
    """Rewrite `question` using the last turns; if it only changes the form of the answer, reuse the last result."""
    max_chars = services.settings.max_question_chars
    question = clean_question(state.get("question"), max_chars)
    turns = state["turns"][-services.settings.memory_size :]
    update = _reformat_last_result(question, turns[-1], state, services)
    if update:
        note("the last result was reformatted without the model")
        return update
    only_choice = services.choices[0] if len(services.choices) == 1 else None
    instructions = services.instructions(state.get("source") or only_choice)
    standalone = rewrite_standalone(question, turns, services.roles.text_writer, max_chars, instructions)
    return {"question": standalone, "result": None, "follows": turns[-1] if standalone != question else None}


def _reformat_last_result(question: str, last: Turn, state: State, services: Services) -> dict[str, Any] | None:
    """Return the last result in another form; None if that needs the model, or if another source is queried.

    Another order or number of rows is a change of the statement, which is executed. For another output type, the last
    statement is executed again only if its rows are no longer available.
    """
    name = state.get("source")
    if not asks_for_format(question) or without_password(name or "") != last.get("source", ""):
        return None
    source = services.source(name)
    shown = result = state.get("result") or source.execute(last["sql"])
    change = format_change(question, last["sql"], shown, source.catalog.dialect)
    if change is None:
        return None
    if change.sql != last["sql"]:
        try:
            result = source.execute(change.sql)
        except StatementError as error:
            note(f"the statement could not be changed without the model: {error}")
            return None
        if result["columns"] != shown["columns"]:
            return None
    inputs = {**state["given"]}
    inputs["output_type"] = inputs.get("output_type") or change.output_type
    return {
        "question": last["question"],
        "sql_request": change.sql,
        "sql_request_is_valid": True,
        "forms": [*last.get("forms", ()), question],
        "result": result,
        "given": inputs,
        "clarifications": last["clarifications"],
    }

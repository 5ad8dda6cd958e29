"""Node: decide whether to ask the user a clarifying question."""

from typing import Any, cast

from agent.clarify.ambiguity import find_ambiguities
from agent.clarify.feedback import apply_user_input
from agent.clarify.review import review
from agent.services import Services
from agent.state import State


def ask_clarification(state: State, services: Services) -> dict[str, Any]:
    """Apply the user's answer or feedback, and return one clarifying question or none.

    With `clarify` "auto", the model reviews the question if the user rejected an answer, or if the catalog or stored
    values indicate an ambiguity that was not settled and no reading with a statement was chosen. With "always", it
    reviews every question; with "never", none. The embedded model reviews only ambiguities that were indicated.
    """
    user_input = apply_user_input(state, may_remark=bool(state.get("relevant_tables_with_rel_columns")))
    state = cast(State, {**state, **user_input})
    source = services.source(state.get("source"))
    update = {**user_input, "clarification": None}
    ambiguities = state.get("ambiguities")
    if not ambiguities:
        ambiguities = find_ambiguities(state["question"], source, state["relevant_tables_with_rel_columns"])
        update["ambiguities"] = ambiguities
    clarifications = state.get("clarifications") or []
    is_rejected = len(user_input.get("rejected_sql", ())) > 0 and state.get("feedback") is not None
    settled = {clarification.get("ambiguity_type") for clarification in clarifications}
    is_open = not user_input.get("sql_request") and any(item["type"] not in settled for item in ambiguities)
    mode = state.get("clarify") or services.settings.clarify
    is_generated = state.get("sql_generate_count", 0) > 0
    is_limit_reached = state.get("clarification_count", 0) >= services.settings.max_clarifications
    if is_generated or is_limit_reached or not (mode == "always" or (mode == "auto" and (is_rejected or is_open))):
        return update
    outcome = review(state, ambiguities, source, services.roles.ambiguity_reviewer, services.today())
    if outcome is None:
        return {**update, "ambiguities": []}
    question, readings = outcome
    return {
        **update,
        "clarification": question,
        "clarification_count": state.get("clarification_count", 0) + 1,
        "readings": {reading.option["label"]: reading.sql for reading in readings if reading.sql},
        "sql_request": "",
    }

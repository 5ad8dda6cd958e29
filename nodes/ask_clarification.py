"""Node: decide whether the user has to be asked."""

from typing import Any, cast

from agent.clarify.ambiguity import find_ambiguities
from agent.clarify.hearing import hear
from agent.clarify.review import review
from agent.clarify.types import Ambiguity
from agent.services import Services
from agent.state import State


def ask_clarification(state: State, services: Services) -> dict[str, Any]:
    """Take in what the user has said, and find one question to ask, or none.

    The model is asked only where there is evidence for an ambiguity that was not asked about, and no reading with its
    statement was chosen, or where the user rejected an answer; with `clarify` "always" in any case, with "never" in
    none. The embedded model can only be asked for what the evidence names.
    """
    heard = hear(state, may_remark=bool(state.get("relevant_tables_with_rel_columns")))
    state = cast(State, {**state, **heard})
    source = services.source(state.get("source"))
    update = {**heard, "clarification": None}
    found = state.get("ambiguities")
    if not found:
        found = find_ambiguities(state["question"], source, state["relevant_tables_with_rel_columns"])
        update["ambiguities"] = found
    if not _may_ask(state, heard, found, services):
        return update
    asked = review(state, state.get("clarifications") or [], state.get("rejected_sql") or [], found, services)
    if asked is None:
        return {**update, "ambiguities": []}
    question, readings = asked
    return {
        **update,
        "clarification": question,
        "clarification_count": state.get("clarification_count", 0) + 1,
        "readings": {reading.option["label"]: reading.sql for reading in readings if reading.sql},
        "sql_request": "",
    }


def _may_ask(state: State, heard: dict[str, Any], found: list[Ambiguity], services: Services) -> bool:
    settings, said = services.settings, state.get("clarifications") or []
    mode = state.get("clarify") or settings.clarify
    tried = state.get("sql_generate_count", 0) > 0
    spent = state.get("clarification_count", 0) >= settings.max_clarifications
    if mode == "never" or tried or spent:
        return False
    settled = {known.get("ambiguity_type") for known in said}
    is_rejected = len(heard.get("rejected_sql", ())) > 0 and state.get("feedback") is not None
    is_open = not heard.get("sql_request") and any(each["type"] not in settled for each in found)
    return mode == "always" or is_rejected or is_open

"""Node: start a run with its input and the parts of the thread that it continues."""

from typing import Any

from datasphinx.agent.conversation.inputs import asked_about, inputs_of, previous_inputs
from datasphinx.agent.core.redact import without_password
from datasphinx.agent.services import Services
from datasphinx.agent.state import CARRIED_ON, Input, State
from datasphinx.agent.types import Turn

_QUESTION_INPUTS = ("source", "output_type", "clarify", "enable_sql_validation", "effort")
"""Inputs that stay in effect until a question is answered."""


def begin(state: State, services: Services) -> dict[str, Any]:
    """Return the inputs of the run, and the keys that it takes over from the thread.

    A new question keeps the conversation, the source and the last rows of the thread. An answer to a clarifying
    question, and feedback on the last answer, keep the tables, clarifications and statements of the question. Without a
    thread, only the input sent by the caller is available, and the tables are retrieved again.
    """
    inputs = inputs_of(state, Input.__annotations__)
    turns = state.get("turns") or []
    if "feedback" in inputs:
        return _after_feedback(state, inputs)
    if "clarification_answer" in inputs:
        return _after_clarification(state, inputs)
    inputs.pop("clarification", None)
    if inputs.get("sql_only"):
        # Readings are compared by their results.
        inputs["clarify"] = "never"
    if not turns:
        return {**inputs, "turns": turns}
    source = (state.get("given") or {}).get("source") or _source_of(turns[-1], state)
    return {"source": source, **inputs, "turns": turns, "result": state.get("result")}


def _after_clarification(state: State, inputs: dict[str, Any]) -> dict[str, Any]:
    """Continue with the question that the clarifying question refers to, and with that question's inputs."""
    # Without an open question on the thread, `ask_clarification` reads the answer and reports the error.
    is_closed = state.get("clarification") is None and "given" in state
    return {
        **previous_inputs(state, _QUESTION_INPUTS),
        **inputs,
        **_conversation_of(state),
        "question": asked_about(state) or inputs.get("question"),
        **({"relevant_tables_with_rel_columns": {}} if is_closed else {}),
    }


def _after_feedback(state: State, inputs: dict[str, Any]) -> dict[str, Any]:
    """Continue with the last answered question, with its tables unless another question was asked since."""
    turns = state.get("turns")
    if not turns:
        # `ask_clarification` reports the error.
        return {**inputs, "relevant_tables_with_rel_columns": {}}
    last = turns[-1]["question"]
    payload = {"source": _source_of(turns[-1], state), **inputs, "turns": turns, "question": last}
    if state.get("clarification") or state.get("question") == last:
        payload = {**previous_inputs(state, _QUESTION_INPUTS), **payload, **_conversation_of(state)}
    return payload


def _source_of(turn: Turn, state: State) -> str | None:
    """Return the source of `turn`, with its password if the last run used the same source."""
    previous, source = (state.get("given") or {}).get("source"), turn.get("source")
    return previous if source is None or without_password(previous or "") == source else source


def _conversation_of(state: State) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name in CARRIED_ON and name != "result" and value}

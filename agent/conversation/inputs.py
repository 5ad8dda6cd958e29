"""The inputs of a run."""

from collections.abc import Container, Iterable, Mapping
from typing import Any

from datasphinx.agent.state import messages_of


def run_input(given: Any) -> Any:
    """Return the input of a run with a question: its own, its last message of the user, or None, not that before it.

    The message is also the `clarification_answer`: `inputs_of` decides which of the two it is.
    """
    names = ("question", "feedback", "clarification_answer")
    if not isinstance(given, dict) or any(given.get(name) is not None for name in names):
        return given
    said = [str(message.text) for message in messages_of(given.get("messages")) if message.type == "human"]
    return {**given, "question": said[-1], "clarification_answer": said[-1]} if said else {**given, "question": None}


def inputs_of(state: Mapping[str, Any], names: Container[str]) -> dict[str, Any]:
    """Return the inputs of a run that are not None.

    A message of a chat comes as both, see `run_input`: it is the answer to the open clarifying question, or
    else the question.
    """
    inputs = {name: value for name, value in state.items() if name in names and value is not None}
    inputs.pop("messages", None)
    if inputs.get("question") == inputs.get("clarification_answer"):
        inputs.pop("question" if state.get("clarification") else "clarification_answer", None)
    return inputs


def asked_about(state: Mapping[str, Any]) -> str | None:
    """Return the question that the open clarifying question of `state` is about; None if there is none."""
    asked = state.get("clarification")
    return asked.get("about") if isinstance(asked, dict) else None


def previous_inputs(state: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the inputs `names` of the previous run that are not None."""
    inputs = state.get("given") or {}
    return {name: inputs[name] for name in names if inputs.get(name) is not None}

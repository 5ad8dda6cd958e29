"""A clarifying question in the form that chat pages for LangGraph show (`HumanInterrupt`), and their answers to it."""

from collections.abc import Mapping
from typing import Any

_OPTIONS = ("clarify", "output_type", "questions")
"""Inputs that may come with an answer."""
_FIRST_OPTION = "1"


def human_interrupt(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of an interrupt that asks `question`: its own keys, and those of a `HumanInterrupt`."""
    labels = [option["label"] for option in question["options"]]
    numbered = (f"{number}. {label}" for number, label in enumerate(labels, 1))
    may = {"allow_respond": True, "allow_accept": bool(labels), "allow_edit": False, "allow_ignore": False}
    return {
        **question,
        "action_request": {"action": question["question"], "args": {"options": labels}},
        "config": may,
        "description": "\n".join([question["question"], *numbered]),
    }


def inputs_of_answer(value: Any) -> dict[str, Any]:
    """Return the inputs of a run that is resumed with `value`.

    It is the answer, an object with the answer and further inputs, or a `HumanResponse`, alone or in a list: its type
    is `response`, with the answer as `args`, or `accept` for the first option. Anything else is an empty answer.
    """
    said = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(said, dict) and "type" in said:
        value = _FIRST_OPTION if said["type"] == "accept" else said.get("args")
    inputs = value if isinstance(value, dict) else {"clarification_answer": value}
    answer = inputs.get("clarification_answer")
    if isinstance(answer, int) and not isinstance(answer, bool):
        answer = str(answer)
    options = {name: inputs[name] for name in _OPTIONS if name in inputs}
    return {**options, "clarification_answer": answer if isinstance(answer, str) else ""}

"""A clarifying question in the forms that chat pages for LangGraph show, and their answers to it.

The forms are `HumanInterrupt` of LangGraph, and `HITLRequest` of LangChain, on which newer pages decide.
"""

from collections.abc import Mapping
from typing import Any

_OPTIONS = ("clarify", "output_type", "questions")
"""Inputs that may come with an answer."""
_FIRST_OPTION = "1"
_ACTION = "answer"
"""The action on which a user decides, and its argument."""


def human_interrupt(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of an interrupt that asks `question`: its own keys, and those of both forms."""
    labels = [option["label"] for option in question["options"]]
    numbered = (f"{number}. {label}" for number, label in enumerate(labels, 1))
    may = {"allow_respond": True, "allow_accept": bool(labels), "allow_edit": False, "allow_ignore": True}
    description = "\n".join([question["question"], *numbered])
    decisions = ["approve", "edit", "reject"] if labels else ["edit", "reject"]
    return {
        **question,
        "action_request": {"action": question["question"], "args": {"options": labels}},
        "config": may,
        "description": description,
        "action_requests": [{"name": _ACTION, "args": {_ACTION: "".join(labels[:1])}, "description": description}],
        "review_configs": [{"action_name": _ACTION, "allowed_decisions": decisions}],
    }


def inputs_of_answer(value: Any) -> dict[str, Any]:
    """Return the inputs of a run that is resumed with `value`.

    It is the answer, an object with the answer and further inputs, a `HumanResponse`, or a decision on a `HITLRequest`,
    alone or in a list. `accept` and `approve` are the first option, `response` has the answer as `args`, `edit` in its
    action, and `reject` as its message. Anything else is an empty answer.
    """
    said = _response_of(value)
    if isinstance(said, dict) and "type" in said:
        value = _FIRST_OPTION if said["type"] in ("accept", "approve") else _said_with(said)
    inputs = value if isinstance(value, dict) else {"clarification_answer": value}
    answer = inputs.get("clarification_answer")
    if isinstance(answer, int) and not isinstance(answer, bool):
        answer = str(answer)
    options = {name: inputs[name] for name in _OPTIONS if name in inputs}
    return {**options, "clarification_answer": answer if isinstance(answer, str) else ""}


def is_ignored(value: Any) -> bool:
    """Return whether a run that is resumed with `value` ends, because the user does not answer."""
    said = _response_of(value)
    return isinstance(said, dict) and said.get("type") == "ignore"


def _response_of(value: Any) -> Any:
    """Return the only response or decision in `value`, or else `value`."""
    said = value.get("decisions", value) if isinstance(value, dict) else value
    return said[0] if isinstance(said, list) and len(said) == 1 else said


def _said_with(response: Mapping[str, Any]) -> Any:
    """Return the answer with a response, from where its form has it."""
    edited = response.get("edited_action")
    arguments = edited.get("args") if isinstance(edited, dict) else None
    if isinstance(arguments, dict):
        return arguments.get(_ACTION)
    return response.get("args", response.get("message"))

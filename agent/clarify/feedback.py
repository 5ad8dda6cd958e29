"""User input beside the question: the answer to a clarifying question, or feedback on an answer."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from datasphinx.agent.errors import Conflict, InputInvalid, Refused
from datasphinx.agent.messages import Message
from datasphinx.agent.types import Attempt, Clarification, ClarifyingQuestion, Feedback

_CONFIG = ConfigDict(extra="forbid", strict=True)
_QUESTION = TypeAdapter(with_config(_CONFIG)(ClarifyingQuestion))
_FEEDBACK = TypeAdapter(with_config(_CONFIG)(Feedback))

LONGEST_ANSWER = 2000
"""Maximum length of an answer or a comment in characters."""
_LONGEST_QUESTION = 100_000
"""Maximum length of a clarifying question sent back by a client, in characters of JSON."""


def apply_user_input(state: Mapping[str, Any], *, may_remark: bool) -> dict[str, Any]:
    """Return the state update for the answer or feedback passed with the run.

    An answer selects an option by its label or its number, from 1; any other text is the user's own wording. Without a
    thread that stores the clarifying question, the client sends it back with the answer. With `may_remark`, an answer
    without a clarifying question is accepted as a remark on the question.

    Raises:
        Conflict: there is no clarifying question to answer, or no answer that the feedback could refer to.
        Refused: the answer is a number, and no option has it.
        InputInvalid: the answer, the clarifying question or the feedback is malformed.
    """
    if state.get("feedback") is not None:
        return _apply_feedback(state)
    if state.get("clarification_answer") is not None:
        return _apply_answer(state, may_remark)
    return {}


def feedback_of(state: Mapping[str, Any]) -> Feedback:
    """Return the feedback of the run. Raise InputInvalid if it is malformed, and Conflict without an answer."""
    feedback: Feedback = _validate(_FEEDBACK, state.get("feedback"), "feedback")
    if not state.get("turns") or state.get("clarification"):
        raise Conflict("nothing_answered")
    return feedback


def _apply_answer(state: Mapping[str, Any], may_remark: bool) -> dict[str, Any]:
    answer = _text(state.get("clarification_answer"), "clarification_answer")
    if state.get("clarification") is None:
        if not may_remark:
            raise Conflict("nothing_asked")
        if answer.isdecimal():
            raise InputInvalid("clarification_answer", Message("number_needs_clarification"))
        remark = Clarification(question="", answer=answer)
        return {"clarifications": [*(state.get("clarifications") or ()), remark]}
    question: ClarifyingQuestion = _validate(_QUESTION, state["clarification"], "clarification")
    if len(json.dumps(question, default=str)) > _LONGEST_QUESTION:
        raise InputInvalid("clarification", Message("too_many_characters", limit=_LONGEST_QUESTION))
    option = _selected_option(answer, question)
    clarification = Clarification(
        question=question["question"],
        answer=describe_option(option) if option else answer,
        ambiguity_type=question["ambiguity_type"],
        options=[option["label"] for option in question["options"]],
    )
    if "results" in question:
        clarification["results"] = question["results"]
    reading = (state.get("readings") or {}).get(option["label"]) if option else None
    if isinstance(reading, str):
        # Threads of earlier versions have the statement alone.
        reading = Attempt(sql=reading, origin="option", outcome=None)
    earlier_questions = sum(bool(earlier["question"]) for earlier in question["earlier"])
    return {
        "clarification": None,
        "language": question.get("language", ""),
        "clarifications": [*question["earlier"], clarification],
        "clarification_count": max(state.get("clarification_count", 0), earlier_questions + 1),
        "rejected_sql": question["rejected_sql"],
        "readings": {},
        "sql_request": reading["sql"] if reading else "",
        "attempts": [reading] if reading else [],
    }


def _apply_feedback(state: Mapping[str, Any]) -> dict[str, Any]:
    feedback, last = feedback_of(state), state["turns"][-1]
    clarifications = list(state.get("clarifications") or last["clarifications"])
    comment = feedback.get("comment", "")
    if comment.strip():
        clarifications.append(Clarification(question="", answer=_text(comment, "feedback")))
    # If the previous run failed, its feedback has rejected the same statement already.
    rejected = dict.fromkeys([*(state.get("rejected_sql") or ()), last["sql"]])
    return {"rejected_sql": list(rejected), "clarifications": clarifications}


def _selected_option(answer: str, question: ClarifyingQuestion) -> Mapping[str, Any] | None:
    options = question["options"]
    by_label = {option["label"].casefold(): option for option in options}
    if answer.casefold() in by_label:
        return by_label[answer.casefold()]
    if not answer.isdecimal():
        return None
    if not 1 <= int(answer) <= len(options):
        raise Refused("option_unknown", given=answer, options=len(options))
    return options[int(answer) - 1]


def describe_option(option: Mapping[str, Any]) -> str:
    """Return the label and the reading of an option, or the label alone if they are equal.

    >>> describe_option({"label": "Net", "reading": "revenue without tax"})
    'Net: revenue without tax'
    """
    label, reading = option["label"], option.get("reading") or ""
    return label if reading in ("", label) else f"{label}: {reading}"


def _text(value: Any, name: str) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not text:
        raise InputInvalid(name, Message("empty_or_not_text"))
    if len(text) > LONGEST_ANSWER:
        raise InputInvalid(name, Message("length_over_limit", count=len(text), limit=LONGEST_ANSWER))
    return text


def _validate(adapter: TypeAdapter[Any], value: Any, name: str) -> Any:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        reason = Message("field_problem", field=field, reason=first["msg"]) if field else first["msg"]
        raise InputInvalid(name, reason) from None

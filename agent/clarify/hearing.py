"""What the user says: the answer to a clarifying question, or feedback on an answer."""

import json
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from agent.clarify.types import Clarification, Clarify, ClarifyingQuestion, Feedback
from agent.errors import InputInvalid, NothingAnswered, NothingAsked, OptionUnknown

_FORM = ConfigDict(extra="forbid", strict=True)
_QUESTION = TypeAdapter(with_config(_FORM)(ClarifyingQuestion))
_FEEDBACK = TypeAdapter(with_config(_FORM)(Feedback))
LONGEST_ANSWER = 2000
"""Characters that an answer or a comment may have."""
_LONGEST_QUESTION = 100_000
"""Characters that a clarifying question may have that comes back, as JSON."""


def hear(state: Mapping[str, Any], *, may_remark: bool) -> dict[str, Any]:
    """Return what the answer or the feedback that came with the run changes: nothing where there is neither.

    An option is named by its label or its number from 1; everything else is an answer in the user's own words. Where
    no thread keeps the clarifying question, it comes back with the answer; an answer without it is a remark where it
    `may_remark` on a question.

    Raises:
        NothingAsked: there is no clarifying question to answer.
        OptionUnknown: the answer is a number, and no option has it.
        NothingAnswered: there is no answer that the feedback can be about.
        InputInvalid: the answer, the question that came back, the feedback or `clarify` has not the form that it needs.
    """
    if state.get("heard"):
        return {}
    if state.get("clarify") not in (None, *get_args(Clarify)):
        raise InputInvalid("clarify", f"it is one of {', '.join(get_args(Clarify))}")
    if state.get("feedback") is not None:
        return {"heard": True, **_of_feedback(state)}
    if state.get("clarification_answer") is not None:
        return {"heard": True, **_of_answer(state, may_remark)}
    return {"heard": True}


def feedback_of(state: Mapping[str, Any]) -> Feedback:
    """Return the feedback that came with the run.

    Raises:
        NothingAnswered, InputInvalid: as `hear` says.
    """
    feedback: Feedback = _checked(_FEEDBACK, state.get("feedback"), "feedback")
    if not state.get("turns") or state.get("clarification"):
        raise NothingAnswered()
    return feedback


def _of_answer(state: Mapping[str, Any], may_remark: bool) -> dict[str, Any]:
    answer, asked = _text(state.get("clarification_answer"), "clarification_answer"), state.get("clarification")
    if asked is None:
        if not may_remark:
            raise NothingAsked()
        if answer.isdecimal():
            raise InputInvalid("clarification_answer", "a number needs the `clarification` whose options it counts")
        said = Clarification(question="", answer=answer)
        return {"clarifications": [*(state.get("clarifications") or ()), said]}
    question: ClarifyingQuestion = _checked(_QUESTION, asked, "clarification")
    if len(json.dumps(question, default=str)) > _LONGEST_QUESTION:
        raise InputInvalid("clarification", f"it has more than {_LONGEST_QUESTION} characters")
    chosen = _chosen(answer, question)
    labels = [option["label"] for option in question["options"]]
    said = Clarification(
        question=question["question"],
        answer=_as_said(chosen) if chosen else answer,
        ambiguity_type=question["ambiguity_type"],
        options=labels,
    )
    sql = (state.get("readings") or {}).get(chosen["label"]) if chosen else None
    return {
        "clarification": None,
        "clarifications": [*question["earlier"], said],
        "clarification_count": max(state.get("clarification_count", 0), _asked(question["earlier"]) + 1),
        "rejected_sql": question["rejected_sql"],
        "readings": {},
        "sql_request": sql or "",
    }


def _of_feedback(state: Mapping[str, Any]) -> dict[str, Any]:
    feedback, last = feedback_of(state), state["turns"][-1]
    said, comment = list(state.get("clarifications") or last["clarifications"]), feedback.get("comment", "")
    if comment.strip():
        said.append(Clarification(question="", answer=_text(comment, "feedback")))
    # After a run that failed the statement was rejected before.
    rejected = dict.fromkeys([*(state.get("rejected_sql") or ()), last["sql"]])
    return {"rejected_sql": list(rejected), "clarifications": said}


def _asked(said: list[Clarification]) -> int:
    return sum(bool(known["question"]) for known in said)


def _chosen(answer: str, question: ClarifyingQuestion) -> Mapping[str, Any] | None:
    options = question["options"]
    by_label = {option["label"].casefold(): option for option in options}
    if answer.casefold() in by_label:
        return by_label[answer.casefold()]
    if not answer.isdecimal():
        return None
    if not 1 <= int(answer) <= len(options):
        raise OptionUnknown(answer, len(options))
    return options[int(answer) - 1]


def _as_said(option: Mapping[str, Any]) -> str:
    return option["label"] if option["label"] == option["reading"] else f"{option['label']}: {option['reading']}"


def _text(given: Any, name: str) -> str:
    text = given.strip() if isinstance(given, str) else ""
    if not text:
        raise InputInvalid(name, "it is no text, or empty")
    if len(text) > LONGEST_ANSWER:
        raise InputInvalid(name, f"it has {len(text)} characters, at most {LONGEST_ANSWER} are read")
    return text


def _checked(form: TypeAdapter[Any], given: Any, name: str) -> Any:
    try:
        return form.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise InputInvalid(name, f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}") from None

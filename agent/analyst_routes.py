"""Where the analyst goes next: pure functions of the state."""

from typing import Any, Literal

from langgraph.types import Send

from agent.analyst_state import AnalystInput, AnalystState
from agent.conversation.leaning import leans_on_turns

_SOURCES = ("files", "datasets", "source")
_OF_THE_QUESTION = ("output_type", "clarify")
_CARRIED = ("turns", "clarifications", "clarification")


def begin(state: AnalystState) -> Send:
    """A question starts with its input and the conversation; what it is asked of holds until something else is given.

    An answer to a clarifying question goes on with the question that this is about.
    """
    given: dict[str, Any] = {
        name: value for name, value in state.items() if name in AnalystInput.__annotations__ and value is not None
    }
    if not any(given.get(name) for name in _SOURCES):
        given |= _asked_before(state)
    if "clarification_answer" in given:
        asked = state.get("clarification")
        about = asked.get("about") if isinstance(asked, dict) else None
        carried = {name: value for name, value in state.items() if name in _CARRIED and value}
        payload = {**_kept(state, _OF_THE_QUESTION), **given, **carried}
        return Send("plan", {**payload, "question": about or given.get("question")})
    given = {**given, "clarification": None, "turns": state.get("turns") or []}
    leans = bool(given["turns"]) and leans_on_turns(given.get("question"))
    return Send("rewrite_question" if leans else "plan", given)


def after_rewrite_question(state: AnalystState) -> Literal["narrate", "plan"]:
    """On, unless it failed."""
    return "narrate" if state.get("failure") else "plan"


def _asked_before(state: AnalystState) -> dict[str, Any]:
    """Return what the question before was asked of."""
    source = _kept(state, ("source",))
    if source:
        return source
    found = {"files": state.get("file_ids"), "datasets": state.get("dataset_ids")}
    # A run that failed at its beginning has found nothing yet.
    return {name: ids for name, ids in found.items() if ids} or _kept(state, _SOURCES)


def _kept(state: AnalystState, names: tuple[str, ...]) -> dict[str, Any]:
    given = state.get("given") or {}
    return {name: given[name] for name in names if given.get(name)}


def after_plan(state: AnalystState) -> Literal["narrate", "run_tool", "plan"]:
    """On with a call; to the end with an answer, a question to the user or a failure; else the model is asked again."""
    if state.get("failure") or state.get("clarification") or state.get("conclusion"):
        return "narrate"
    return "run_tool" if state.get("call") else "plan"


def after_run_tool(state: AnalystState) -> Literal["narrate", "plan"]:
    """Back to planning, unless it failed."""
    return "narrate" if state.get("failure") else "plan"


def after_narrate(state: AnalystState) -> Literal["await_clarification", "__end__"]:
    """The user has to say something first, where a clarifying question is open."""
    return "await_clarification" if state.get("clarification") else "__end__"


def after_await_clarification(state: AnalystState) -> Send | Literal["__end__"]:
    """Where the user has answered, a run begins that goes on with it."""
    return begin(state) if state.get("clarification_answer") is not None else "__end__"

"""Where the graph goes next: pure functions of the state. A node that hits a limit says so in `failure`."""

from collections.abc import Iterable
from typing import Any, Literal

from langgraph.types import Send

from agent.clarify.types import Turn
from agent.conversation.leaning import leans_on_turns
from agent.sql.redact import without_password
from agent.state import CARRIED_ON, Input, State

_OF_THE_QUESTION = ("source", "output_type", "clarify", "enable_sql_validation")


def begin(state: State) -> Send:
    """A question starts with its input and the conversation; what goes on, with what the thread keeps of it.

    A source that was named holds on the thread until another is. What goes on is an answer to a clarifying question, or
    feedback on the last answer. Without a thread there is nothing but what the caller has sent back, and the tables are
    found anew.
    """
    given = {name: value for name, value in state.items() if name in Input.__annotations__ and value is not None}
    turns = state.get("turns") or []
    if "feedback" in given:
        return _feedback(state, given)
    if "clarification_answer" in given:
        return _answer(state, given)
    given.pop("clarification", None)
    if not turns or not leans_on_turns(given.get("question")):
        before = _kept(state, ("source",)) if turns else {}
        return Send("retrieve_tables", {**before, **given, "turns": turns})
    source = _source_of(turns[-1], state)
    return Send("rewrite_question", {"source": source, **given, "turns": turns, "result": state.get("result")})


def after_rewrite_question(state: State) -> Literal["answer", "retrieve_tables"]:
    """To the answer where only its form changes, else on as any question."""
    return "answer" if state.get("failure") or state.get("result") else "retrieve_tables"


def after_retrieve_tables(state: State) -> Literal["answer", "select_columns", "retrieve_tables"]:
    """On with tables; again without."""
    if state.get("failure"):
        return "answer"
    return "retrieve_tables" if state.get("error") else "select_columns"


def after_select_columns(state: State) -> Literal["answer", "ask_clarification"]:
    """On, unless it failed."""
    return "answer" if state.get("failure") else "ask_clarification"


def after_ask_clarification(state: State) -> Literal["answer", "generate_sql", "check_stop_words"]:
    """To the user with a question; with the statement of the reading that was chosen to the checks; else generation."""
    if state.get("failure") or state.get("clarification"):
        return "answer"
    return "check_stop_words" if state.get("sql_request") else "generate_sql"


def after_generate_sql(state: State) -> Literal["answer", "retrieve_tables", "check_stop_words"]:
    """Back to retrieval where the model finds that the tables cannot answer."""
    if state.get("failure"):
        return "answer"
    return "retrieve_tables" if state.get("error") else "check_stop_words"


def after_check_stop_words(state: State) -> Literal["answer", "generate_sql", "validate_sql"]:
    """Back to generation with the words found."""
    if state.get("failure"):
        return "answer"
    return "generate_sql" if state["stop_words"] else "validate_sql"


def after_validate_sql(state: State) -> Literal["answer", "check_stop_words", "generate_sql", "execute_sql"]:
    """A correction is checked again; an objection without one goes back to generation."""
    if state.get("failure"):
        return "answer"
    validation = state.get("validation")
    if not validation or validation["is_valid"]:
        return "execute_sql"
    if validation["corrected_sql"]:
        return "check_stop_words"
    return "generate_sql" if state.get("sql_error_info") else "execute_sql"


def after_execute_sql(state: State) -> Literal["answer", "generate_sql"]:
    """Back to generation with the error's text."""
    return "answer" if state.get("failure") or state["sql_request_is_valid"] else "generate_sql"


def after_keep_answer(state: State) -> Literal["answer", "__end__"]:
    """Done, unless there is nothing to keep."""
    return "answer" if state.get("failure") else "__end__"


def after_answer(state: State) -> Literal["await_clarification", "__end__"]:
    """The user has to say something first, where a clarifying question is open."""
    return "await_clarification" if state.get("clarification") else "__end__"


def after_await_clarification(state: State) -> Send | Literal["__end__"]:
    """Where the user has answered, a run begins that goes on with it."""
    return begin(state) if state.get("clarification_answer") is not None else "__end__"


def _answer(state: State, given: dict[str, Any]) -> Send:
    """Go on with the question that the clarifying question is about; what that came with holds still."""
    asked = state.get("clarification")
    about = asked.get("about") if isinstance(asked, dict) else None
    payload = {**_kept(state, _OF_THE_QUESTION), **given, **_carried(state), "question": about or given.get("question")}
    if asked is None and "given" in state:
        # A thread on which nothing is asked: the node that hears the answer says so.
        return Send("ask_clarification", {**payload, "relevant_tables_with_rel_columns": {}})
    return Send(_entry(payload), payload)


def _feedback(state: State, given: dict[str, Any]) -> Send:
    """Go on with the last question that was answered, with what was found for it where nothing was asked since."""
    turns, feedback = state.get("turns") or [], given["feedback"]
    if not turns:
        return Send("ask_clarification", given)
    last = turns[-1]["question"]
    payload = {"source": _source_of(turns[-1], state), **given, "turns": turns, "question": last}
    if state.get("clarification") or state.get("question") == last:
        payload = {**_kept(state, _OF_THE_QUESTION), **payload, **_carried(state)}
    if isinstance(feedback, dict) and feedback.get("accepted") is True:
        return Send("keep_answer", payload)
    return Send(_entry(payload), payload)


def _source_of(turn: Turn, state: State) -> str | None:
    """Return the source of `turn`, with its password where the last run still has that."""
    given, known = (state.get("given") or {}).get("source"), turn.get("source")
    return given if known is None or without_password(given or "") == known else known


def _entry(payload: dict[str, Any]) -> str:
    return "ask_clarification" if payload.get("relevant_tables_with_rel_columns") else "retrieve_tables"


def _carried(state: State) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name in CARRIED_ON and name != "result" and value}


def _kept(state: State, names: Iterable[str]) -> dict[str, Any]:
    given = state.get("given") or {}
    return {name: given[name] for name in names if given.get(name) is not None}

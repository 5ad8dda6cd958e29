"""Routers of both graphs: functions of the state, and those that start a run also of its input.

They are not called after a failure: `agent.node_runner.add_node` routes every failed run to the node that answers.
"""

from collections.abc import Container, Iterable
from typing import Any, Literal

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.constants import START
from langgraph.types import Send

from agent.core.redact import without_password
from agent.state import CARRIED_ON, AnalystInput, AnalystState, Input, State, messages_of
from agent.types import Turn

_QUESTION_INPUTS = ("source", "output_type", "clarify", "enable_sql_validation", "effort")
"""Inputs of the SQL agent that stay in effect until a question is answered."""
_ANALYSIS_INPUTS = ("output_type", "clarify")
"""The same for the analyst."""
_ANALYSIS_SOURCES = ("files", "datasets", "source")
_READ = "__pregel_read"
"""Key under which LangGraph holds the function that reads a channel; START is the channel of the input."""
_ANALYSIS_CONVERSATION = ("turns", "clarifications", "clarification", "earlier_results")


def begin(state: State) -> Send:
    """Start a run with its input and the parts of the thread that it continues.

    A new question keeps the conversation, the source and the last rows of the thread. An answer to a clarifying
    question, and feedback on the last answer, keep the tables, clarifications and statements of the question. Without a
    thread, only the input sent by the caller is available, and the tables are retrieved again.
    """
    inputs = _inputs(state, Input.__annotations__)
    turns = state.get("turns") or []
    if "feedback" in inputs:
        return _continue_after_feedback(state, inputs)
    if "clarification_answer" in inputs:
        return _continue_after_clarification(state, inputs)
    inputs.pop("clarification", None)
    if inputs.get("sql_only"):
        # Readings are compared by their results.
        inputs["clarify"] = "never"
    if not turns:
        return Send("retrieve_tables", {**inputs, "turns": turns})
    conversation = {"turns": turns, "result": state.get("result")}
    source = (state.get("given") or {}).get("source") or _source_of(turns[-1], state)
    return Send("retrieve_tables", {"source": source, **inputs, **conversation})


def _inputs(state: State | AnalystState, names: Container[str]) -> dict[str, Any]:
    """Return the inputs of a run that are not None.

    A thread keeps its last question, which is left out unless the input repeats it. The last message of the user, if
    the input contains messages, is the question, or the answer to the open clarifying question.
    """
    inputs = {name: value for name, value in state.items() if name in names and value is not None}
    inputs.pop("messages", None)
    config = var_child_runnable_config.get() or {}
    given = config.get("configurable", {}).get(_READ, lambda *_: None)(START, False)
    if not isinstance(given, dict) or inputs.keys() & {"feedback", "clarification_answer"}:
        return inputs
    if given.get("question") is None:
        inputs.pop("question", None)
        said = [message.text for message in messages_of(given.get("messages")) if message.type == "human"]
        if said:
            inputs["clarification_answer" if state.get("clarification") else "question"] = str(said[-1])
    return inputs


def after_retrieve_tables(state: State) -> Literal["answer", "select_columns", "retrieve_tables", "check_stop_words"]:
    """Check a statement that needs no model, of a description or a verified query; retry if no table was retrieved.

    A question that changes only the form of the last result is answered at once.
    """
    if state.get("sql_request_is_valid"):
        return "answer"
    if _is_written(state):
        return "check_stop_words"
    return "retrieve_tables" if state.get("error") else "select_columns"


def after_ask_clarification(state: State) -> Literal["answer", "generate_sql", "check_stop_words"]:
    """Put an open question to the user; check the statement of a chosen reading; otherwise generate one."""
    if state.get("clarification"):
        return "answer"
    return "check_stop_words" if state.get("sql_request") else "generate_sql"


def after_generate_sql(state: State) -> Literal["answer", "retrieve_tables", "check_stop_words"]:
    """Put an open question to the user; retrieve more tables if the model reports that the question is off topic.

    A reply, and the last result in another form, are answers.
    """
    if state.get("clarification") or state.get("reply") or state["sql_request_is_valid"]:
        return "answer"
    return "retrieve_tables" if state.get("error") else "check_stop_words"


def after_check_stop_words(state: State) -> Literal["generate_sql", "validate_sql", "execute_sql"]:
    """Generate another statement if this one contains forbidden operations; execute one that needs no model."""
    if state["stop_words"]:
        return "generate_sql"
    return "execute_sql" if _is_written(state) else "validate_sql"


def after_validate_sql(state: State) -> Literal["check_stop_words", "generate_sql", "execute_sql", "answer"]:
    """Check a correction again; generate another statement after an objection without a correction.

    A statement that was validated because of its result is answered with this result.
    """
    validation = state.get("validation")
    if validation and validation["corrected_sql"]:
        return "check_stop_words"
    if validation and not validation["is_valid"] and state.get("sql_error_info"):
        return "generate_sql"
    return "answer" if state["sql_request_is_valid"] else "execute_sql"


def after_execute_sql(state: State) -> Literal["answer", "generate_sql", "validate_sql", "retrieve_tables"]:
    """Generate another statement after an error; validate a statement whose result is doubtful.

    After a verified query that cannot be used, the question starts again without it.
    """
    if not state["sql_request_is_valid"]:
        is_verified = state.get("skips_verified") and not state["sql_generate_count"]
        return "retrieve_tables" if is_verified else "generate_sql"
    return "validate_sql" if state["doubts"] else "answer"


def _is_written(state: State) -> bool:
    """Return whether the statement is that of a description of the data or of a verified query."""
    return bool(state.get("verified") or (state.get("describes_data") and not state["sql_generate_count"]))


def after_answer(state: State) -> Literal["await_clarification", "__end__"]:
    """Wait for the user if a clarifying question is open."""
    return "await_clarification" if state.get("clarification") else "__end__"


def after_await_clarification(state: State) -> Send | Literal["__end__"]:
    """Start a new run with the user's answer, if there is one."""
    return begin(state) if state.get("clarification_answer") is not None else "__end__"


def _continue_after_clarification(state: State, inputs: dict[str, Any]) -> Send:
    """Continue with the question that the clarifying question refers to, and with that question's inputs."""
    open_question = state.get("clarification")
    question = open_question.get("about") if isinstance(open_question, dict) else None
    payload = {
        **_previous_inputs(state, _QUESTION_INPUTS),
        **inputs,
        **_conversation_of(state),
        "question": question or inputs.get("question"),
    }
    if open_question is None and "given" in state:
        # The thread has no open question. `ask_clarification` reads the answer and reports the error.
        return Send("ask_clarification", {**payload, "relevant_tables_with_rel_columns": {}})
    return Send(_entry(payload), payload)


def _continue_after_feedback(state: State, inputs: dict[str, Any]) -> Send:
    """Continue with the last answered question, with its tables unless another question was asked since."""
    turns, feedback = state.get("turns") or [], inputs["feedback"]
    if not turns:
        return Send("ask_clarification", inputs)
    last = turns[-1]["question"]
    payload = {"source": _source_of(turns[-1], state), **inputs, "turns": turns, "question": last}
    if state.get("clarification") or state.get("question") == last:
        payload = {**_previous_inputs(state, _QUESTION_INPUTS), **payload, **_conversation_of(state)}
    if isinstance(feedback, dict) and feedback.get("accepted") is True:
        return Send("keep_answer", payload)
    return Send(_entry(payload), payload)


def _source_of(turn: Turn, state: State) -> str | None:
    """Return the source of `turn`, with its password if the last run used the same source."""
    previous, source = (state.get("given") or {}).get("source"), turn.get("source")
    return previous if source is None or without_password(previous or "") == source else source


def _entry(payload: dict[str, Any]) -> str:
    return "ask_clarification" if payload.get("relevant_tables_with_rel_columns") else "retrieve_tables"


def _conversation_of(state: State) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name in CARRIED_ON and name != "result" and value}


def _previous_inputs(state: State | AnalystState, names: Iterable[str]) -> dict[str, Any]:
    inputs = state.get("given") or {}
    return {name: inputs[name] for name in names if inputs.get(name) is not None}


def begin_analysis(state: AnalystState) -> Send:
    """Start a run of the analyst with its input and the conversation.

    The data of the previous question stay in effect until the input names other data. An answer to a clarifying
    question continues with the question that it refers to.
    """
    inputs = _inputs(state, AnalystInput.__annotations__)
    if not any(inputs.get(name) for name in _ANALYSIS_SOURCES):
        inputs |= _previous_data(state)
    if "clarification_answer" in inputs:
        open_question = state.get("clarification")
        question = open_question.get("about") if isinstance(open_question, dict) else None
        conversation = {name: value for name, value in state.items() if name in _ANALYSIS_CONVERSATION and value}
        payload = {**_previous_inputs(state, _ANALYSIS_INPUTS), **inputs, **conversation}
        return Send("plan", {**payload, "question": question or inputs.get("question")})
    is_same_source = inputs.get("source") == (state.get("given") or {}).get("source")
    earlier = state.get("earlier_results") if is_same_source else None
    inputs = {**inputs, "clarification": None, "turns": state.get("turns") or [], "earlier_results": earlier or {}}
    return Send("plan", inputs)


def _previous_data(state: AnalystState) -> dict[str, Any]:
    """Return the files, with their options, the datasets or the source of the previous question."""
    given = state.get("given") or {}
    inputs = {name: value for name, value in given.items() if name in (*_ANALYSIS_SOURCES, "load") and value}
    if "source" in inputs:
        return {"source": inputs["source"]}
    registered_ids = {"files": state.get("file_ids"), "datasets": state.get("dataset_ids")}
    # A run that failed early has registered nothing.
    registered = {name: ids for name, ids in registered_ids.items() if ids}
    return {**registered, **({"load": inputs["load"]} if "load" in inputs else {})} if registered else inputs


def after_plan(state: AnalystState) -> Literal["narrate", "run_tool", "plan"]:
    """Run the planned call; narrate a conclusion or a question to the user; otherwise ask the model again."""
    if state.get("clarification") or state.get("conclusion") or state.get("reply"):
        return "narrate"
    return "run_tool" if state.get("call") else "plan"


def after_narrate(state: AnalystState) -> Literal["await_clarification", "__end__"]:
    """Wait for the user if a clarifying question is open."""
    return "await_clarification" if state.get("clarification") else "__end__"


def after_analyst_clarification(state: AnalystState) -> Send | Literal["__end__"]:
    """Start a new run with the user's answer, if there is one."""
    return begin_analysis(state) if state.get("clarification_answer") is not None else "__end__"

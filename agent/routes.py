"""Where the graph goes next: pure functions of the state. A node that hits a limit says so in `failure`."""

from typing import Literal

from langgraph.types import Send

from agent.state import Input, State


def begin(state: State) -> Send:
    """A question starts at retrieval with its input alone: nothing of an earlier one on the thread comes along."""
    given = {name: value for name, value in state.items() if name in Input.__annotations__}
    return Send("retrieve_tables", given)


def after_retrieve_tables(state: State) -> Literal["answer", "select_columns", "retrieve_tables"]:
    """On with tables; again without."""
    if state.get("failure"):
        return "answer"
    return "retrieve_tables" if state.get("error") else "select_columns"


def after_select_columns(state: State) -> Literal["answer", "ask_clarification"]:
    """On, unless it failed."""
    return "answer" if state.get("failure") else "ask_clarification"


def after_ask_clarification(state: State) -> Literal["answer", "generate_sql"]:
    """To the user with a question, else on to generation."""
    return "answer" if state.get("failure") or state.get("clarification") else "generate_sql"


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

"""Node: turn rows, or a failure, into the answer."""

from typing import Any

from agent.answers.compose import compose
from agent.answers.failed import answer_failure
from agent.audit.step import note
from agent.errors import SqlNotGenerated
from agent.failure import failure_of
from agent.services import Services
from agent.state import State


def answer(state: State, services: Services) -> dict[str, Any]:
    """Give text, form, value, table and chart; a model narrates only what is too long to be shown whole."""
    failure, result = state.get("failure"), state.get("result")
    if failure or not result:
        return answer_failure(failure or failure_of(SqlNotGenerated("there is no result")), state)
    wanted, sql = state.get("output_type"), state["sql_request"]
    output = compose(state["question"], {"result": result}, services, wanted=wanted, sql=sql)
    _note_doubts(state, services)
    return output


def _note_doubts(state: State, services: Services) -> None:
    """Put on the audit what a reader of the answer has to know of how it came about."""
    if services.model.profile == "embedded":
        note("a small embedded model wrote the SQL, and it is often wrong: read it before you rely on the answer")
    for assumption in state.get("assumptions") or ():
        note(f"assumed: {assumption}")

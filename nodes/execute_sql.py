"""Node: run the statement."""

from typing import Any

from agent.answers.form import unfit
from agent.attempt import attempt
from agent.audit.step import note
from agent.errors import SqlNotGenerated
from agent.failure import failure_of
from agent.services import Services
from agent.sql.same import same_form
from agent.state import State


def execute_sql(state: State, services: Services) -> dict[str, Any]:
    """Run `sql_request` through the choke point; an error's text goes to generation, after the last try to the user.

    What can be done without the model comes first: a schema that has changed is read again, a statement repaired. Rows
    that cannot have the form that is wanted go to generation too, once.
    """
    done = attempt(state, services)
    may_generate = state["sql_generate_count"] < services.settings.max_sql_generations
    if done.result is not None and may_generate and not state.get("form_was_corrected"):
        problem = unfit(state["question"], done.result, state.get("output_type"))
        if problem:
            note(f"asked for another statement: {problem}")
            again = {"sql_request_is_valid": False, "result": None, "sql_error_info": problem}
            return {**done.changes, **again, "form_was_corrected": True}
    if done.error is None:
        return {**done.changes, "sql_request_is_valid": True, "result": done.result, "sql_error_info": None}
    reason = str(done.error)
    tried = same_form(done.sql, services.source(state.get("source")).catalog.dialect)
    update: dict[str, Any] = {
        **done.changes,
        "sql_request_is_valid": False,
        "result": None,
        "sql_error_info": reason,
        "tried_sql": [*state.get("tried_sql", ()), tried],
    }
    if not may_generate:
        update["failure"] = failure_of(SqlNotGenerated(reason))
    return update

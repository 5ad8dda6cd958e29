"""Node: execute the statement."""

from typing import Any

from agent.answers.outputs import output_type_problem
from agent.core.failure import failure_of
from agent.errors import SqlNotGenerated
from agent.record.step import note
from agent.services import Services
from agent.sql.compare import canonical_sql
from agent.sql_attempt import execute_with_repair
from agent.state import State


def execute_sql(state: State, services: Services) -> dict[str, Any]:
    """Execute `sql_request`; an error is returned to generation, or ends the question after the last attempt.

    Before an error is returned, a changed schema is reloaded and the statement is repaired without the model. Rows that
    do not fit the requested output type are rejected once.
    """
    name = state.get("source")
    source, writer = services.source(name), services.roles.sql_writer
    execution = execute_with_repair(state, source, lambda: services.refresh(name), may_repair=writer.may_repair)
    may_generate = state["sql_retry_count"] < services.settings.max_sql_generations
    if execution.result is not None and may_generate and not state.get("form_was_corrected"):
        problem = output_type_problem(state["question"], execution.result, state.get("output_type"))
        if problem:
            note(f"asked for another statement: {problem}")
            rejected = {"sql_request_is_valid": False, "result": None, "sql_error_info": problem}
            return {**execution.changes, **rejected, "form_was_corrected": True}
    if execution.unstored_values and may_generate and writer.may_repair and not state.get("values_were_corrected"):
        problem = "; ".join(execution.unstored_values)
        note(f"asked for another statement: {problem}")
        rejected = {"sql_request_is_valid": False, "result": None, "sql_error_info": problem}
        return {**execution.changes, **rejected, "values_were_corrected": True}
    if execution.error is None:
        return {**execution.changes, "sql_request_is_valid": True, "result": execution.result, "sql_error_info": None}
    reason = execution.error.as_message()
    tried = canonical_sql(execution.sql, services.source(name).catalog.dialect)
    update: dict[str, Any] = {
        **execution.changes,
        "sql_request_is_valid": False,
        "result": None,
        "sql_error_info": reason,
        "tried_sql": [*state.get("tried_sql", ()), tried],
    }
    if not may_generate:
        update["failure"] = failure_of(SqlNotGenerated(reason))
    return update

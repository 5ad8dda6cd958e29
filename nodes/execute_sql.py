"""Node: run the statement."""

from typing import Any

from agent.errors import SqlNotGenerated, StatementError
from agent.failure import failure_of
from agent.services import Services
from agent.state import State


def execute_sql(state: State, services: Services) -> dict[str, Any]:
    """Run `sql_request` through the choke point; an error's text goes to generation, after the last try to the user."""
    try:
        result = services.source(state.get("source")).execute(state["sql_request"])
    except StatementError as error:
        update: dict[str, Any] = {"sql_request_is_valid": False, "result": None, "sql_error_info": str(error)}
        if state["sql_generate_count"] >= services.settings.max_sql_generations:
            update["failure"] = failure_of(SqlNotGenerated(str(error)))
        return update
    return {"sql_request_is_valid": True, "result": result, "sql_error_info": None}

"""Node: find forbidden operations in the statement."""

from typing import Any

from agent.errors import SqlNotGenerated
from agent.failure import failure_of
from agent.services import Services
from agent.sql.guard import check, stop_words
from agent.state import State


def check_stop_words(state: State, services: Services) -> dict[str, Any]:
    """Report forbidden operations by name, found on the syntax tree; after the last try end without a statement."""
    catalog = services.source(state.get("source")).catalog
    words = stop_words(check(state["sql_request"], catalog.dialect, catalog.readable))
    update: dict[str, Any] = {"stop_words": bool(words), "used_stop_words": words}
    if words and state["sql_generate_count"] >= services.settings.max_sql_generations:
        update["failure"] = failure_of(SqlNotGenerated(f"{', '.join(words)} is not allowed"))
    return update

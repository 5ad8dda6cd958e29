"""Node: find forbidden operations in the statement."""

from typing import Any

from agent.errors import SqlNotGenerated, SystemCatalogRefused
from agent.failure import failure_of
from agent.services import Services
from agent.sql.guard import check, stop_words
from agent.sql.same import same_form
from agent.sql.sources import system_names
from agent.state import State


def check_stop_words(state: State, services: Services) -> dict[str, Any]:
    """Report forbidden operations by name, found on the syntax tree; after the last try end without a statement.

    Reading the engine's own catalog ends the question: no other try would be permitted.
    """
    catalog = services.source(state.get("source")).catalog
    sql = state["sql_request"]
    findings = check(sql, catalog.dialect, catalog.readable)
    system, words = system_names(findings), stop_words(findings)
    if system:
        raise SystemCatalogRefused(", ".join(system))
    update: dict[str, Any] = {"stop_words": bool(words), "used_stop_words": words}
    if words:
        update["tried_sql"] = [*state.get("tried_sql", ()), same_form(sql, catalog.dialect)]
    if words and state["sql_generate_count"] >= services.settings.max_sql_generations:
        update["failure"] = failure_of(SqlNotGenerated(f"{', '.join(words)} is not allowed"))
    return update

"""Node: check the statement for forbidden operations."""

from typing import Any, cast

from agent.core.failure import failure_of
from agent.errors import SqlNotGenerated, SystemCatalogRefused
from agent.messages import Message
from agent.routes import may_be_refused_again
from agent.services import Services
from agent.sql.compare import canonical_sql
from agent.sql.guard import check, stop_words
from agent.sql.guard.tables import system_names
from agent.state import State


def check_stop_words(state: State, services: Services) -> dict[str, Any]:
    """List the forbidden operations in the syntax tree by name; after the third refusal the question fails.

    Rankings of an allowed statement are changed to end with NULL, as `Source.execute` does.
    A statement that reads system tables fails at once, since no other statement would be permitted.
    """
    source = services.source(state.get("source"))
    catalog = source.catalog
    sql = state["sql_request"]
    findings = check(sql, catalog.dialect, catalog.readable)
    if not findings:
        ending = source.ending_with_nulls(sql)
        chosen = {"chosen_sql": ending} if state.get("chosen_sql") == sql else {}
        return {"stop_words": False, "used_stop_words": [], "sql_request": ending, **chosen}
    system, words = system_names(findings), stop_words(findings)
    if system:
        raise SystemCatalogRefused(", ".join(system))
    update: dict[str, Any] = {"stop_words": bool(words), "used_stop_words": words}
    if not words:
        return update
    update["refusal_count"] = state["refusal_count"] + 1
    update["tried_sql"] = [*state.get("tried_sql", ()), canonical_sql(sql, catalog.dialect)]
    if not may_be_refused_again(cast(State, {**state, **update})):
        update["failure"] = failure_of(SqlNotGenerated(Message("operations_not_allowed", words=", ".join(words))))
    return update

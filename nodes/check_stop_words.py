"""Node: check the statement for forbidden operations."""

from typing import Any

from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.errors import Unanswered
from datasphinx.agent.generation.attempts import attempts_with, with_facts
from datasphinx.agent.messages import Message
from datasphinx.agent.record.step import note
from datasphinx.agent.routes import is_edited, may_be_refused_again
from datasphinx.agent.services import Services
from datasphinx.agent.sql.guard import check, stop_words
from datasphinx.agent.sql.guard.tables import system_names
from datasphinx.agent.state import State

_NOTHING_KNOWN: dict[str, Any] = {
    "assumptions": [],
    "not_answered": [],
    "validation": None,
    "sql_request_is_valid": False,
    "result": None,
    "sql_error_info": None,
}
"""What is told about a statement besides its attempt, until it runs."""


def check_stop_words(state: State, services: Services) -> dict[str, Any]:
    """List the forbidden operations in the syntax tree by name; after the third refusal the question fails.

    Rankings of an allowed statement are changed to end with NULL, as `Source.execute` does.
    A statement that reads system tables fails at once, since no other statement would be permitted. About a statement
    that a person edited, nothing is known any more.
    """
    source, sql, attempts = services.source(state.get("source")), state["sql_request"], state["attempts"]
    catalog, edited = source.catalog, dict[str, Any]()
    if is_edited(state):
        attempts, edited = attempts_with(attempts, sql, "user"), _NOTHING_KNOWN
        note("the statement was edited")
    findings = check(sql, catalog.dialect, catalog.readable)
    if not findings:
        sql = source.ending_with_nulls(sql)
        attempts = with_facts(attempts, sql=sql)
    elif system := system_names(findings):
        raise Unanswered("system_catalog_refused", names=", ".join(system))
    words = stop_words(findings)
    if words:
        attempts = with_facts(attempts, outcome="refused", problem=", ".join(words))
    update = {**edited, "stop_words": bool(words), "used_stop_words": words, "sql_request": sql, "attempts": attempts}
    if words and not may_be_refused_again(attempts):
        update["failure"] = failure_of(
            Unanswered("sql_not_generated", reason=Message("operations_not_allowed", words=", ".join(words)))
        )
    return update

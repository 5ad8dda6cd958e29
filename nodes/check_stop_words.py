"""Node: check the statement for forbidden operations."""

from typing import Any, cast

from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.errors import Unanswered
from datasphinx.agent.generation.attempts import attempts_ended, attempts_with
from datasphinx.agent.messages import Message
from datasphinx.agent.record.step import note
from datasphinx.agent.routes import is_edited, may_be_refused_again
from datasphinx.agent.services import Services
from datasphinx.agent.sql.guard import check, stop_words
from datasphinx.agent.sql.guard.tables import system_names
from datasphinx.agent.state import State

_NOTHING_KNOWN: dict[str, Any] = {
    "verified": None,
    "evidence": {},
    "form": {},
    "assumptions": [],
    "not_answered": [],
    "objection": "",
    "doubts": [],
    "candidates": [],
    "validation": None,
    "sql_request_is_valid": False,
    "result": None,
    "sql_error_info": None,
}
"""What is told about a statement until it runs."""


def check_stop_words(state: State, services: Services) -> dict[str, Any]:
    """List the forbidden operations in the syntax tree by name; after the third refusal the question fails.

    Rankings of an allowed statement are changed to end with NULL, as `Source.execute` does.
    A statement that reads system tables fails at once, since no other statement would be permitted. About a statement
    that a person edited, nothing is known any more.
    """
    source, sql, attempts = services.source(state.get("source")), state["sql_request"], state["attempts"]
    catalog, edited = source.catalog, dict[str, Any]()
    if is_edited(state):
        attempts, edited = attempts_with(state, sql, "user"), _NOTHING_KNOWN
        note("the statement was edited")
    findings = check(sql, catalog.dialect, catalog.readable)
    if not findings:
        ending = source.ending_with_nulls(sql)
        attempts = [*attempts[:-1], {**attempts[-1], "sql": ending}]
        return {**edited, "stop_words": False, "used_stop_words": [], "sql_request": ending, "attempts": attempts}
    system, words = system_names(findings), stop_words(findings)
    if system:
        raise Unanswered("system_catalog_refused", names=", ".join(system))
    update = {**edited, "stop_words": bool(words), "used_stop_words": words, "attempts": attempts}
    if not words:
        return update
    update["attempts"] = attempts_ended(update, "refused")
    if not may_be_refused_again(cast(State, {**state, **update})):
        update["failure"] = failure_of(
            Unanswered("sql_not_generated", reason=Message("operations_not_allowed", words=", ".join(words)))
        )
    return update

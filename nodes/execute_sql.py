"""Node: execute the statement."""

import logging
from typing import Any

from datasphinx.agent.answers.outputs import output_type_problem
from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.errors import Unanswered
from datasphinx.agent.generation.attempt import Execution, execute_with_repair, is_blank
from datasphinx.agent.generation.attempts import attempts_ended, has_outcome
from datasphinx.agent.generation.effort import effort_of, ends_of_dates, summary_of, validation_of
from datasphinx.agent.record.step import note
from datasphinx.agent.routes import may_generate_again
from datasphinx.agent.services import Services
from datasphinx.agent.state import State
from datasphinx.agent.types import Outcome, Result, VerifiedAnswer

logger = logging.getLogger("datasphinx")


def execute_sql(state: State, services: Services) -> dict[str, Any]:
    """Execute `sql_request`; an error is returned to generation, or ends the question after the last attempt.

    Before an error is returned, a changed schema is reloaded and the statement is repaired without the model. Rows that
    do not fit the requested output type are rejected once. An empty result is a reason to validate the statement,
    unless it was validated or compared with others.
    """
    verified = state.get("verified")
    if verified:
        return _execute_verified(verified, state, services)
    name = state.get("source")
    source, writer = services.source(name), services.roles.sql_writer
    execution = execute_with_repair(state, source, lambda: services.refresh(name), may_repair=writer.may_repair)
    may_generate = may_generate_again(state, services.settings)
    if execution.result is not None and may_generate and not has_outcome(state, "wrong form"):
        problem = output_type_problem(execution.result, state.get("output_type"))
        if problem:
            return _rejected(execution, state, problem, "wrong form")
    may_correct_values = writer.may_repair and effort_of(state, services.settings) != "low"
    if execution.unstored_values and may_generate and may_correct_values and not has_outcome(state, "unstored values"):
        return _rejected(execution, state, "; ".join(execution.unstored_values), "unstored values")
    if execution.error is None:
        doubts = _doubts(execution.result, state, services)
        success = {"sql_request_is_valid": True, "result": execution.result, "sql_error_info": None, "doubts": doubts}
        return {**execution.changes, **success}
    reason = execution.error.as_message()
    update: dict[str, Any] = {
        **execution.changes,
        "sql_request_is_valid": False,
        "result": None,
        "sql_error_info": reason,
        "attempts": attempts_ended({**state, **execution.changes}, "failed"),
    }
    if not may_generate:
        update["failure"] = failure_of(Unanswered("sql_not_generated", reason=reason))
    return update


def _rejected(execution: Execution, state: State, problem: str, outcome: Outcome) -> dict[str, Any]:
    """Return the changes of the state that ask for another statement, although this one has run."""
    note(f"asked for another statement: {problem}")
    attempts = attempts_ended({**state, **execution.changes}, outcome)
    rejected = {"sql_request_is_valid": False, "result": None, "sql_error_info": problem}
    return {**execution.changes, **rejected, "attempts": attempts}


def _execute_verified(verified: VerifiedAnswer, state: State, services: Services) -> dict[str, Any]:
    """Execute a verified query; if it fails or does not fit the output type, the question goes on without it.

    A failure is reported with the business knowledge of the source.
    """
    name = state.get("source")
    execution = execute_with_repair(state, services.source(name), lambda: services.refresh(name), may_repair=False)
    result, error = execution.result, execution.error
    problem = str(error) if error else None
    if result is not None:
        problem = output_type_problem(result, state.get("output_type"))
    if problem is None:
        return {
            **execution.changes,
            "sql_request_is_valid": True,
            "result": result,
            "sql_error_info": None,
            "doubts": [],
        }
    if error:
        services.source(name).knowledge.report_failure(verified["place"], problem)
        logger.warning(
            "[KNOWLEDGE] the verified query at %s failed: %s trace_id=%s",
            verified["place"],
            problem,
            state["audit"]["trace_id"],
        )
    note(f"the verified query at {verified['place']} was not used: {problem}")
    return {
        **execution.changes,
        "verified": None,
        "attempts": attempts_ended(state, "not used"),
        "sql_request": "",
        "form": {},
        "sql_request_is_valid": False,
        "result": None,
    }


def _doubts(result: Result | None, state: State, services: Services) -> list[str]:
    was_checked = state.get("sql_validation_count") or state.get("candidates")
    may_check = services.roles.checks_sql and validation_of(state, services.settings) == "if doubtful"
    if result is None or not is_blank(result) or was_checked or not may_check:
        return []
    sql, source = state["sql_request"], services.source(state.get("source"))
    ends = ends_of_dates(sql, source)
    told = (f"{column} ends on {last}" for column, last in ends.items())
    return ["; ".join([f"this query returns {summary_of(result, sql, source)}", *told])]

"""Node: execute the statement."""

import logging
from typing import Any

from datasphinx.agent.answers.outputs import output_type_problem
from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.errors import Unanswered
from datasphinx.agent.generation.attempts import candidates_of, current, reworded, with_facts
from datasphinx.agent.generation.blank_results import may_be_mistaken
from datasphinx.agent.generation.computed_bounds import with_computed_bounds
from datasphinx.agent.generation.ends_of_dates import ends_of_dates
from datasphinx.agent.generation.execution import Execution, execute_with_repair, finds_nothing, updated_selection
from datasphinx.agent.generation.question import question_of
from datasphinx.agent.generation.result_summary import summary_of
from datasphinx.agent.record.step import note
from datasphinx.agent.routes import (
    effort_of,
    may_generate_again,
    may_read_schema_again,
    may_reject_rows,
    validation_count,
    validation_of,
)
from datasphinx.agent.services import Services
from datasphinx.agent.state import State
from datasphinx.agent.types import Outcome, VerifiedAnswer

logger = logging.getLogger("datasphinx")


def execute_sql(state: State, services: Services) -> dict[str, Any]:
    """Execute `sql_request`; an error is returned to generation, or ends the question after the last attempt.

    Before an error is returned, a changed schema is reloaded, at most once per question, and the statement is repaired
    without the model. Rows that do not fit the requested output type are rejected once. An empty result that may be a
    mistake is a reason to validate the statement, unless it was validated or compared with others. A verified query is
    executed as it is; if it cannot be used, the question goes on without it.
    """
    name, attempts = state.get("source"), state["attempts"]
    source, verified = services.source(name), current(attempts).get("verified")
    # A verified query needs no model, which need not even be configured.
    may_repair = not verified and current(attempts)["origin"] != "repair"
    execution = execute_with_repair(
        state["sql_request"],
        source,
        lambda: services.refresh(name) if may_read_schema_again(attempts) else None,
        may_repair=may_repair,
        is_checked_only=bool(state.get("sql_only")),
    )
    outcome, problem = _problem_of(execution, state, services)
    if execution.sql != state["sql_request"]:
        attempts = reworded(attempts, execution.sql, "repair")
    facts = (
        {"outcome": outcome, "problem": problem} if outcome else {"doubts": _blank_doubt(execution, state, services)}
    )
    update: dict[str, Any] = {
        "sql_request": execution.sql,
        "attempts": with_facts(attempts, **facts),
        "sql_request_is_valid": outcome is None,
        "result": None if outcome else execution.result,
        "sql_error_info": problem,
    }
    if execution.source is not source:
        tables = updated_selection(state.get("relevant_tables", {}), source.catalog, execution.source.catalog)
        update |= {"relevant_tables": tables, "relevant_tables_with_rel_columns": tables}
    if verified and problem:
        _report(verified, problem, execution, state)
        return {**update, "sql_request": "", "sql_error_info": None}
    if execution.error and not may_generate_again(attempts, services.settings):
        update["failure"] = failure_of(Unanswered("sql_not_generated", reason=problem or ""))
    return update


def _problem_of(execution: Execution, state: State, services: Services) -> tuple[Outcome | None, str | None]:
    """Return why the statement is no answer, as an outcome and as the next attempt is told; None if it is one."""
    attempts, settings = state["attempts"], services.settings
    statement = current(attempts)
    is_verified = "verified" in statement
    if execution.error:
        failed: Outcome = "unknown name" if execution.names_unknown else "failed"
        # Its writer said why there is no statement.
        why = statement.get("problem") if not state["sql_request"] else None
        return "not used" if is_verified else failed, why or execution.error.as_message()
    if execution.result is None:
        return None, None
    problem = output_type_problem(execution.result, state.get("output_type"))
    if is_verified:
        return ("not used", problem) if problem else (None, None)
    unstored = "; ".join(execution.unstored_values) if effort_of(state, settings) != "low" else ""
    problems: dict[Outcome, str | None] = {"wrong form": problem, "unstored values": unstored}
    for outcome, text in problems.items():
        if text and may_reject_rows(outcome, attempts, settings):
            note(f"asked for another statement: {text}")
            return outcome, text
    return None, None


def _report(verified: VerifiedAnswer, problem: str, execution: Execution, state: State) -> None:
    """Report that a verified query was not used; a failure belongs to the business knowledge of the source."""
    place = verified["place"]
    if execution.error:
        execution.source.knowledge.report_failure(place, problem)
        trace_id = state["audit"]["trace_id"]
        logger.warning("[KNOWLEDGE] the verified query at %s failed: %s trace_id=%s", place, problem, trace_id)
    note(f"the verified query at {place} was not used: {problem}")


def _blank_doubt(execution: Execution, state: State, services: Services) -> list[str]:
    """Return the blank result of a statement that may be mistaken, unless one was validated or compared."""
    result, attempts = execution.result, state["attempts"]
    was_checked = "verified" in current(attempts) or validation_count(attempts) or candidates_of(attempts)
    if result is None or not finds_nothing(result) or was_checked:
        return []
    if not services.roles.checks_sql or validation_of(state, services.settings) != "if doubtful":
        return []
    source = execution.source
    sql = with_computed_bounds(execution.sql, source)
    if not may_be_mistaken(sql, question_of(state), source):
        return []
    ends = ends_of_dates(sql, source)
    told = (f"{end.column} {'ends' if end.is_last else 'begins'} on {end.value}" for end in ends)
    return ["; ".join([f"this query returns {summary_of(result, execution.sql, source)}", *told])]

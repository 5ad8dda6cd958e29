"""Node: check the statement against the question with the model."""

import logging
from collections.abc import Sequence
from typing import Any

from agent.errors import StatementError, StatementRefused
from agent.llm.schemas import SQLValidation
from agent.question_prompt import question_messages
from agent.record.step import note
from agent.schema.describe import one_line
from agent.services import Services
from agent.sources.source import Source
from agent.sql.compare import canonical_sql
from agent.sql.repair import repair
from agent.sql.validation import find_problem, warnings_of
from agent.sql_attempt import is_blank
from agent.state import State
from agent.types import Validation, masked

logger = logging.getLogger("datasphinx")

_MAX_WARNINGS = 10
_MAX_LINE_CHARS = 2000


def validate_sql(state: State, services: Services) -> dict[str, Any]:
    """Validate `sql_request`; replace it by the model's correction, or return the objections to generation.

    The model is not called if validation is disabled, if the model cannot check statements, if the statement cannot run
    (which `execute_sql` reports), or after as many checks as the settings allow. If the call fails, or the correction
    cannot run, the statement is kept.
    """
    settings, sql = services.settings, state["sql_request"]
    source = services.source(state.get("source"))
    count = state.get("sql_validation_count", 0) + 1
    requested = state.get("enable_sql_validation")
    is_enabled = settings.enable_sql_validation if requested is None else requested
    is_checked = is_enabled and services.roles.checks_sql and count <= settings.sql_validation_max_retries + 1
    if not is_checked or find_problem(sql, source.catalog):
        return {"validation": None}
    trace_id = state["audit"]["trace_id"]
    logger.info("[SQL_VALIDATION] start attempt=%d trace_id=%s", count, trace_id)
    logger.info("[SQL_VALIDATION] sql=%s trace_id=%s", one_line(sql, _MAX_LINE_CHARS), trace_id)
    verdict = _judge(state, services, source)
    if verdict is None:
        logger.info("[SQL_VALIDATION] verdict=none, the statement stays as it is trace_id=%s", trace_id)
        return {"validation": None, "sql_validation_count": count}
    is_valid, reason = verdict["is_valid"], one_line(verdict["reason"], _MAX_LINE_CHARS)
    logger.info("[SQL_VALIDATION] verdict=%s reason=%s trace_id=%s", is_valid, reason, trace_id)
    update = {"validation": verdict, "sql_validation_count": count}
    if is_valid:
        return update
    judged = [*state.get("judged_sql", ()), sql]
    update["judged_sql"] = judged
    correction = verdict["corrected_sql"]
    dialect = source.catalog.dialect
    if correction and _is_among(correction, judged, dialect):
        note("the corrections alternate, so the generated statement is kept")
        return {**update, "validation": None, "sql_request": judged[0]}
    if correction and _is_among(correction, state.get("rejected_sql") or (), dialect):
        note("the correction is a statement that the user rejected")
        correction = None
        update["validation"] = {**verdict, "corrected_sql": None}
    if correction and not _keeps_rows(state, services, source, correction):
        note(f"a correction was not used, since it returns nothing: {one_line(correction, _MAX_LINE_CHARS)}")
        return {**update, "validation": None}
    if correction:
        logger.info("[SQL_VALIDATION] correction=%s trace_id=%s", one_line(correction, _MAX_LINE_CHARS), trace_id)
        note(f"corrected: {verdict['reason']}")
        return {**update, "sql_request": correction}
    if state["sql_retry_count"] >= settings.max_sql_generations:
        return update
    return {**update, "sql_error_info": "; ".join([verdict["reason"], *verdict["issues"]])}


def _is_among(sql: str, others: Sequence[str], dialect: str) -> bool:
    return canonical_sql(sql, dialect) in {canonical_sql(other, dialect) for other in others}


def _keeps_rows(state: State, services: Services, source: Source, correction: str) -> bool:
    """Return False if a correction loses all rows and the model does not confirm it.

    Both statements run under the limits of the source. Nothing is an empty result, 0 or NULL. The model is shown both
    results once.
    """
    try:
        after = source.execute(correction)
        before = source.execute(state["sql_request"]) if is_blank(after) else None
    except StatementError:
        return True
    if before is None or is_blank(before):
        return True
    first_row = one_line(str(masked(before)["rows"][0]), _MAX_LINE_CHARS)
    value = f"the value {after['rows'][0][0]}" if after["rows"] else "no rows"
    findings = (
        f"This query returns {value}. It was to replace the following one, which returns {len(before['rows'])} "
        f"rows, the first: {first_row}:\n{state['sql_request']}"
    )
    verdict = _judge({**state, "sql_request": correction}, services, source, findings)
    if verdict is None or not verdict["is_valid"]:
        return False
    note(f"the corrected statement returns {value}; before the correction it returned {len(before['rows'])} rows")
    return True


def _judge(state: State, services: Services, source: Source, comparison: str = "") -> Validation | None:
    """Return the model's validation, cached by the texts of its prompt; None if it is not available.

    `comparison` describes the results of the statement and of the one that it replaces.
    """
    sql = state["sql_request"]
    warnings = warnings_of(sql, source.catalog, lambda: source.values)[:_MAX_WARNINGS]
    lines = "".join(f"\n- {one_line(warning, _MAX_LINE_CHARS)}" for warning in warnings)
    findings = f"\nDoubts of a mechanical check, which may be unfounded:{lines}" if lines else ""
    findings += f"\n{comparison}" if comparison else ""
    messages = question_messages(
        "validate_sql",
        state,
        source,
        services.today(),
        context=[f"Its author assumed: {assumption}" for assumption in state.get("assumptions") or ()],
        sql=sql,
        findings=findings,
    )

    def ask() -> Validation:
        answer = services.roles.validator.ask(SQLValidation, messages)
        corrected = answer.corrected_sql if not answer.is_valid and answer.corrected_sql != sql else None
        repaired = repair(corrected, source.catalog) if corrected else None
        corrected = repaired.sql if repaired else corrected
        problem = corrected and find_problem(corrected, source.catalog)
        if problem:
            raise StatementRefused((f"the correction cannot run: {problem}",))
        return Validation(is_valid=answer.is_valid, reason=answer.reason, issues=answer.issues, corrected_sql=corrected)

    try:
        return services.validations.of(tuple(str(message.content) for message in messages), ask)
    except Exception as error:
        # Validation is optional: on any error, the question continues with the statement.
        note(f"the check of the statement failed: {error}")
        logger.info("[SQL_VALIDATION] failed: %r trace_id=%s", error, state["audit"]["trace_id"])
        return None

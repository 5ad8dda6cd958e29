"""Node: check the statement against the question with the model."""

import logging
from typing import Any

import prompts
from agent.errors import StatementRefused
from agent.llm.schemas import SQLValidation
from agent.record.step import note
from agent.schema.describe import describe, one_line
from agent.services import Services
from agent.sources.source import Source
from agent.sql.repair import repair
from agent.sql.validation import find_problem, warnings_of
from agent.state import State
from agent.types import Validation

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
    correction = verdict["corrected_sql"]
    if correction:
        logger.info("[SQL_VALIDATION] correction=%s trace_id=%s", one_line(correction, _MAX_LINE_CHARS), trace_id)
        note(f"corrected: {verdict['reason']}")
        return {**update, "sql_request": correction}
    if state["sql_generate_count"] >= settings.max_sql_generations:
        return update
    return {**update, "sql_error_info": "; ".join([verdict["reason"], *verdict["issues"]])}


def _judge(state: State, services: Services, source: Source) -> Validation | None:
    """Return the model's validation, cached by statement, question and schema; None if it is not available."""
    sql, question = state["sql_request"], state["question"]
    schema = describe(source.shown_catalog, state["relevant_tables_with_rel_columns"], source.database.quote)
    warnings = warnings_of(sql, source.catalog, lambda: source.values)[:_MAX_WARNINGS]
    lines = "".join(f"\n- {one_line(warning, _MAX_LINE_CHARS)}" for warning in warnings)
    findings = f"\nDoubts of a mechanical check, which may be unfounded:{lines}" if lines else ""

    def ask() -> Validation:
        messages = prompts.render(
            "validate_sql",
            services.model.profile,
            dialect=source.catalog.dialect,
            today=services.today().isoformat(),
            schema=schema,
            question=question,
            sql=sql,
            findings=findings,
        )
        answer = services.model.ask(SQLValidation, messages)
        corrected = answer.corrected_sql if not answer.is_valid and answer.corrected_sql != sql else None
        repaired = repair(corrected, source.catalog) if corrected else None
        corrected = repaired.sql if repaired else corrected
        problem = corrected and find_problem(corrected, source.catalog)
        if problem:
            raise StatementRefused((f"the correction cannot run: {problem}",))
        return Validation(is_valid=answer.is_valid, reason=answer.reason, issues=answer.issues, corrected_sql=corrected)

    try:
        return services.validations.of((sql, question, schema + findings), ask)
    except Exception as error:
        # Validation is optional: on any error, the question continues with the statement.
        note(f"the check of the statement failed: {error}")
        logger.info("[SQL_VALIDATION] failed: %r trace_id=%s", error, state["audit"]["trace_id"])
        return None

"""Node: have the model check the statement against the question."""

import logging
from typing import Any

import prompts
from agent.audit.step import note
from agent.catalog.describe import describe, one_line
from agent.catalog.source import Source
from agent.errors import StatementRefused
from agent.models.schemas import SQLValidation
from agent.services import Services
from agent.sql.checks import warnings_of
from agent.sql.preflight import objection
from agent.sql.repair import repair
from agent.state import State, Validation

logger = logging.getLogger("datasphinx")

_SHOWN_WARNINGS = 10


def validate_sql(state: State, services: Services) -> dict[str, Any]:
    """Judge `sql_request`, put a correction in its place, or send an objection without one back to generation.

    No call is made where it cannot help: validation is off, the model is the embedded one, the statement cannot run as
    it stands, which execution reports, or it was checked again as often as the settings allow. A call that fails, and
    a correction that cannot run, leave the statement as it is.
    """
    settings, sql = services.settings, state["sql_request"]
    source = services.source(state.get("source"))
    count = state.get("sql_validation_count", 0) + 1
    if not _is_on(state, services) or count > settings.sql_validation_max_retries + 1 or objection(sql, source.catalog):
        return {"validation": None}
    trace_id = state["audit"]["trace_id"]
    logger.info("[SQL_VALIDATION] start attempt=%d trace_id=%s", count, trace_id)
    logger.info("[SQL_VALIDATION] sql=%s trace_id=%s", _line(sql), trace_id)
    verdict = _judge(state, services, source)
    if verdict is None:
        logger.info("[SQL_VALIDATION] verdict=none, the statement stays as it is trace_id=%s", trace_id)
        return {"validation": None, "sql_validation_count": count}
    is_valid, reason = verdict["is_valid"], _line(verdict["reason"])
    logger.info("[SQL_VALIDATION] verdict=%s reason=%s trace_id=%s", is_valid, reason, trace_id)
    update = {"validation": verdict, "sql_validation_count": count}
    if is_valid:
        return update
    if verdict["corrected_sql"]:
        logger.info("[SQL_VALIDATION] correction=%s trace_id=%s", _line(verdict["corrected_sql"]), trace_id)
        note(f"corrected: {verdict['reason']}")
        return {**update, "sql_request": verdict["corrected_sql"]}
    if state["sql_generate_count"] >= settings.max_sql_generations:
        return update
    return {**update, "sql_error_info": "; ".join([verdict["reason"], *verdict["issues"]])}


def _line(text: str) -> str:
    """Return `text` as one line of the log."""
    return one_line(text, 2000)


def _is_on(state: State, services: Services) -> bool:
    wanted = state.get("enable_sql_validation")
    wanted = services.settings.enable_sql_validation if wanted is None else wanted
    return wanted and services.model.profile != "embedded"


def _findings(sql: str, source: Source) -> str:
    """Return what the static checks warn of, as a part of the prompt; empty where that is nothing."""
    warnings = warnings_of(sql, source.catalog, lambda: source.values)
    lines = "".join(f"\n- {_line(warning)}" for warning in warnings[:_SHOWN_WARNINGS])
    return f"\nDoubts of a mechanical check, which may be unfounded:{lines}" if lines else ""


def _judge(state: State, services: Services, source: Source) -> Validation | None:
    """Return the model's verdict, cached by statement, question and schema; None where there is none to be had."""
    sql, question = state["sql_request"], state["question"]
    schema = describe(source.catalog, state["relevant_tables_with_rel_columns"], source.database.quote)
    findings = _findings(sql, source)

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
        mended = repair(corrected, source.catalog) if corrected else None
        corrected = mended.sql if mended else corrected
        problem = corrected and objection(corrected, source.catalog)
        if problem:
            raise StatementRefused((f"the correction cannot run: {problem}",))
        return Validation(is_valid=answer.is_valid, reason=answer.reason, issues=answer.issues, corrected_sql=corrected)

    try:
        return services.validations.of((sql, question, schema + findings), ask)
    except Exception as error:
        # Whatever goes wrong here, the question has a statement to go on with.
        note(f"the check of the statement failed: {error}")
        logger.info("[SQL_VALIDATION] failed: %r trace_id=%s", error, state["audit"]["trace_id"])
        return None

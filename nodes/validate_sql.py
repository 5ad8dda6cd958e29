"""Node: have the model check the statement against the question."""

import logging
from datetime import date
from typing import Any

import prompts
from agent.catalog.describe import describe
from agent.catalog.source import Source
from agent.errors import DatasphinxError
from agent.models.schemas import SQLValidation
from agent.services import Services
from agent.sql.preflight import objection
from agent.state import State, Validation

logger = logging.getLogger("datasphinx")


def validate_sql(state: State, services: Services) -> dict[str, Any]:
    """Judge `sql_request`, put a correction in its place, or send an objection without one back to generation.

    No call is made where it cannot help: validation is off, the model is the embedded one, or the statement cannot
    run as
    it stands, which execution reports. A call that fails, and a correction that cannot run, leave the statement as it
    is.
    """
    settings, sql = services.settings, state["sql_request"]
    enabled = state.get("enable_sql_validation")
    source = services.source(state.get("source"))
    off = not (settings.enable_sql_validation if enabled is None else enabled) or services.model.profile == "embedded"
    if off or objection(sql, source.catalog):
        return {"validation": None}
    trace_id, count = state["audit"]["trace_id"], state.get("sql_validation_count", 0) + 1
    logger.info("[SQL_VALIDATION] start attempt=%d trace_id=%s", count, trace_id)
    logger.info("[SQL_VALIDATION] sql=%s trace_id=%s", sql, trace_id)
    verdict = _judge(state, services, source)
    if verdict is None:
        logger.warning("[SQL_VALIDATION] verdict=none, the statement stays as it is trace_id=%s", trace_id)
        return {"validation": None, "sql_validation_count": count}
    logger.info("[SQL_VALIDATION] verdict=%s reason=%s trace_id=%s", verdict["is_valid"], verdict["reason"], trace_id)
    update = {"validation": verdict, "sql_validation_count": count}
    if verdict["is_valid"] or count > settings.sql_validation_max_retries:
        return {**update, "validation": {**verdict, "corrected_sql": None}}
    if verdict["corrected_sql"]:
        logger.info("[SQL_VALIDATION] correction=%s trace_id=%s", verdict["corrected_sql"], trace_id)
        return {**update, "sql_request": verdict["corrected_sql"]}
    if state["sql_generate_count"] >= settings.max_sql_generations:
        return update
    return {**update, "sql_error_info": "; ".join([verdict["reason"], *verdict["issues"]])}


def _judge(state: State, services: Services, source: Source) -> Validation | None:
    """Return the model's verdict, cached by statement, question and schema; None where there is none to be had."""
    sql, question = state["sql_request"], state["question"]
    schema = describe(source.catalog, state["relevant_tables_with_rel_columns"], source.database.quote)

    def ask() -> Validation:
        messages = prompts.render(
            "validate_sql",
            services.model.profile,
            dialect=source.catalog.dialect,
            today=date.today().isoformat(),
            schema=schema,
            question=question,
            sql=sql,
        )
        answer = services.model.ask(SQLValidation, messages)
        corrected = answer.corrected_sql if not answer.is_valid and answer.corrected_sql != sql else None
        if corrected and objection(corrected, source.catalog):
            corrected = None
        return Validation(is_valid=answer.is_valid, reason=answer.reason, issues=answer.issues, corrected_sql=corrected)

    try:
        return services.validation((sql, question, schema), ask)
    except DatasphinxError as error:
        logger.warning("[SQL_VALIDATION] failed: %s trace_id=%s", error, state["audit"]["trace_id"])
        return None

"""Node: check the statement against the question with the model."""

import json
import logging
from collections.abc import Sequence
from typing import Any, cast

from datasphinx.agent.errors import StatementError
from datasphinx.agent.generation.attempts import attempts_with, candidates_of, current, judged_wrong, with_facts
from datasphinx.agent.generation.definitions import asked_in, departures
from datasphinx.agent.generation.doubts import doubts_of
from datasphinx.agent.generation.effort import group_by_result, summary_of, validation_of
from datasphinx.agent.generation.execution import finds_nothing
from datasphinx.agent.generation.prompt import question_messages
from datasphinx.agent.llm.schemas import SQLValidation
from datasphinx.agent.record.step import note
from datasphinx.agent.routes import may_generate_again, may_validate_again
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.services import Services
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import canonical_sql
from datasphinx.agent.sql.repair import repair
from datasphinx.agent.sql.validation import find_problem
from datasphinx.agent.state import State
from datasphinx.agent.types import Attempt, Evidence, Validation

logger = logging.getLogger("datasphinx")

_MAX_WARNINGS = 10
_MAX_LINE_CHARS = 2000


def validate_sql(state: State, services: Services) -> dict[str, Any]:
    """Validate `sql_request`; replace it by the model's correction, or return the objections to generation.

    The model is not called if validation is disabled, if there is no doubt about the statement and validation is left
    to the effort, if the model cannot check statements, if the statement cannot run (which `execute_sql` reports), or
    after as many checks as the settings allow. If the call fails, the statement is kept.
    """
    settings = services.settings
    source, mode = services.source(state.get("source")), validation_of(state, settings)
    count = state.get("sql_validation_count", 0) + 1
    may_check = _can_check(mode, services, count) and may_validate_again(state, settings)
    if not may_check or find_problem(state["sql_request"], source.catalog):
        return {"validation": None}
    compared = {} if state.get("validation") else _compare_candidates(state["attempts"], source)
    state = cast(State, {**state, **compared})
    sql, attempts, doubts = state["sql_request"], state["attempts"], _doubts(state, source, services)
    unchecked = {**compared, "validation": None}
    if mode == "if doubtful" and not _needs_validation(state, doubts):
        return unchecked
    trace_id = state["audit"]["trace_id"]
    logger.info("[SQL_VALIDATION] start attempt=%d trace_id=%s", count, trace_id)
    logger.info("[SQL_VALIDATION] sql=%s trace_id=%s", one_line(sql, _MAX_LINE_CHARS), trace_id)
    verdict = _judge(state, services, source, doubts)
    if verdict is None:
        logger.info("[SQL_VALIDATION] verdict=none, the statement stays as it is trace_id=%s", trace_id)
        return {**unchecked, "sql_validation_count": count}
    reason, issues = _reason(verdict), _issues(verdict)
    is_valid = verdict["is_valid"]
    logger.info("[SQL_VALIDATION] verdict=%s reason=%s issues=%s trace_id=%s", is_valid, reason, issues, trace_id)
    update = {**unchecked, "validation": verdict, "sql_validation_count": count}
    evidence = {**current(attempts).get("evidence", {}), "is_confirmed": is_valid}
    state = cast(State, {**state, "attempts": with_facts(attempts, evidence=evidence)})
    if is_valid:
        # The answer does not tell what the model confirmed the statement in spite of.
        for warning in source.warnings_about(sql):
            note(f"the model confirmed the statement, although {warning}")
        return {**update, "attempts": state["attempts"]}
    return {**update, **_after_objection(state, services, source, verdict)}


def _reason(verdict: Validation) -> str:
    return one_line(verdict["reason"], _MAX_LINE_CHARS)


def _issues(verdict: Validation) -> str:
    return one_line("; ".join(verdict["issues"]), _MAX_LINE_CHARS)


def _after_objection(state: State, services: Services, source: Source, verdict: Validation) -> dict[str, Any]:
    """Return the changes of the state after an objection.

    A correction that can be used replaces the statement. One that alternates brings back the first statement, and one
    that loses all rows leaves the statement. Without a correction the objection goes to generation, if that may go on.
    """
    attempts, dialect = state["attempts"], source.catalog.dialect
    correction = verdict["corrected_sql"] and source.ending_with_nulls(verdict["corrected_sql"])
    corrected = with_facts(attempts, outcome="corrected", problem=_reason(verdict) or _issues(verdict))
    wrong = judged_wrong(corrected)
    if correction and _is_among(correction, [each["sql"] for each in wrong], dialect):
        note("the corrections alternate, so the generated statement is kept")
        first = attempts_with(corrected, wrong[0]["sql"], "model", form=wrong[0].get("form", {}))
        return {**_replaced(first), "validation": None}
    changes: dict[str, Any] = {}
    if correction and _is_among(correction, state.get("rejected_sql") or (), dialect):
        note("the correction is a statement that the user rejected")
        correction, changes = None, {"validation": {**verdict, "corrected_sql": None}}
    if correction and not _keeps_rows(state, services, source, correction):
        note(f"a correction was not used, since it returns nothing: {one_line(correction, _MAX_LINE_CHARS)}")
        return {"attempts": corrected, "validation": None}
    if correction:
        trace_id, line = state["audit"]["trace_id"], one_line(correction, _MAX_LINE_CHARS)
        logger.info("[SQL_VALIDATION] correction=%s trace_id=%s", line, trace_id)
        note(f"corrected: {verdict['reason']}")
        return _replaced(attempts_with(corrected, correction, "validation", form=verdict.get("form", {})))
    objected = with_facts(corrected, outcome="objected")
    if not may_generate_again(attempts, services.settings):
        return {**changes, "attempts": objected}
    objection = "; ".join(dict.fromkeys(filter(None, [verdict["reason"], *verdict["issues"]])))
    return {**changes, **_replaced(with_facts(objected, problem=objection)), "sql_error_info": objection}


def _replaced(attempts: list[Attempt]) -> dict[str, Any]:
    """Return the changes of the state to the last of `attempts`, which has not been executed."""
    return {
        "sql_request": current(attempts)["sql"],
        "attempts": attempts,
        "sql_request_is_valid": False,
        "result": None,
    }


def _can_check(mode: str, services: Services, count: int) -> bool:
    """Return whether the model checks statements; one that judges badly does so on request alone."""
    roles = services.roles
    if mode != "always":
        return mode != "never" and roles.checks_sql
    if roles.validator.profile == "standard":
        return True
    if count == 1:
        note("the model cannot check statements: the automatic checks of the query stand in for the validation")
    return False


def _compare_candidates(attempts: Sequence[Attempt], source: Source) -> dict[str, Any]:
    """Return the changes of the state to the statement with which most candidates agree.

    They have its agreement, and a doubt for each different result. Return {} if there are no candidates, or none of
    the statements can be executed.
    """
    candidates = candidates_of(attempts)
    written = {each["sql"]: each for each in [*candidates, current(attempts)]}
    statements = [current(attempts)["sql"], *(each["sql"] for each in candidates)]
    groups = group_by_result(statements, source) if candidates else []
    if not groups:
        return {}
    chosen, *others = groups
    agreement = sum(sql in chosen.statements for sql in statements) / len(statements)
    evidence = Evidence({**current(attempts).get("evidence", {}), "agreement": round(agreement, 4)})
    if not others:
        return {"attempts": with_facts(attempts, evidence=evidence)}
    evidence["rival"] = others[0].statements[0]
    told = [summary_of(each.result, each.statements[0], source) for each in groups]
    doubts = [f"this query returns {told[0]}"]
    doubts += [
        f"another query returns {text}: {other.statements[0]}" for other, text in zip(others, told[1:], strict=True)
    ]
    sql = chosen.statements[0]
    form = written[sql].get("form", {})
    attempts = attempts_with(attempts, sql, "model", form=form, doubts=doubts, evidence=evidence)
    return {"sql_request": sql, "attempts": attempts}


def _doubts(state: State, source: Source, services: Services) -> list[str]:
    """Return the doubts about the statement: of its result, of what the question names, and of the static checks."""
    sql = state["sql_request"]
    found = [*departures(asked_in(state), source, sql), *doubts_of(state, source, sql, services.today_of(source))]
    return [
        *current(state["attempts"]).get("doubts", ()),
        *found[:_MAX_WARNINGS],
        *source.warnings_about(sql)[:_MAX_WARNINGS],
    ]


def _needs_validation(state: State, doubts: Sequence[str]) -> bool:
    """Return whether a statement is doubtful; candidates that agree settle all doubts."""
    if state.get("validation"):
        return True
    attempts = state["attempts"]
    if candidates_of(attempts):
        return bool(current(attempts).get("doubts"))
    return bool(doubts) or current(attempts)["origin"] == "repair"


def _is_among(sql: str, others: Sequence[str], dialect: str) -> bool:
    return canonical_sql(sql, dialect) in {canonical_sql(other, dialect) for other in others}


def _keeps_rows(state: State, services: Services, source: Source, correction: str) -> bool:
    """Return False if a correction loses all rows and the model does not confirm it; True if nothing may be executed.

    Both statements run under the limits of the source. Nothing is an empty result, 0 or NULL. The model is shown both
    results once.
    """
    if state.get("sql_only"):
        return True
    try:
        after = source.execute(correction)
        before = source.execute(state["sql_request"]) if finds_nothing(after) else None
    except StatementError:
        return True
    if before is None or finds_nothing(before):
        return True
    value = f"the value {after['rows'][0][0]}" if after["rows"] else "no rows"
    findings = (
        f"this query returns {value}; it was to replace the following one, which returns "
        f"{summary_of(before, state['sql_request'], source)}: {state['sql_request']}"
    )
    verdict = _judge({**state, "sql_request": correction}, services, source, [findings])
    if verdict is None or not verdict["is_valid"]:
        return False
    note(f"the corrected statement returns {value}; before the correction it returned {len(before['rows'])} rows")
    return True


def _judge(state: State, services: Services, source: Source, doubts: Sequence[str]) -> Validation | None:
    """Return the model's validation, cached by the texts of its prompt; None if it is not available."""
    sql = state["sql_request"]
    lines = "".join(f"\n- {one_line(doubt, _MAX_LINE_CHARS)}" for doubt in doubts)
    findings = f"\nFindings of a mechanical check, which may be unfounded:{lines}" if lines else ""
    form = current(state["attempts"]).get("form")
    shown_form = one_line(json.dumps(form, ensure_ascii=False), _MAX_LINE_CHARS)
    form_text = f"Its answer: {shown_form}\nA corrected query needs its own."
    messages = question_messages(
        "validate_sql",
        state,
        source,
        services.today_of(source),
        context=[f"Its author assumed: {assumption}" for assumption in state.get("assumptions") or ()],
        form=form_text if form and services.roles.validator.words_answers else "",
        sql=sql,
        findings=findings,
    )

    def ask() -> Validation:
        answer = services.roles.validator.ask(SQLValidation, messages)
        corrected = answer.corrected_sql if not answer.is_valid and answer.corrected_sql != sql else None
        repaired = repair(corrected, source.catalog) if corrected else None
        corrected = repaired.sql if repaired else corrected
        issues, problem = answer.issues, corrected and find_problem(corrected, source.catalog)
        if problem:
            issues, corrected = [*issues, f"a correction was tried that cannot run: {problem}"], None
        verdict = Validation(is_valid=answer.is_valid, reason=answer.reason, issues=issues, corrected_sql=corrected)
        return {**verdict, "form": answer.form()} if corrected else verdict

    try:
        knowledge = filter(None, [source.knowledge.knowledge.hash])
        return services.validations.of((*knowledge, *(str(message.content) for message in messages)), ask)
    except Exception as error:
        # Validation is optional: on any error, the question continues with the statement.
        note(f"the check of the statement failed: {error}")
        logger.info("[SQL_VALIDATION] failed: %r trace_id=%s", error, state["audit"]["trace_id"])
        return None

"""Node: check the statement against the question with the model."""

import json
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from datasphinx.agent.answers.texts_without_rows import said_about, with_statements
from datasphinx.agent.answers.typed_values import unsupported
from datasphinx.agent.errors import StatementError
from datasphinx.agent.generation.agreement import with_agreement
from datasphinx.agent.generation.attempts import attempts_with, current, judged_wrong, with_facts
from datasphinx.agent.generation.definitions import departures
from datasphinx.agent.generation.doubts import absent_names, doubts_of
from datasphinx.agent.generation.execution import finds_nothing
from datasphinx.agent.generation.prompt import question_messages
from datasphinx.agent.generation.question import Question, question_of
from datasphinx.agent.generation.result_summary import summary_of
from datasphinx.agent.llm.schemas import SQLValidation
from datasphinx.agent.record.step import note
from datasphinx.agent.routes import may_generate_again, may_validate_again, validation_count, validation_of
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.services import Services
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import canonical_sql, names_in
from datasphinx.agent.sql.repair import repair
from datasphinx.agent.sql.validation import find_problem
from datasphinx.agent.state import State
from datasphinx.agent.types import AnswerForm, Attempt, Validation

logger = logging.getLogger("datasphinx")

_MAX_WARNINGS = 10
_MAX_LINE_CHARS = 2000


def validate_sql(state: State, services: Services) -> dict[str, Any]:
    """Validate `sql_request`; replace it by the model's correction, or return the objections to generation.

    The model is not called if validation is disabled, if there is no doubt about the statement and validation is left
    to the effort, if the model cannot check statements, if the statement cannot run (which `execute_sql` reports), or
    after as many checks as the settings allow. If the call fails, the statement is kept.
    """
    settings, validation = services.settings, state.get("validation")
    source, mode = services.source(state.get("source")), validation_of(state, settings)
    attempts = state["attempts"]
    count = validation_count(attempts) + 1
    may_check = _can_check(mode, services, count) and may_validate_again(attempts, settings)
    if not may_check or find_problem(state["sql_request"], source.catalog):
        return {"validation": None}
    if not validation:
        attempts = with_agreement(attempts, source)
    statement, question, assumptions = current(attempts), question_of(state), state.get("assumptions") or ()
    sql = statement["sql"]
    doubts = _doubts_about(statement, question, assumptions, source, services)
    update: dict[str, Any] = {"attempts": attempts, "validation": None}
    if sql != state["sql_request"]:
        update["sql_request"] = sql
    if mode == "if doubtful" and not (validation or doubts or statement["origin"] == "repair"):
        return update
    trace_id = state["audit"]["trace_id"]
    logger.info("[SQL_VALIDATION] start attempt=%d trace_id=%s", count, trace_id)
    logger.info("[SQL_VALIDATION] sql=%s trace_id=%s", one_line(sql, _MAX_LINE_CHARS), trace_id)
    judge = _Judge(question, assumptions, statement.get("form"), source, services, trace_id)
    verdict = judge.verdict(sql, doubts)
    attempts = with_facts(attempts, is_validated=True)
    update |= {"attempts": attempts, "sql_validation_count": count}
    if verdict is None:
        logger.info("[SQL_VALIDATION] verdict=none, the statement stays as it is trace_id=%s", trace_id)
        return update
    reason, issues = _reason(verdict), _issues(verdict)
    is_valid = verdict["is_valid"]
    logger.info("[SQL_VALIDATION] verdict=%s reason=%s issues=%s trace_id=%s", is_valid, reason, issues, trace_id)
    attempts = with_facts(attempts, evidence={**statement.get("evidence", {}), "is_confirmed": is_valid})
    update |= {"attempts": attempts, "validation": verdict}
    if is_valid:
        # The answer does not tell what the model confirmed the statement in spite of.
        for warning in source.warnings_about(sql):
            note(f"the model confirmed the statement, although {warning}")
        return update
    return {**update, **_after_objection(verdict, attempts, judge, names_in(state.get("result")))}


@dataclass(frozen=True)
class _Judge:
    """The model as the judge of statements for one question."""

    question: Question
    assumptions: Sequence[str]
    """Those of the author of the statement."""
    form: AnswerForm | None
    """How the answer of the statement is worded and shown."""
    source: Source
    services: Services
    trace_id: str

    def verdict(self, sql: str, doubts: Sequence[str]) -> Validation | None:
        """Return the validation of `sql`, cached by the texts of its prompt; None if the model is not available."""
        validator, source = self.services.roles.validator, self.source
        lines = "".join(f"\n- {one_line(doubt, _MAX_LINE_CHARS)}" for doubt in doubts)
        shown_form = one_line(json.dumps(self.form, ensure_ascii=False), _MAX_LINE_CHARS)
        form_text = f"Its answer: {shown_form}\nA corrected query needs its own."
        messages = question_messages(
            "validate_sql",
            self.question,
            source,
            self.services.today_of(source),
            context=[f"Its author assumed: {assumption}" for assumption in self.assumptions],
            form=form_text if self.form and validator.words_answers else "",
            other_sql=sql,
            sql=sql,
            findings=f"\nFindings of a mechanical check, which may be unfounded:{lines}" if lines else "",
        )

        def ask() -> Validation:
            answer = validator.ask(SQLValidation, messages)
            corrected = answer.corrected_sql if not answer.is_valid and answer.corrected_sql != sql else None
            repaired = repair(corrected, source.catalog) if corrected else None
            corrected = repaired.sql if repaired else corrected
            problem = corrected and find_problem(corrected, source.catalog)
            verdict = Validation(
                is_valid=answer.is_valid,
                reason=answer.reason,
                issues=answer.issues,
                corrected_sql=None if problem else corrected,
            )
            if problem:
                return {**verdict, "problem": str(problem)}
            return {**verdict, "form": answer.form()} if corrected else verdict

        try:
            knowledge = filter(None, [source.knowledge.knowledge.hash])
            return self.services.validations.of((*knowledge, *(str(message.content) for message in messages)), ask)
        except Exception as error:
            # Validation is optional: on any error, the question continues with the statement.
            note(f"the check of the statement failed: {error}")
            logger.info("[SQL_VALIDATION] failed: %r trace_id=%s", error, self.trace_id)
            return None

    def keeps_rows(self, sql: str, correction: str) -> bool:
        """Return False if a correction of `sql` loses all rows and the model does not confirm it.

        Both statements run under the limits of the source, unless nothing may be executed. The model is shown both
        results once.
        """
        if self.question.sql_only:
            return True
        try:
            after = self.source.execute(correction)
            before = self.source.execute(sql) if finds_nothing(after) else None
        except StatementError:
            return True
        if before is None or finds_nothing(before):
            return True
        value = f"the value {after['rows'][0][0]}" if after["rows"] else "no rows"
        doubt = (
            f"this query returns {value}; it was to replace the following one, which returns "
            f"{summary_of(before, sql, self.source)}: {sql}"
        )
        verdict = self.verdict(correction, [doubt])
        if verdict is None or not verdict["is_valid"]:
            return False
        note(f"the corrected statement returns {value}; before the correction it returned {len(before['rows'])} rows")
        return True


def _reason(verdict: Validation) -> str:
    return one_line(verdict["reason"], _MAX_LINE_CHARS)


def _issues(verdict: Validation) -> str:
    return one_line("; ".join(verdict["issues"]), _MAX_LINE_CHARS)


def _after_objection(
    verdict: Validation, attempts: list[Attempt], judge: _Judge, names: Collection[str]
) -> dict[str, Any]:
    """Return the changes of the state after an objection; `names` are those of the rows, if the statement has run.

    A correction that can be used replaces the statement. Otherwise the objection goes to generation, if that may go on:
    also if the correction was judged wrong before, or loses all rows.
    """
    dialect, sql = judge.source.catalog.dialect, current(attempts)["sql"]
    correction = verdict["corrected_sql"] and judge.source.ending_with_nulls(verdict["corrected_sql"])
    corrected = with_facts(attempts, outcome="corrected", objection=_reason(verdict) or _issues(verdict))
    failed = f"a correction was tried that cannot run: {verdict['problem']}" if "problem" in verdict else ""
    if correction and _is_among(correction, judged_wrong(corrected), dialect):
        note("the corrections alternate, so none is used")
        correction = None
    if correction and _is_among(correction, judge.question.rejected_sql, dialect):
        note("the correction is a statement that the user rejected")
        correction = None
    if correction and not judge.keeps_rows(sql, correction):
        line = one_line(correction, _MAX_LINE_CHARS)
        note(f"a correction was not used, since it returns nothing: {line}")
        correction, failed = None, f"a correction was tried that returns nothing: {line}"
    if correction:
        line = one_line(correction, _MAX_LINE_CHARS)
        logger.info("[SQL_VALIDATION] correction=%s trace_id=%s", line, judge.trace_id)
        reason, said = _reason(verdict), with_statements(said_about(judge.question), (sql, correction), dialect)
        note("corrected" if unsupported(reason, said, names) else f"corrected: {reason}")
        return _replaced(attempts_with(corrected, correction, "validation", form=verdict.get("form", {})))
    objected = with_facts(corrected, outcome="objected")
    changes: dict[str, Any] = {"validation": {**verdict, "corrected_sql": None}}
    if not may_generate_again(attempts, judge.services.settings):
        return {**changes, "attempts": objected}
    problem = "; ".join(dict.fromkeys(filter(None, [verdict["reason"], *verdict["issues"], failed])))
    return {**changes, **_replaced(with_facts(objected, problem=problem)), "sql_error_info": problem}


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


def _doubts_about(
    statement: Attempt, question: Question, assumptions: Sequence[str], source: Source, services: Services
) -> list[str]:
    """Return the doubts about a statement: of its result, of what the question names, and of the static checks."""
    sql = statement["sql"]
    found = [
        *departures(question.asked, source, sql),
        *doubts_of(question, assumptions, source, sql, services.today_of(source)),
    ]
    absent = absent_names(sql, question, source)
    warnings = [warning for warning in source.warnings_about(sql) if warning not in absent]
    return [*statement.get("doubts", ()), *found[:_MAX_WARNINGS], *warnings[:_MAX_WARNINGS]]


def _is_among(sql: str, others: Collection[str], dialect: str) -> bool:
    return canonical_sql(sql, dialect) in {canonical_sql(other, dialect) for other in others}

"""Node: write a statement with the model."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from agent.clarify.feedback import describe_option
from agent.clarify.review import compare_readings, put_question
from agent.core.failure import failure_of
from agent.errors import BudgetExceeded, ModelRejected, ModelUnreachable, SqlNotGenerated
from agent.generation.attempt import APPROACHES, WrittenSql
from agent.generation.effort import effort_of
from agent.linking import off_topic
from agent.llm.schemas import GeneratedSQL
from agent.messages import Message
from agent.record.step import note
from agent.services import Services
from agent.sources.source import Source
from agent.sql.compare import canonical_sql
from agent.state import State


def generate_sql(state: State, services: Services) -> dict[str, Any]:
    """Write `sql_request`; set `error` if the model reports that the question is off topic.

    With `clarify` "auto", the first answer of the model may consist of alternatives. If their results differ, they
    become a clarifying question; otherwise the first one is the statement. At high effort, the model writes two further
    statements by other approaches, as `candidates`.

    An answer that cannot be parsed counts as an attempt with an empty statement. A statement that was refused or
    rejected before ends the question, because another attempt would give it again.
    """
    name = state.get("source") or services.choices[0]
    source, dialect = services.source(name), services.source(name).catalog.dialect
    may_ask = (
        (state.get("clarify") or services.settings.clarify) == "auto"
        and state.get("clarification_count", 0) < services.settings.max_clarifications
        and services.roles.sql_writer.finds_alternatives
        and not state.get("sql_request")
    )
    write = partial(
        services.roles.sql_writer.write,
        source=source,
        choose_examples=lambda: services.examples.select(state["question"], source, services.settings_of(name).shots),
        today=services.today(),
    )
    try:
        attempt = write(state, may_offer=may_ask)
    except (BudgetExceeded, ModelRejected, ModelUnreachable) as error:
        if not (state.get("values_were_corrected") or state.get("form_was_corrected")):
            raise
        # The last statement has run; its rows are better than no answer.
        note(f"the last statement is kept: {error}")
        return {"sql_generate_count": state["sql_generate_count"] + 1, "sql_error_info": None}
    update: dict[str, Any] = {
        "sql_generate_count": state.get("sql_generate_count", 0) + 1,
        "sql_retry_count": state["sql_retry_count"] + bool(state.get("sql_error_info")),
        "sql_request": attempt.sql,
        "judged_sql": [],
        "doubts": [],
        "candidates": [],
        "error": None,
        **attempt.changes,
    }
    if may_ask:
        # The model has decided which of them matter.
        update["ambiguities"] = []
    if attempt.is_off_topic:
        update["error"] = attempt.problem or Message("no_table_fits")
        is_last = attempt.is_final or state["table_counter"] >= services.settings.max_table_retrievals
        return {**update, "failure": failure_of(off_topic(update["error"], source))} if is_last else update
    if not attempt.sql and attempt.problem:
        failure = {"failure": failure_of(SqlNotGenerated(attempt.problem))} if attempt.is_final else {}
        return {**update, **failure, "sql_error_info": attempt.problem}
    if attempt.alternatives and may_ask:
        update |= _question_or_first(state, attempt.alternatives, source)
    if update.get("clarification"):
        return update
    sql = update["sql_request"]
    if not state.get("sql_request") and effort_of(state, services.settings) == "high":
        update["candidates"] = _candidates(cast(State, {**state, **attempt.changes}), write)
    if attempt.repair:
        note(f"repaired without the model: {attempt.repair}")
    update |= {"sql_error_info": None, "sql_was_repaired": bool(attempt.repair)}
    return {**update, **_failure_of_repetition(state, sql, dialect)}


def _question_or_first(state: State, answer: GeneratedSQL, source: Source) -> dict[str, Any]:
    """Return the changes of the state for alternatives: a clarifying question, or the first statement that runs.

    If the readings differ but the user is not asked, for example because they were offered before, the chosen one is
    an assumption of the answer.
    """
    question, readings = compare_readings(state, answer.question, answer.ambiguity_type, answer.alternatives, source)
    if question:
        return put_question(state, question, readings)
    update: dict[str, Any] = {"doubts": ["the question may have several readings"]}
    chosen = next((reading for reading in readings if reading.sql), None)
    if chosen:
        update["sql_request"] = chosen.sql
    if chosen and len(readings) > 1:
        update["assumptions"] = [describe_option(chosen.option), *answer.assumptions]
    return update


def _candidates(state: State, write: Callable[..., WrittenSql]) -> list[str]:
    """Return the statements that the model writes by other approaches; fewer if calls fail."""
    statements = []
    for approach in APPROACHES:
        try:
            statements.append(write(state, approach=approach).sql)
        except (BudgetExceeded, ModelRejected, ModelUnreachable) as error:
            note(f"a statement to compare was not written: {error}")
    return [sql for sql in statements if sql]


def _failure_of_repetition(state: State, sql: str, dialect: str) -> dict[str, Any]:
    """Return the failure of a statement that the user rejected or that was refused before; {} for any other one."""
    canonical = canonical_sql(sql, dialect)
    if canonical in (canonical_sql(rejected, dialect) for rejected in state.get("rejected_sql") or ()):
        return {"failure": failure_of(SqlNotGenerated(Message("no_other_query")))}
    if canonical not in state.get("tried_sql", ()):
        return {}
    words = ", ".join(state.get("used_stop_words", ()))
    reason = state.get("sql_error_info") or Message("operations_not_allowed", words=words)
    return {"sql_error_info": reason, "failure": failure_of(SqlNotGenerated(reason))}

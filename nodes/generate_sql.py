"""Node: write a statement with the model."""

from typing import Any

from agent.core.failure import failure_of
from agent.errors import BudgetExceeded, ModelRejected, ModelUnreachable, SqlNotGenerated
from agent.linking import off_topic
from agent.messages import Message
from agent.record.step import note
from agent.services import Services
from agent.sql.compare import canonical_sql
from agent.state import State


def generate_sql(state: State, services: Services) -> dict[str, Any]:
    """Write `sql_request`; set `error` if the model reports that the question is off topic.

    An answer that cannot be parsed counts as an attempt with an empty statement. A statement that was refused or
    rejected before ends the question, because another attempt would give it again.
    """
    name = state.get("source") or services.choices[0]
    source, dialect = services.source(name), services.source(name).catalog.dialect
    try:
        attempt = services.roles.sql_writer.write(
            state,
            source,
            lambda: services.examples.select(state["question"], source, services.settings_of(name).shots),
            services.today(),
        )
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
        "error": None,
        **attempt.changes,
    }
    if attempt.is_off_topic:
        update["error"] = attempt.problem or Message("no_table_fits")
        is_last = attempt.is_final or state["table_counter"] >= services.settings.max_table_retrievals
        return {**update, "failure": failure_of(off_topic(update["error"], source))} if is_last else update
    if not attempt.sql and attempt.problem:
        failure = {"failure": failure_of(SqlNotGenerated(attempt.problem))} if attempt.is_final else {}
        return {**update, **failure, "sql_error_info": attempt.problem}
    if attempt.repair:
        note(f"repaired without the model: {attempt.repair}")
    update |= {"sql_error_info": None, "sql_was_repaired": bool(attempt.repair)}
    canonical = canonical_sql(attempt.sql, dialect)
    if canonical in (canonical_sql(rejected, dialect) for rejected in state.get("rejected_sql") or ()):
        return {**update, "failure": failure_of(SqlNotGenerated(Message("no_other_query")))}
    if canonical not in state.get("tried_sql", ()):
        return update
    words = ", ".join(state.get("used_stop_words", ()))
    reason = state.get("sql_error_info") or Message("operations_not_allowed", words=words)
    return {**update, "sql_error_info": reason, "failure": failure_of(SqlNotGenerated(reason))}

"""Node: write a statement with the model."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from datasphinx.agent.answers.texts_without_rows import said_of, supported_question, supported_reason
from datasphinx.agent.answers.typed_values import unsupported
from datasphinx.agent.clarify.codes import code_question
from datasphinx.agent.clarify.feedback import describe_option
from datasphinx.agent.clarify.review import compare_readings, put_question
from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.core.text import clean_question
from datasphinx.agent.errors import (
    BudgetExceeded,
    InvalidQuestion,
    ModelRejected,
    ModelUnreachable,
    Unanswered,
)
from datasphinx.agent.generation.attempts import attempts_with, has_outcome, refused_sql, with_facts
from datasphinx.agent.generation.definitions import asked_in, departures, relevant_knowledge
from datasphinx.agent.generation.effort import effort_of
from datasphinx.agent.generation.follow_ups import is_about, joined, shown_again
from datasphinx.agent.generation.writing import APPROACHES, WrittenSql
from datasphinx.agent.linking import off_topic
from datasphinx.agent.llm.schemas import GeneratedSQL
from datasphinx.agent.messages import Message, language_in, render
from datasphinx.agent.record.step import note
from datasphinx.agent.routes import may_ask_again, may_retrieve_again, may_use_verified
from datasphinx.agent.services import Services
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import canonical_sql
from datasphinx.agent.state import State
from datasphinx.agent.types import Attempt, Turn


def generate_sql(state: State, services: Services) -> dict[str, Any]:
    """Write `sql_request`; set `error` if the model reports that the question is off topic.

    If the question asks for declared metrics, the model may name them, and the statement is made of their definitions.

    With `clarify` "auto", the first answer of the model may consist of alternatives. If their results differ, they
    become a clarifying question; otherwise the first one is the statement. So do the most likely statements of a writer
    that compares several, if the confidence is low. At high effort, the model writes two further statements by other
    approaches, to compare the results.

    An answer that cannot be parsed counts as an attempt with an empty statement. A statement that was refused or
    rejected before ends the question, because another attempt would give it again.
    """
    name = state.get("source") or services.choices[0]
    source, writer = services.source(name), services.roles.sql_writer
    may_offer = _may_ask(state, services) and writer.finds_alternatives
    write = partial(
        writer.write,
        source=source,
        choose_examples=lambda: services.examples.select(state["question"], source),
        today=services.today_of(source),
    )
    try:
        attempt = write(state, may_offer=may_offer)
    except (BudgetExceeded, ModelRejected, ModelUnreachable) as error:
        if not has_outcome(state["attempts"], "unstored values", "wrong form"):
            raise
        # The last statement has run; its rows are better than no answer.
        note(f"the last statement is kept: {error}")
        return {"sql_generate_count": state["sql_generate_count"] + 1, "sql_error_info": None}
    update: dict[str, Any] = {
        "sql_generate_count": state.get("sql_generate_count", 0) + 1,
        "sql_request": attempt.sql,
        "attempts": attempts_with(
            state["attempts"], attempt.sql, "repair" if attempt.repair else attempt.origin, **attempt.facts
        ),
        "sql_request_is_valid": False,
        "verified": None,
        "error": None,
        **attempt.changes,
    }
    state = cast(State, {**state, "language": update.get("language") or state.get("language", "")})
    if problems := unsupported(update.get("title", ""), said_of(state)):
        note(f"the title was not used: {'; '.join(problems)}")
        update["title"] = ""
    no_statement = _without_statement(attempt, state, source, services)
    if no_statement:
        return {**update, **no_statement}
    if last := state.get("follows"):
        update |= _continued(attempt, last, state)
        state = cast(State, {**state, "question": update.get("question", state["question"])})
    if attempt.alternatives and may_offer:
        options = attempt.alternatives.alternatives
        statements = _following(state, [option.sql or "" for option in options], source)
        kept = [option for option in options if (option.sql or "") in statements]
        answer = attempt.alternatives.model_copy(update={"alternatives": kept})
        update |= _question_or_first(state, answer, update["attempts"], source)
    update |= _question_if_unsure(state, attempt, source, services)
    if update.get("clarification"):
        return update
    # The rows of the last answer of the thread are no result of this statement.
    update["result"] = None
    sql = update["sql_request"] = source.ending_with_nulls(update["sql_request"])
    *before, written = with_facts(update["attempts"], sql=sql)
    examples = (update.get("examples") or state.get("examples") or []) if may_use_verified(state) else []
    update["verified"] = services.verified.confirmed(sql, examples, source)
    if not state.get("sql_request") and effort_of(state, services.settings) == "high" and not state.get("sql_only"):
        before += _candidates(cast(State, {**state, **attempt.changes}), write)
    update["attempts"] = [*before, written]
    if attempt.repair:
        note(f"repaired without the model: {attempt.repair}")
    update["sql_error_info"] = None
    return {**update, **_failure_of_repetition(state, sql, source.catalog.dialect)}


def _without_statement(attempt: WrittenSql, state: State, source: Source, services: Services) -> dict[str, Any]:
    """Return the changes of the state for an attempt without a statement; {} if there is one or it is just empty.

    It is off topic, a reply, the last rows in another form, or failed. A reply with a figure that the user did not give
    ends the question.
    """
    if attempt.is_off_topic:
        reason = supported_reason(attempt.problem, said_of(state))
        is_last = attempt.is_final or not may_retrieve_again(state, services.settings)
        return {"error": reason, **({"failure": failure_of(off_topic(reason, source))} if is_last else {})}
    if not attempt.sql and attempt.problem:
        failure = (
            {"failure": failure_of(Unanswered("sql_not_generated", reason=attempt.problem))} if attempt.is_final else {}
        )
        return {**failure, "sql_error_info": attempt.problem}
    if attempt.reply and (problems := unsupported(attempt.reply, said_of(state))):
        note(f"the reply was not used: {'; '.join(problems)}")
        return {"failure": failure_of(off_topic(Message("not_about_data"), source))}
    return {"reply": attempt.reply} if attempt.reply else _in_another_form(attempt, state, source)


def _in_another_form(attempt: WrittenSql, state: State, source: Source) -> dict[str, Any]:
    """Return the changes of the state for the last rows in the form that the model gives; {} if it gives none."""
    last = state.get("follows")
    if not last or not attempt.is_form_only or not is_about(last, state.get("source")):
        return {}
    result = None if state.get("sql_only") else state.get("result") or source.execute(last["sql"])
    update, changes = shown_again(last, state["question"], result), attempt.changes
    proposed = changes["proposed_output_type"] or ("plot" if attempt.form.get("chart") else None)
    return {
        **update,
        "assumptions": list(dict.fromkeys([*update["assumptions"], *changes["assumptions"]])),
        "attempts": with_facts(update["attempts"], form={**last.get("form", {}), **attempt.form}),
        "proposed_output_type": proposed or update["proposed_output_type"],
    }


def _continued(attempt: WrittenSql, last: Turn, state: State) -> dict[str, Any]:
    """Return the changes of the state for a question that continues `last`; {} for another one.

    It is stored as the model reads it without the conversation, or, if that is unusable, joined to the last question:
    figures that the user did not give would be allowed in the answer. After a chart, its answer is a chart.
    """
    if not attempt.standalone:
        return {}
    try:
        question = clean_question(attempt.standalone)
        problem = "; ".join(unsupported(question, said_of(state)))
    except InvalidQuestion as error:
        question, problem = "", str(error)
    if problem:
        question = joined(last["question"], state["question"])
    note(f"read as: {question}")
    is_chart = last.get("output_type") == "plot" and not attempt.changes["proposed_output_type"]
    return {"question": question, **({"proposed_output_type": "plot"} if is_chart else {})}


def _may_ask(state: State, services: Services) -> bool:
    """Return whether the first statement may be replaced by a clarifying question."""
    mode = state.get("clarify") or services.settings.clarify
    return mode == "auto" and may_ask_again(state, services.settings) and not state.get("sql_request")


def _following(state: State, statements: Sequence[str], source: Source) -> Sequence[str]:
    """Return those of `statements` that follow the definitions of the question; all of them if none does.

    The user is not asked about a defined term.
    """
    asked = asked_in(state)
    if not relevant_knowledge(asked, source).definitions:
        return statements
    return [sql for sql in statements if sql and not departures(asked, source, sql)] or statements


def _question_or_first(
    state: State, answer: GeneratedSQL, attempts: Sequence[Attempt], source: Source
) -> dict[str, Any]:
    """Return the changes of the state for alternatives: a clarifying question, or the first statement that runs.

    If the readings differ but the user is not asked, for example because they were offered before, the chosen one is
    an assumption of the answer.
    """
    question, readings = compare_readings(state, answer.question, answer.ambiguity_type, answer.alternatives, source)
    asked = supported_question(question, readings, said_of(state), source) if question else None
    if asked:
        return put_question(state, *asked)
    chosen = next((reading for reading in readings if reading.sql), None)
    if chosen is None:
        return {}
    attempts = with_facts(attempts, sql=chosen.sql, form=chosen.form)
    if len(readings) == 1:
        return {"sql_request": chosen.sql, "attempts": attempts}
    return {
        "sql_request": chosen.sql,
        "attempts": with_facts(attempts, doubts=["the question may have several readings"]),
        "assumptions": [describe_option(chosen.option), *answer.assumptions],
    }


def _question_if_unsure(state: State, attempt: WrittenSql, source: Source, services: Services) -> dict[str, Any]:
    """Return the changes of the state that ask which statement is meant if the confidence is low; {} otherwise.

    If a statement compares with a code that nothing explains, the user is asked which code is meant. The user is asked
    once: after an answer, the most likely statement is a draft.
    """
    value = services.roles.confidence.estimate(attempt.evidence)
    is_unsure = value is not None and value < services.threshold(services.roles.confidence)
    if not is_unsure or state.get("clarifications") or not _may_ask(state, services):
        return {}
    from datasphinx.agent.embedded.readings import is_expressible, options_of

    asked = code_question(state, attempt.readings or (attempt.sql,), source)
    if asked:
        return put_question(state, *asked)
    statements = [sql for sql in _following(state, attempt.readings, source) if is_expressible(sql, source.catalog)]
    if len(statements) < 2:
        return {}
    language = language_in(state)
    codes = source.code_meanings(state["relevant_tables_with_rel_columns"])
    options = options_of(statements, source.catalog, language, codes)
    question, readings = compare_readings(state, render("which_reading", language), None, options, source)
    return put_question(state, question, readings) if question else {}


def _candidates(state: State, write: Callable[..., WrittenSql]) -> list[Attempt]:
    """Return the statements that the model writes by other approaches; fewer if calls fail."""
    written = []
    for approach in APPROACHES:
        try:
            written.append(write(state, approach=approach))
        except (BudgetExceeded, ModelRejected, ModelUnreachable) as error:
            note(f"a statement to compare was not written: {error}")
    return [Attempt(sql=each.sql, origin="candidate", outcome=None, form=each.form) for each in written if each.sql]


def _failure_of_repetition(state: State, sql: str, dialect: str) -> dict[str, Any]:
    """Return the failure of a statement that the user rejected or that was refused before; {} for any other one."""
    rejected, tried = state.get("rejected_sql") or (), refused_sql(state["attempts"], dialect)
    if not rejected and not tried:
        return {}
    canonical = canonical_sql(sql, dialect)
    if canonical in (canonical_sql(each, dialect) for each in rejected):
        return {"failure": failure_of(Unanswered("sql_not_generated", reason=Message("no_other_query")))}
    if canonical not in tried:
        return {}
    words = ", ".join(state.get("used_stop_words", ()))
    reason = state.get("sql_error_info") or Message("operations_not_allowed", words=words)
    return {"sql_error_info": reason, "failure": failure_of(Unanswered("sql_not_generated", reason=reason))}

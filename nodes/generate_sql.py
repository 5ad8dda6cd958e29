"""Node: write a statement with the model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from datasphinx.agent.answers.texts_without_rows import (
    said_about,
    supported_question,
    supported_reason,
    with_statements,
)
from datasphinx.agent.answers.typed_values import Said, unsupported
from datasphinx.agent.answers.wording import proposed_questions
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
from datasphinx.agent.examples.selection import ShownExample
from datasphinx.agent.generation.attempts import attempts_with, current, has_outcome, refused_sql, with_facts
from datasphinx.agent.generation.definitions import departures, relevant_knowledge
from datasphinx.agent.generation.follow_ups import is_about, joined, shown_again
from datasphinx.agent.generation.question import Question, question_of
from datasphinx.agent.generation.writing import APPROACHES, WrittenSql
from datasphinx.agent.linking import off_topic
from datasphinx.agent.llm.schemas import GeneratedSQL
from datasphinx.agent.messages import Message, render
from datasphinx.agent.record.step import note
from datasphinx.agent.routes import clarify_of, effort_of, may_retrieve_again, may_use_verified
from datasphinx.agent.services import Services
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import canonical_sql, names_in
from datasphinx.agent.state import State
from datasphinx.agent.types import Attempt, Evidence, Origin, Result


def generate_sql(state: State, services: Services) -> dict[str, Any]:
    """Write `sql_request`; set `error` if the model reports that the question is off topic.

    If the question asks for declared metrics, the model may name them, and the statement is made of their definitions.

    With `clarify` "auto", the first answer of the model may consist of alternatives. If their results differ, they
    become a clarifying question; otherwise the first one is the statement. So do the most likely statements of a writer
    that compares several, if the confidence is low. At high effort, the model writes two further statements by other
    approaches, to compare the results.

    An answer that cannot be parsed, or that is a form for which there are no rows, counts as an attempt with an empty
    statement. A statement that was refused or rejected before ends the question, because another attempt would give it
    again.
    """
    name = state.get("source") or services.choices[0]
    source, writer = services.source(name), services.roles.sql_writer
    may_ask = clarify_of(state, services.settings) == "auto" and not state.get("sql_request")
    may_offer = may_ask and writer.finds_alternatives
    examples = _examples(state, source, services)
    question, today = question_of(state), services.today_of(source)
    try:
        written = _with_reason(writer.write(question, source, examples, today, may_offer=may_offer), question)
    except (BudgetExceeded, ModelRejected, ModelUnreachable) as error:
        if not has_outcome(question.attempts, "unstored values", "wrong form"):
            raise
        # The last statement has run; its rows are better than no answer.
        note(f"the last statement is kept: {error}")
        return {"sql_generate_count": question.generation + 1, "sql_error_info": None}
    origin: Origin = "repair" if written.repair else written.origin
    update: dict[str, Any] = {
        "sql_generate_count": question.generation + 1,
        "sql_request": written.sql,
        "attempts": attempts_with(question.attempts, written.sql, origin, **written.facts),
        "sql_request_is_valid": False,
        "error": None,
        "examples": examples,
        **written.changes,
        **_title(written.title, question),
    }
    question = replace(question, stated_language=written.language or question.stated_language)
    no_statement = _without_statement(written, question, state, source, services)
    if no_statement:
        return {**update, **no_statement}
    if continued := _continued(written, question, state.get("result"), source):
        update |= continued
        question = replace(question, text=continued["question"])
    count = state.get("clarification_count", 0)
    if written.alternatives and may_offer:
        options = written.alternatives.alternatives
        statements = _following(question, [option.sql or "" for option in options], source)
        kept = [option for option in options if (option.sql or "") in statements]
        answer = written.alternatives.model_copy(update={"alternatives": kept})
        update |= _question_or_first(question, answer, update["attempts"], source, count)
    if may_ask:
        update |= _question_if_unsure(question, written, source, services, count)
    if update.get("clarification"):
        return update
    # The rows of the last answer of the thread are no result of this statement.
    update["result"] = None
    sql = source.ending_with_nulls(update["sql_request"])
    verified = services.verified.confirmed(sql, examples, source) if may_use_verified(state) else None
    *before, last = with_facts(update["attempts"], sql=sql, **({"verified": verified} if verified else {}))
    if not question.sql and effort_of(state, services.settings) == "high" and not question.sql_only:
        write = partial(writer.write, question, source, examples, today)
        before += _candidates(write)
    if written.repair:
        note(f"repaired without the model: {written.repair}")
    return {
        **update,
        "sql_request": sql,
        "attempts": [*before, last],
        "sql_error_info": None,
        **_failure_of_repetition(question, sql, source.catalog.dialect),
    }


def _with_reason(written: WrittenSql, question: Question) -> WrittenSql:
    """Return `written`, with the reason why it is no answer if it is the form of rows that are not there."""
    if not written.is_form_only or (question.follows and is_about(question.follows, question.source)):
        return written
    return replace(written, is_form_only=False, problem=Message("form_without_rows"))


def _examples(state: State, source: Source, services: Services) -> list[ShownExample]:
    """Return the few-shot examples of the question, which are selected once."""
    examples = state.get("examples")
    if examples is None:
        shows = services.roles.sql_writer.shows_examples
        examples = services.examples.select(state["question"], source) if shows else []
    return examples


def _title(title: str | None, question: Question) -> dict[str, Any]:
    """Return the change of the state to a title, none if it types a figure; {} if the model was not asked for one."""
    if title is None:
        return {}
    if problems := unsupported(title, said_about(question)):
        note(f"the title was not used: {'; '.join(problems)}")
        return {"title": ""}
    return {"title": title}


def _without_statement(
    written: WrittenSql, question: Question, state: State, source: Source, services: Services
) -> dict[str, Any]:
    """Return the changes of the state if no statement was written; {} if there is one or it is just empty.

    It is off topic, a reply, the last rows in another form, or failed. A reply with a figure or name that the user did
    not give is replaced by one that fits thanks as well as a why.
    """
    if written.is_off_topic:
        reason = supported_reason(written.problem, said_about(question), names_in(state.get("result")))
        is_last = written.is_final or not may_retrieve_again(state, services.settings)
        return {"error": reason, **({"failure": failure_of(off_topic(reason, source))} if is_last else {})}
    if not written.sql and written.problem:
        failure = (
            {"failure": failure_of(Unanswered("sql_not_generated", reason=written.problem))} if written.is_final else {}
        )
        return {**failure, "sql_error_info": written.problem}
    if written.reply:
        said, names = said_about(question), names_in(state.get("result"))
        problems = unsupported(written.reply, said, names)
        if problems:
            note(f"the reply was not used: {'; '.join(problems)}")
        reply = render("general_reply", question.language) if problems else written.reply
        return {"reply": reply, "follow_ups": proposed_questions(written.form.get("follow_ups", ()), said, names)}
    return _in_another_form(written, question, state.get("result"), source)


def _in_another_form(written: WrittenSql, question: Question, rows: Result | None, source: Source) -> dict[str, Any]:
    """Return the changes of the state for the last rows in the form that the model gives; {} if it gives none.

    `rows` are these rows, if they are kept.
    """
    last = question.follows
    if not last or not written.is_form_only:
        return {}
    result = None if question.sql_only else rows or source.execute(last["sql"])
    update = shown_again(last, question.text, result)
    if written.standalone and (text := _alone(written, question, rows, source)):
        # The title of a chart is the question, which may name the last form.
        update["question"] = text
    proposed, form = written.output_type or ("plot" if written.form.get("chart") else None), written.form
    if proposed == "dataframe" and not (form and last.get("output_type") == "dataframe"):
        # Rows in place of a chart, unless only their formats or words change.
        form = {"chart": None, **form}
    return {
        **update,
        "assumptions": list(dict.fromkeys([*update["assumptions"], *written.assumptions])),
        "attempts": with_facts(update["attempts"], form={**current(update["attempts"]).get("form", {}), **form}),
        "proposed_output_type": proposed or update["proposed_output_type"],
    }


def _continued(written: WrittenSql, question: Question, rows: Result | None, source: Source) -> dict[str, Any]:
    """Return the changes of the state for a question that continues the last one; {} for another one.

    It is stored as the model reads it without the conversation, or, if that is unusable, joined to the last question:
    figures and stored values that neither the user gave nor its only statement compares with would be allowed in the
    answer, and those that the user gave and the reading lacks would not. After a chart, its answer is a chart. `rows`
    are those of the last answer, if they are kept.
    """
    last = question.follows
    if not last or not written.standalone:
        return {}
    text = _alone(written, question, rows, source) or joined(last["question"], question.text)
    note(f"read as: {text}")
    is_chart = last.get("output_type") == "plot" and not written.output_type
    return {"question": text, **({"proposed_output_type": "plot"} if is_chart else {})}


def _alone(written: WrittenSql, question: Question, rows: Result | None, source: Source) -> str:
    """Return the question as the model reads it without the conversation; empty if that is unusable."""
    try:
        text = clean_question(written.standalone)
    except InvalidQuestion:
        return ""
    links = {each: source.linked_values(each, source.shown_catalog.selection()) for each in (text, question.text)}
    named = {link.value for link in links[text]}
    given = {link.phrase for link in links[question.text] if link.value not in named}
    statements = () if written.alternatives else [written.sql]
    said = with_statements(said_about(question), statements, source.catalog.dialect)
    problems = unsupported(text, said, named | names_in(rows)) or unsupported(question.text, Said(text), given)
    return "" if problems else text


def _following(question: Question, statements: Sequence[str], source: Source) -> Sequence[str]:
    """Return those of `statements` that follow the definitions of the question; all of them if none does.

    The user is not asked about a defined term.
    """
    if not relevant_knowledge(question.asked, source).definitions:
        return statements
    return [sql for sql in statements if sql and not departures(question.asked, source, sql)] or statements


def _question_or_first(
    question: Question, answer: GeneratedSQL, attempts: Sequence[Attempt], source: Source, count: int
) -> dict[str, Any]:
    """Return the changes of the state for alternatives: a clarifying question, or the first statement that runs.

    If the readings differ but the user is not asked, for example because they were offered before, the chosen one is
    an assumption of the answer.
    """
    asked, readings = compare_readings(question, answer.question, answer.ambiguity_type, answer.alternatives, source)
    if asked and (supported := supported_question(asked, readings, said_about(question), source)):
        return put_question(count, *supported)
    chosen = next((reading for reading in readings if reading.sql), None)
    if chosen is None:
        return {}
    attempts = with_facts(attempts, sql=chosen.sql, form=chosen.form)
    if len(readings) == 1:
        return {"sql_request": chosen.sql, "attempts": attempts}
    rivals = [reading.sql for reading in readings if reading.sql and reading is not chosen]
    evidence = Evidence({**current(attempts).get("evidence", {}), "rivals": rivals})
    return {
        "sql_request": chosen.sql,
        "attempts": with_facts(attempts, doubts=["the question may have several readings"], evidence=evidence),
        "assumptions": [describe_option(chosen.option), *answer.assumptions],
    }


def _question_if_unsure(
    question: Question, written: WrittenSql, source: Source, services: Services, count: int
) -> dict[str, Any]:
    """Return the changes of the state that ask which statement is meant if the confidence is low; {} otherwise.

    If a statement compares with a code that nothing explains, the user is asked which code is meant. The user is asked
    once: after an answer, the most likely statement is a draft.
    """
    value = services.roles.confidence.estimate(written.evidence)
    if question.clarifications or value is None or value >= services.threshold(services.roles.confidence):
        return {}
    from datasphinx.agent.embedded.readings import is_expressible, options_of

    if asked := code_question(question, written.readings or (written.sql,), source):
        return put_question(count, *asked)
    statements = [sql for sql in _following(question, written.readings, source) if is_expressible(sql, source.catalog)]
    if len(statements) < 2:
        return {}
    options = options_of(statements, source.catalog, question.language, source.code_meanings(question.columns))
    text = render("which_reading", question.language)
    unsure, readings = compare_readings(question, text, None, options, source)
    return put_question(count, unsure, readings) if unsure else {}


def _candidates(write: Callable[..., WrittenSql]) -> list[Attempt]:
    """Return the statements that the model writes by other approaches; fewer if calls fail."""
    written = []
    for approach in APPROACHES:
        try:
            written.append(write(approach=approach))
        except (BudgetExceeded, ModelRejected, ModelUnreachable) as error:
            note(f"a statement to compare was not written: {error}")
    return [Attempt(sql=each.sql, origin="candidate", outcome=None, form=each.form) for each in written if each.sql]


def _failure_of_repetition(question: Question, sql: str, dialect: str) -> dict[str, Any]:
    """Return the failure of a statement that the user rejected or that was refused before; {} for any other one."""
    tried = refused_sql(question.attempts, dialect)
    if not question.rejected_sql and not tried:
        return {}
    canonical = canonical_sql(sql, dialect)
    if canonical in (canonical_sql(each, dialect) for each in question.rejected_sql):
        return {"failure": failure_of(Unanswered("sql_not_generated", reason=Message("no_other_query")))}
    if canonical not in tried:
        return {}
    last = current(question.attempts)
    problem = last.get("problem", "")
    reason = Message("operations_not_allowed", words=problem) if last["outcome"] == "refused" else problem
    return {"sql_error_info": reason, "failure": failure_of(Unanswered("sql_not_generated", reason=reason))}

"""Node: turn rows, a failure, or a question to the user into the answer."""

from typing import Any

from datasphinx.agent.answers.codes import code_meanings
from datasphinx.agent.answers.confidence import confidence_of, with_confidence
from datasphinx.agent.answers.filters import condition_words, unstated_filters
from datasphinx.agent.answers.form_text import form_text, proposed_questions
from datasphinx.agent.answers.narration import narrate
from datasphinx.agent.answers.outputs import (
    clarification_output,
    column_label,
    compose_answer,
    failure_output,
    statement_output,
    text_output,
)
from datasphinx.agent.answers.references import Said, facts_of, unsupported
from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.core.redact import without_password
from datasphinx.agent.errors import Unanswered
from datasphinx.agent.formatting.checks import with_formats
from datasphinx.agent.formatting.formats import format_single
from datasphinx.agent.generation.attempt import is_blank
from datasphinx.agent.generation.definitions import applied_definitions, defined_conditions, unused_definitions
from datasphinx.agent.generation.doubts import doubts_of
from datasphinx.agent.generation.effort import effort_of, ends_of_dates
from datasphinx.agent.generation.follow_ups import REMEMBERED_TURNS, AskedForm, bounded
from datasphinx.agent.generation.verified import verification_text
from datasphinx.agent.messages import CONVENTIONS, Language, Message, language_in, render
from datasphinx.agent.record.step import assume, note
from datasphinx.agent.run_events import LOGGED_ANSWER
from datasphinx.agent.services import Services
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.summary import summarize_query
from datasphinx.agent.sql.time_zones import depends_on_zone
from datasphinx.agent.sql.validation import names_missing_value
from datasphinx.agent.state import State
from datasphinx.agent.types import AnswerForm, Evidence, Exchange, Result, Turn, masked


def answer(state: State, services: Services) -> dict[str, Any]:
    """Return text, output type, value, table and chart; a model writes the text only of a long result or on request.

    The text ends with the assumptions. The answer becomes the last turn of the conversation; it replaces a turn that
    the user rejected or asked for in another form. A statement that was not to be executed is no answer.
    """
    result = state.get("result")
    if (reply := state.get("reply")) and not state.get("failure"):
        return _replied(reply, state)
    if state.get("failure") or state.get("clarification") or not result:
        return _output_without_rows(state)
    source, sql = services.source(state.get("source")), state["sql_request"]
    verified = state.get("verified")
    # A verified query is answered without a model, which need not even be configured.
    roles = None if verified else services.roles
    requested, forms = state.get("output_type"), state.get("forms") or []
    asked = roles.follow_ups.asked_form(forms[-1] if forms else state["question"]) if roles else AskedForm()
    form, said = AnswerForm({**(state.get("form") or {}), **asked.form}), _said(state, source, sql)
    result = with_formats(result, sql, source.catalog, form.get("formats") or {}, [said.question, *said.texts])
    language, max_rows = language_in(state), services.settings.short_table_rows
    may_narrate = roles and effort_of(state, services.settings) != "low"
    writer = roles.text_writer if roles and may_narrate else None
    summary = summarize_query(sql, source.catalog)
    facts = facts_of(result, sql, source.catalog, language)

    def narrated() -> str | None:
        assert writer is not None
        return narrate(
            facts.with_rows(masked(result)),
            said,
            writer,
            filters=condition_words(summary["conditions"], language),
            instructions=source.instructions,
            verifies=effort_of(state, services.settings) == "high",
        )

    output = compose_answer(
        state["question"],
        {"result": result},
        language=language,
        max_rows=max_rows,
        requested=requested,
        proposed=state.get("proposed_output_type") or asked.output_type,
        sql=sql,
        summary=summary,
        worded=lambda rows: form_text(form, facts.with_rows(rows), said),
        narrated=narrated if writer else None,
        chart_form=form.get("chart"),
    )
    meanings = code_meanings(sql, result, source.catalog, language)
    _append(output, meanings)
    evidence = state.get("evidence") or Evidence()
    confidence, threshold, is_checked = None, 0.0, evidence.get("is_confirmed", False)
    if roles:
        if roles.caveat:
            note(roles.caveat)
        threshold = services.min_confidence
        confidence = confidence_of(
            sql,
            result,
            evidence,
            roles.confidence,
            threshold,
            language,
            source.catalog,
            lambda: doubts_of(state, source, sql, services.today_of(source)),
            lambda: source.warnings_about(sql),
        )
    clarifications, known = state.get("clarifications") or [], facts.with_literals(said)
    stated = dict.fromkeys(state.get("assumptions") or ())
    assumed = [one for one in stated if not unsupported(one, known, facts.names)]
    found, notes = source.findings_about(sql)
    # The model has seen them all before it confirmed the statement.
    findings = [] if is_checked else [*found, *_doubts(state, source, sql)]
    reservations = _reservations(state, source, sql, language)
    assumptions = [*assumed, *reservations, *(one.in_language(language) for one in notes)]
    for assumption in assumptions:
        assume(assumption)
        _append(output, render("assumed", language, assumptions=assumption))
    chosen = any(attempt["sql"] == sql and attempt["origin"] == "option" for attempt in state.get("attempts") or ())
    if chosen and clarifications:
        _append(output, render("reading_chosen", language, reading=clarifications[-1]["answer"]))
    for finding in findings:
        told = render("findings_remain", language, findings=finding.in_language(language))
        _append(output, told)
        note(told)
    _append(output, _ends_of_data(result, sql, source, language))
    _append(output, verification_text(verified, language) if verified else "")
    _append(output, _about_sources(state))
    output = with_confidence(output, confidence, threshold, has_findings=bool(findings and roles))
    turns = list(state.get("turns") or ())
    if forms or state.get("feedback") is not None:
        turns = turns[:-1]
    turn = Turn(
        question=state["question"],
        sql=sql,
        answer=output[LOGGED_ANSWER],
        clarifications=clarifications,
        source=without_password(state.get("source") or ""),
        forms=forms,
        trace_id=state["audit"]["trace_id"],
        output_type=output["output_type"],
        form=form,
        columns=result["columns"],
        assumptions=assumed,
        language=language,
    )
    definitions = applied_definitions(state, source, sql)
    defined = defined_conditions(state, source, sql)
    output["filters"] = unstated_filters(
        [condition for condition in summary["conditions"] if condition not in defined],
        [*assumptions, *map(str, verified["parameters"].values() if verified else ())],
        language,
    )
    checked = not verified and is_checked
    output |= {"definitions": definitions, "checked": checked, "chosen": chosen, "verified": verified}
    output["follow_ups"] = proposed_questions(form.get("follow_ups", ()), known, result)
    return {
        **output,
        "result": result,
        "form": form,
        "turns": [*turns, bounded(turn)][-REMEMBERED_TURNS:],
    }


def _said(state: State, source: Source, sql: str) -> Said:
    """Return the question, the answers and remarks of the user, and the knowledge that the statement uses."""
    answers = [clarification["answer"] for clarification in state.get("clarifications") or ()]
    definitions = [entry["definition"] for entry in applied_definitions(state, source, sql)]
    return Said(state["question"], [*answers, *(state.get("forms") or ()), *definitions, source.instructions])


def _append(output: dict[str, Any], paragraph: str) -> None:
    """Add `paragraph` to the text of `output`, unless it is empty."""
    text = f"\n\n{paragraph}" if paragraph else ""
    output["answer"] += text
    output[LOGGED_ANSWER] += text


def _reservations(state: State, source: Source, sql: str, language: Language) -> list[str]:
    """Return what limits the answer: definitions not followed, parts left out, the time zone."""
    is_settled = state.get("verified") or state["evidence"].get("is_confirmed")
    departed = [] if is_settled else unused_definitions(state, source, sql)
    texts = [render("definition_departed", language, names=", ".join(departed))] if departed else []
    if not_answered := "; ".join(state.get("not_answered") or ()):
        texts.append(render("parts_not_answered", language, parts=not_answered))
    if source.time_zone and depends_on_zone(sql, source.catalog):
        texts.append(render("times_in_zone", language, zone=source.time_zone))
    return texts


def _ends_of_data(result: Result, sql: str, source: Source, language: Language) -> str:
    """Return where the data end, if `sql` found nothing and compares with a date after that; "" otherwise."""
    ends = ends_of_dates(sql, source).items() if is_blank(result) else ()
    labels = ((column_label(column.rpartition(".")[2]), format_single(last, language)) for column, last in ends)
    return CONVENTIONS[language].space.join(
        render("last_date", language, column=column, last=last) for column, last in labels
    )


def _doubts(state: State, source: Source, sql: str) -> list[Message]:
    """Return the texts in conditions that no row has, if the result is blank, and why the validation objected."""
    result, objection = state.get("result"), state.get("objection")
    warnings = source.warnings_about(sql) if result and is_blank(result) else ()
    doubts = [one for one in warnings if isinstance(one, Message) and names_missing_value(one)]
    return [*doubts, Message("rejected_by_validation", reason=objection)] if objection else doubts


def _about_sources(state: State) -> str:
    """Return a paragraph about the sources that the question may also be about; "" if there are none."""
    others, language = state.get("other_sources") or {}, language_in(state)
    if not others:
        return ""
    texts = [
        render("source_has_words", language, source=name, words=", ".join(found))
        if found
        else render("source_fits", language, source=name)
        for name, found in others.items()
    ]
    listed = CONVENTIONS[language].semicolon.join(texts)
    return render("sources_not_asked", language, source=state.get("source") or "", others=listed)


def _replied(reply: str, state: State) -> dict[str, Any]:
    """Return the output for a reply without data, which is kept with the last answer of the conversation."""
    turns = list(state.get("turns") or ())
    if turns:
        said = Exchange(question=state["question"], answer=reply)
        turns[-1] = bounded({**turns[-1], "replies": [*turns[-1].get("replies", ()), said]})
    return {**text_output(reply, language_in(state)), "turns": turns}


def _output_without_rows(state: State) -> dict[str, Any]:
    failure, clarification = state.get("failure"), state.get("clarification")
    if clarification and not failure:
        return clarification_output(clarification)
    if state.get("sql_only") and not failure:
        return statement_output(state["sql_request"], language_in(state))
    output = failure_output(failure or failure_of(Unanswered("sql_not_generated", reason=Message("no_result"))), state)
    about_sources = _about_sources(state)
    return {**output, "answer": f"{output['answer']}\n\n{about_sources}"} if about_sources else output

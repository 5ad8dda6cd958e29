"""Node: turn rows, a failure, or a question to the user into the answer."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from datasphinx.agent.answers.answer import Answer
from datasphinx.agent.answers.codes import explained_codes
from datasphinx.agent.answers.confidence import confidence_of, tell_confidence
from datasphinx.agent.answers.narration import narrate
from datasphinx.agent.answers.outputs import (
    clarification_answer,
    compose_answer,
    failure_text,
    reopened_clarification,
    text_answer,
)
from datasphinx.agent.answers.references import Said, facts_of
from datasphinx.agent.answers.result_facts import ResultFacts, with_plain_names
from datasphinx.agent.answers.wording import form_text, proposed_questions, supported
from datasphinx.agent.charts.cells import axis_title
from datasphinx.agent.clarify.review import alternatives
from datasphinx.agent.core.failure import error_info, failure_of
from datasphinx.agent.core.redact import without_password
from datasphinx.agent.errors import DatasphinxError, Unanswered
from datasphinx.agent.formatting.checks import with_formats
from datasphinx.agent.formatting.filters import condition_words, short_words
from datasphinx.agent.formatting.formats import answer_table, format_single
from datasphinx.agent.generation.attempts import current, objection_to, rivals_of, with_facts
from datasphinx.agent.generation.computed_bounds import with_computed_bounds
from datasphinx.agent.generation.definitions import (
    applied_definitions,
    defined_conditions,
    unused_definitions,
)
from datasphinx.agent.generation.doubts import doubts_of
from datasphinx.agent.generation.ends_of_dates import ends_of_dates
from datasphinx.agent.generation.execution import finds_nothing
from datasphinx.agent.generation.follow_ups import AskedForm, remembered
from datasphinx.agent.generation.question import Question, question_of
from datasphinx.agent.generation.verified import verification_text
from datasphinx.agent.messages import CONVENTIONS, Language, Message, language_in, render
from datasphinx.agent.record.step import assume, note
from datasphinx.agent.routes import effort_of
from datasphinx.agent.services import Services
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.summary import summarize_query
from datasphinx.agent.sql.time_zones import depends_on_zone
from datasphinx.agent.sql.validation import names_missing_value
from datasphinx.agent.state import State
from datasphinx.agent.types import (
    Alternative,
    AnswerForm,
    Attempt,
    ChartForm,
    Confidence,
    Evidence,
    Exchange,
    QuerySummary,
    Result,
    Turn,
    masked,
)


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
    source, sql, language = services.source(state.get("source")), state["sql_request"], language_in(state)
    attempt, question = current(state["attempts"]), question_of(state)
    definitions = applied_definitions(question.asked, source, sql)
    used = [*(entry["definition"] for entry in definitions), source.instructions]
    said = Said(question.text, [*question.answers, *state["forms"], *used])
    verified, assumptions = attempt.get("verified"), state.get("assumptions") or []
    is_checked = attempt.get("evidence", {}).get("is_confirmed", False)
    # A verified query is answered without a model, which need not even be configured.
    roles = None if verified else services.roles
    asked = roles.follow_ups.asked_form([state["question"], *state["forms"]][-1]) if roles else AskedForm()
    form = AnswerForm({**attempt.get("form", {}), **asked.form})
    if objection_to(state["attempts"]):
        # No sentence states as the answer what the model judged wrong.
        form = AnswerForm({**form, "answer": [], "empty_answer": ""})
    result = with_formats(result, sql, source.catalog, form.get("formats") or {}, [said.question, *said.texts])
    written, result = result["columns"], with_plain_names(result, sql, source.catalog, said)
    shown = AnswerForm(
        {**form, "chart": _with_names(form.get("chart"), dict(zip(written, result["columns"], strict=True)))}
    )
    bound = with_computed_bounds(sql, source)
    summary, facts = summarize_query(bound, source.catalog), facts_of(result, sql, source.catalog, language)
    facts = facts.with_written_names(written)
    told = _composed(state, services, source, result, AskedForm(asked.output_type, shown), summary, said, facts)
    told.add(explained_codes(sql, result, source.catalog, language))
    known = facts.with_literals(said)
    assumed = supported(dict.fromkeys(assumptions), known, facts.names)
    found, notes = source.doubts_and_notes(sql)
    # The model has seen them all before it confirmed the statement.
    objections = _objection(state, known, facts)
    doubts = [] if is_checked else [*found, *_open_doubts(result, sql, source), *objections]
    limits = [
        *_reservations(question, attempt, supported(state.get("not_answered") or (), known, facts.names), source),
        *(one.in_language(language) for one in notes),
    ]
    for assumption in [*assumed, *limits]:
        assume(assumption)
        told.add(render("assumed", language, assumptions=assumption))
    told.metric = attempt["origin"] == "metric"
    told.chosen = any(each["sql"] == sql and each["origin"] == "option" for each in state["attempts"])
    if told.chosen and state["clarifications"]:
        told.add(render("reading_chosen", language, reading=state["clarifications"][-1]["answer"]))
    for doubt in doubts:
        text = render("findings_remain", language, findings=doubt.in_language(language))
        told.add(text, is_first=doubt in objections)
        note(text)
    told.add(_ends_of_data(result, bound, source, language))
    told.verified = verified
    told.add(verification_text(verified, language) if verified else "")
    told.add(_about_sources(state))
    if roles is None:
        tell_confidence(told, None, 0.0)
    else:
        confidence = _confidence(question, attempt, assumptions, services, source, result)
        tell_confidence(told, confidence, services.threshold(services.roles.confidence), has_doubts=bool(doubts))
    told.checked = is_checked and not verified
    if told.status == "unsure":
        told.alternatives = _alternatives(question, state["attempts"], result, source)
    told.definitions = definitions
    defined = defined_conditions(question.asked, source, sql)
    own = [each for each in summary["conditions"] if each not in defined]
    told.filters = short_words(own, language, has_more=summary["more_conditions"])
    told.follow_ups = proposed_questions(form.get("follow_ups", ()), known, facts.names)
    turn = Turn(
        question=state["question"],
        sql=sql,
        answer=told.logged_answer,
        clarifications=state["clarifications"],
        source=without_password(state.get("source") or ""),
        forms=state["forms"],
        trace_id=state["audit"]["trace_id"],
        output_type=told.output_type,
        form=form,
        columns=written,
        assumptions=assumed,
        language=language,
    )
    replaces_last = state["forms"] or state.get("feedback") is not None
    turns = remembered(state["turns"][:-1] if replaces_last else state["turns"], turn)
    attempts = with_facts(state["attempts"], form=form)
    return {**told.output(), "result": result, "attempts": attempts, "turns": turns}


def _composed(
    state: State,
    services: Services,
    source: Source,
    result: Result,
    asked: AskedForm,
    summary: QuerySummary,
    said: Said,
    facts: ResultFacts,
) -> Answer:
    """Return the answer with its text, value, table and chart; its text has no remarks yet."""
    effort = effort_of(state, services.settings)
    proposed = state.get("proposed_output_type") or asked.output_type
    attempts = state["attempts"]
    is_written = "verified" not in current(attempts) and effort != "low" and not objection_to(attempts)
    writer = services.roles.text_writer if is_written else None

    @cache
    def narrated() -> str | None:
        if writer is None:
            return None
        return narrate(
            facts.with_rows(masked(result)),
            said,
            writer,
            filters=condition_words(summary["conditions"], language_in(state)),
            instructions=source.instructions,
            has_table=(state.get("output_type") or proposed) != "string",
            verifies=effort == "high",
        )

    def worded(rows: Result) -> str:
        # Several rows read best from a model that sees them, which costs two more calls.
        sees_rows = effort == "high" and asked.form.get("answer") and len(rows["rows"]) > 1
        return (narrated() if sees_rows else None) or form_text(asked.form, facts.with_rows(rows), said)

    return compose_answer(
        state["question"],
        {"result": result},
        language=language_in(state),
        requested=state.get("output_type"),
        proposed=proposed,
        sql=state["sql_request"],
        summary=summary,
        worded=worded,
        narrated=narrated if writer else None,
        chart_form=asked.form.get("chart"),
    )


def _with_names(chart: ChartForm | None, names: Mapping[str, str]) -> ChartForm | None:
    """Return `chart` with other names of its columns."""
    if not chart:
        return chart
    renamed: ChartForm = {**chart, "y": [names.get(name, name) for name in chart.get("y", ())]}
    if "x" in chart:
        renamed["x"] = names.get(chart["x"], chart["x"])
    if series := chart.get("series"):
        renamed["series"] = names.get(series, series)
    return renamed


def _confidence(
    question: Question,
    statement: Attempt,
    assumptions: Sequence[str],
    services: Services,
    source: Source,
    result: Result,
) -> Confidence | None:
    sql, roles = statement["sql"], services.roles
    return confidence_of(
        sql,
        result,
        statement.get("evidence", Evidence()),
        roles.confidence,
        services.threshold(roles.confidence),
        question.language,
        source.catalog,
        lambda: doubts_of(question, assumptions, source, sql, services.today_of(source)),
        lambda: source.warnings_about(sql),
    )


def _alternatives(question: Question, attempts: Sequence[Attempt], result: Result, source: Source) -> list[Alternative]:
    """Return the other statements for the question that have other results."""
    from datasphinx.agent.embedded.readings import options_of

    written = [current(attempts)["sql"], *rivals_of(attempts)]
    meanings = source.code_meanings(question.columns)
    try:
        _, *others = options_of(written, source.catalog, question.language, meanings)
        return alternatives(others, result, source, question.rejected_sql)
    except DatasphinxError as error:
        # The draft is an answer without them.
        note(f"no alternatives: {error}")
        return []


def _reservations(question: Question, statement: Attempt, not_answered: Sequence[str], source: Source) -> list[str]:
    """Return what limits the answer: definitions not followed, parts left out, the time zone."""
    sql, language = statement["sql"], question.language
    is_settled = "verified" in statement or statement.get("evidence", {}).get("is_confirmed")
    departed = [] if is_settled else unused_definitions(question.asked, source, sql)
    texts = [render("definition_departed", language, names=", ".join(departed))] if departed else []
    if not_answered:
        texts.append(render("parts_not_answered", language, parts="; ".join(not_answered)))
    if source.time_zone and depends_on_zone(sql, source.catalog):
        texts.append(render("times_in_zone", language, zone=source.time_zone))
    return texts


def _ends_of_data(result: Result, sql: str, source: Source, language: Language) -> str:
    """Return where the data end, if `sql` found nothing and compares with a date after that; "" otherwise."""
    ends = ends_of_dates(sql, source).items() if finds_nothing(result) else ()
    labels = ((axis_title(name.rpartition(".")[2], language), format_single(last, language)) for name, last in ends)
    return CONVENTIONS[language].space.join(
        render("last_date", language, column=column, last=last) for column, last in labels
    )


def _open_doubts(result: Result, sql: str, source: Source) -> list[Message]:
    """Return the texts in conditions that no row has, if the result is blank."""
    warnings = source.warnings_about(sql) if finds_nothing(result) else ()
    return [one for one in warnings if isinstance(one, Message) and names_missing_value(one)]


def _objection(state: State, known: Said, facts: ResultFacts) -> list[Message]:
    """Return the objection of the validation, if it is open; without its reason if that has figures nobody said."""
    objection = objection_to(state["attempts"])
    if not objection:
        return []
    if not supported([objection], known, facts.names):
        return [Message("not_validated")]
    return [Message("rejected_by_validation", reason=objection.rstrip(".。"))]


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
        turns = remembered(turns[:-1], {**turns[-1], "replies": [*turns[-1].get("replies", ()), said]})
    return {**text_answer(reply, language_in(state)).output(), "turns": turns}


def _output_without_rows(state: State) -> dict[str, Any]:
    failure, clarification, language = state.get("failure"), state.get("clarification"), language_in(state)
    if clarification and not failure:
        return clarification_answer(clarification).output()
    sql = state.get("sql_request") or None
    if state.get("sql_only") and not failure:
        return Answer(render("not_executed", language), language, sql=sql).output()
    failure = failure or failure_of(Unanswered("sql_not_generated", reason=Message("no_result")))
    # Rows without a statement belong to the previous answer.
    result = state.get("result") if sql else None
    told = Answer(
        failure_text(failure, language),
        language,
        sql=sql,
        tables=[answer_table("result", result)] if result else [],
        status="error",
        error=error_info(failure, language),
    )
    told.add(_about_sources(state))
    return {**told.output(), "failure": failure, **reopened_clarification(state["given"])}

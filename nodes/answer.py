"""Node: turn rows, a failure, or a question to the user into the answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
from datasphinx.agent.generation.doubts import absent_names, doubts_of
from datasphinx.agent.generation.ends_of_dates import ends_of_dates
from datasphinx.agent.generation.execution import finds_nothing
from datasphinx.agent.generation.follow_ups import AskedForm, remembered
from datasphinx.agent.generation.question import Question, question_of
from datasphinx.agent.generation.verified import verification_text
from datasphinx.agent.messages import CONVENTIONS, Message, language_in, render
from datasphinx.agent.record.step import assume, note
from datasphinx.agent.routes import effort_of
from datasphinx.agent.services import Services
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.summary import summarize_query
from datasphinx.agent.sql.time_zones import depends_on_zone, is_zone_of_machine
from datasphinx.agent.sql.validation import names_missing_value
from datasphinx.agent.state import State
from datasphinx.agent.types import (
    Alternative,
    AnswerForm,
    AppliedDefinition,
    Attempt,
    ChartForm,
    Confidence,
    Effort,
    Evidence,
    Exchange,
    OutputType,
    QuerySummary,
    Result,
    Turn,
    masked,
)


@dataclass(frozen=True)
class _Rows:
    """The rows of a statement, with all that their answer is made of."""

    question: Question
    statement: Attempt
    sql: str
    bound: str
    """The statement with the values of dates that it computes."""
    source: Source
    result: Result
    """The rows, with their formats, and with names of the columns in plain words."""
    written: list[str]
    """The names of the columns in the statement."""
    asked: AskedForm
    """The form that the question asks for in words."""
    form: AnswerForm
    """The form of the answer; its chart has the names in the statement."""
    summary: QuerySummary
    definitions: list[AppliedDefinition]
    said: Said
    facts: ResultFacts
    unsettled: Sequence[Message]
    """The doubts about the statement, and the warnings of the static checks, that no check of a model settled."""

    def supported(self, texts: Iterable[str]) -> list[str]:
        """Return those of `texts` whose figures and names are those of the rows or were said."""
        return supported(texts, self.facts.with_literals(self.said), self.facts.names)


def answer(state: State, services: Services) -> dict[str, Any]:
    """Return text, output type, value, table and chart; a model writes the text only of a long result or on request.

    The text ends with the assumptions. The answer becomes the last turn of the conversation; it replaces a turn that
    the user rejected or asked for in another form. A statement that was not to be executed is no answer.
    """
    if (reply := state.get("reply")) and not state.get("failure"):
        return _replied(reply, state)
    if state.get("failure") or state.get("clarification") or not state.get("result"):
        return _output_without_rows(state)
    rows = _rows_of(state, services)
    question, statement, source, sql = rows.question, rows.statement, rows.source, rows.sql
    told = _composed(rows, services, effort_of(state, services.settings), state.get("proposed_output_type"))
    assumptions = state.get("assumptions") or []
    assumed = rows.supported(dict.fromkeys(assumptions))
    is_checked = statement.get("evidence", {}).get("is_confirmed", False)
    told.verified, told.metric = statement.get("verified"), statement["origin"] == "metric"
    told.chosen = any(each["sql"] == sql and each["origin"] == "option" for each in question.attempts)
    told.add(explained_codes(sql, rows.result, source.catalog, question.language))
    for assumption in [*assumed, *_reservations(rows, rows.supported(state.get("not_answered") or ()))]:
        assume(assumption)
        told.add(render("assumed", question.language, assumptions=assumption))
    if told.chosen and question.clarifications:
        told.add(render("reading_chosen", question.language, reading=question.clarifications[-1]["answer"]))
    has_doubts = _tell_doubts(told, rows, is_checked=is_checked)
    told.add(_ends_of_data(rows))
    told.add(verification_text(told.verified, question.language) if told.verified else "")
    told.add(_about_sources(state))
    if told.verified:
        tell_confidence(told, None, 0.0)
    else:
        threshold = services.threshold(services.roles.confidence)
        # Statements of one model agree on the same mistake.
        confidence = None if rows.unsettled else _confidence(rows, assumptions, services)
        tell_confidence(told, confidence, threshold, has_doubts=has_doubts)
    told.checked = is_checked and not told.verified
    if told.status == "unsure":
        told.alternatives = _alternatives(rows)
    told.definitions = rows.definitions
    defined = defined_conditions(question.asked, source, sql)
    own = [each for each in rows.summary["conditions"] if each not in defined]
    told.filters = short_words(own, question.language, has_more=rows.summary["more_conditions"])
    told.follow_ups = proposed_questions(
        rows.form.get("follow_ups", ()), rows.facts.with_literals(rows.said), rows.facts.names
    )
    turn = Turn(
        question=question.text,
        sql=sql,
        answer=told.logged_answer,
        clarifications=list(question.clarifications),
        source=without_password(question.source or ""),
        forms=state["forms"],
        trace_id=state["audit"]["trace_id"],
        output_type=told.output_type,
        form=rows.form,
        follow_ups=told.follow_ups,
        columns=rows.written,
        assumptions=assumed,
        language=question.language,
    )
    replaces_last = state["forms"] or state.get("feedback") is not None
    turns = remembered(state["turns"][:-1] if replaces_last else state["turns"], turn)
    attempts = with_facts(question.attempts, form=rows.form)
    return {**told.output(), "result": rows.result, "attempts": attempts, "turns": turns}


def _rows_of(state: State, services: Services) -> _Rows:
    """Return the rows of the state as their answer shows them."""
    question, source, sql = question_of(state), services.source(state.get("source")), state["sql_request"]
    statement, catalog, result = current(question.attempts), source.catalog, state["result"]
    assert result
    definitions = applied_definitions(question.asked, source, sql)
    used = [*(entry["definition"] for entry in definitions), source.instructions]
    said = Said(question.text, [*question.answers, *state["forms"], *used])
    asked = AskedForm()
    if "verified" not in statement:
        # A verified query is answered without a model, which need not even be configured.
        asked = services.roles.follow_ups.asked_form([question.text, *state["forms"]][-1])
    form = AnswerForm({**statement.get("form", {}), **asked.form})
    unsettled = _unsettled(statement, question, state, services)
    if unsettled or objection_to(question.attempts, catalog.dialect):
        # No sentence states as the answer what is doubted, or what the model judged wrong.
        form = AnswerForm({**form, "answer": [], "empty_answer": ""})
    result = with_formats(result, sql, catalog, form.get("formats") or {}, [said.question, *said.texts])
    written, result = result["columns"], with_plain_names(result, sql, catalog, said)
    bound = with_computed_bounds(sql, source)
    return _Rows(
        question,
        statement,
        sql,
        bound,
        source,
        result,
        written,
        asked,
        form,
        summary=summarize_query(bound, catalog),
        definitions=definitions,
        said=said,
        facts=facts_of(result, sql, catalog, question.language).with_written_names(written),
        unsettled=unsettled,
    )


def _unsettled(statement: Attempt, question: Question, state: State, services: Services) -> list[Message]:
    """Return the doubts and warnings about a statement of a model that no check settled.

    There are none beside an open objection, which was made with them in view, or if the fitted confidence counts them.
    """
    source, sql, evidence = services.source(state.get("source")), state["sql_request"], statement.get("evidence", {})
    is_given = "verified" in statement or statement["origin"] in ("user", "option", "earlier")
    is_settled = "is_confirmed" in evidence or "violations" in evidence
    if is_given or is_settled or objection_to(question.attempts, source.catalog.dialect):
        return []
    # Those about the figures are told beside the sentence.
    others = [*absent_names(sql, question, source), *source.doubts_and_notes(sql)[0]]
    doubts = doubts_of(question, state.get("assumptions") or (), source, sql, services.today_of(source))
    warnings = [one for one in source.warnings_about(sql) if isinstance(one, Message)]
    return [one for one in dict.fromkeys([*doubts, *warnings]) if one not in others]


def _composed(rows: _Rows, services: Services, effort: Effort, proposed: OutputType | None) -> Answer:
    """Return the answer with its text, value, table and chart; its text has no remarks yet.

    `proposed` is the output type that the writer of the statement proposes.
    """
    question, form, facts, said = rows.question, rows.form, rows.facts, rows.said
    proposed = proposed or rows.asked.output_type
    is_doubted = rows.unsettled or _objection(rows)
    is_written = "verified" not in rows.statement and effort != "low" and not is_doubted
    writer = services.roles.text_writer if is_written else None

    @cache
    def narrated() -> str | None:
        if writer is None:
            return None
        return narrate(
            facts.with_rows(masked(rows.result)),
            said,
            writer,
            filters=condition_words(rows.summary["conditions"], question.language),
            instructions=rows.source.instructions,
            has_table=(question.output_type or proposed) != "string",
            verifies=effort == "high",
        )

    def worded(result: Result) -> str:
        # Several rows read best from a model that sees them, which costs two more calls.
        sees_rows = effort == "high" and form.get("answer") and len(result["rows"]) > 1
        return (narrated() if sees_rows else None) or form_text(form, facts.with_rows(result), said)

    return compose_answer(
        question.text,
        {"result": rows.result},
        language=question.language,
        requested=question.output_type,
        proposed=proposed,
        sql=rows.sql,
        summary=rows.summary,
        worded=worded,
        narrated=narrated if writer else None,
        chart_form=_with_names(form.get("chart"), facts, rows.result["columns"]),
    )


def _with_names(chart: ChartForm | None, facts: ResultFacts, columns: Sequence[str]) -> ChartForm | None:
    """Return `chart` with the names `columns` for the columns of `facts` that it names as a reference does."""
    if not chart:
        return chart

    def shown(name: str) -> str:
        at = facts.named(name)
        return name if at is None else columns[at]

    renamed: ChartForm = {**chart, "y": list(map(shown, chart.get("y", ())))}
    if "x" in chart:
        renamed["x"] = shown(chart["x"])
    if series := chart.get("series"):
        renamed["series"] = shown(series)
    return renamed


def _confidence(rows: _Rows, assumptions: Sequence[str], services: Services) -> Confidence | None:
    question, source, sql, estimator = rows.question, rows.source, rows.sql, services.roles.confidence
    return confidence_of(
        sql,
        rows.result,
        rows.statement.get("evidence", Evidence()),
        estimator,
        services.threshold(estimator),
        question.language,
        source.catalog,
        lambda: doubts_of(question, assumptions, source, sql, services.today_of(source)),
        lambda: source.warnings_about(sql),
    )


def _alternatives(rows: _Rows) -> list[Alternative]:
    """Return the other statements for the question that have other results."""
    from datasphinx.agent.embedded.readings import options_of

    question, source = rows.question, rows.source
    written = [rows.sql, *rivals_of(question.attempts)]
    meanings = source.code_meanings(question.columns)
    try:
        _, *others = options_of(written, source.catalog, question.language, meanings)
        return alternatives(others, rows.result, source, question.rejected_sql, [rows.said.question, *rows.said.texts])
    except DatasphinxError as error:
        # The draft is an answer without them.
        note(f"no alternatives: {error}")
        return []


def _reservations(rows: _Rows, not_answered: Sequence[str]) -> list[str]:
    """Return what limits the answer: definitions not followed, parts left out, the time zone, notes on the source."""
    sql, source, statement, language = rows.sql, rows.source, rows.statement, rows.question.language
    is_settled = "verified" in statement or statement.get("evidence", {}).get("is_confirmed")
    departed = [] if is_settled else unused_definitions(rows.question.asked, source, sql)
    texts = [render("definition_departed", language, names=", ".join(departed))] if departed else []
    if not_answered:
        texts.append(render("parts_not_answered", language, parts="; ".join(not_answered)))
    zone = source.time_zone
    if zone and not is_zone_of_machine(zone) and depends_on_zone(sql, source.catalog):
        texts.append(render("times_in_zone", language, zone=zone))
    return [*texts, *(one.in_language(language) for one in source.doubts_and_notes(sql)[1])]


def _ends_of_data(rows: _Rows) -> str:
    """Return where the data begin or end, if the statement found nothing and compares with dates outside; else ""."""
    language = rows.question.language
    ends = ends_of_dates(rows.bound, rows.source) if finds_nothing(rows.result) else ()
    return CONVENTIONS[language].space.join(
        render(
            "last_date" if end.is_last else "first_date",
            language,
            column=axis_title(end.column.rpartition(".")[2], language),
            date=format_single(end.value, language),
        )
        for end in ends
    )


def _tell_doubts(told: Answer, rows: _Rows, *, is_checked: bool) -> bool:
    """Add the doubts about the statement to the text, an open objection first; return whether there are some.

    They are those that no check settled, those of the static checks about the figures, and texts in conditions that no
    row has, if the result is blank.
    """
    if is_checked:
        # The model has seen them all before it confirmed the statement.
        return False
    warnings = rows.source.warnings_about(rows.sql) if finds_nothing(rows.result) else ()
    absent = absent_names(rows.sql, rows.question, rows.source) if warnings else ()
    missing = [one for one in warnings if isinstance(one, Message) and names_missing_value(one) and one not in absent]
    objections, language = _objection(rows), rows.question.language
    first = [*objections, *rows.unsettled]
    doubts = dict.fromkeys([*rows.source.doubts_and_notes(rows.sql)[0], *missing, *first])
    for doubt in doubts:
        text = render("findings_remain", language, findings=doubt)
        told.add(text, is_first=doubt in first)
        note(text)
    return bool(doubts)


def _objection(rows: _Rows) -> list[Message]:
    """Return the objection of the validation, if it is open; without its reason if that has figures nobody said."""
    objection = objection_to(rows.question.attempts, rows.source.catalog.dialect)
    if not objection:
        return []
    if not rows.supported([objection]):
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
    told = text_answer(reply, language_in(state))
    told.follow_ups = state.get("follow_ups") or []
    return {**told.output(), "turns": turns}


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

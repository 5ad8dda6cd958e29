"""Readings of a question: comparison of their results, and a model call that finds them.

The review is that of Sphinteract (Zhao et al., VLDB 2025) with one addition: the user is asked only if the readings
return different results. Without a review, generation offers readings in place of a statement.
"""

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, TypeAlias

from datasphinx.agent.core.canonical import digest
from datasphinx.agent.errors import (
    ModelAnswerUnreadable,
    NotPermitted,
    PermissionDenied,
    RowRuleNotApplied,
    RowRuleParameterMissing,
    StatementError,
    StatementTimeout,
)
from datasphinx.agent.formatting.checks import with_formats
from datasphinx.agent.generation.definitions import relevant_knowledge
from datasphinx.agent.generation.prompt import form_task, question_messages
from datasphinx.agent.generation.question import Question
from datasphinx.agent.knowledge.prompt import definition_text
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import AmbiguityReview, ReadingOption
from datasphinx.agent.messages import render
from datasphinx.agent.record.step import note
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import canonical_sql, comparison_key, is_blank, is_ordered, names_in
from datasphinx.agent.sql.layout import in_lines
from datasphinx.agent.sql.repair import repair
from datasphinx.agent.types import (
    Alternative,
    AnswerForm,
    Attempt,
    Clarification,
    ClarifyingQuestion,
    Option,
    Preview,
    Result,
)

_SQL = re.compile(r"\bselect\b.+\bfrom\b|\b(?:inner|left) join\b|\bgroup by\b.+[,;)]|```|\bwhere\b.+[=<>]", re.I | re.S)

ROW_LIMIT = 200
"""Maximum number of rows compared per reading; longer results count as different."""
_TIMEOUT_S = 5.0
_PREVIEW_CHARS = 100
_MAX_OPTIONS = 3
_MAX_LABEL_CHARS, _MAX_READING_CHARS, _MAX_QUESTION_CHARS = 120, 300, 500
_REFUSALS = (
    StatementError,
    PermissionDenied,
    NotPermitted,
    RowRuleParameterMissing,
    RowRuleNotApplied,
)
"""Errors of a single statement: the other readings are still compared."""


@dataclass(frozen=True)
class Reading:
    """An option with its statement, if it has one, and the result of that statement in comparable form."""

    option: Option
    sql: str | None
    content: Hashable = None
    """The rows as a multiset; None if they are unknown or incomplete."""
    order: Hashable = None
    """The rows as a sequence, if the statement orders them."""
    result_hash: str = ""
    """The hash of `content`; empty if that is None or contains secret values."""
    names: Collection[str] = ()
    """The texts in the rows."""
    form: AnswerForm = field(default_factory=lambda: AnswerForm())
    """The form of the answer of `sql`."""


AmbiguityReviewer: TypeAlias = Callable[[Question, Source, date], AmbiguityReview]
"""Finds the readings of a question with a model. Raises ModelAnswerUnreadable if its answer could not be parsed."""


def review_ambiguity(model: ModelClient, question: Question, source: Source, today: date) -> AmbiguityReview:
    """Return the readings of `question` that a chat model finds with one structured call. See `AmbiguityReviewer`."""
    form = form_task(words_answers=model.words_answers)
    return model.ask(AmbiguityReview, question_messages("review_ambiguity", question, source, today, form=form))


def review(
    question: Question, source: Source, reviewer: AmbiguityReviewer, today: date
) -> tuple[ClarifyingQuestion, list[Reading]] | None:
    """Return the clarifying question that a review of the question leads to, and its readings; None if there is none.

    The clarifications and rejected statements of `question` are not asked about again.
    """
    try:
        answer = reviewer(question, source, today)
    except ModelAnswerUnreadable as error:
        note(f"no clarifying question: {error}")
        return None
    if answer.no_ambiguity:
        return None
    if answer.language:
        question = replace(question, stated_language=answer.language)
    asked, readings = compare_readings(question, answer.question, answer.ambiguity_type, answer.options, source)
    return (asked, readings) if asked else None


def shared_word_question(question: Question, source: Source) -> ClarifyingQuestion | None:
    """Return a question about words of the question that several metrics or terms share; None if there are none.

    The options are the names of the entries, with their definitions.
    """
    for word in relevant_knowledge(question.asked, source).ambiguous_words:
        options = [
            Option(
                label=one_line(item.name, _MAX_LABEL_CHARS),
                reading=one_line(definition_text(source.knowledge.named_definition(item)), _MAX_READING_CHARS),
                preview=None,
            )
            for item in word.items[:_MAX_OPTIONS]
        ]
        text = render("shared_word", question.language, phrase=one_line(word.phrase))
        if question_problem(text, [option["label"] for option in options], question.clarifications) is None:
            return _asking(question, text, "AmbQuestion", options)
    return None


def compare_readings(
    question: Question,
    text: str | None,
    ambiguity_type: str | None,
    options: Sequence[ReadingOption],
    source: Source,
) -> tuple[ClarifyingQuestion | None, list[Reading]]:
    """Return the clarifying question `text`, which separates `options`, and the readings that differ in their results.

    The question is None if fewer than two readings differ, if it cannot be put to the user, or if it was answered
    before.
    """
    text, shortened = one_line(text or "", _MAX_QUESTION_CHARS), _shortened(options)
    said = [question.text, *question.answers, source.instructions]
    readings = distinct_readings(shortened, source, question.rejected_sql, said)
    hashes = [reading.result_hash for reading in readings]
    results = hashes if all(hashes) else []
    problem = question_problem(text, [option.label for option in shortened], question.clarifications, results)
    if not problem and len(readings) < 2:
        problem = "the readings do not differ in result"
    if problem:
        note(f"no clarifying question: {problem}")
        return None, readings
    asked = _asking(question, text, ambiguity_type or "AmbQuestion", [reading.option for reading in readings])
    if results:
        asked["results"] = results
    return asked, readings


def _asking(question: Question, text: str, ambiguity_type: str, options: list[Option]) -> ClarifyingQuestion:
    return ClarifyingQuestion(
        question=text,
        ambiguity_type=ambiguity_type,
        options=options,
        about=question.text,
        language=question.language,
        earlier=list(question.clarifications),
        rejected_sql=list(question.rejected_sql),
    )


def put_question(count: int, question: ClarifyingQuestion, readings: Sequence[Reading]) -> dict[str, Any]:
    """Return the changes of the state that put `question` with these readings to the user, after `count` others."""
    return {
        "clarification": question,
        "clarification_count": count + 1,
        "readings": {
            reading.option["label"]: Attempt(sql=reading.sql, origin="option", outcome=None, form=reading.form)
            for reading in readings
            if reading.sql
        },
        "sql_request": "",
    }


def question_problem(
    question: str, labels: Sequence[str], clarifications: Iterable[Clarification], results: Collection[str] = ()
) -> str | None:
    """Return the reason not to ask `question` with options of these labels; None if it may be asked.

    `results` are the hashes of the options' results, empty if unknown. A question whose results were all among those
    of an earlier one was answered, whatever its wording.
    """
    distinct = {label.casefold() for label in labels if label}
    if not question.strip() or len(distinct) < 2:
        return "the review names no two readings"
    if any(map(is_sql, (question, *labels))):
        return "the review asks in SQL"
    for earlier in clarifications:
        same_options = distinct == {label.casefold() for label in earlier.get("options", ())}
        same_results = bool(results) and {*results} <= {*earlier.get("results", ())}
        if same_options or same_results or earlier["question"].casefold() == question.casefold():
            return "it was asked before"
    return None


def is_sql(text: str) -> bool:
    """Return whether `text` appears to contain SQL.

    >>> is_sql("SELECT name FROM customers"), is_sql("select one from the list below")
    (True, True)
    >>> is_sql("customers by revenue")
    False
    """
    return bool(_SQL.search(text))


def distinct_readings(
    options: Sequence[ReadingOption], source: Source, rejected: Collection[str], said: Sequence[str] = ()
) -> list[Reading]:
    """Return the readings that return different results, with previews, in the order of `options`.

    The statements run on `source` with a limit of 200 rows and 5 seconds. Readings whose statement is refused or names
    unknown tables or columns are dropped, and so are readings whose statement is in `rejected`. A reading without a
    statement, with a truncated result or with a timeout counts as different from all others. Of several readings with
    equal rows an ordered one is kept. Previews have the formats of their readings; for `said` see `with_formats`.
    """
    limits = replace(source.limits, row_limit=ROW_LIMIT, timeout_s=min(source.limits.timeout_s, _TIMEOUT_S))
    limited = replace(source, limits=limits)
    readings = [reading for option in options if (reading := _execute_reading(option, limited, said))]
    distinct: list[Reading] = []
    for reading in sorted(readings, key=lambda reading: reading.order is None):
        equal = (other for other in distinct if reading.content is not None and other.content == reading.content)
        if not any(reading.order is None or other.order in (None, reading.order) for other in equal):
            distinct.append(reading)
    dialect = source.catalog.dialect
    rejected_forms = {canonical_sql(sql, dialect) for sql in rejected}
    return [
        reading
        for reading in readings
        if reading in distinct and not (reading.sql and canonical_sql(reading.sql, dialect) in rejected_forms)
    ]


def alternatives(
    options: Sequence[ReadingOption],
    result: Result,
    source: Source,
    rejected: Collection[str],
    said: Sequence[str] = (),
) -> list[Alternative]:
    """Return those of `options` whose statements have other results than `result`. See `distinct_readings`."""
    own, dialect = comparison_key(result, ordered=False), source.catalog.dialect
    readings = distinct_readings(options, source, rejected, said)
    return [
        Alternative(**each.option, sql=in_lines(each.sql, dialect))
        for each in readings
        if each.sql and each.content != own
    ]


def _execute_reading(option: ReadingOption, source: Source, said: Sequence[str]) -> Reading | None:
    displayed_option = Option(label=option.label, reading=option.reading, preview=None)
    if not option.sql:
        return Reading(displayed_option, None)
    repaired = repair(option.sql, source.catalog)
    sql = repaired.sql if repaired else option.sql
    try:
        result = source.execute(sql)
    except StatementTimeout:
        return Reading(displayed_option, sql, form=option.form())
    except _REFUSALS as error:
        note(f"left out a reading: {error}")
        return None
    form = option.form()
    shown = with_formats(result, sql, source.catalog, form.get("formats") or {}, said)
    reading = Reading(Option({**displayed_option, "preview": _preview(shown)}), sql, names=names_in(result), form=form)
    if result["truncated"]:
        return reading
    order = comparison_key(result, ordered=True) if is_ordered(sql, source.catalog.dialect) else None
    content = comparison_key(result, ordered=False)
    result_hash = "" if result.get("secret") else digest(repr(content))
    return replace(reading, content=content, order=order, result_hash=result_hash)


def _preview(result: Result) -> Preview:
    rows = result["rows"]
    # Previews are recorded, and evaluations pass them to an oracle model: they must not contain secrets.
    is_secret = 0 in result.get("secret", ())
    first = rows[0][0] if rows and rows[0] and not is_secret else None
    text = one_line(first, _PREVIEW_CHARS) if isinstance(first, str) else first
    preview = Preview(rows=0 if is_blank(rows) else len(rows), more=result["truncated"], first=text)
    if first is not None:
        preview["format"] = result["formats"][0]
    return preview


def _shortened(options: Sequence[ReadingOption]) -> list[ReadingOption]:
    """Return the first three options with distinct labels, shortened; the label replaces a reading written in SQL."""
    by_label: dict[str, ReadingOption] = {}
    for option in options:
        label, reading = one_line(option.label, _MAX_LABEL_CHARS), one_line(option.reading, _MAX_READING_CHARS)
        if label:
            text = reading if reading and not is_sql(reading) else label
            by_label.setdefault(label.casefold(), option.model_copy(update={"label": label, "reading": text}))
    return list(by_label.values())[:_MAX_OPTIONS]

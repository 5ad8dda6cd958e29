"""Messages of the model calls about one question: the schema in the system message, the task in the other one.

The system message is the same for all calls of a question. If the whole schema is shown, it is the same for all
questions on a source; a list of all tables is the same beginning of it. Providers then charge less for it, because they
cache equal beginnings of prompts.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date

from langchain_core.messages import BaseMessage

from datasphinx import prompts
from datasphinx.agent.generation.definitions import definitions_of
from datasphinx.agent.generation.follow_ups import conversation_paragraphs
from datasphinx.agent.generation.question import Question
from datasphinx.agent.retrieval.value_index import is_spelling
from datasphinx.agent.schema.describe import describe, literal, prompt_line, quoted_key
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.schema.words import normal_form
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.names import referenced_names
from datasphinx.agent.types import clarified

_LIST_HEADING = "All tables with the names of their columns (-> references, ~> probably references):"
_DETAILS_HEADING = "The tables that the question is probably about, in detail:"
_MAX_SPELLINGS, _MAX_MENTIONED = 5, 5
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_OUTPUT_TYPE_HINTS = {
    "number": "The answer has to be one number: one row with one column.",
    "plot": "The answer will be a chart: first the column for the x axis, then a column that splits it into series, if "
    "any, then the measures, in order.",
}


def question_messages(
    name: str,
    question: Question,
    source: Source,
    today: date,
    *,
    context: Sequence[str] = (),
    form: str = "",
    other_sql: str = "",
    **variables: str,
) -> list[BaseMessage]:
    """Return the messages of the template `name`, which has no system part of its own, for `question`.

    `context` has further paragraphs below the question, and `variables` the other variables of the template. `form`
    tells the model how an answer is worded. The tables of `other_sql`, or else of the last statement, are described.
    """
    paragraphs = [
        *question_context(question, source),
        *context,
        *_further_details(other_sql or question.sql, question, source),
    ]
    return prompts.render(
        name,
        instructions=source.instructions,
        dialect=source.database.product,
        schema=_schema(question, source),
        today=today_text(today, source),
        question=question.text,
        context="".join(f"\n\n{paragraph}" for paragraph in paragraphs),
        form=f"\n\n{form}" if form else "",
        **variables,
    )


def form_task(*, words_answers: bool) -> str:
    """Return the paragraph of a prompt that asks for the form of an answer; "" if the model is not asked for it."""
    return prompts.load("answer_form")[1].template if words_answers else ""


def today_text(today: date, source: Source) -> str:
    """Return the date for a prompt with its weekday, the time zone of the sessions, and the first day of a week."""
    zone = source.time_zone if source.catalog.engine.has_time_zones else ""
    calendar = source.knowledge.knowledge.calendar
    first_day = (calendar and calendar.week_start) or "monday"
    about = [*([f"time zone {zone}"] if zone else ()), f"weeks begin on {first_day.capitalize()}"]
    return f"{_WEEKDAYS[today.weekday()]}, {today.isoformat()} ({', '.join(about)})"


def _schema(question: Question, source: Source) -> str:
    """Return the selected tables in detail, below the list of all tables if prompts contain it."""
    selection = {key: question.columns[key] for key in sorted(question.columns)}
    # The meanings of codes are read with statements.
    reads_codes = not question.sql_only
    details = source.memoized(
        ("schema", reads_codes, tuple((key, tuple(names)) for key, names in selection.items())),
        lambda: describe(
            source.shown_catalog,
            selection,
            source.database.quote,
            meanings=source.code_meanings(selection) if reads_codes else {},
        ),
    )
    listed = table_list(question, source)
    return f"{_LIST_HEADING}\n{listed}\n\n{_DETAILS_HEADING}\n\n{details}" if listed else details


def table_list(question: Question, source: Source) -> str:
    """Return the list of all tables that is part of the prompts about `question`; "" if there is none."""
    return source.table_list(question.table_list_tokens) if question.table_list_tokens else ""


def _further_details(sql: str, question: Question, source: Source) -> list[str]:
    """Return a paragraph with those tables of `sql` in detail that the schema only lists.

    It is not part of the schema, because the system message is the same for all calls of a question.
    """
    if not sql or not table_list(question, source):
        return []
    catalog = source.shown_catalog
    tables = sorted(key for key in referenced_names(sql, catalog).tables if key not in question.columns)
    selection = {key: catalog.tables[key].column_names for key in tables}
    details = describe(catalog, selection, source.database.quote)
    return [f"Further tables of the query:\n{details}"] if details else []


def _stored_values(question: Question, source: Source) -> list[str]:
    """Return a line with the stored values that words of the question or of the user's answers refer to.

    Of a value that several columns have, all are named. A value that looks personal is shown only if the user wrote all
    of it.
    """
    text, selection = "\n".join(question.asked.texts), question.columns
    if table_list(question, source):
        selection = {**source.shown_catalog.selection(), **selection}
    quote, by_phrase = source.database.quote, defaultdict[str, dict[str, str]](dict)
    links = source.linked_values(text, selection)
    same = source.values.lookup(link.value for link in links)
    for link in links:
        places = [(one.table, one.column, one.value) for one in same.get(link.value, ())]
        places = [
            place for place in places if place[1] in selection.get(place[0], ()) and is_spelling(place[2], link.value)
        ]
        for key, column, value in [(link.table, link.column, link.value), *places]:
            table, is_exact = source.catalog.tables[key], normal_form(link.phrase) == normal_form(value)
            if is_exact or not personal_content(source.catalog, table, table.column(column)):
                others = source.values.spellings(key, column, value)[:_MAX_SPELLINGS]
                spelt = f" (also spelt {', '.join(map(literal, others))})" if others else ""
                place = f"{quoted_key(table, quote)}.{quote(column)}"
                by_phrase[link.phrase].setdefault(place, f"{place} = {literal(value)}{spelt}")
    conditions = [condition for places in list(by_phrase.values())[:_MAX_MENTIONED] for condition in places.values()]
    return [f"Stored values that the question mentions: {prompt_line('; '.join(conditions))}"] if conditions else []


def question_context(question: Question, source: Source) -> list[str]:
    """Return what is known about the question besides its text, a paragraph each.

    These are the definitions and the stored values that it mentions, the conversation before it, clarifications,
    remarks, rejected statements, and the requested output type.
    """
    parts = [
        *definitions_of(question.named, question.columns, source),
        *_stored_values(question, source),
        *conversation_paragraphs(question.follows, question.turns, question.source),
    ]
    parts += map(clarified, question.clarifications)
    parts += [f"Rejected by the user, no alternative either: {sql}" for sql in question.rejected_sql]
    hint = _OUTPUT_TYPE_HINTS.get(question.output_type or "")
    return [*parts, hint] if hint else parts

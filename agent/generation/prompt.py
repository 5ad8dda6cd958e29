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
from datasphinx.agent.generation.definitions import Asked, asked_in, definitions_of
from datasphinx.agent.generation.follow_ups import conversation_paragraphs, with_previous
from datasphinx.agent.retrieval.value_index import is_spelling
from datasphinx.agent.schema.describe import describe, literal, prompt_line, quoted_key
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.schema.words import normal_form
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.names import referenced_names
from datasphinx.agent.state import State

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
    state: State,
    source: Source,
    today: date,
    *,
    context: Sequence[str] = (),
    form: str = "",
    **variables: str,
) -> list[BaseMessage]:
    """Return the messages of the template `name`, which has no system part of its own, for the question in `state`.

    `context` has further paragraphs below the question, and `variables` the other variables of the template. `form`
    tells the model how an answer is worded.
    """
    paragraphs = [*question_context(state, source), *context, *_further_details(state, source)]
    return prompts.render(
        name,
        instructions=source.instructions,
        dialect=source.database.product,
        schema=_schema(state, source),
        today=today_text(today, source),
        question=state["question"],
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


def _schema(state: State, source: Source) -> str:
    """Return the selected tables in detail, below the list of all tables if prompts contain it."""
    columns = state["relevant_tables_with_rel_columns"]
    selection = {key: columns[key] for key in sorted(columns)}
    # The meanings of codes are read with statements.
    reads_codes = not state.get("sql_only")
    details = source.memoized(
        ("schema", reads_codes, tuple((key, tuple(names)) for key, names in selection.items())),
        lambda: describe(
            source.shown_catalog,
            selection,
            source.database.quote,
            meanings=source.code_meanings(selection) if reads_codes else {},
        ),
    )
    listed = table_list(state, source)
    return f"{_LIST_HEADING}\n{listed}\n\n{_DETAILS_HEADING}\n\n{details}" if listed else details


def table_list(state: State, source: Source) -> str:
    """Return the list of all tables that is part of the prompts about the question in `state`; "" if there is none."""
    limit = state.get("table_list_tokens", 0)
    return source.table_list(limit) if limit else ""


def _further_details(state: State, source: Source) -> list[str]:
    """Return a paragraph with those tables of the last query in detail that the schema only lists.

    It is not part of the schema, because the system message is the same for all calls of a question.
    """
    sql, shown = state.get("sql_request"), state["relevant_tables_with_rel_columns"]
    if not sql or not table_list(state, source):
        return []
    catalog = source.shown_catalog
    tables = sorted(key for key in referenced_names(sql, catalog).tables if key not in shown)
    selection = {key: catalog.tables[key].column_names for key in tables}
    details = describe(catalog, selection, source.database.quote)
    return [f"Further tables of the query:\n{details}"] if details else []


def _stored_values(state: State, source: Source) -> list[str]:
    """Return a line with the stored values that words of the question or of the user's answers refer to.

    Of a value that several columns have, all are named. A value that looks personal is shown only if the user wrote all
    of it.
    """
    said = [state["question"], *(clarification["answer"] for clarification in state.get("clarifications") or ())]
    text, selection = "\n".join(said), state["relevant_tables_with_rel_columns"]
    if table_list(state, source):
        selection = {**selection, **{k: v for k, v in source.shown_catalog.selection().items() if k not in selection}}
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


def named_in(state: State) -> Asked:
    """Return the question in `state` for its business knowledge: a follow-up is about the measures before it."""
    return Asked(with_previous(state["question"], state.get("follows")), asked_in(state).answers)


def question_context(state: State, source: Source) -> list[str]:
    """Return what is known about the question besides its text, a paragraph each.

    These are the definitions and the stored values that it mentions, the conversation before it, clarifications,
    remarks, rejected statements, and the requested output type.
    """
    follows = state.get("follows")
    parts = [
        *definitions_of(named_in(state), state["relevant_tables_with_rel_columns"], source),
        *_stored_values(state, source),
        *conversation_paragraphs(follows, state.get("turns") or (), state.get("source")),
    ]
    for clarification in state.get("clarifications") or ():
        question, answer = clarification["question"], clarification["answer"]
        parts.append(f"Clarified: {question} - {answer}" if question else f"The user remarks: {answer}")
    parts += [f"The user rejected the answer of: {sql}" for sql in state.get("rejected_sql") or ()]
    parts += [_OUTPUT_TYPE_HINTS[name] for name in (state.get("output_type"),) if name in _OUTPUT_TYPE_HINTS]
    return parts

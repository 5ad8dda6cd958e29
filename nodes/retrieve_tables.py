"""Node: find the tables that are relevant to a question."""

from typing import Any, cast

from datasphinx.agent.answers.texts_without_rows import said_about, supported_reason
from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.core.text import clean_question
from datasphinx.agent.errors import NotPermitted
from datasphinx.agent.generation.attempts import attempts_with
from datasphinx.agent.generation.follow_ups import is_about, last_names, with_previous
from datasphinx.agent.generation.question import question_of
from datasphinx.agent.linking import link_source, off_topic
from datasphinx.agent.messages import Message
from datasphinx.agent.routes import may_retrieve_again, may_use_verified
from datasphinx.agent.services import Services
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import names_in
from datasphinx.agent.state import State


def retrieve_tables(state: State, services: Services) -> dict[str, Any]:
    """Select a source if the question names none, and tables of it.

    If no table is relevant, `error` gives the reason, which the next attempt is told; the question fails as off topic
    after the last attempt, or if the model saw all tables. Tables that row rules deny are not relevant; the question
    fails as not permitted if the rules deny all tables. On a thread, the tables of the last answer are always relevant.

    An attempt after generation reported "off topic" succeeds only with tables that were not shown before, so
    `relevant_tables` is left unchanged if nothing is found.

    A question that is equal to a verified one needs no model, unless the user has clarified it or rejected an answer
    to it. For a model that only writes statements, a question that follows another one is completed here, or
    changes only the form of the last result.
    """
    settings = services.settings
    question = clean_question(state.get("question"))
    choice = None if state.get("source") else link_source(question, services.choices, services.source)
    name = choice.name if choice else str(state["source"])
    source = services.source_with_tables(name, question)
    if not source.shown_catalog.tables:
        raise NotPermitted(next(iter(source.catalog.tables)))
    attempt = state.get("table_counter", 0) + 1
    # Clients may read the state, so the configured URL, with its password or path, is not kept in it.
    is_configured_url = name == settings.source and "://" in name
    inputs = {**state["given"], "source": None if is_configured_url else name}
    update: dict[str, Any] = {"question": question, "table_counter": attempt, "given": inputs}
    if choice:
        update["other_sources"] = choice.others
    found = _without_generation(question, source, state, services)
    if found:
        return {**update, **found}
    if attempt == 1:
        read = _read(question, source, state, services)
        if "sql_request" in read:
            return {**update, **read, "given": {**inputs, **read["given"]}}
        update |= read
    asked = cast(State, {**state, **update})
    follows = asked.get("follows")
    known = last_names(follows, asked.get("source"), source).tables
    completed, failure = with_previous(asked["question"], follows), state.get("error") or ""
    linked = services.roles.linker.link_tables(completed, source, attempt, known, failure)
    keys = linked.keys
    if failure and set(keys) <= set(state.get("relevant_tables") or ()):
        keys = []
    if keys:
        tables = source.shown_catalog.selection(keys)
        return {**update, "relevant_tables": tables, "table_list_tokens": linked.list_tokens, "error": None}
    reason = failure
    if linked.reason:
        reason = supported_reason(linked.reason, said_about(question_of(asked)), names_in(state.get("result")))
    reason = reason or Message("no_table_fits")
    if linked.is_final or not may_retrieve_again(asked, settings):
        update["failure"] = failure_of(off_topic(reason, source))
    return {**update, "error": reason}


def _without_generation(question: str, source: Source, state: State, services: Services) -> dict[str, Any]:
    """Return the changes of the state for a verified query; {} for other questions."""
    may_answer = may_use_verified(state) and not _is_corrected(state)
    verified = services.verified.find(question, source) if may_answer else None
    if verified is None:
        return {}
    return {
        "relevant_tables": source.catalog.selection(verified.tables),
        "sql_request": verified.sql,
        "attempts": attempts_with(state["attempts"], verified.sql, "verified", verified=verified.mark),
        "table_counter": state.get("table_counter", 0),
        "error": None,
    }


def _read(question: str, source: Source, state: State, services: Services) -> dict[str, Any]:
    """Return the changes of the state for a question on a thread: as it is read, or the last rows in another form.

    Raises:
        Unanswered: the question asks for no data, and the model could not say so.
    """
    follow_ups, turns = services.roles.follow_ups, state.get("turns")
    if objection := follow_ups.objection(question):
        raise off_topic(objection, source)
    if not turns or _is_corrected(state):
        return {}
    last = turns[-1]
    if is_about(last, state.get("source")):
        changed = follow_ups.reformatted(question, last, state.get("result"), state.get("output_type"), source)
        if changed:
            return changed
    return follow_ups.read(question, turns)._asdict()


def _is_corrected(state: State) -> bool:
    """Return whether the user has rejected an answer to the question or clarified it, which is applied later."""
    return state.get("feedback") is not None or state.get("clarification_answer") is not None

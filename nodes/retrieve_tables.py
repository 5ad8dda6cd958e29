"""Node: find the tables that are relevant to a question."""

from typing import Any

from agent.core.failure import failure_of
from agent.core.text import clean_question
from agent.errors import NotPermitted, OffTopic
from agent.linking import link_source
from agent.services import Services
from agent.state import State


def retrieve_tables(state: State, services: Services) -> dict[str, Any]:
    """Select a source if the question names none, and tables of it.

    If no table is relevant, `error` gives the reason; after the last attempt the question fails as off topic. Tables
    that row rules deny are not relevant; the question fails as not permitted if the rules deny all tables.

    An attempt after generation reported "off topic" succeeds only with tables that were not shown before, so
    `relevant_tables` is left unchanged if nothing is found.
    """
    settings = services.settings
    question = clean_question(state.get("question"), settings.max_question_chars)
    name = state.get("source") or link_source(question, services.choices, services.source)
    source = services.source_with_tables(name)
    if not source.shown_catalog.tables:
        raise NotPermitted(next(iter(source.catalog.tables)))
    attempt = state.get("table_counter", 0) + 1
    keys = services.roles.linker.link_tables(question, source, attempt)
    if state.get("error") and set(keys) <= set(state.get("relevant_tables") or ()):
        keys = []
    # Clients may read the state, so the configured URL, with its password or path, is not kept in it.
    is_configured_url = name == settings.source and "://" in name
    inputs = {**(state.get("given") or state), "source": None if is_configured_url else name}
    update: dict[str, Any] = {"question": question, "table_counter": attempt, "given": inputs}
    if keys:
        tables = {key: list(source.catalog.tables[key].column_names) for key in keys}
        return {**update, "relevant_tables": tables, "error": None}
    if attempt >= settings.max_table_retrievals:
        update["failure"] = failure_of(OffTopic())
    return {**update, "error": "no table meets the question"}

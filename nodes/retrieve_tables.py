"""Node: find the tables that a question is about."""

from typing import Any

from agent.catalog.retrieval import link_source, link_tables
from agent.errors import OffTopic
from agent.failure import failure_of
from agent.filled_source import filled_source
from agent.question import clean_question
from agent.services import Services
from agent.state import State


def retrieve_tables(state: State, services: Services) -> dict[str, Any]:
    """Find the source, where none is named, and tables in it.

    Where none is found, say why in `error`, and after the last try end as off topic.

    A try that follows generation's verdict "off topic" can only succeed where it has more tables to show than before;
    so `relevant_tables` stays as it is where none is found.
    """
    settings = services.settings
    question = clean_question(state.get("question"), settings.max_question_chars)
    name = state.get("source") or link_source(question, services)
    source = filled_source(services, name)
    attempt = state.get("table_counter", 0) + 1
    found = link_tables(question, source, services, attempt)
    if state.get("error") and set(found) <= set(state.get("relevant_tables") or ()):
        found = []
    # Clients may see the state: the configured URL, with its password or its path, stays out of it.
    is_configured_url = name == settings.source and "://" in name
    given = {**(state.get("given") or state), "source": None if is_configured_url else name}
    update: dict[str, Any] = {"question": question, "table_counter": attempt, "given": given}
    if found:
        tables = {key: list(source.catalog.tables[key].column_names) for key in found}
        return {**update, "relevant_tables": tables, "error": None}
    if attempt >= settings.max_table_retrievals:
        update["failure"] = failure_of(OffTopic())
    return {**update, "error": "no table meets the question"}

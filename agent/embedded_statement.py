"""How the embedded model comes to a statement: prompt, candidates, vote."""

from datetime import date
from functools import partial

from agent.candidates import Candidate, choose_candidate, read_candidate
from agent.catalog.linked_values import linked_values
from agent.catalog.source import Source
from agent.models.client import ModelClient
from agent.models.embedded import EmbeddedOptions
from agent.models.embedded_prompt import statement_messages
from agent.models.grammar import statement_grammar
from agent.said import said_in
from agent.sampled import sampled_texts
from agent.sql.expand import expand
from agent.sql.rounding import without_rounding
from agent.sql.same import same_form
from agent.state import State


def write_statement(
    state: State, source: Source, model: ModelClient, options: EmbeddedOptions, today: date
) -> Candidate:
    """Return the statement that the embedded model writes for the question; its `sql` is empty where none can be read.

    Raises:
        ModelUnreachable, ModelRejected, BudgetExceeded: as `ModelClient.write` says.
        Terminal: the database stops every statement.
    """
    question, selection = _question(state), state["relevant_tables_with_rel_columns"]
    values = linked_values(question, source.values, selection)
    failed = _failed(state, source)
    shown = without_rounding(question)
    messages = statement_messages(source.catalog, selection, shown, values, today=today.isoformat(), failed=failed)
    grammar = statement_grammar(source.catalog, selection, question, values) if options.grammar else None
    texts = sampled_texts(partial(model.write, messages, grammar=grammar), options.candidates)
    candidates = (read_candidate(text, source, may_repair=options.repair, question=question) for text in texts)
    if options.candidates == 1:
        return next(candidates)
    rejected = [same_form(sql, source.catalog.dialect) for sql in state.get("rejected_sql") or ()]
    refused = {*state.get("tried_sql", ()), *rejected}
    stored = (
        example
        for key, columns in selection.items()
        for column in source.catalog.tables[key].columns
        if column.name in columns
        for example in column.examples
    )
    said = said_in(question, [value.value for value in values], stored)
    return choose_candidate(candidates, options.candidates, source, refused, said)


def _question(state: State) -> str:
    """Return the question with what the user answered to clarifying questions."""
    clarified = [known["answer"] for known in state.get("clarifications") or ()]
    return f"{state['question']} ({'; '.join(clarified)})" if clarified else state["question"]


def _failed(state: State, source: Source) -> tuple[str, str] | None:
    """Return the last statement as the model wrote it, and what is wrong with it; None at the first try."""
    compact = state.get("compact_sql")
    if not compact:
        return None
    if state.get("used_stop_words"):
        return compact, f"{', '.join(state['used_stop_words'])} is not allowed"
    try:
        expand(compact, source.catalog)
    except ValueError as error:
        return compact, str(error)
    return compact, state.get("sql_error_info") or ""

"""Statements of the embedded model: prompt, candidates, vote."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from agent.embedded.candidates import Candidate, choose_candidate, read_candidate, sample_texts
from agent.embedded.constraints import constraints_of
from agent.embedded.expand import expand, without_rounding
from agent.embedded.grammar.statement import statement_grammar
from agent.embedded.prompts import statement_messages
from agent.examples.selection import ShownExample
from agent.generation.attempt import WrittenSql
from agent.llm.client import ModelClient
from agent.retrieval.linked_values import linked_values
from agent.sources.source import Source
from agent.sql.compare import canonical_sql
from agent.state import State
from agent.types import EmbeddedOptions


@dataclass(frozen=True)
class EmbeddedSqlWriter:
    """Writes statements with the embedded model, which is not trained on few-shot examples."""

    model: ModelClient
    options: EmbeddedOptions

    @property
    def may_repair(self) -> bool:
        """Whether statements may be repaired without the model."""
        return self.options.repair

    @property
    def finds_alternatives(self) -> bool:
        """False: a statement is all that the model writes."""
        return False

    def write(
        self,
        state: State,
        source: Source,
        choose_examples: Callable[[], Sequence[ShownExample]],
        today: date,
        *,
        approach: str = "",
        may_offer: bool = False,
    ) -> WrittenSql:
        """Return the statement on which most candidates agree. See `agent.generation.attempt.SqlWriter.write`.

        A second text that cannot be parsed either and equals the first is final.
        """
        candidate = write_statement(state, source, self.model, self.options, today)
        is_repeated = state.get("compact_sql") == candidate.compact and state.get("sql_generate_count", 0) > 0
        return WrittenSql(
            candidate.sql,
            candidate.repairs,
            candidate.problem,
            is_final=is_repeated and not candidate.sql,
            changes={"compact_sql": candidate.compact},
        )


def write_statement(
    state: State, source: Source, model: ModelClient, options: EmbeddedOptions, today: date
) -> Candidate:
    """Return the statement that the embedded model writes; its `sql` is empty if no text can be parsed.

    Raises:
        ModelUnreachable, ModelRejected, BudgetExceeded: see `ModelClient.write`.
        Terminal: an error of the database that no other statement would avoid.
    """
    answers = [clarification["answer"] for clarification in state.get("clarifications") or ()]
    question = f"{state['question']} ({'; '.join(answers)})" if answers else state["question"]
    selection = state["relevant_tables_with_rel_columns"]
    values = linked_values(question, source.values, selection)
    messages = statement_messages(
        source.catalog,
        selection,
        without_rounding(question),
        values,
        today=today.isoformat(),
        failed=_failed_attempt(state, source),
    )
    grammar = statement_grammar(source.catalog, selection, question, values) if options.grammar else None
    texts = sample_texts(partial(model.write, messages, grammar=grammar), options.candidates)
    candidates = (read_candidate(text, source, may_repair=options.repair, question=question) for text in texts)
    if options.candidates == 1:
        return next(candidates)
    rejected = [canonical_sql(sql, source.catalog.dialect) for sql in state.get("rejected_sql") or ()]
    refused = {*state.get("tried_sql", ()), *rejected}
    examples = (
        example
        for key, columns in selection.items()
        for column in source.catalog.tables[key].columns
        if column.name in columns
        for example in column.examples
    )
    constraints = constraints_of(question, [value.value for value in values], examples)
    return choose_candidate(candidates, options.candidates, source, refused, constraints)


def _failed_attempt(state: State, source: Source) -> tuple[str, str] | None:
    """Return the previous compact statement and its error; None at the first attempt."""
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

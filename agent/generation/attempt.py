"""One attempt at a statement: writing it with the model, and executing it with the repairs that need no model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol

from datasphinx import prompts
from datasphinx.agent.errors import ModelAnswerUnreadable, NamesUnknown, StatementError, StatementRefused
from datasphinx.agent.examples.selection import ShownExample, examples_in_prompt
from datasphinx.agent.generation.attempts import attempts_with, origin_of
from datasphinx.agent.generation.prompt import form_task, question_messages, table_list
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import GeneratedSQL
from datasphinx.agent.record.step import note
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.repair import repair
from datasphinx.agent.sql.validation import names_similar_value
from datasphinx.agent.state import State
from datasphinx.agent.types import Evidence, Result

APPROACHES = (
    "Decide first which rows of which tables count, then how they are joined, then what is computed of them. Write one "
    "common table expression for each of these steps.",
    "Go through the question word by word: what is asked for, each condition, each order and limit. Write the shortest "
    "query that has exactly these.",
)
"""Paragraphs of the prompts for further statements for the same question, one each."""


@dataclass(frozen=True)
class WrittenSql:
    """The outcome of one attempt to write a statement."""

    sql: str = ""
    """The statement; empty if there is none."""
    repair: str = ""
    """The repairs made without the model."""
    problem: str = ""
    """The reason why there is no statement: for the next attempt, or for the user if the question is off topic."""
    is_off_topic: bool = False
    """Whether the model reports that the tables cannot answer the question."""
    is_final: bool = False
    """Whether another attempt would give the same outcome."""
    alternatives: GeneratedSQL | None = None
    """The model's answer, if it gives alternatives; `sql` is then the statement of the first one."""
    readings: tuple[str, ...] = ()
    """Statements with rows that differ from each other, the best first, which is `sql`; empty if not compared."""
    evidence: Evidence = field(default_factory=lambda: Evidence())
    """What is known about the statement."""
    standalone: str = ""
    """A follow-up as it reads without the conversation."""
    reply: str = ""
    """A text in place of a statement: a courtesy, a definition, or what the data can say."""
    is_form_only: bool = False
    """Whether the rows of the last answer are to be shown in another form, without a statement."""
    changes: dict[str, Any] = field(default_factory=dict)
    """Further changes of the state."""


class SqlWriter(Protocol):
    """Writes statements with a model."""

    @property
    def may_repair(self) -> bool:
        """Whether statements may be repaired without the model."""

    @property
    def finds_alternatives(self) -> bool:
        """Whether an answer may give alternatives, so that no other call has to review the question."""

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
        """Return a statement for the question in `state`; `choose_examples` selects few-shot examples for the prompt.

        `approach` is a further paragraph of the prompt. With `may_offer`, the model may give alternatives instead of a
        statement, if it `finds_alternatives`.

        Raises:
            ModelUnreachable, ModelRejected, BudgetExceeded: see `ModelClient`.
        """


@dataclass(frozen=True)
class StandardSqlWriter:
    """Writes statements with one structured call of a chat model."""

    model: ModelClient
    may_repair: bool = True
    finds_alternatives: bool = True

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
        """Return a statement, repaired without the model where that is unambiguous. See `SqlWriter.write`."""
        examples, changes = shown_examples(state, choose_examples)
        task = prompts.load("alternatives")[1].template if may_offer else approach
        messages = question_messages(
            "generate_sql",
            state,
            source,
            today,
            context=[*_conversation_task(state), *attempt_context(state, task)],
            form=form_task(words_answers=self.model.words_answers),
            examples=examples_in_prompt(examples),
        )
        try:
            without = frozenset[str]() if may_offer else GeneratedSQL.alternative_fields
            without |= frozenset[str]() if state.get("follows") else GeneratedSQL.follow_up_fields
            answer = self.model.ask(GeneratedSQL, messages, without=without)
        except ModelAnswerUnreadable as error:
            return WrittenSql(problem=error.as_message(), changes=changes)
        changes |= {"language": answer.language} if answer.language else {}
        if answer.off_topic:
            shows_all = len(state["relevant_tables"]) >= len(source.shown_catalog.tables)
            saw_all = shows_all or bool(table_list(state, source))
            return WrittenSql(problem=answer.reason, is_off_topic=True, is_final=saw_all, changes=changes)
        first = next((option for option in answer.alternatives if option.sql), answer)
        sql = first.sql or ""
        repaired = repair(sql, source.catalog)
        return WrittenSql(
            repaired.sql if repaired else sql,
            repaired.description if repaired else "",
            alternatives=answer if answer.alternatives else None,
            standalone=answer.standalone if state.get("follows") else "",
            reply="" if sql or answer.alternatives else answer.reply,
            is_form_only=not (sql or answer.alternatives or state.get("sql_request"))
            and bool(answer.form() or answer.output_type),
            changes={
                **changes,
                "assumptions": answer.assumptions,
                "not_answered": answer.not_answered,
                "proposed_output_type": answer.output_type,
                "form": first.form(),
            },
        )


def shown_examples(
    state: State, choose_examples: Callable[[], Sequence[ShownExample]]
) -> tuple[Sequence[ShownExample], dict[str, Any]]:
    """Return the few-shot examples of the question, chosen at its first attempt, and the changes of the state."""
    examples = state.get("examples")
    if examples is not None:
        return examples, {}
    chosen = list(choose_examples())
    return chosen, {"examples": chosen}


def attempt_context(state: State, task: str) -> list[str]:
    """Return the paragraphs of the prompt about the previous attempt, and `task` unless it is empty."""
    parts = [f"Your last query was:\n{state['sql_request']}"] if state.get("sql_request") else []
    if state.get("used_stop_words"):
        parts.append(f"It was refused for: {', '.join(state['used_stop_words'])}. Write a SELECT without these.")
    if state.get("sql_error_info"):
        parts.append(f"It failed: {state['sql_error_info']}\nWrite a corrected query.")
    return [*parts, task] if task else parts


def _conversation_task(state: State) -> list[str]:
    """Return the paragraph of the prompt that says how a question may continue the conversation, if there is one."""
    return [prompts.load("conversation")[1].template] if state.get("follows") else []


@dataclass(frozen=True)
class Execution:
    """The outcome of executing a statement: rows or an error."""

    sql: str
    """The executed statement, which may be a repaired one."""
    result: Result | None
    error: StatementError | None
    changes: dict[str, Any]
    """Further changes of the state."""
    unstored_values: tuple[str, ...] = ()
    """If the result is blank: texts in conditions that no row has, each with similar stored values."""


def is_blank(result: Result) -> bool:
    """Return whether a result has no rows, or is a single 0 or NULL, as aggregates return for no rows.

    >>> is_blank({"columns": ["n"], "rows": [[0]], "truncated": False})
    True
    """
    rows = result["rows"]
    return not rows or (len(rows) == 1 and len(rows[0]) == 1 and rows[0][0] in (0, None))


def execute_with_repair(
    state: State, source: Source, reload: Callable[[], Source | None], *, may_repair: bool
) -> Execution:
    """Execute `sql_request`; after an error, retry at most once with a reloaded schema and once with a repair.

    If the input `sql_only` is set, the statement is checked without executing it, so there is no result.

    `reload` reads the schema again and returns the source if the schema has changed. It is called at most once per
    question, if the statement uses an unknown name. With `may_repair`, a statement is repaired at most once.

    Raises:
        Terminal: an error that no other statement would avoid: permission, connection, cancellation.
    """
    sql, is_checked_only = state["sql_request"], bool(state.get("sql_only"))
    result, error = _execute(source, sql, is_checked_only)
    changes: dict[str, Any] = {}
    if error and _is_unknown_name(error) and not state.get("schema_was_read_again"):
        changes["schema_was_read_again"] = True
        new_source = reload()
        if new_source:
            changes |= _updated_selection(state, source.catalog, new_source.catalog)
            note("the schema has changed and was read again")
            source = new_source
            result, error = _execute(source, sql, is_checked_only)
    if error and may_repair and origin_of(state) != "repair":
        repaired = repair(sql, source.catalog)
        remaining = _execute(source, repaired.sql, is_checked_only) if repaired else (None, error)
        if repaired and remaining[1] is None:
            result = remaining[0]
            note(f"repaired without the model: {repaired.description}")
            attempts = attempts_with(state, repaired.sql, "repair")
            changes = {**changes, "sql_request": repaired.sql, "attempts": attempts}
            sql, error = repaired.sql, None
    missing_values: tuple[str, ...] = ()
    if result is not None and is_blank(result):
        warnings = source.warnings_about(sql)
        missing_values = tuple(warning for warning in warnings if names_similar_value(warning))
        for warning in warnings:
            if not result["rows"]:
                note(f"no rows, and {warning}")
            elif warning in missing_values:
                note(f"no rows match, and {warning}")
    return Execution(sql, result, error, changes, missing_values)


def _execute(source: Source, sql: str, is_checked_only: bool) -> tuple[Result | None, StatementError | None]:
    try:
        if is_checked_only:
            source.check(sql)
            return None, None
        return source.execute(sql), None
    except StatementError as error:
        return None, error


def _is_unknown_name(error: StatementError) -> bool:
    if isinstance(error, StatementRefused):
        return all(finding.startswith("catalog_tables") for finding in error.findings)
    return isinstance(error, NamesUnknown) or getattr(error, "kind", "") == "unknown name"


def _updated_selection(state: State, old: Catalog, new: Catalog) -> dict[str, Any]:
    """Return the relevant tables that still exist and all new tables, with all their columns."""
    keys = [key for key in state.get("relevant_tables", {}) if key in new.tables]
    keys += [key for key in new.tables if key not in old.tables and key not in keys]
    tables = {key: list(new.tables[key].column_names) for key in keys} or new.selection()
    return {"relevant_tables": tables, "relevant_tables_with_rel_columns": tables}

"""One attempt at a statement: writing it with the model, and executing it with the repairs that need no model."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Protocol

from datasphinx import prompts
from datasphinx.agent.errors import ModelAnswerUnreadable, NamesUnknown, StatementError, StatementRefused
from datasphinx.agent.examples.selection import ShownExample, examples_in_prompt
from datasphinx.agent.generation.attempts import current
from datasphinx.agent.generation.prompt import form_task, question_messages, table_list
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import GeneratedSQL
from datasphinx.agent.record.step import note
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.repair import repair
from datasphinx.agent.sql.validation import names_similar_value
from datasphinx.agent.state import State
from datasphinx.agent.types import AnswerForm, Attempt, Evidence, Result

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
    compact: str = ""
    """The same as a compact statement, as written by the embedded model."""
    form: AnswerForm = field(default_factory=lambda: AnswerForm())
    """How the answer of the statement is worded and shown."""
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

    @property
    def facts(self) -> dict[str, Any]:
        """What is known about the statement, as facts of an `Attempt`."""
        facts = {"form": self.form, "evidence": self.evidence, "compact": self.compact}
        return {name: value for name, value in facts.items() if value}


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
        examples, changes = shown_examples(state.get("examples"), choose_examples)
        task = prompts.load("alternatives")[1].template if may_offer else approach
        conversation = [prompts.load("conversation")[1].template] if state.get("follows") else []
        messages = question_messages(
            "generate_sql",
            state,
            source,
            today,
            context=[*conversation, *attempt_context(state.get("attempts") or (), task)],
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
            form=first.form(),
            changes={
                **changes,
                "assumptions": answer.assumptions,
                "not_answered": answer.not_answered,
                "proposed_output_type": answer.output_type,
            },
        )


def shown_examples(
    examples: list[dict[str, Any]] | None, choose_examples: Callable[[], Sequence[ShownExample]]
) -> tuple[Sequence[ShownExample], dict[str, Any]]:
    """Return the few-shot examples of the question, chosen at its first attempt, and the changes of the state."""
    if examples is not None:
        return examples, {}
    chosen = list(choose_examples())
    return chosen, {"examples": chosen}


def attempt_context(attempts: Sequence[Attempt], task: str) -> list[str]:
    """Return the paragraphs of the prompt about the previous attempt, and `task` unless it is empty."""
    last, parts = current(attempts), []
    if last["outcome"] not in (None, "not used"):
        problem = last.get("problem", "")
        parts += [f"Your last query was:\n{last['sql']}"] if last["sql"] else []
        parts.append(
            f"It was refused for: {problem}. Write a SELECT without these."
            if last["outcome"] == "refused"
            else f"It failed: {problem}\nWrite a corrected query."
        )
    return [*parts, task] if task else parts


@dataclass(frozen=True)
class Execution:
    """The outcome of executing a statement: rows or an error."""

    sql: str
    """The executed statement, which may be a repaired one."""
    result: Result | None
    error: StatementError | None
    source: Source
    """The source, with a schema that was read again if it has changed."""
    unstored_values: tuple[str, ...] = ()
    """If the result is blank: texts in conditions that no row has, each with similar stored values."""

    @property
    def names_unknown(self) -> bool:
        """Whether the error is an unknown name."""
        if isinstance(self.error, StatementRefused):
            return all(finding.startswith("catalog_tables") for finding in self.error.findings)
        return isinstance(self.error, NamesUnknown) or getattr(self.error, "kind", "") == "unknown name"


def is_blank(result: Result) -> bool:
    """Return whether a result has no rows, or is a single 0 or NULL, as aggregates return for no rows.

    >>> is_blank({"columns": ["n"], "rows": [[0]], "truncated": False})
    True
    """
    rows = result["rows"]
    return not rows or (len(rows) == 1 and len(rows[0]) == 1 and rows[0][0] in (0, None))


def execute_with_repair(
    sql: str, source: Source, reload: Callable[[], Source | None], *, may_repair: bool, is_checked_only: bool
) -> Execution:
    """Execute `sql`; after an error, retry at most once with a reloaded schema and once with a repair.

    With `is_checked_only`, the statement is checked without executing it, so there is no result. `reload` reads the
    schema again and returns the source if the schema has changed. It is called if the statement uses an unknown name.

    Raises:
        Terminal: an error that no other statement would avoid: permission, connection, cancellation.
    """
    execution = _execute(source, sql, is_checked_only)
    if execution.names_unknown and (new_source := reload()):
        note("the schema has changed and was read again")
        execution = _execute(new_source, sql, is_checked_only)
    if execution.error and may_repair and (repaired := repair(sql, execution.source.catalog)):
        remaining = _execute(execution.source, repaired.sql, is_checked_only)
        if remaining.error is None:
            note(f"repaired without the model: {repaired.description}")
            execution = remaining
    result = execution.result
    warnings = execution.source.warnings_about(execution.sql) if result is not None and is_blank(result) else ()
    unstored_values = tuple(warning for warning in warnings if names_similar_value(warning))
    for warning in warnings:
        if result and not result["rows"]:
            note(f"no rows, and {warning}")
        elif warning in unstored_values:
            note(f"no rows match, and {warning}")
    return replace(execution, unstored_values=unstored_values)


def _execute(source: Source, sql: str, is_checked_only: bool) -> Execution:
    try:
        if is_checked_only:
            source.check(sql)
            return Execution(sql, None, None, source)
        return Execution(sql, source.execute(sql), None, source)
    except StatementError as error:
        return Execution(sql, None, error, source)


def updated_selection(tables: Iterable[str], old: Catalog, new: Catalog) -> dict[str, list[str]]:
    """Return the relevant `tables` that still exist and all new tables, with all their columns."""
    keys = [key for key in tables if key in new.tables]
    keys += [key for key in new.tables if key not in old.tables and key not in keys]
    return {key: list(new.tables[key].column_names) for key in keys} or new.selection()

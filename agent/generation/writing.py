"""Writing a statement with a model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, ClassVar

from datasphinx import prompts
from datasphinx.agent.errors import ModelAnswerUnreadable
from datasphinx.agent.examples.selection import ShownExample, examples_in_prompt
from datasphinx.agent.generation.attempts import current
from datasphinx.agent.generation.definitions import names_metric
from datasphinx.agent.generation.prompt import form_task, question_messages, table_list
from datasphinx.agent.generation.question import Question
from datasphinx.agent.knowledge.metric_query import metric_statement
from datasphinx.agent.knowledge.references import Unresolved
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import GeneratedSQL
from datasphinx.agent.record.step import note
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.repair import repair
from datasphinx.agent.types import AnswerForm, Attempt, Evidence, Origin, OutputType

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
    origin: Origin = "model"
    """Who wrote it: the model, or code from the metrics that it names."""
    language: str = ""
    """The language of the question, if the model stated it."""
    title: str | None = None
    """A title of the conversation; None if the model was not asked for one."""
    assumptions: Sequence[str] = ()
    not_answered: Sequence[str] = ()
    """The parts of the question that it leaves out."""
    output_type: OutputType | None = None
    """The form of the answer that the model proposes."""

    @property
    def changes(self) -> dict[str, Any]:
        """The changes of the state for all of it besides the statement."""
        return {
            "assumptions": list(self.assumptions),
            "not_answered": list(self.not_answered),
            "proposed_output_type": self.output_type,
            **({"language": self.language} if self.language else {}),
        }

    @property
    def facts(self) -> dict[str, Any]:
        """What is known about the statement, as facts of an `Attempt`."""
        facts = {"form": self.form, "evidence": self.evidence, "problem": self.problem}
        return {name: value for name, value in facts.items() if value}


@dataclass(frozen=True)
class SqlWriter:
    """Writes statements, each with one structured call of a chat model."""

    model: ModelClient
    finds_alternatives: ClassVar[bool] = True
    """Whether an answer may give alternatives, so that no other call has to review the question."""
    shows_examples: ClassVar[bool] = True
    """Whether its prompts show few-shot examples."""

    def write(
        self,
        question: Question,
        source: Source,
        examples: Sequence[ShownExample],
        today: date,
        *,
        approach: str = "",
        may_offer: bool = False,
    ) -> WrittenSql:
        """Return a statement for `question`, repaired without the model where that is unambiguous.

        `examples` are few-shot examples for the prompt, and `approach` is a further paragraph of it. With `may_offer`,
        the model may give alternatives instead of a statement, if it `finds_alternatives`.
        """
        task = prompts.load("alternatives")[1].template if may_offer else approach
        conversation = [prompts.load("conversation")[1].template] if question.follows else []
        may_name = not approach and not question.attempts and names_metric(question.named, source)
        metrics = [prompts.load("metrics")[1].template] if may_name else []
        is_first = not (approach or question.turns or question.clarifications or question.attempts)
        messages = question_messages(
            "generate_sql",
            question,
            source,
            today,
            context=[*conversation, *metrics, *attempt_context(question.attempts, task)],
            form=form_task(words_answers=self.model.words_answers),
            examples=examples_in_prompt(examples),
        )
        try:
            without = frozenset[str]() if may_offer else GeneratedSQL.alternative_fields
            without |= frozenset[str]() if question.follows else GeneratedSQL.follow_up_fields
            without |= frozenset[str]() if may_name else GeneratedSQL.metric_fields
            without |= frozenset[str]() if is_first and self.model.words_answers else GeneratedSQL.first_fields
            answer = self.model.ask(GeneratedSQL, messages, without=without)
        except ModelAnswerUnreadable as error:
            return WrittenSql(problem=error.as_message())
        title = answer.title if is_first else None
        if answer.off_topic:
            shows_all = len(question.tables) >= len(source.shown_catalog.tables)
            saw_all = shows_all or bool(table_list(question, source))
            return WrittenSql(
                problem=answer.reason,
                is_off_topic=True,
                is_final=saw_all,
                language=answer.language or "",
                title=title,
            )
        first = next((option for option in answer.alternatives if option.sql), answer)
        sql, origin = first.sql or "", WrittenSql.origin
        if answer.metric and not answer.alternatives:
            try:
                sql, origin = metric_statement(answer.metric, source.knowledge), "metric"
            except Unresolved as error:
                note(f"the metrics were not compiled: {error}")
                if not sql:
                    problem = f"the metrics cannot be computed like this: {error}. {error.suggestion}".rstrip()
                    return WrittenSql(problem=problem, language=answer.language or "", title=title)
        repaired = repair(sql, source.catalog) if origin == "model" else None
        return WrittenSql(
            repaired.sql if repaired else sql,
            repaired.description if repaired else "",
            alternatives=answer if answer.alternatives else None,
            standalone=answer.standalone if question.follows else "",
            reply="" if sql or answer.alternatives else answer.reply,
            is_form_only=not (sql or answer.alternatives or question.sql or answer.reply)
            and bool(answer.form() or answer.output_type),
            form=first.form(),
            origin=origin,
            language=answer.language or "",
            title=title,
            assumptions=answer.assumptions,
            not_answered=answer.not_answered,
            output_type=answer.output_type,
        )


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

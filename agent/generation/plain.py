"""Statements of models that cannot write JSON or understand long instructions: one text call without a format.

The prompt is the schema as CREATE TABLE statements and the question. The model completes a fenced SELECT.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from itertools import count
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from datasphinx import prompts
from datasphinx.agent.errors import ModelAnswerUnreadable, ModelRejected, ModelUnreachable
from datasphinx.agent.examples.selection import ShownExample, examples_in_prompt
from datasphinx.agent.generation.attempts import refused_sql
from datasphinx.agent.generation.prompt import question_context, today_text
from datasphinx.agent.generation.question import Question
from datasphinx.agent.generation.writing import WrittenSql, attempt_context
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.parse import clean_sql, holds_statement
from datasphinx.agent.llm.reasoning import without_reasoning
from datasphinx.agent.messages import Message
from datasphinx.agent.schema.ddl import create_statements
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import canonical_sql
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.sql.repair import repair

_START = "```sql\nSELECT"
"""The beginning of the answer, which the model continues."""
_FENCE = "```"
_WHOLE_STATEMENT = re.compile(r"\A\s*(?:SELECT|WITH)\b|```\w*\s+(?:SELECT|WITH)\b", re.IGNORECASE)
"""A statement from its beginning: some servers repeat the start of the answer, or begin a new one."""
_RETRY_TEMPERATURE = 0.6
_MAX_SAMPLES = 3
_MAX_TOKENS = 512
"""Limit of an answer: small models may repeat a condition without end."""


@dataclass(frozen=True)
class PlainSqlWriter:
    """Writes statements with one text call. The model continues the start of its answer if the endpoint allows that."""

    model: ModelClient
    finds_alternatives: bool = False
    shows_examples: bool = True

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
        """Return a statement, repaired without the model where that is unambiguous. See `SqlWriter.write`.

        Further attempts are sampled, up to three times if a statement equals one that failed.
        """
        messages = _messages(question, source, examples, today, approach)
        dialect, attempt = source.catalog.dialect, question.generation
        tried = refused_sql(question.attempts, dialect)
        for sample in count(1):
            try:
                sql = self._statement(messages, dialect, seed=attempt * _MAX_SAMPLES + sample if attempt else 0)
            except ModelAnswerUnreadable as error:
                return WrittenSql(problem=error.as_message())
            repaired = repair(sql, source.catalog)
            sql, repairs = (repaired.sql, repaired.description) if repaired else (sql, "")
            if not attempt or sample == _MAX_SAMPLES or canonical_sql(sql, dialect) not in tried:
                break
        return WrittenSql(sql, repairs, "" if sql else Message("answer_empty"))

    def _statement(self, messages: list[BaseMessage], dialect: str, seed: int) -> str:
        """Return the statement that the model writes, greedily with `seed` 0, else sampled; empty if it writes none."""
        options: dict[str, Any] = {"temperature": _RETRY_TEMPERATURE, "seed": seed} if seed else {}
        options["max_tokens"] = _MAX_TOKENS
        is_rejected = False
        if self.model.capabilities.continues_answers:
            try:
                text = self.model.write([*messages, AIMessage(_START)], stop=_FENCE, **options).text
            except (ModelRejected, ModelUnreachable):
                is_rejected = True
            else:
                text = without_reasoning(text)
                sql = clean_sql(text if _WHOLE_STATEMENT.search(text) else f"SELECT {text}")
                with suppress(ValueError):
                    if parse(sql, dialect):
                        return sql
        text = without_reasoning(self.model.write(messages, **options).text)
        if is_rejected:
            # The endpoint accepts the request without the start of the answer, so it was the start that it rejected.
            self.model.capabilities.continues_answers = False
        return clean_sql(text) if holds_statement(text) else ""


def _messages(
    question: Question, source: Source, examples: Sequence[ShownExample], today: date, task: str
) -> list[BaseMessage]:
    context = [*question_context(question, source), *attempt_context(question.attempts, task)]
    return prompts.render(
        "generate_sql",
        "plain",
        dialect=source.database.product,
        today=today_text(today, source),
        schema=create_statements(source.shown_catalog, question.columns, source.database.quote),
        examples=examples_in_prompt(examples),
        context="".join(f"{paragraph}\n\n" for paragraph in context),
        question=question.text,
    )

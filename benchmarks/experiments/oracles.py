"""Oracles: a model or rules that answer clarifying questions instead of a user, given the reference SQL."""

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Protocol

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field
from sqlglot import exp

from benchmarks.experiments.log import (
    EventCapture,
    Exchange,
    Usage,
    capture_events,
    format_clarification,
    proposed_options,
)
from benchmarks.experiments.match import execution_match
from benchmarks.experiments.options import MatchRule
from datasphinx.agent.errors import DatasphinxError, ModelAnswerUnreadable
from datasphinx.agent.evals.datasets import Question
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.parse import holds_statement
from datasphinx.agent.record.events import Event
from datasphinx.agent.record.recorder import Recorder
from datasphinx.agent.record.step import Step, current_step, new_audit
from datasphinx.agent.schema.words import spelt_words, stem
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.sql.names import ReferencedNames, referenced_names
from datasphinx.agent.types import ClarifyingQuestion

_SYSTEM, _USER_TEXT = (
    Path(__file__).with_name("answer_clarification.md").read_text(encoding="utf-8").strip().split("\n---\n")
)
_USER = Template(_USER_TEXT)
NONE_OF_THESE = "none of these"
"""The answer if no option is the intended one."""


_KEYWORDS = re.compile(
    r"\b(select\b.*\bfrom|from\s+\w+\s+(as\s+\w+|where|join)|group\s+by|order\s+by|having\s+\w+\s*\(|union(\s+all)?\s+select|"
    r"(inner|left|right|cross|full|outer|natural)\s+join|join\s+\w+\s+(as|on)\b|is\s+(not\s+)?null|"
    r"(not\s+)?(in|exists)\s*\(|between\s+\S+\s+and\s+\S+\s+(and|or|group|limit)|select\s+(distinct|\*))",
    re.IGNORECASE | re.DOTALL,
)
_SIGNS = re.compile(r"```|`|;\s*$|\|\||<>|!=|<=|>=|==|\w\s*[=<>]\s*['\"\w]|\b[A-Za-z_]\w+\.[A-Za-z_]\w+|\b[A-Za-z_]+\(")
_WORD = re.compile(r"\w+|[^\w\s]")
_VALUE = re.compile(r"'[^']*'")
_COPIED = 5
"""Length of a sequence of tokens, shared with the reference outside its values, that is no coincidence."""
_TRIES = 2


@dataclass(frozen=True)
class Feedback:
    """An answer to a clarifying question (the number of an option, or words), its exchange and its usage."""

    answer: str
    exchange: Exchange
    usage: Usage = Usage()


class Oracle(Protocol):
    """Answers clarifying questions for the user."""

    name: str
    """Its name in the settings of an experiment."""

    def answer(
        self, question: Question, clarification: ClarifyingQuestion, statements: Sequence[str | None], source: Source
    ) -> Feedback:
        """Answer `clarification` about `question`; `statements` has the SQL of each option if known."""


def option_statements(clarification: ClarifyingQuestion, events: Sequence[Event]) -> list[str | None]:
    """Return the SQL of each option of `clarification`, from the call among `events` that proposed them."""
    calls = [event.body for event in events if event.kind == "llm"]
    options = next(filter(None, map(proposed_options, reversed(calls))), [])
    by_reading: Mapping[tuple[str, str], str | None] = {
        (option.label, option.reading): option.sql for option in options
    }
    by_label = {option.label: option.sql for option in options}
    return [
        by_reading.get((option["label"], option["reading"]), by_label.get(option["label"]))
        for option in clarification["options"]
    ]


def reveals_sql(words: str, reference: str) -> bool:
    """Return whether `words` contain SQL, or a part of the statement `reference`."""
    if holds_statement(words) or _KEYWORDS.search(words) or _SIGNS.search(words):
        return True
    tokens = _WORD.findall(_VALUE.sub("'", reference.lower()))
    normalized = f" {' '.join(_WORD.findall(words.lower()))} "
    pieces = (tokens[at : at + _COPIED] for at in range(len(tokens) - _COPIED + 1))
    return any(f" {' '.join(piece)} " in normalized for piece in pieces)


class OracleAnswer(BaseModel):
    """What a user would answer to a multiple-choice question."""

    option: int = Field(0, description="the number of the option that is meant; 0 where it is none of them")
    words: str = Field("", description="with 0: what is meant, in plain words and without any SQL; else empty")


class ModelOracle:
    """Answers with a model. An answer that reveals SQL is retried once, then replaced by "none of these"."""

    def __init__(self, model: ModelClient) -> None:
        """Use `model` for the answers."""
        self._model, self.name = model, f"model {model.name}"

    def answer(
        self, question: Question, clarification: ClarifyingQuestion, statements: Sequence[str | None], source: Source
    ) -> Feedback:
        """Return the answer.

        Raises:
            ModelUnreachable, ModelRejected, BudgetExceeded: As `ModelClient.ask`.
        """
        user = _USER.substitute(
            question=question.question, sql=question.sql, clarification=format_clarification(clarification)
        )
        messages: list[BaseMessage] = [SystemMessage(_SYSTEM), HumanMessage(user)]
        step = Step("oracle", new_audit(uuid.uuid4().hex), recorder=Recorder(EventCapture()))
        token = current_step.set(step)
        try:
            with capture_events() as events:
                text = self._ask(messages, question.sql, len(clarification["options"]))
        finally:
            current_step.reset(token)
        perplexity = events[-1].body.get("perplexity") if events else None
        prompt = "\n\n".join(str(message.content) for message in messages)
        audit = step.record()
        tokens = audit["prompt_tokens"] + audit["completion_tokens"]
        usage = Usage(audit["llm_calls"], tokens, audit["llm_cost_usd"])
        return Feedback(text, Exchange(prompt, text, perplexity), usage)

    def _ask(self, messages: list[BaseMessage], reference: str, options: int) -> str:
        for _ in range(_TRIES):
            try:
                answer = self._model.ask(OracleAnswer, messages)
            except ModelAnswerUnreadable:
                return NONE_OF_THESE
            words = answer.words.strip()
            if 1 <= answer.option <= options:
                return str(answer.option)
            if answer.option == 0 and not reveals_sql(words, reference):
                return words or NONE_OF_THESE
            problem = (
                f"There is no option {answer.option}." if answer.option else "Your words hold SQL, or a piece of it."
            )
            messages = [*messages, HumanMessage(f"{problem} Answer again: a number, or plain words without any SQL.")]
        return NONE_OF_THESE


class RuleOracle:
    """Answers with the number of an option, or with "none of these".

    It chooses the first option whose SQL gives the result of the reference. Without such an option, it chooses the one
    whose words name the most tables, columns and values of the reference, minus others, if that is unique.
    """

    name = "rule"

    def __init__(self, rule: MatchRule) -> None:
        """Use `rule` to compare results."""
        self._rule = rule

    def answer(
        self, question: Question, clarification: ClarifyingQuestion, statements: Sequence[str | None], source: Source
    ) -> Feedback:
        """Return the answer; a failing statement is ignored."""
        number = self._by_result(question.sql, statements, source) or _by_words(question.sql, clarification, source)
        answer = str(number) if number else NONE_OF_THESE
        label = clarification["options"][number - 1]["label"] if number else ""
        return Feedback(answer, Exchange("", f"{answer}) {label}" if number else answer))

    def _by_result(self, reference: str, statements: Sequence[str | None], source: Source) -> int | None:
        for number, statement in enumerate(statements, 1):
            try:
                if statement and execution_match(source, reference, statement, self._rule):
                    return number
            except DatasphinxError:
                return None
        return None


def _by_words(reference: str, clarification: ClarifyingQuestion, source: Source) -> int | None:
    expected = _phrases(referenced_names(reference, source.catalog)) | _values(reference, source.catalog.dialect)
    columns = (f"{table.key}.{name}" for table in source.catalog.tables.values() for name in table.column_names)
    others = _phrases(ReferencedNames(frozenset(source.catalog.tables), frozenset(columns))) - expected
    scores = []
    for option in clarification["options"]:
        words = _stems(f"{option['label']} {option['reading']}")
        matches = [{phrase for phrase in phrases if phrase <= words} for phrases in (expected, others)]
        scores.append((len(matches[0]) - len(matches[1]), len(matches[0])))
    best = max(scores, default=(0, 0))
    return scores.index(best) + 1 if best[1] and scores.count(best) == 1 else None


def _phrases(names: ReferencedNames) -> set[frozenset[str]]:
    """Return the words of each name, of a column without its table."""
    plain = {*names.tables, *(name.rpartition(".")[2] for name in names.columns)}
    return {phrase for phrase in map(_stems, plain) if phrase}


def _values(sql: str, dialect: str) -> set[frozenset[str]]:
    try:
        trees = parse(sql, dialect)
    except ValueError:
        return set()
    literals = (literal.this for tree in trees for literal in tree.find_all(exp.Literal))
    return {phrase for phrase in map(_stems, map(str, literals)) if phrase}


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, spelt_words(text.replace("_", " "))))

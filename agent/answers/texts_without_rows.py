"""Texts of a model without rows, replaced by plain ones if they have a figure that nobody gave."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from datasphinx.agent.answers.references import Said, unsupported
from datasphinx.agent.answers.result_facts import compared_values
from datasphinx.agent.clarify.review import Reading
from datasphinx.agent.generation.question import Question
from datasphinx.agent.messages import Message, language_in, render
from datasphinx.agent.record.step import note
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.guard import shared_nodes
from datasphinx.agent.types import ClarifyingQuestion


def said_about(question: Question) -> Said:
    """Return what the user has said, from which figures and names of a text without rows may come."""
    replies = [reply["question"] for turn in question.turns for reply in turn.get("replies", ())]
    return Said(question.text, [*(turn["question"] for turn in question.turns), *replies, *question.answers])


def supported_reason(reason: str, said: Said, names: Collection[str] = ()) -> str:
    """Return the reason why no table answers a question, or the general one in place of an unsupported text.

    `names` are those of the last rows, if there are any.
    """
    problems = () if isinstance(reason, Message) else unsupported(reason, said, names)
    if problems:
        note(f"the reason was not used: {'; '.join(problems)}")
    return Message("no_table_fits") if problems or not reason else reason


def supported_question(
    question: ClarifyingQuestion, readings: Sequence[Reading], said: Said, source: Source
) -> tuple[ClarifyingQuestion, list[Reading]] | None:
    """Return a clarifying question of a model, or the general one in its place, and its readings.

    The figures and names of an option may be those of its statement, not those of the rows. If a label has others,
    there is no question; if only what it means has others, the label stands for it.
    """
    compared = [compared_in(each.sql, source.catalog.dialect) for each in readings]
    names = {name for each in readings for name in each.names}
    if unsupported(question["question"], replace(said, literals=[one for each in compared for one in each]), names):
        question = {**question, "question": render("which_reading", language_in(question))}
    told: list[Reading] = []
    for each, literals in zip(readings, compared, strict=True):
        known, label = replace(said, literals=literals), each.option["label"]
        if problems := unsupported(label, known, names):
            note(f"the user was not asked: {'; '.join(problems)}")
            return None
        reading = label if unsupported(each.option["reading"], known, names) else each.option["reading"]
        told.append(replace(each, option={**each.option, "reading": reading}))
    return {**question, "options": [each.option for each in told]}, told


def compared_in(sql: str | None, dialect: str) -> list[Any]:
    """Return the values that a statement compares with; none if it cannot be parsed."""
    try:
        return list(compared_values(shared_nodes(sql or "", dialect, exp.Expr)))
    except ValueError:
        return []

"""Texts of a model without rows, replaced by plain ones if they have a figure that nobody gave."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from datasphinx.agent.answers.readings import options_of
from datasphinx.agent.answers.references import Said, unsupported
from datasphinx.agent.answers.result_facts import compared_values
from datasphinx.agent.clarify.review import Reading
from datasphinx.agent.messages import Message, language_in, render
from datasphinx.agent.record.step import note
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.guard import shared_trees
from datasphinx.agent.state import State
from datasphinx.agent.types import ClarifyingQuestion


def said_of(state: State) -> Said:
    """Return what the user has said, from which figures and names of a text without rows may come."""
    turns = state.get("turns") or ()
    answers = [clarification["answer"] for clarification in state.get("clarifications") or ()]
    replies = [reply["question"] for turn in turns for reply in turn.get("replies", ())]
    return Said(state.get("question") or "", [*(turn["question"] for turn in turns), *replies, *answers])


def supported_reason(reason: str, said: Said) -> str:
    """Return the reason why no table answers a question, or the general one in place of an unsupported text."""
    problems = () if isinstance(reason, Message) else unsupported(reason, said)
    if problems:
        note(f"the reason was not used: {'; '.join(problems)}")
    return Message("no_table_fits") if problems or not reason else reason


def supported_question(
    question: ClarifyingQuestion, readings: Sequence[Reading], said: Said, source: Source
) -> tuple[ClarifyingQuestion, list[Reading]] | None:
    """Return a clarifying question of a model and its readings, with plain texts in place of unsupported ones.

    The figures of an option may be those of its statement. If an option without a statement has other figures, there is
    no question.
    """
    catalog, language = source.catalog, language_in(question)
    compared = [_compared(each.sql, catalog.dialect) for each in readings]
    of_all = replace(said, literals=[one for each in compared for one in each])
    if unsupported(question["question"], of_all):
        question = {**question, "question": render("which_reading", language)}
    is_plain = any(
        unsupported(text, replace(said, literals=own))
        for each, own in zip(readings, compared, strict=True)
        for text in (each.option["label"], each.option["reading"])
    )
    if not is_plain:
        return question, list(readings)
    note("the options are named by their statements, since their texts have figures that nobody gave")
    statements = [each.sql for each in readings if each.sql]
    if len(statements) < len(readings):
        return None
    readings = [
        replace(each, option={**each.option, "label": plain.label, "reading": plain.reading})
        for each, plain in zip(readings, options_of(statements, catalog, language), strict=True)
    ]
    return {**question, "options": [each.option for each in readings]}, readings


def _compared(sql: str | None, dialect: str) -> list[Any]:
    """Return the values that a statement compares with."""
    return [value for tree in shared_trees(sql, dialect) for value in compared_values(tree)] if sql else []

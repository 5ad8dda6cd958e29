"""Texts of a model without rows, replaced by plain ones if they have a figure that nobody gave."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from datasphinx.agent.answers.references import Said, unsupported
from datasphinx.agent.answers.result_facts import compared_values, written_texts
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
    known = [with_statements(said, [each.sql], source.catalog.dialect) for each in readings]
    names = {name for each in readings for name in each.names}
    all_known = with_statements(said, [each.sql for each in readings], source.catalog.dialect)
    if unsupported(question["question"], all_known, names):
        question = {**question, "question": render("which_reading", language_in(question))}
    told: list[Reading] = []
    for each, of_reading in zip(readings, known, strict=True):
        label = each.option["label"]
        if problems := unsupported(label, of_reading, names):
            note(f"the user was not asked: {'; '.join(problems)}")
            return None
        reading = label if unsupported(each.option["reading"], of_reading, names) else each.option["reading"]
        told.append(replace(each, option={**each.option, "reading": reading}))
    return {**question, "options": [each.option for each in told]}, told


def with_statements(said: Said, statements: Iterable[str | None], dialect: str) -> Said:
    """Return `said` with the values that statements compare with, and the names that they write.

    One that cannot be parsed has none.
    """
    for sql in statements:
        try:
            nodes = list(shared_nodes(sql or "", dialect, exp.Expr))
        except ValueError:
            continue
        literals, written = [*said.literals, *compared_values(nodes)], [*said.written, *written_texts(nodes)]
        said = replace(said, literals=literals, written=written)
    return said

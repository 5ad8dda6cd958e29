"""Texts about rows: written by a model that sees them, with references, and shown only if each check passes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from datasphinx import prompts
from datasphinx.agent.answers.computed_facts import computed_facts
from datasphinx.agent.answers.references import Filled, Said, fill
from datasphinx.agent.answers.result_facts import ResultFacts
from datasphinx.agent.core.prompt_data import escaped, shortened
from datasphinx.agent.formatting.formats import format_value
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import CheckedText, NarratedAnswer
from datasphinx.agent.messages import CONVENTIONS
from datasphinx.agent.record.step import note
from datasphinx.agent.routes import MAX_TEXTS

PROMPT_ROWS = 50
_ROW_CHARS = 500


def narrate(
    facts: ResultFacts,
    said: Said,
    model: ModelClient,
    *,
    filters: Sequence[str],
    instructions: str = "",
    has_table: bool = False,
    verifies: bool = False,
) -> str | None:
    """Return a text about the rows of `facts`, which `model` writes with references; None if it may not be shown.

    The rows contain no values of secret columns, so that no prompt does; `filters` are the conditions of the statement
    in words, and `instructions` the operator's text for prompts. With `has_table`, a table of the rows follows. A text
    with problems is written once more. With `verifies`, another call compares the text with the rows.
    """
    facts = seen(facts, PROMPT_ROWS)
    messages = prompts.render(
        "narrate",
        instructions=instructions,
        language=CONVENTIONS[facts.language].name,
        question=said.question,
        filters=escaped("; ".join(filters)),
        others=", and say that the table has the others" if has_table else "",
        rows=rows_text(facts),
    )
    try:
        for _ in range(MAX_TEXTS):
            text = model.ask(NarratedAnswer, messages).answer.strip()
            filled = fill(text, facts, said)
            problems = filled.problems or (unverified(filled, facts, model, said.question) if verifies else ())
            if not problems:
                return filled.text
            note(f"text refused: {'; '.join(problems)}")
            messages = [*messages, AIMessage(text), correction(problems)]
    except Exception as error:
        # The rows can be returned without a text, so no error ends the run here.
        note(f"narration failed: {error}")
    return None


def correction(problems: Sequence[str]) -> BaseMessage:
    """Return the message that asks for a text without `problems`."""
    listed = "\n".join(f"- {problem}" for problem in problems)
    return HumanMessage(f"The text cannot be shown:\n{listed}\nWrite it again without these problems.")


def unverified(filled: Filled, facts: ResultFacts, model: ModelClient, question: str) -> tuple[str, ...]:
    """Return the claims of a text that `model` does not find in the rows."""
    messages = prompts.render("check_text", question=question, text=escaped(filled.text), rows=rows_text(facts))
    return tuple(model.ask(CheckedText, messages).unsupported)


def seen(facts: ResultFacts, rows: int) -> ResultFacts:
    """Return `facts` as a model sees them: it may refer to each of the first `rows` rows, and to computed facts."""
    return replace(facts, seen_rows=rows, computed={fact.id: fact for fact in computed_facts({"": facts})})


def rows_text(facts: ResultFacts, mark: str = ".") -> str:
    """Return the rows that a model sees, numbered and formatted, and the computed facts, a line each.

    `mark` stands between the id of another result and what a reference selects of it.
    """
    results: Mapping[str, ResultFacts] = facts.others or {"": facts}
    lines: list[str] = []
    for name, one in results.items():
        prefix = f"{name}{mark}" if name and one.result is not facts.result else ""
        lines += [f"{name}:"] if len(results) > 1 else []
        lines += [_row_text(one, row) for row in range(min(len(one.rows), one.seen_rows))]
        lines += ["more rows exist"] if one.is_cut or len(one.rows) > one.seen_rows else []
        lines += map(escaped, facts_text(one, prefix))
    return "\n".join(lines)


def facts_text(facts: ResultFacts, prefix: str = "") -> Iterator[str]:
    """Yield the computed facts, a line each with the reference to it."""
    for fact in facts.computed.values():
        yield f"{{{prefix}{fact.id}}} {fact.text}: {fact.value}"


def _row_text(facts: ResultFacts, row: int) -> str:
    cells = {
        column.name: "NULL"
        if column.cells[row] is None
        else format_value(column.cells[row], column.format, facts.language, in_sentence=True)
        for column in facts.columns
    }
    return f"{row + 1}: {escaped(shortened(cells))[:_ROW_CHARS]}"

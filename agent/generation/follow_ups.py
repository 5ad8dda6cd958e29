"""Questions of a conversation: what prompts say about the answers before, and how they are read without that."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from datasphinx.agent.core.redact import without_password
from datasphinx.agent.core.text import MAX_QUESTION_CHARS
from datasphinx.agent.generation.attempts import attempts_with
from datasphinx.agent.messages import Message
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.names import ReferencedNames, referenced_names
from datasphinx.agent.types import AnswerForm, Exchange, OutputType, Result, Turn

SEPARATOR = " → "
"""Joins two questions into one, in every language."""
REMEMBERED_TURNS = 10
"""The number of turns of a conversation that a follow-up can refer to."""
_SQL_CHARS, _QUESTION_CHARS, _TEXT_CHARS, _FORM_CHARS = 2000, 300, 300, 1500
_COLUMNS, _TEXTS, _REPLIES = 40, 8, 3


class ReadQuestion(NamedTuple):
    """A question in the form in which the model reads it."""

    question: str
    follows: Turn | None
    """The turn that it may continue."""


class AskedForm(NamedTuple):
    """The form of an answer that a question asks for in words."""

    output_type: OutputType | None = None
    form: AnswerForm = {}
    """Its chart; None in it if the question wants none."""


class FollowUps:
    """Reads questions apart from the call that writes a statement.

    This is the reading for a chat model, which does so in that call: its prompt has the conversation, and its answer
    typed fields. A model that only writes statements needs one of its own.
    """

    def objection(self, question: str) -> Message | None:
        """Return why `question` gets no rows, such as a greeting or a request to change data; None if it may."""
        return None

    def asked_form(self, question: str) -> AskedForm:
        """Return the form of the answer that `question` asks for, unless the model says it in typed fields."""
        return AskedForm()

    def read(self, question: str, turns: Sequence[Turn]) -> ReadQuestion:
        """Return `question` as one that stands alone, and which of `turns` it may follow."""
        return ReadQuestion(question, turns[-1])

    def reformatted(
        self, question: str, last: Turn, rows: Result | None, requested: OutputType | None, source: Source
    ) -> dict[str, Any] | None:
        """Return the changes of the state that answer `question` with the rows of `last` in another form.

        `rows` are these rows, if they are kept, and `requested` is the requested output type. `given` has the changes
        of the input. None if the question asks for more, or if the model reads that.

        Raises:
            DatasphinxError: the statement of `last` fails; see `Source.execute`.
        """
        return None


def joined(earlier: str, question: str) -> str:
    """Return both questions as one; `question` alone if they are too long together."""
    both = f"{earlier}{SEPARATOR}{question}"
    return both if len(both) <= MAX_QUESTION_CHARS else question


def with_previous(question: str, follows: Turn | None) -> str:
    """Return the question with the one that it may follow, to find what either of them mentions."""
    return f"{follows['question']}\n{question}" if follows else question


def last_names(last: Turn | None, name: str | None, source: Source) -> ReferencedNames:
    """Return the shown tables and the columns of the statement of `last`; none if it is about another source."""
    if last is None or not is_about(last, name):
        return ReferencedNames()
    names = referenced_names(last["sql"], source.shown_catalog)
    return ReferencedNames(names.tables & source.shown_catalog.tables.keys(), names.columns)


def is_about(turn: Turn, source: str | None) -> bool:
    """Return whether `turn` is about the source with this name or URL, as far as it names one."""
    return turn.get("source") in (None, without_password(source or ""))


def shown_again(last: Turn, question: str, result: Result | None) -> dict[str, Any]:
    """Return the changes of the state that answer `question` with the rows `result` of `last`."""
    form = last.get("form", {})
    if proposed := last.get("follow_ups"):
        form = {**form, "follow_ups": proposed}
    return {
        "question": last["question"],
        "sql_request": last["sql"],
        "attempts": attempts_with([], last["sql"], "earlier", form=form),
        "sql_request_is_valid": True,
        "forms": [*last.get("forms", ()), question],
        "result": result,
        "clarifications": last["clarifications"],
        "assumptions": last.get("assumptions", []),
        "proposed_output_type": last.get("output_type"),
    }


def remembered(turns: Sequence[Turn], turn: Turn) -> list[Turn]:
    """Return the turns that a conversation keeps when `turn` follows `turns`."""
    return [*turns, _bounded(turn)][-REMEMBERED_TURNS:]


def _bounded(turn: Turn) -> Turn:
    """Return `turn` with as much of its form, columns, assumptions and replies as later answers use."""
    form = {name: value for name, value in turn.get("form", {}).items() if name != "follow_ups" and value}
    return {
        **turn,
        "form": form if len(json.dumps(form)) <= _FORM_CHARS else {},  # type: ignore[typeddict-item]
        "columns": [one_line(name, _TEXT_CHARS) for name in turn.get("columns", ())[:_COLUMNS]],
        "assumptions": [one_line(text, _TEXT_CHARS) for text in turn.get("assumptions", ())[:_TEXTS]],
        "follow_ups": [one_line(text, _TEXT_CHARS) for text in turn.get("follow_ups", ())[:_TEXTS]],
        "replies": [
            Exchange(question=one_line(reply["question"], _TEXT_CHARS), answer=one_line(reply["answer"], _TEXT_CHARS))
            for reply in turn.get("replies", ())[-_REPLIES:]
        ],
    }


def conversation_paragraphs(last: Turn | None, turns: Sequence[Turn], source: str | None) -> list[str]:
    """Return a paragraph of a prompt about the conversation before the question, if there is one.

    The last answer is described with its statement, columns, form and assumptions, earlier ones by their questions.
    """
    if last is None:
        return []
    lines = ["The conversation so far:"]
    lines += [f"- {one_line(turn['question'], _QUESTION_CHARS)}" for turn in turns[:-1]]
    place = "" if is_about(last, source) else ", asked of another database"
    lines.append(f"The last question{place}: {one_line(last['question'], _QUESTION_CHARS)}")
    lines.append(f"Its query: {one_line(last['sql'], _SQL_CHARS)}")
    if columns := last.get("columns"):
        lines.append(f"Its columns: {', '.join(columns)}")
    form = {"output_type": last.get("output_type"), **last.get("form", {})}
    if form := {name: value for name, value in form.items() if value}:
        lines.append(f"Its form: {json.dumps(form, ensure_ascii=False)}")
    lines += [f"It assumed: {text}" for text in last.get("assumptions", ())]
    lines += [f"Then: {reply['question']} - {reply['answer']}" for reply in last.get("replies", ())]
    return ["\n".join(lines)]

"""The text of an answer as the model that wrote its statement words it."""

from datasphinx.agent.answers.references import Filled, ResultFacts, Said, fill, unsupported
from datasphinx.agent.messages import CONVENTIONS
from datasphinx.agent.record.step import note
from datasphinx.agent.types import AnswerForm


def form_text(form: AnswerForm, facts: ResultFacts, said: Said) -> str:
    """Return the sentences of `form` with the values of the rows; empty if it has none that may be shown.

    The second sentence only adds: it is left out if it may not be shown.
    """
    if facts.is_empty:
        text = form.get("empty_answer") or ""
        return "" if _is_refused(unsupported(text, facts.with_literals(said), facts.names)) else text
    sentences: list[str] = []
    before: Filled | None = None
    for text in form.get("answer") or ():
        before = fill(text, facts, said, before)
        if _is_refused(before.problems):
            break
        sentences.append(before.text)
    return CONVENTIONS[facts.language].space.join(sentences)


def _is_refused(problems: tuple[str, ...]) -> bool:
    if problems:
        note(f"wording refused: {'; '.join(problems)}")
    return bool(problems)

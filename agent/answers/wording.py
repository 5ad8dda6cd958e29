"""The text of an answer, and further questions, as the model that wrote the statement words them."""

from collections.abc import Collection, Iterable, Sequence

from datasphinx.agent.answers.references import Filled, ResultFacts, Said, fill, unsupported
from datasphinx.agent.core.text import question_key
from datasphinx.agent.messages import CONVENTIONS
from datasphinx.agent.record.step import note
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.types import AnswerForm

MAX_PROPOSED = 3
"""Number of questions that are offered."""
_MAX_QUESTION_CHARS = 200


def form_text(form: AnswerForm, facts: ResultFacts, said: Said) -> str:
    """Return the sentences of `form` with the values of the rows; empty if it has none that may be shown.

    The second sentence only adds: it is left out if it may not be shown.
    """
    if facts.is_blank:
        text = form.get("empty_answer") or ""
        return "".join(supported([text], facts.with_literals(said), facts.names))
    sentences: list[str] = []
    before: Filled | None = None
    for text in form.get("answer") or ():
        before = fill(text, facts, said, before)
        if _is_refused(before.problems):
            break
        sentences.append(before.text)
    return CONVENTIONS[facts.language].space.join(sentences)


def proposed_questions(proposed: Sequence[str], said: Said, names: Collection[str]) -> list[str]:
    """Return those questions of a model that type no figure, and none of `names`, except those that were `said`."""
    questions = supported(filter(str.strip, proposed), said, names)
    return [one_line(question, _MAX_QUESTION_CHARS) for question in questions]


def supported(texts: Iterable[str], said: Said, names: Collection[str]) -> list[str]:
    """Return those of `texts` that type no figure, and none of `names`, that nobody said; the others are noted."""
    return [text for text in texts if not _is_refused(unsupported(text, said, names))]


def not_asked(proposed: Sequence[str], asked: Iterable[str]) -> list[str]:
    """Return up to three of the questions `proposed`, without those that were `asked` before."""
    earlier = set(map(question_key, asked))
    return [question for question in proposed if question_key(question) not in earlier][:MAX_PROPOSED]


def _is_refused(problems: tuple[str, ...]) -> bool:
    if problems:
        note(f"wording refused: {'; '.join(problems)}")
    return bool(problems)

"""A question of a conversation, rewritten to stand alone."""

from collections.abc import Sequence

import prompts
from agent.audit.step import note
from agent.catalog.describe import one_line
from agent.clarify.types import Turn
from agent.errors import InvalidQuestion, ModelAnswerUnreadable, QuestionTooLong
from agent.models.schemas import StandaloneQuestion
from agent.question import clean_question
from agent.services import Services

_SHOWN_SQL = 1000
_THEN = " → "
"""Stands between questions that are read as one, in every language."""


def standing_alone(question: str, turns: Sequence[Turn], services: Services) -> str:
    """Return `question` as it reads with the last `turns` in sight; itself where it leans on none of them.

    The model is called once. The embedded model cannot rewrite: the last question and the new one are read as one, as
    they are where the model's answer is no question.

    Raises:
        ModelUnreachable, ModelRejected, BudgetExceeded: as `ModelClient.ask` says.
    """
    joined = f"{turns[-1]['question']}{_THEN}{question}"
    alone = None if services.model.embedded else _rewritten(question, turns, services)
    alone = alone or (joined if len(joined) <= services.settings.max_question_chars else question)
    if alone != question:
        note(f"read as: {alone}")
    return alone


def _rewritten(question: str, turns: Sequence[Turn], services: Services) -> str | None:
    shown = "\n".join(f"- {turn['question']}\n  {one_line(turn['sql'], _SHOWN_SQL)}" for turn in turns)
    messages = prompts.render("rewrite_question", turns=shown, question=question)
    try:
        written = services.model.ask(StandaloneQuestion, messages).question
        return clean_question(written, services.settings.max_question_chars)
    except (ModelAnswerUnreadable, InvalidQuestion, QuestionTooLong) as error:
        note(f"the question could not be rewritten: {error}")
        return None

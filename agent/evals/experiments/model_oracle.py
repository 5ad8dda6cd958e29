"""An oracle that is a model: it sees the reference statement, and what it answers is checked for SQL."""

import uuid
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import BaseModel, Field

import prompts
from agent.audit.record import Recorder
from agent.audit.step import Audit, Step, current_step, new_audit
from agent.catalog.source import Source
from agent.clarify.types import ClarifyingQuestion
from agent.errors import ModelAnswerUnreadable
from agent.evals.datasets.dataset import Question
from agent.evals.experiments.entries import Said, shown
from agent.evals.experiments.log import Spent
from agent.evals.experiments.oracle import NONE_OF_THESE, Feedback
from agent.evals.experiments.sql_in_words import gives_sql_away
from agent.evals.experiments.transcript import Transcript, listening
from agent.models.client import ModelClient

_TRIES = 2


class OracleAnswer(BaseModel):
    """What a user would answer to a multiple-choice question."""

    option: int = Field(0, description="the number of the option that is meant; 0 where it is none of them")
    words: str = Field("", description="with 0: what is meant, in plain words and without any SQL; else empty")


class ModelOracle:
    """Answers as `model` does; what would give SQL away is asked for once more, and is then "none of these"."""

    def __init__(self, model: ModelClient) -> None:
        """Take the model that answers."""
        self._model = model

    def answer(
        self, question: Question, asked: ClarifyingQuestion, statements: Sequence[str | None], source: Source
    ) -> Feedback:
        """Return the answer.

        Raises:
            ModelUnreachable, ModelRejected, BudgetExceeded: as `ModelClient.ask` says.
        """
        messages = prompts.render(
            "answer_clarification", question=question.asked, sql=question.sql, clarification=shown(asked)
        )
        step = Step("oracle", new_audit(uuid.uuid4().hex), recorder=Recorder(Transcript()))
        token = current_step.set(step)
        try:
            with listening() as events:
                text = self._checked(messages, question.sql, len(asked["options"]))
        finally:
            current_step.reset(token)
        perplexity = events[-1].body.get("perplexity") if events else None
        prompt = "\n\n".join(str(message.content) for message in messages)
        return Feedback(text, Said(prompt, text, perplexity), _spent(step.record()))

    def _checked(self, messages: list[BaseMessage], reference: str, options: int) -> str:
        for _ in range(_TRIES):
            try:
                said = self._model.ask(OracleAnswer, messages)
            except ModelAnswerUnreadable:
                return NONE_OF_THESE
            words = said.words.strip()
            if 1 <= said.option <= options:
                return str(said.option)
            if said.option == 0 and not gives_sql_away(words, reference):
                return words or NONE_OF_THESE
            problem = f"There is no option {said.option}." if said.option else "Your words hold SQL, or a piece of it."
            messages = [*messages, HumanMessage(f"{problem} Answer again: a number, or plain words without any SQL.")]
        return NONE_OF_THESE


def _spent(audit: Audit) -> Spent:
    return Spent(audit["llm_calls"], audit["prompt_tokens"] + audit["completion_tokens"], audit["llm_cost_usd"])

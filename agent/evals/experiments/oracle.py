"""Who answers clarifying questions in place of a user: somebody who knows the reference statement and keeps it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.audit.events import Event
from agent.catalog.source import Source
from agent.clarify.types import ClarifyingQuestion
from agent.evals.datasets.dataset import Question
from agent.evals.experiments.entries import Said, review_in
from agent.evals.experiments.log import Spent
from agent.models.parse import read_answer
from agent.models.schemas import AmbiguityReview

NONE_OF_THESE = "none of these"
"""The answer where no option is what is meant."""


@dataclass(frozen=True)
class Feedback:
    """An answer to a clarifying question: the number of an option, or words; how it came about and what it took."""

    answer: str
    said: Said
    spent: Spent = Spent()


class Oracle(Protocol):
    """Answers for the user."""

    def answer(
        self, question: Question, asked: ClarifyingQuestion, statements: Sequence[str | None], source: Source
    ) -> Feedback:
        """Answer `asked` about `question`; `statements` has that of each option where it is known."""


def statements_of(asked: ClarifyingQuestion, events: Sequence[Event]) -> list[str | None]:
    """Return the statement of each option of `asked`, as the review that is among `events` gives them."""
    review = review_in(events)
    try:
        options = read_answer(review.output, AmbiguityReview).options if review else []
    except ValueError:
        options = []
    known: Mapping[tuple[str, str], str | None] = {(option.label, option.reading): option.sql for option in options}
    by_label = {option.label: option.sql for option in options}
    return [known.get((each["label"], each["reading"]), by_label.get(each["label"])) for each in asked["options"]]
